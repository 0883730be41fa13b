"""What the page says: one name for one thing, figures as exact as they are read, plurals, room for long names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.timeline_capture import KERNELS, MS, write_timeline

from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.writer import CaptureWriter

from .conftest import Served, Shown, start

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

LATE = 115_184_189_714
LONG = "r_" + "4_" * 60 + "9"


def write_long(path: Path) -> Path:
    """A trace of 200 s with one short slice in it, on a device with a very long name; memory of eleven more."""
    stack = json.dumps([["/prog/train.py", 35, "<module>", "main()"]])
    with CaptureWriter(path) as writer:
        writer.append("tracks", {"id": [0, 1], "name": [LONG, "thread"], "kind": ["device", "user"]})
        times = {"track": [0, 0, 1], "start": [0, LATE, 50_000 * MS], "dur": [10 * MS, 610_000, 150_000 * MS]}
        writer.append("slices", {**times, "name": ["a", "only_one", "work"], "context": [-1, 0, -1]})
        context = {"id": [0], "name": ["only_one"], "kind": ["kernel"], "parent": [-1], "keys": ["[]"]}
        writer.append("contexts", {**context, "function": [""], "stack": [stack]})
        devices = [f"GPU:{i}" for i in (10, 2, 0, 9, 1)]
        sizes = {"bytes": [4096] * 5, "alloc": [0] * 5, "free": [1000 * MS] * 5, "dtype": ["float"] * 5}
        writer.append("buffers", {"id": list(range(5)), "device": devices, **sizes})
    return path


@pytest.fixture(scope="module")
def captures(static: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("words")
    paths = [write_timeline(folder / "steps.peep"), write_long(folder / "long.peep")]
    yield from start(create_app(Library(paths), static=static))


@pytest.fixture
def words(page: Page, captures: Served) -> Shown:
    return Shown(page, captures)


def test_a_capture_has_one_name(words: Shown) -> None:
    words.open("#/steps/timeline")
    page = words.page
    page.get_by_role("button", name="Capture steps.peep").click()
    assert page.locator(".cap .name").inner_text() == "steps.peep"
    assert page.locator(".menu:visible [aria-checked=true] .ell").inner_text() == "steps.peep"
    assert page.title() == "Timeline · steps.peep · Peephole"


def test_figures_of_a_short_slice_in_a_long_trace(words: Shown) -> None:
    words.open("#/long/timeline?slice=1")
    page = words.page
    words.until("() => document.querySelector('.pane.r').dataset.slice === '1/links'")
    detail = page.locator("[aria-label='Focused slice']").inner_text()
    assert "115.184190 s" in detail
    assert "longest of 1" not in detail and "All 1 runs" not in detail
    assert "in <module>" in detail and "<module>()" not in detail
    words.open(f"#/long/timeline?t0={LATE}&t1={LATE + 100}&r0={LATE}&r1={LATE + 40 * MS}")
    page.wait_for_selector(".tl-figures .big")
    status = page.locator(".status").inner_text()
    assert "0 ns per pixel" not in status and " ns per pixel" in status
    assert "115,184.19 – 115,224.19" in page.locator(".big").inner_text()


def test_what_the_host_did_in_a_range_is_listed_in_neutral_and_led_to(words: Shown) -> None:
    words.open(f"#/long/timeline?r0={49_000 * MS}&r1={60_000 * MS}")
    page = words.page
    page.wait_for_selector(".krow")
    assert "Top names" in page.locator(".tl-figures").inner_text()
    swatches = page.locator(".tl-most .sw").evaluate_all("all => all.map(one => one.style.background)")
    assert set(swatches) == {"var(--fg-3)"}
    page.locator(".tl-figures a", has_text="all").click()
    words.until("() => document.querySelector('section.view').dataset.shown?.startsWith('host/')")
    assert page.locator(".trow[data-name='work']").count() == 1


def test_the_meter_of_the_focused_track_follows_the_focus(words: Shown) -> None:
    words.open("#/steps/timeline")
    page = words.page
    page.wait_for_selector(".brow")
    for track in ("3", "4"):
        row = page.evaluate(
            "async track => (await (await fetch('/api/v1/captures/steps/timeline/at?track=' + track"
            " + '&depth=0&time=1000000')).json()).row",
            track,
        )
        page.evaluate("row => { location.hash = '#/steps/timeline?slice=' + row }", row)
        words.until(
            "track => [...document.querySelectorAll('.brow:has(.own)')].map(one => one.dataset.track).join() === track",
            track,
        )
    page.keyboard.press("Escape")
    page.wait_for_selector(".brow .own", state="detached")


def test_a_focused_slice_stays_in_sight_below_a_hundred_gaps(words: Shown) -> None:
    words.open("#/steps/timeline?gaps=1&slice=3")
    words.until("() => document.querySelectorAll('.gap').length >= 90")
    words.page.wait_for_selector(".tl-title")
    bottom = words.page.evaluate("document.querySelector('.tl-title').getBoundingClientRect().bottom")
    assert bottom < 860


def test_the_arrow_down_leaves_the_search_with_what_it_found(words: Shown) -> None:
    words.open("#/steps/timeline")
    page = words.page
    page.keyboard.press("f")
    page.keyboard.type("linearize")
    page.wait_for_selector(".hits:has-text('6 slices')")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("n")
    page.wait_for_selector(".hits:has-text('1 of 6')")
    page.keyboard.press("n")
    page.wait_for_selector(".hits:has-text('2 of 6')")
    assert words.param("find") == "linearize"


def test_top_says_what_it_lists(words: Shown) -> None:
    words.open("#/steps/top?group=copies")
    page = words.page
    assert page.locator(".status").inner_text().startswith("1 copy")
    assert page.get_by_label("Filter copies").count() == 1
    page.wait_for_selector(".pane.r .histogram")
    swatch = page.locator(".trow .sw").first.evaluate("one => getComputedStyle(one).backgroundColor")
    bars = page.locator(".pane.r .histogram path").first.evaluate("one => getComputedStyle(one).fill")
    assert swatch == bars
    words.open("#/steps/top?group=host")
    assert "ranges" in page.locator(".status").inner_text()
    assert page.get_by_label("Filter ranges").count() == 1
    page.get_by_text("Per thread, mean").wait_for()


def test_enter_opens_the_slices_of_the_first_row_too(words: Shown) -> None:
    words.open("#/steps/top")
    words.page.keyboard.press("Enter")
    words.until("() => location.hash.startsWith('#/steps/timeline')")
    words.wait_param("find", KERNELS[0])


def test_devices_are_in_the_order_of_their_numbers(words: Shown) -> None:
    words.open("#/long/memory")
    rows = words.page.locator(".mem-device").evaluate_all("all => all.map(one => one.dataset.device)")
    assert rows == ["GPU:0", "GPU:1", "GPU:2", "GPU:9", "GPU:10"]


@pytest.mark.parametrize("place", ["top", "timeline?slice=0"])
def test_a_long_name_stays_in_its_pane(words: Shown, place: str) -> None:
    words.open(f"#/long/{place}")
    page = words.page
    page.wait_for_selector(".pane.r .title")
    if place == "top":
        page.wait_for_selector(".top-runs")
    over = "() => [...document.querySelectorAll('.pane.r .scroll')].map(one => one.scrollWidth - one.clientWidth)"
    assert page.evaluate(over) == [0]


def test_in_a_small_window_the_search_takes_the_room_that_is_there(words: Shown) -> None:
    words.page.set_viewport_size({"width": 1000, "height": 700})
    words.open("#/steps/timeline")
    text = words.page.locator(".top .search .grow")
    assert text.evaluate("one => one.scrollWidth <= one.clientWidth")
