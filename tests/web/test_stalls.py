"""NVIDIA's stall samples in a real browser, out of a profile that tinygrad's own classes pickled."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.query.hardware.pma import ampere, packets, write_profile
from tests.web.conftest import start

from peephole.ingest import import_files
from peephole.server.app import create_app
from peephole.server.library import Library

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
KERNEL = "r_<b>16</b>"
HEAD, RULER, UNIT, WAVE = 152, 24, 40, 18


def kernel_stream(per_unit: int) -> bytes:
    """Three multiprocessors that begin with two samples of wave 3 at 0x120, the rest as a kernel may have them."""
    draw, blob = random.Random(1), b""
    phases = [[6, 9, 9, 9, 7], [9, 7, 12, 18, 18, 3], [18, 3, 3, 1, 20]]
    for unit in (0, 1, 35):
        content = ampere((9, 3, 0x120, 0)) * 2
        for at in range(per_unit):
            key = draw.choice(phases[at * 3 // per_unit])
            content += ampere((key, draw.randrange(8), 0x100 + 16 * (key + draw.randrange(3)), int(key == 18)))
        blob += packets(unit, content)
    return blob


@pytest.fixture(scope="module")
def stalls(static: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("stalls")
    write_profile(folder / "profile.pkl", [kernel_stream(1500), packets(0, b"\1\2")], kernel=KERNEL)
    capture = import_files([folder / "profile.pkl"], folder / "nv.peep")
    for served in start(create_app(Library([capture]), static=static)):
        yield served.address


def test_stall_samples_over_cycles(page: Page, stalls: str) -> None:
    page.goto(f"{stalls}#/nv/hardware")
    page.wait_for_selector('section.view[data-shown^="stalls/"]')
    status = page.locator("footer, .status").first
    assert "4,506 samples" in status.inner_text() and "24 waves on 3 multiprocessors" in status.inner_text()
    assert page.locator(".hw-reasons td").first.inner_text() == "MEMORY_DEPENDENCY"
    assert page.evaluate("window.hacked") is None and page.locator(".bar option").first.inner_text().startswith(KERNEL)
    box = page.locator("canvas.hw-canvas").bounding_box()
    assert box is not None
    # from the left edge, at the nearest zoom, the first run of wave 3: two samples alike
    page.evaluate("location.hash = location.hash.split('?')[0] + '?t0=0&t1=1000'")
    page.wait_for_function("document.body.innerText.includes('1,000 of 48,064 cycles')")
    at = (box["x"] + HEAD + 32 / 1000 * (box["width"] - HEAD), box["y"] + RULER + UNIT + 3 * WAVE + WAVE / 2)
    page.mouse.move(*at)
    tip = page.locator(".tooltip", has_text="pc=0x000120")
    tip.wait_for()
    assert "MEMORY_DEPENDENCY" in tip.inner_text() and "active=0" in tip.inner_text()
    assert "GPC:0 TPC:0 SM:0 WAVE:3 · cycle 0" in tip.inner_text() and "2 samples alike" in tip.inner_text()
    page.mouse.click(*at)
    facts = page.locator(".hw-stalls .kv")
    facts.wait_for()
    assert "0x000120" in facts.inner_text() and "0 to 64" in facts.inner_text()
    assert page.locator('.hw-place[aria-selected="true"]').inner_text().startswith("0x000120")
    run = re.search(r"ev=(\d+)", page.evaluate("location.hash"))
    assert run is not None
    page.keyboard.press("ArrowRight")
    page.wait_for_url(f"**ev={int(run[1]) + 1}**")
    page.reload()
    page.locator(".hw-stalls .kv", has_text="WAVE:3").wait_for()
    page.keyboard.press("Escape")
    page.locator(".hw-stalls .kv").wait_for(state="detached")
    # the window through keys, and a multiprocessor that is folded away
    page.keyboard.press("w")
    page.wait_for_url(lambda url: "t0=0&t1=1000" not in url)
    page.keyboard.press(" ")
    page.wait_for_function("document.body.innerText.includes('48,064 of 48,064 cycles')")
    page.mouse.click(box["x"] + 60, box["y"] + RULER + 12)
    second = (box["x"] + HEAD + 400, box["y"] + RULER + UNIT + 12)
    page.mouse.move(*second)
    page.locator(".tooltip", has_text="GPC:0 TPC:0 SM:1").wait_for()
    # an instruction of the list leads to a sample of it
    page.locator(".hw-place[role=option]").first.click()
    page.locator(".hw-stalls .kv").wait_for()
    page.get_by_role("button", name="Counters").click()
    page.wait_for_selector('section.view[data-shown="counters"]')
    page.get_by_role("button", name="Waves").click()
    page.wait_for_selector('section.view[data-shown^="stalls/"]')
    page.locator(".bar select").first.select_option(index=1)
    page.get_by_text("No samples").wait_for()
