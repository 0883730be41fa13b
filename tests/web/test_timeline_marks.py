"""What lies over the slices: edges of the range, flags of markers, the hit that one searched for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.timeline_capture import MS

from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.writer import CaptureWriter

from .conftest import start
from .test_timeline import Timeline

if TYPE_CHECKING:
    from playwright.sync_api import Page

NEAR = "() => { const s = document.querySelector('.tl').timeline; return s.span.t1 - s.span.t0 < 2e8 }"


@pytest.fixture
def timeline(page: Page, static: Path, tmp_path: Path) -> Iterator[Timeline]:
    """One slice of a second, a marker at its begin and forty close together."""
    with CaptureWriter(tmp_path / "flags.peep") as writer:
        writer.append("tracks", {"id": [0], "name": ["CPU"], "kind": ["device"]})
        writer.append("slices", {"track": [0], "start": [0], "dur": [1000 * MS], "name": ["k"]})
        times = [0, *(500 * MS + i * MS for i in range(40))]
        writer.append("markers", {"time": times, "name": [f"step {i}" for i in range(41)]})
    for served in start(create_app(Library([tmp_path / "flags.peep"]), static=static)):
        yield Timeline(page, served)


def test_an_edge_of_the_range_can_be_dragged(timeline: Timeline) -> None:
    timeline.open(f"#/flags/timeline?t0=0&t1={400 * MS}&r0={50 * MS}&r1={150 * MS}")
    timeline.page.wait_for_selector(".bar b:text('Selected range')")
    for edge, to, low, high in ((150, 200, 50, 200), (50, 300, 200, 300)):
        timeline.page.mouse.move(*timeline.at(0, 0, edge * MS))
        timeline.page.mouse.down()
        timeline.page.mouse.move(*timeline.at(0, 0, to * MS), steps=4)
        timeline.page.mouse.up()
        timeline.until(
            "([a, b]) => { const q = new URLSearchParams(location.hash.split('?')[1]);"
            " return Math.abs(q.get('r0') - a) < 1e6 && Math.abs(q.get('r1') - b) < 1e6 }",
            [low * MS, high * MS],
        )
    timeline.wait_span(0, 400 * MS)


def test_flags_without_room_are_counted_and_lead_to_their_place(timeline: Timeline) -> None:
    timeline.open("#/flags/timeline")
    crowded = timeline.stage("return s.crowded.map(one => one.name)")
    assert "step 0" not in crowded and "step 1" not in crowded and len(crowded) >= 38
    timeline.page.get_by_text(f"{len(crowded)} without room for a flag").click()
    timeline.until(NEAR)
    timeline.until("many => document.querySelector('.tl').timeline.crowded.length < many", len(crowded))


def test_enter_before_the_hits_are_there_goes_to_the_first_of_them(timeline: Timeline) -> None:
    timeline.open("#/flags/timeline")
    timeline.page.keyboard.press("f")
    timeline.page.keyboard.type("k")
    timeline.page.keyboard.press("Enter")  # at once, as one types
    timeline.wait_slice("k")
    timeline.page.wait_for_selector(".hits:has-text('1 of 1')")
