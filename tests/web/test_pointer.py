"""What the pointer does to the drawings: where keys zoom, what hovering leaves alone, what outlives no key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.query.hardware import kernels
from tests.timeline_capture import MS, write_timeline

from peephole.server.app import create_app
from peephole.server.library import Library

from .conftest import Served, Shown, start

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser

TIMELINE = "document.querySelector('.tl').timeline.span"
MEMORY = "document.querySelector('.mem-canvas').memoryStage.span"


@pytest.fixture(scope="module")
def captures(static: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A timeline with memory, and a kernel of which there is nothing but a hardware trace."""
    folder = tmp_path_factory.mktemp("pointer")
    write_timeline(folder / "steps.peep")
    kernels.write_traced(folder / "hw.peep")
    yield from start(create_app(Library([folder / "steps.peep", folder / "hw.peep"]), static=static))


@pytest.fixture
def drawn(page: Page, captures: Served) -> Shown:
    return Shown(page, captures)


def box(canvas: Locator) -> dict[str, float]:
    """Where an element is."""
    found = canvas.bounding_box()
    assert found is not None
    return {"x": found["x"], "y": found["y"], "width": found["width"], "height": found["height"]}


def test_a_box_of_the_graph_that_is_hovered_over_moves_nothing(rewrites: Shown) -> None:
    canvas = rewrites.page.locator(".graph-canvas")
    before = box(canvas)
    left, top = before["x"], before["y"]
    inside = (b for b in rewrites.boxes() if 100 < b["px"] - left < before["width"] - 250)
    one = next(b for b in inside if 50 < b["py"] - top < before["height"] - 50)
    rewrites.page.mouse.move(one["px"], one["py"])
    rewrites.until("() => getComputedStyle(document.querySelector('.graph-canvas')).cursor === 'pointer'")
    assert box(canvas) == before


@pytest.mark.parametrize(
    ("place", "canvas", "span", "left", "right"),
    [("timeline", ".tl-rows", TIMELINE, 0, 0), ("memory", ".mem-canvas", MEMORY, 64, 12)],
)
def test_keys_zoom_where_the_pointer_is(
    drawn: Shown, place: str, canvas: str, span: str, left: int, right: int
) -> None:
    drawn.open(f"#/steps/{place}")
    area = box(drawn.page.locator(canvas))
    room = area["width"] - left - right
    x = left + 0.8 * room
    drawn.page.mouse.move(area["x"] + x, area["y"] + 60)

    def now() -> dict[str, Any]:
        return dict(drawn.page.evaluate(f"({{...{span}}})"))

    def under(window: dict[str, Any]) -> float:
        return float(window["t0"] + (x - left) / room * (window["t1"] - window["t0"]))

    before = now()
    for _ in range(4):
        drawn.page.keyboard.press("w")
    drawn.until(f"long => {span}.t1 - {span}.t0 < 0.5 * long", before["t1"] - before["t0"])
    assert abs(under(now()) - under(before)) < 0.2 * MS
    drawn.page.mouse.move(5, 5)
    before = now()
    drawn.page.keyboard.press("w")
    drawn.until(f"long => {span}.t1 - {span}.t0 < 0.9 * long", before["t1"] - before["t0"])
    assert abs(sum(now().values()) - sum(before.values())) < 0.2 * MS


def test_keys_zoom_into_waves_where_the_pointer_is_and_take_the_tooltip_away(drawn: Shown) -> None:
    drawn.open("#/hw/hardware")
    area = box(drawn.page.locator(".hw-canvas"))
    # the first wave, near its begin
    drawn.page.mouse.move(area["x"] + 0.3 * area["width"], area["y"] + 130)
    tooltip = drawn.page.locator(".tooltip", has_text="cycle")
    tooltip.wait_for()
    for _ in range(6):
        drawn.page.keyboard.press("w")
    tooltip.wait_for(state="hidden")
    window = [int(drawn.param(name) or 0) for name in ("t0", "t1")]
    status = drawn.page.locator(".status").inner_text()
    whole = int(status.split(" of ")[1].split(" cycles")[0].replace(",", ""))
    assert sum(window) / 2 < 0.45 * whole


def test_a_key_takes_the_tooltip_of_a_slice_away(drawn: Shown) -> None:
    drawn.open("#/steps/timeline")
    area = box(drawn.page.locator(".tl-rows"))
    row = drawn.page.evaluate(
        "(() => { const s = document.querySelector('.tl').timeline, p = s.layout.places.get('3:0');"
        " return p.row.y + p.lane.y + p.lane.h / 2 })()"
    )
    drawn.page.mouse.move(area["x"] + 10, area["y"] + row)
    tooltip = drawn.page.locator(".tooltip", has_text="r_16_32_2_4_4_512_128_4")
    tooltip.wait_for()
    drawn.page.keyboard.press("d")
    tooltip.wait_for(state="hidden")


def test_what_to_show_of_a_trace_stays_under_the_pointer(drawn: Shown) -> None:
    drawn.open("#/hw/hardware")
    button = drawn.page.get_by_role("button", name="Counters")
    before = box(button)
    button.click()
    drawn.page.wait_for_selector('section.view[data-shown="counters"]')
    assert box(button) == before


def test_a_binary_of_no_kernel_makes_no_code_tab(drawn: Shown) -> None:
    drawn.open("#/hw/hardware")
    assert drawn.page.locator(".tabs a").all_inner_texts() == ["Hardware", "SQL"]


def test_a_search_in_a_capture_without_names_says_so(drawn: Shown) -> None:
    drawn.open("#/hw/hardware")
    drawn.page.keyboard.press("/")
    drawn.page.keyboard.type("mov")
    drawn.page.get_by_text("This capture has no names to search.").wait_for()


def test_tracks_are_pinned_with_the_keyboard(drawn: Shown) -> None:
    drawn.open("#/steps/timeline")
    drawn.page.mouse.move(5, 5)
    drawn.page.get_by_role("button", name="Pin TINY").focus()
    drawn.until("() => getComputedStyle(document.activeElement).opacity === '1'")
    drawn.page.keyboard.press("Enter")
    drawn.page.get_by_role("button", name="Unpin TINY").wait_for()
    assert drawn.param("pin") is not None
