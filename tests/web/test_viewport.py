"""One window in five drawings: wheel, drag, fingers, keys, range and Escape do the same in each of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.query.hardware import kernels
from tests.timeline_capture import write_timeline

from peephole.ingest import import_files
from peephole.server.app import create_app
from peephole.server.library import Library

from .conftest import Served, Shown, start

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


@dataclass(frozen=True)
class View:
    """A drawing over an axis: its place and canvas, and where the axis begins and ends on it, px."""

    place: str
    canvas: str
    left: int = 0
    right: int = 0
    ranged: bool = False


AXES = [
    View("steps/timeline?t0=20000000&t1=60000000", ".tl-rows", ranged=True),
    View("steps/memory?t0=20000000&t1=60000000", ".mem-canvas", 64, 12),
    View("tape/messages?t0=1100000000&t1=1900000000&fold=0", ".tp-canvas", ranged=True),
    View("hw/hardware?t0=200&t1=1200", ".hw-canvas", 152),
]
AXIS = pytest.mark.parametrize("view", AXES, ids=lambda view: view.place.split("?")[0].split("/")[1])


@pytest.fixture(scope="module")
def captures(
    static: Path, recorded: Path, tmp_path_factory: pytest.TempPathFactory, tape_line: Any
) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("viewport")
    write_timeline(folder / "steps.peep")
    kernels.write_traced(folder / "hw.peep")
    text = "".join(
        tape_line(1 + i / 50, i + 1, ("RECV", "SEND")[i % 2], "CLIENT CLIENT 00aa", "BinaryOp", "91B", "op=add")
        for i in range(50)
    )
    (folder / "tape.log").write_text(text)
    import_files([folder / "tape.log"], folder / "tape.peep")
    paths = [folder / "steps.peep", folder / "hw.peep", folder / "tape.peep", recorded]
    yield from start(create_app(Library(paths), static=static))


@pytest.fixture
def drawn(page: Page, captures: Served) -> Shown:
    return Shown(page, captures)


def area(drawn: Shown, canvas: str) -> dict[str, float]:
    box = drawn.page.locator(canvas).bounding_box()
    assert box is not None
    return {"x": box["x"], "y": box["y"], "width": box["width"], "height": box["height"]}


def settled(read: Callable[[], Any]) -> Any:
    """What the address says once it has stopped changing: it follows the window when that rests."""
    found, since = read(), time.monotonic()
    while time.monotonic() - since < 0.5:
        time.sleep(0.05)
        if (now := read()) != found:
            found, since = now, time.monotonic()
    return found


class Window:
    """The window of a view, and places on its axis."""

    def __init__(self, drawn: Shown, view: View) -> None:
        self.drawn, self.view = drawn, view
        drawn.open(f"#/{view.place}")
        self.box = area(drawn, view.canvas)
        self.room = self.box["width"] - view.left - view.right

    def x(self, share: float) -> float:
        return self.box["x"] + self.view.left + share * self.room

    @property
    def y(self) -> float:
        return self.box["y"] + 0.6 * self.box["height"]

    def now(self) -> tuple[float, float]:
        window: tuple[float, float] = settled(
            lambda: (float(self.drawn.param("t0") or "nan"), float(self.drawn.param("t1") or "nan"))
        )
        return window

    def until_other(self, than: tuple[float, float]) -> tuple[float, float]:
        self.drawn.until(
            "old => new URLSearchParams(location.hash.split('?')[1]).get('t0') !== old", str(int(than[0])), 5
        )
        return self.now()


def at(window: tuple[float, float], share: float) -> float:
    return window[0] + share * (window[1] - window[0])


def length(window: tuple[float, float]) -> float:
    return window[1] - window[0]


@AXIS
def test_the_wheel_keeps_what_is_under_the_pointer(drawn: Shown, view: View) -> None:
    shown = Window(drawn, view)
    before = shown.now()
    drawn.page.mouse.move(shown.x(0.25), shown.y)
    drawn.page.mouse.wheel(0, -300)
    near = shown.until_other(before)
    pixel = length(before) / shown.room
    assert length(near) == pytest.approx(length(before) * 1.0018**-300, rel=0.01)
    assert at(near, 0.25) == pytest.approx(at(before, 0.25), abs=2 * pixel)
    drawn.page.mouse.wheel(0, 300)
    assert shown.until_other(near) == pytest.approx(before, abs=2 * pixel)


@AXIS
def test_a_pinch_on_a_trackpad_zooms_and_sideways_pans(drawn: Shown, view: View) -> None:
    shown = Window(drawn, view)
    before = shown.now()
    drawn.page.mouse.move(shown.x(0.5), shown.y)
    drawn.page.keyboard.down("Control")
    drawn.page.mouse.wheel(0, -50)
    drawn.page.keyboard.up("Control")
    near = shown.until_other(before)
    assert length(near) == pytest.approx(length(before) * 1.0018**-200, rel=0.01)
    drawn.page.mouse.wheel(100, 0)
    aside = shown.until_other(near)
    assert length(aside) == pytest.approx(length(near), rel=0.01)
    assert aside[0] - near[0] == pytest.approx(100 / shown.room * length(near), rel=0.05)


@AXIS
def test_a_drag_takes_the_picture_along(drawn: Shown, view: View) -> None:
    shown = Window(drawn, view)
    before = shown.now()
    mouse = drawn.page.mouse
    mouse.move(shown.x(0.6), shown.y)
    mouse.down()
    mouse.move(shown.x(0.4), shown.y, steps=4)
    canvas = drawn.page.locator(view.canvas)
    assert canvas.evaluate("e => getComputedStyle(e).cursor") == "grabbing"
    mouse.up()
    after = shown.until_other(before)
    assert length(after) == pytest.approx(length(before), rel=0.001)
    assert after[0] - before[0] == pytest.approx(0.2 * length(before), rel=0.02)
    assert drawn.param("r0") is None
    assert drawn.page.locator(view.canvas).evaluate("e => e.classList.contains('panning')") is False


@AXIS
@pytest.mark.own_page
def test_two_fingers_spread_the_picture(drawn: Shown, view: View) -> None:
    shown = Window(drawn, view)
    before = shown.now()
    touch = drawn.page.context.new_cdp_session(drawn.page)

    def fingers(kind: str, *shares: float) -> None:
        points = [{"x": shown.x(share), "y": shown.y, "id": i} for i, share in enumerate(shares)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    fingers("touchStart", 0.4)
    fingers("touchStart", 0.4, 0.6)
    fingers("touchMove", 0.35, 0.65)
    fingers("touchMove", 0.3, 0.7)
    fingers("touchEnd")
    after = shown.until_other(before)
    assert length(after) == pytest.approx(length(before) / 2, rel=0.03)
    assert at(after, 0.5) == pytest.approx(at(before, 0.5), abs=0.02 * length(before))


@AXIS
def test_keys_zoom_and_pan(drawn: Shown, view: View) -> None:
    shown = Window(drawn, view)
    before = shown.now()
    drawn.page.mouse.move(shown.x(0.75), shown.y)
    drawn.page.keyboard.press("w")
    near = shown.until_other(before)
    assert length(near) == pytest.approx(0.8 * length(before), rel=0.01)
    assert at(near, 0.75) == pytest.approx(at(before, 0.75), abs=0.01 * length(before))
    drawn.page.keyboard.press("s")
    assert shown.until_other(near) == pytest.approx(before, abs=0.01 * length(before))
    drawn.page.keyboard.press("d")
    right = shown.until_other(before)
    assert right[0] - before[0] == pytest.approx(0.12 * length(before), rel=0.03)
    drawn.page.keyboard.press("a")
    assert shown.until_other(right) == pytest.approx(before, abs=0.01 * length(before))


@pytest.mark.parametrize("view", [v for v in AXES if v.ranged], ids=lambda view: view.canvas)
def test_a_range_is_drawn_out_pulled_and_let_go(drawn: Shown, view: View) -> None:
    shown = Window(drawn, view)
    window = shown.now()
    page = drawn.page

    def pull(start: float, end: float) -> tuple[float, float]:
        page.mouse.move(shown.x(start), shown.y)
        page.mouse.down()
        page.mouse.move(shown.x(end), shown.y, steps=4)
        page.mouse.up()
        found: tuple[float, float] = settled(
            lambda: (float(drawn.param("r0") or "nan"), float(drawn.param("r1") or "nan"))
        )
        return found

    near = 2 * length(window) / shown.room
    page.keyboard.down("Shift")
    drawn_out = pull(0.7, 0.3)
    page.keyboard.up("Shift")
    assert drawn_out == pytest.approx((at(window, 0.3), at(window, 0.7)), abs=near)
    assert pull(0.7, 0.8) == pytest.approx((at(window, 0.3), at(window, 0.8)), abs=near), "an edge can be pulled"
    page.keyboard.down("Shift")
    page.mouse.click(shown.x(0.5), shown.y)
    page.keyboard.up("Shift")
    assert drawn.param("r0") is not None, "a click with Shift draws nothing out"
    assert shown.now() == window
    page.keyboard.press("Escape")
    drawn.wait_param("r0", None)


@pytest.mark.own_page
def test_the_graph_has_the_same_gestures(drawn: Shown) -> None:
    drawn.open("#/small")
    page = drawn.page
    drawn.until("() => document.querySelector('.graph')?.graphView.boxes.length > 0")
    box = area(drawn, ".graph-canvas")
    x, y = box["x"] + 0.3 * box["width"], box["y"] + 0.4 * box["height"]

    def camera() -> dict[str, float]:
        return dict(page.evaluate("document.querySelector('.graph').graphView.camera"))

    def under(view: dict[str, float], px: float, py: float) -> tuple[float, float]:
        dx, dy = px - box["x"] - box["width"] / 2, py - box["y"] - box["height"] / 2
        return view["x"] + dx / view["zoom"], view["y"] + dy / view["zoom"]

    def moved(than: dict[str, float]) -> dict[str, float]:
        drawn.until("old => document.querySelector('.graph').graphView.camera.zoom !== old", than["zoom"])
        return camera()

    before = camera()
    page.mouse.move(x, y)
    page.mouse.wheel(0, -300)
    near = moved(before)
    assert near["zoom"] == pytest.approx(min(4, before["zoom"] * 1.0018**300), rel=0.001)
    assert under(near, x, y) == pytest.approx(under(before, x, y), abs=1)
    page.locator(".graph-canvas").focus()
    page.keyboard.press("-")
    far = moved(near)
    assert far["zoom"] == pytest.approx(0.8 * near["zoom"], rel=0.001)
    assert under(far, x, y) == pytest.approx(under(near, x, y), abs=1)
    page.mouse.down()
    page.mouse.move(x + 60, y + 30, steps=3)
    page.mouse.up()
    dragged = camera()
    assert dragged["zoom"] == far["zoom"]
    assert under(dragged, x + 60, y + 30) == pytest.approx(under(far, x, y), abs=1)
    touch = page.context.new_cdp_session(page)
    for kind, apart in (("touchStart", 100), ("touchMove", 150), ("touchMove", 200)):
        points = [{"x": x - apart / 2, "y": y, "id": 0}, {"x": x + apart / 2, "y": y, "id": 1}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    spread = moved(dragged)
    assert spread["zoom"] == pytest.approx(min(4, 2 * dragged["zoom"]), rel=0.01)
    assert under(spread, x, y) == pytest.approx(under(dragged, x, y), abs=1)
