"""The graph by itself, in a real browser under the page's content policy: drawing, moving, stepping, folding."""

from __future__ import annotations

import functools
import http.server
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parent.parent.parent
OUTPUT = ROOT / "test-output"
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; worker-src 'self'; img-src 'self'"

KERNEL = "kernel(2, 4)"
SIZES = {"30": "kernel(1, 2)", "1000": "schedule(1000)", "2350": "kernel(8, 12)", "12010": "schedule(12010)"}


class Handler(http.server.SimpleHTTPRequestHandler):
    """The built test page with the policy that the real server sends."""

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def do_GET(self) -> None:
        if self.path == "/favicon.ico":
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="session")
def graph_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a page with nothing but a graph."""
    node = shutil.which("node")
    if node is None or not (ROOT / "web" / "node_modules").is_dir():
        pytest.skip("needs Node and web/node_modules; `make test` installs them")
    out = tmp_path_factory.mktemp("graph")
    command = [node, "scripts/build.mjs", f"--out={out}", "--pages=dev/graph.html"]
    subprocess.run(command, cwd=ROOT / "web", check=True, timeout=120)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(out)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/graph.html"
    server.shutdown()
    server.server_close()


class Graph:
    """What the tests do with the graph."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.theme("dark")

    def theme(self, name: str) -> None:
        self.page.goto(f"{self.address}?theme={name}")
        self.until("() => 'view' in window")

    def until(self, script: str, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while not self.page.evaluate(script):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.01)

    def show(self, graph: str, mode: str = "fresh") -> float:
        """Shows what a JavaScript expression makes; returns the time until it was on the screen."""
        return float(self.page.evaluate(f"(window.graph = {graph}, show(window.graph, '{mode}'))"))

    @property
    def boxes(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.page.evaluate("view.boxes")
        return found

    @property
    def camera(self) -> dict[str, float]:
        found: dict[str, float] = self.page.evaluate("view.camera")
        return found

    def at(self, box: dict[str, Any]) -> tuple[float, float]:
        """The middle of a box on the screen."""
        size = self.page.viewport_size
        assert size is not None
        camera = self.camera
        x = size["width"] / 2 + (box["x"] - camera["x"]) * camera["zoom"]
        y = size["height"] / 2 + (box["y"] - camera["y"]) * camera["zoom"]
        return x, y

    def box(self, start: str) -> dict[str, Any]:
        """The first box whose name starts so."""
        return next(box for box in self.boxes if box["name"].startswith(start))

    def shot(self, name: str) -> bytes:
        OUTPUT.mkdir(exist_ok=True)
        time.sleep(0.2)  # the finer drawing that follows once the view rests
        return self.page.screenshot(path=OUTPUT / f"graph-{name}.png")


@pytest.fixture
def graph(page: Page, graph_page: str) -> Graph:
    return Graph(page, graph_page)


def overlaps(boxes: list[dict[str, Any]]) -> list[tuple[str, str]]:
    rows: dict[float, list[dict[str, Any]]] = {}
    for box in boxes:
        rows.setdefault(box["y"], []).append(box)
    heights = sorted(rows)
    assert all(below - above >= 32 for above, below in pairwise(heights))
    found = []
    for row in rows.values():
        row.sort(key=lambda box: float(box["x"]))
        for left, right in pairwise(row):
            if left["x"] + left["width"] / 2 > right["x"] - right["width"] / 2:
                found.append((left["name"], right["name"]))
    return found


@pytest.mark.parametrize("size", SIZES)
def test_graphs_of_every_size_are_drawn_without_overlap(graph: Graph, size: str) -> None:
    graph.show(SIZES[size])
    assert len(graph.boxes) > 10
    assert overlaps(graph.boxes) == []
    first = graph.shot(f"{size}-dark-1600")
    graph.page.evaluate("view.fit()")
    assert graph.shot(f"{size}-fit-dark-1600") != first or size == "30"


def test_a_graph_of_54000_nodes_starts_in_blocks_and_says_so(graph: Graph) -> None:
    graph.show("schedule(54000)")
    boxes = graph.boxes
    assert 20 < len(boxes) <= 2000
    assert overlaps(boxes) == []
    shown, total, hidden = graph.page.evaluate("events.counts.at(-1)")
    assert total > 50_000
    assert "in blocks" in hidden
    notice = graph.page.locator(".graph-notice").inner_text()
    assert f"{total:,} nodes, {total - shown:,} hidden" in notice
    graph.shot("54000-dark-1600")


def test_small_window_light_theme_and_minimap(graph: Graph) -> None:
    graph.page.set_viewport_size({"width": 1000, "height": 700})
    graph.theme("light")
    graph.show("rewrite(schedule(300), 3)")
    assert graph.page.locator(".graph-map").is_visible()
    graph.shot("300-light-1000")
    graph.page.set_viewport_size({"width": 420, "height": 340})  # of which the map would hide a seventh
    graph.until("() => document.querySelector('.graph-map').hidden")
    graph.page.set_viewport_size({"width": 1000, "height": 700})
    graph.until("() => !document.querySelector('.graph-map').hidden")
    graph.page.evaluate("view.fit()")
    graph.until("() => document.querySelector('.graph-map').hidden")


def test_stepping_moves_no_survivor_and_overlaps_nothing(graph: Graph) -> None:
    graph.show("kernel(4, 8)")
    for match in range(1, 13):
        before = {box["key"]: (box["x"], box["y"], box["width"]) for box in graph.boxes}
        camera = graph.camera
        graph.show(f"rewrite(window.graph, {match})", "step")
        after = graph.boxes
        moved = [box["name"] for box in after if before.get(box["key"], box_place(box)) != box_place(box)]
        assert moved == []
        assert overlaps(after) == []
        assert graph.camera == camera
        assert any(box["state"] for box in after)
    graph.page.evaluate("view.showChange()")
    graph.shot("stepped-dark-1600")


def test_a_step_that_comes_before_its_pass_is_drawn_does_not_mix_two_graphs(graph: Graph) -> None:
    graph.show(KERNEL)
    graph.page.evaluate(
        """async () => {
          const first = {...schedule(200), step: 2}, next = {...rewrite(first, 1), step: 2};
          await Promise.all([view.show(first, 'fresh'), view.show(next, 'step')]);
        }"""
    )
    boxes = {box["key"]: box_place(box) for box in graph.boxes}
    graph.page.evaluate("view.layoutAgain()")
    graph.until("() => view.boxes.length > 0")
    assert {box["key"]: box_place(box) for box in graph.boxes} == boxes


def box_place(box: dict[str, Any]) -> tuple[float, float, float]:
    return box["x"], box["y"], box["width"]


def test_drag_pans_and_the_wheel_zooms_at_the_pointer(graph: Graph) -> None:
    graph.show(KERNEL)
    box = graph.box("STORE")
    x, y = graph.at(box)
    mouse = graph.page.mouse
    mouse.move(20, 20)
    mouse.down()
    mouse.move(70, 50)
    mouse.move(120, 80)
    mouse.up()
    assert graph.at(box) == pytest.approx((x + 100, y + 60), abs=0.01)
    x, y = graph.at(box)
    zoom = graph.camera["zoom"]
    mouse.move(x, y)
    mouse.wheel(0, -200)
    graph.until(f"() => view.camera.zoom > {zoom} * 1.2")
    assert graph.at(box) == pytest.approx((x, y), abs=1)  # the pointer's place comes in whole pixels
    assert graph.page.evaluate("events.selected") == []


def test_hover_tells_the_full_label_and_a_click_selects(graph: Graph) -> None:
    graph.show(KERNEL)
    box = graph.box("PARAM data1")
    graph.page.mouse.move(*graph.at(box))
    tip = graph.page.locator(".graph-tip")
    tip.wait_for(state="visible")
    assert "ParamArg(1, float, device='NULL')" in tip.inner_text()
    graph.page.mouse.click(*graph.at(box))
    assert graph.page.evaluate("events.selected") == [box["key"]]
    assert graph.page.locator(".graph-text").inner_text().split() == ["PARAM", "data1", "float", "(65536)"]
    assert "Users: INDEX" in graph.page.locator(".graph-live").inner_text()
    graph.page.mouse.click(5, 5)
    assert graph.page.evaluate("events.selected") == [box["key"], None]


def test_the_text_of_a_box_is_in_its_place_as_soon_as_it_is_selected(graph: Graph) -> None:
    graph.show(KERNEL)
    box = graph.box("PARAM data1")
    middle = graph.page.evaluate(
        """key => {
          view.select(key);
          const r = document.querySelector('.graph-text').getBoundingClientRect();
          return [r.x + r.width / 2, r.y + r.height / 2];
        }""",
        box["key"],
    )
    assert middle == pytest.approx(graph.at(box), abs=4), "not in the corner, where it would take a click"


def test_the_selected_label_is_copied(graph: Graph) -> None:
    graph.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    graph.show(KERNEL)
    graph.page.mouse.click(*graph.at(graph.box("PARAM data1")))
    graph.page.keyboard.press("Control+c")
    text = graph.page.evaluate("navigator.clipboard.readText()")
    assert text.splitlines()[:2] == ["PARAM", "ParamArg(1, float, device='NULL')"]


def test_the_keyboard_walks_along_the_edges(graph: Graph) -> None:
    graph.show(KERNEL)
    graph.page.mouse.click(*graph.at(graph.box("STORE")))
    graph.page.keyboard.press("Shift+ArrowUp")
    up = graph.page.evaluate("events.selected.at(-1)")
    name = next(box["name"] for box in graph.boxes if box["key"] == up)
    assert name.split()[0] in {"ADD", "INDEX", "MUL"}
    graph.page.keyboard.press("Shift+ArrowDown")
    zoom = graph.camera["zoom"]
    graph.page.keyboard.press("+")
    assert graph.camera["zoom"] > zoom


def test_find_marks_counts_and_goes_to_the_next(graph: Graph) -> None:
    graph.show("schedule(300)")
    count = sum(box["name"].startswith("SQRT") for box in graph.boxes)
    assert graph.page.evaluate("view.find('sqrt')") == count > 1
    first = graph.camera
    assert graph.page.evaluate("view.find('sqrt')") == count
    assert graph.camera != first
    assert graph.page.evaluate("view.find('no such thing')") == 0


def test_switches_show_and_hide_and_keep_the_selected_box_in_place(graph: Graph) -> None:
    graph.show(KERNEL)
    box = graph.box("STORE")
    graph.page.mouse.click(*graph.at(box))
    at = graph.at(box)
    for name, appears in (("sink", "SINK"), ("constants", "CONST")):
        count = len(graph.boxes)
        graph.page.evaluate(f"view.toggle('{name}')")
        graph.until(f"() => view.boxes.length > {count}")
        assert graph.box(appears)
        moved = next(other for other in graph.boxes if other["key"] == box["key"])
        assert graph.at(moved) == pytest.approx(at, abs=0.01)
    graph.page.evaluate("view.toggle('indexing')")
    graph.until("() => !view.boxes.some(box => box.name.startsWith('RANGE'))")


def test_opening_a_block_keeps_it_in_place_and_a_call_opens_its_kernel(graph: Graph) -> None:
    graph.show("schedule(7000)")
    size = len(graph.boxes)
    box = graph.box("Block")
    graph.page.evaluate("([x, y]) => { view.camera = { x, y, zoom: 1 } }", [box["x"], box["y"]])
    graph.page.mouse.dblclick(*graph.at(box))
    graph.until(f"() => view.boxes.length > {size}")
    assert overlaps(graph.boxes) == []
    middle = graph.camera
    nearest = min(graph.boxes, key=lambda b: abs(b["x"] - middle["x"]) + abs(b["y"] - middle["y"]))
    assert (nearest["x"], nearest["y"]) == pytest.approx((middle["x"], middle["y"]), abs=0.01)

    graph.show("call()")
    graph.page.mouse.dblclick(*graph.at(graph.box("CALL")))
    assert len(graph.page.evaluate("events.opened")) == 1


def test_sources_fold_into_a_node_and_come_back(graph: Graph) -> None:
    graph.show(KERNEL)
    size = len(graph.boxes)
    box = graph.box("STORE")
    at = graph.at(box)
    graph.page.mouse.move(*at)
    graph.page.locator(".graph-tip button", has_text="Fold sources").click()
    graph.until(f"() => view.boxes.length < {size}")
    graph.page.mouse.move(1, 1)
    folded = next(other for other in graph.boxes if other["key"] == box["key"])
    assert graph.at(folded) == pytest.approx(at, abs=0.01)
    graph.page.mouse.dblclick(*graph.at(folded))
    graph.until(f"() => view.boxes.length === {size}")


def test_hostile_names_are_drawn_as_text(graph: Graph) -> None:
    graph.show("hostile()")
    assert overlaps(graph.boxes) == []
    for box in graph.boxes:
        assert box["width"] < 700
    graph.page.mouse.move(*graph.at(graph.boxes[0]))
    graph.page.locator(".graph-tip").wait_for(state="visible")
    assert graph.page.locator(".graph-tip img, .graph-tip script").count() == 0
    assert not graph.page.evaluate("'hacked' in window")


def test_pan_and_zoom_stay_smooth_on_ten_thousand_boxes(graph: Graph) -> None:
    """A loose bound for a busy machine; bench/web_graph.py measures."""
    graph.show("kernel(16, 16)")
    graph.until("() => view.boxes.length > 100")
    graph.page.evaluate("view.expandAll()")
    graph.until("() => view.boxes.length > 9000", 60)
    graph.page.evaluate("view.fit()")
    times = sorted(
        graph.page.evaluate("frames(60, i => { view.camera = {...view.camera, zoom: view.camera.zoom * 1.04} })")
    )
    assert times[len(times) // 2] < 200


PINCH = """([a, b, c]) => {
  const canvas = document.querySelector('canvas.graph-canvas');
  canvas.setPointerCapture = () => undefined;  // these fingers are not real ones
  const send = (type, id, [x, y]) => canvas.dispatchEvent(new PointerEvent(type,
    {pointerId: id, pointerType: 'touch', clientX: x, clientY: y, button: type === 'pointermove' ? -1 : 0,
     bubbles: true}));
  send('pointerdown', 1, a);
  send('pointerdown', 2, b);
  send('pointermove', 2, c);
  send('pointerup', 2, c);
  send('pointerup', 1, a);
}"""


def test_two_fingers_zoom_and_one_that_stays_is_no_click(graph: Graph) -> None:
    graph.show(KERNEL)
    box = graph.box("STORE")
    x, y = graph.at(box)
    before = graph.camera["zoom"]
    graph.page.evaluate(PINCH, [[x - 50, y], [x + 50, y], [x + 150, y]])
    assert graph.camera["zoom"] == pytest.approx(before * 2, rel=1e-6)
    # what was in the middle between the fingers is there again
    assert graph.at(box) == pytest.approx((x + 50, y), abs=0.01)
    assert graph.page.evaluate("events.selected") == []


def test_the_change_is_brought_into_view(graph: Graph) -> None:
    graph.show("kernel(4, 8)")
    assert graph.page.evaluate("view.showChange()") is False
    graph.show("rewrite(window.graph, 3)", "step")
    graph.page.evaluate("view.camera = {x: 90000, y: 90000, zoom: 1}")
    graph.page.locator(".graph-outside").wait_for(state="visible")
    assert graph.page.evaluate("view.showChange()") is True
    size = graph.page.viewport_size
    assert size is not None
    changed = [graph.at(box) for box in graph.boxes if box["state"]]
    assert any(0 < x < size["width"] and 0 < y < size["height"] for x, y in changed)
    graph.page.locator(".graph-outside").wait_for(state="hidden")


def test_the_map_moves_the_view(graph: Graph) -> None:
    graph.show("schedule(300)")
    box = graph.page.locator(".graph-map").bounding_box()
    assert box is not None
    before = graph.camera
    graph.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 12)
    graph.page.mouse.down()
    graph.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 30)
    graph.page.mouse.up()
    assert graph.camera["y"] < before["y"]
    assert graph.camera["zoom"] == before["zoom"]


def test_constants_open_at_one_node_which_stays_put(graph: Graph) -> None:
    graph.show(KERNEL)
    size = len(graph.boxes)
    box = next(box for box in graph.boxes if box["name"].startswith("MUL ×"))
    at = graph.at(box)
    graph.page.mouse.move(*at)
    graph.page.locator(".graph-tip button", has_text="Show constants").click()
    graph.until(f"() => view.boxes.length > {size}")
    opened = next(other for other in graph.boxes if other["key"] == box["key"])
    assert graph.at(opened) == pytest.approx(at, abs=0.01)
    assert any(other["name"].startswith("CONST") for other in graph.boxes)
    graph.page.mouse.move(1, 1)
    graph.page.mouse.move(*graph.at(opened))
    graph.page.locator(".graph-tip button", has_text="Fold constants").click()
    graph.until(f"() => view.boxes.length === {size}")


def test_the_text_of_a_box_can_be_selected_with_the_mouse(graph: Graph) -> None:
    graph.show(KERNEL)
    box = graph.box("PARAM data1")
    graph.page.mouse.click(*graph.at(box))
    x, y = graph.at(box)
    graph.page.mouse.dblclick(x - box["width"] / 2 * graph.camera["zoom"] + 24, y - 6)
    assert graph.page.evaluate("() => getSelection().toString().trim()") == "PARAM"
