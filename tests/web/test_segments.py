"""A CUDA memory snapshot in the Memory view: segments and blocks of a moment, reserved memory, moments without any."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.sources.cuda_memory.test_snapshot import imported, snapshot
from tests.web.conftest import start

from peephole.query.memory.segments import Allocator
from peephole.server.app import create_app
from peephole.server.library import Library

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
OUTPUT = Path(__file__).resolve().parent.parent.parent / "test-output"


def test_segments_of_a_moment(page: Page, static: Path, tmp_path: Path) -> None:
    data = snapshot()
    capture = imported(data, tmp_path / "s")
    allocator = Allocator(capture, "CUDA:0")
    last = (data["device_traces"][0][-1]["time_us"] - data["device_traces"][0][0]["time_us"]) * 1000
    at = allocator.at(last)
    for served in start(create_app(Library([capture.path]), static=static)):
        page.set_viewport_size({"width": 1600, "height": 900})
        # of the two devices the one that holds what was asked for is shown, not the one with what is reserved for it
        page.goto(f"{served.address}#/s/memory?show=segments&time={last}")
        page.wait_for_selector(f'.mem-segments[data-at="{last}"] .mem-segment')
        rows = page.locator(".mem-segment")
        assert rows.count() == len(at.bytes) == len(data["segments"])
        facts = page.locator(".mem-segments-facts").inner_text()
        assert "5 segments" in facts and f"{len(at.size)} blocks" in facts and "10.49 MB" in facts
        OUTPUT.mkdir(exist_ok=True)
        page.screenshot(path=OUTPUT / "segments.png")
        # a click on the first block of the first row with one opens its buffer, with address and stack
        first = int(at.segment[0])
        bar = page.locator(f'.mem-segment[data-segment="{at.address[first]:#x}"] canvas')
        box = bar.bounding_box()
        assert box is not None
        middle = (int(at.offset[0]) + int(at.size[0]) / 2) / int(at.bytes[first])
        bar.click(position={"x": middle * box["width"], "y": 10})
        page.wait_for_selector(".mem-stack")
        assert page.locator(".mem-stack div").all_inner_texts()[1] == "forward (/prog/model.py:31)"
        assert f"{int(at.address[first]) + int(at.offset[0]):#x}" in page.locator(".mem-facts").inner_text()
        # from change to change
        before = allocator.beside(last)[0]
        page.keyboard.press("ArrowLeft")
        page.wait_for_selector(f'.mem-segments[data-at="{before}"]')
        page.set_viewport_size({"width": 1000, "height": 700})
        page.screenshot(path=OUTPUT / "segments_small.png")
        page.get_by_role("button", name="Buffers", exact=True).click()
        page.wait_for_selector(".mem-segments", state="hidden")
        page.screenshot(path=OUTPUT / "segments_buffers.png")
