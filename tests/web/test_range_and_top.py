"""One rule for a range: the figures beside the timeline and the Top page say the same, on devices and on tapes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.timeline_capture import MS, write_timeline

from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.writer import CaptureWriter

from .conftest import Served, Shown, start

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

S = 1000 * MS
LATE = [(5 * S, 5 * S + 400 * MS), (90 * S, 90 * S + 600_000), (115_184_189_714, 115_184_189_714 + 40 * MS)]


@pytest.fixture(scope="module")
def ranged_served(static: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("ranged")
    paths = [write_timeline(folder / "steps.peep"), ranks(folder / "ranks.peep"), tape(folder / "tape.peep")]
    paths += [late(folder / "late.peep"), late(folder / "long.peep", "r_16_32_2_4_4_512_128_4" * 3)]
    yield from start(create_app(Library(paths), static=static))


def ranks(path: Path) -> Path:
    """Two ranks with a track of one name each, which their processes tell apart, and threads that nothing does."""
    with CaptureWriter(path) as writer:
        names = ["rank 0 · Spans", "Profiler", "rank 1 · Spans", "Profiler", "pool", "pool", "main"]
        kinds = ["host", "thread", "host", "thread", "thread", "thread", "thread"]
        ids = list(range(len(names)))
        writer.append("tracks", {"id": ids, "name": names, "kind": kinds, "parent": [-1, 0, -1, 2, -1, -1, 0]})
        used = [1, 3, 4, 5, 6]
        columns = {"track": used, "depth": [0] * 5, "start": [0] * 5, "dur": [10 * (track + 1) for track in used]}
        writer.append("slices", {**columns, "name": ["step"] * 5})
    return path


def late(path: Path, name: str = "E_4") -> Path:
    """A device that works for two hundred seconds."""
    with CaptureWriter(path) as writer:
        writer.append("tracks", {"id": [0, 1], "name": ["GPU", "GPU:COPY"], "kind": ["device", "copy"]})
        columns = {"track": [0, 1], "depth": [0, 0], "start": [0, 0], "dur": [200_000_000_000] * 2}
        writer.append("slices", {**columns, "name": [name, "copy"]})
    return path


def tape(path: Path) -> Path:
    """A client and a worker, whose messages have the colours of their names."""
    with CaptureWriter(path) as writer:
        writer.append("tracks", {"id": [0, 1], "name": ["client", "worker"], "kind": ["client", "worker"]})
        columns = {"track": [0, 1], "depth": [0, 0], "start": [0, 50], "dur": [100, 100], "name": ["send", "matmul"]}
        writer.append("slices", columns)
    return path


@pytest.fixture
def ranged(page: Page, ranged_served: Served) -> Shown:
    return Shown(page, ranged_served)


@pytest.mark.parametrize(("low", "high"), [(5 * MS, 15 * MS), (MS, 2 * MS), (13 * MS + 5_000, 13 * MS + 45_000)])
def test_top_of_a_range_says_what_its_figures_say(ranged: Shown, low: int, high: int) -> None:
    page = ranged.page
    ranged.open(f"#/steps/timeline?r0={low}&r1={high}")
    page.wait_for_selector(".krow")
    assert "counts, with the part of it that lies inside" in page.locator(".pane.r").inner_text()
    figures = [
        (row.get_attribute("data-total"), row.get_attribute("data-count")) for row in page.locator(".krow").all()
    ]
    page.get_by_role("link", name=re.compile("^all ")).click()
    page.wait_for_selector(".vlist .trow")
    rows = page.locator(".vlist .trow").all()
    assert [(row.get_attribute("data-total"), row.get_attribute("data-runs")) for row in rows] == figures
    assert "counts with its part inside" in page.locator(".status").inner_text()


def test_a_kernel_keeps_both_ends_where_its_column_is_narrow(ranged: Shown) -> None:
    page = ranged.page
    page.set_viewport_size({"width": 1000, "height": 700})
    ranged.open("#/long/top")
    name = page.locator(".vlist .trow").first.locator(".tname .name")
    tail = name.locator("span").last
    assert str(name.text_content()).endswith(str(tail.text_content()))
    assert name.evaluate("e => e.firstChild.scrollWidth > e.firstChild.clientWidth")  # what is cut is in the middle
    edge, end = name.bounding_box(), tail.bounding_box()
    assert edge is not None and end is not None
    assert end["width"] > 20 and end["x"] + end["width"] <= edge["x"] + edge["width"] + 1


def test_figures_of_everything_do_not_speak_of_edges(ranged: Shown) -> None:
    ranged.open("#/steps/timeline")
    ranged.page.wait_for_selector(".krow")
    assert "lies inside" not in ranged.page.locator(".pane.r").inner_text()


@pytest.mark.parametrize(("low", "high"), LATE)
@pytest.mark.parametrize("width", [1600, 1000])
def test_the_figures_of_a_late_range_stand_beside_each_other(ranged: Shown, low: int, high: int, width: int) -> None:
    page = ranged.page
    page.set_viewport_size({"width": width, "height": 700})
    ranged.open(f"#/late/timeline?r0={low}&r1={high}")
    page.wait_for_selector(".big")
    boxes = page.evaluate(
        """() => [...document.querySelectorAll('.big b, .big div > span > span, .big div > span')].map(e => {
          const range = document.createRange();
          range.selectNodeContents(e);
          const r = range.getBoundingClientRect();
          return [e.textContent, r.left, r.top, r.right, r.bottom];
        })"""
    )
    pane = page.locator(".pane.r").bounding_box()
    assert pane is not None
    for one in boxes:
        assert one[3] <= pane["x"] + pane["width"]
        for other in boxes:
            apart = one[3] <= other[1] or other[3] <= one[1] or one[4] <= other[2] or other[4] <= one[2]
            assert apart or one[0] == other[0], (one, other)


def test_gap_after_gap_can_be_looked_at(ranged: Shown) -> None:
    page = ranged.page
    ranged.open("#/steps/timeline")
    page.get_by_role("button", name="Idle gaps").click()
    page.locator(".gap").nth(2).wait_for()
    listed = page.locator(".gap").all_inner_texts()
    ends: list[str | None] = []
    for place in (0, 1):
        page.locator(".gap").nth(place).click()
        ranged.until("old => !old.includes(new URLSearchParams(location.hash.split('?')[1]).get('r0'))", [None, *ends])
        ends.append(ranged.param("r0"))
        assert page.locator(".gap").all_inner_texts() == listed
    assert page.get_by_role("button", name="Zoom in").count() == 1
    ranged.open(page.evaluate("location.hash"))
    page.locator(".gap").nth(2).wait_for()
    assert page.locator(".gap").all_inner_texts() == listed
    # of a range: the range stays, and with it the list
    ranged.open(f"#/steps/timeline?gaps=1&r0={5 * MS}&r1={45 * MS}")
    page.locator(".gap").nth(2).wait_for()
    listed = page.locator(".gap").all_inner_texts()
    page.locator(".gap").nth(1).click()
    ranged.until("() => location.hash.includes('t0=')")
    assert ranged.param("r0") == str(5 * MS)
    assert page.locator(".gap").all_inner_texts() == listed


def test_tracks_of_one_name_are_told_apart(ranged: Shown) -> None:
    page = ranged.page
    ranged.open("#/ranks/timeline")
    heads = page.locator(".hd .tl-name").all_text_contents()
    assert sorted(heads) == ["Profiler · rank 0", "Profiler · rank 1", "main", "pool · #1", "pool · #2"]
    page.wait_for_selector(".brow")
    assert sorted(page.locator(".brow .name").all_text_contents()) == sorted(heads)
    ranged.open("#/ranks/timeline?find=rank+1")
    assert page.locator(".hd .tl-name").count() == 1
    ranged.open("#/ranks/top?group=host")
    page.get_by_role("button", name="All threads").click()
    offered = page.get_by_role("menuitemradio").all_inner_texts()
    assert {"Profiler · rank 0", "pool · #2", "main"} <= {text.strip() for text in offered}


def test_names_beside_a_tape_have_the_colours_of_its_lanes(ranged: Shown) -> None:
    ranged.open("#/tape/timeline")
    ranged.page.wait_for_selector(".krow")
    colours = ranged.page.evaluate("() => [...document.querySelectorAll('.krow .sw')].map(e => e.style.background)")
    assert len(colours) == 2 and all(colour.startswith("var(--cat-") for colour in colours)
