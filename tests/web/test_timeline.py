"""The timeline and Top pages in a real browser: a small, a tinygrad, a large and a growing capture."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from tests.timeline_capture import KERNELS, MS, STEPS, write_timeline

from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.capture import open_capture
from peephole.store.sql import run_sql
from peephole.store.writer import CaptureWriter

from .conftest import OUTPUT, ROOT, Served, Shown, start

if TYPE_CHECKING:
    from playwright.sync_api import Page

SLICES = 1_000_000

GROWING = """
import time, peephole
for step in range(10_000):
    with peephole.span(f"step {step % 7}"):
        time.sleep(0.005)
"""


@pytest.fixture(scope="session")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_timeline(tmp_path_factory.mktemp("steps") / "steps.peep")


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """About a million slices on 65 tracks, as a recorder would leave them, sealed by opening."""
    path = tmp_path_factory.mktemp("large") / "large.peep"
    command = [sys.executable, str(ROOT / "bench" / "generate.py"), str(path), "--slices", str(SLICES), "--seal"]
    subprocess.run(command, check=True, timeout=240, capture_output=True)
    return path


@pytest.fixture(scope="session")
def timeline_served(static: Path, steps: Path, recorded: Path, large: Path) -> Iterator[Served]:
    yield from start(create_app(Library([steps, recorded, large]), static=static))


class Timeline(Shown):
    """What the tests do with the timeline."""

    def stage(self, script: str, arg: object = None) -> Any:
        return self.page.evaluate(f"arg => {{ const s = document.querySelector('.tl').timeline; {script} }}", arg)

    def at(self, track: int, depth: int, when: float) -> tuple[float, float]:
        """Where a time of a lane is on the screen."""
        box = self.page.locator(".tl-rows").bounding_box()
        assert box is not None
        place = self.stage(
            "const p = s.layout.places.get(arg[0] + ':' + arg[1]);"
            "return [(arg[2] - s.span.t0) / (s.span.t1 - s.span.t0) * s.width,"
            " p.row.y + p.lane.y + p.lane.h / 2 - s.scroll]",
            [track, depth, when],
        )
        return box["x"] + place[0], box["y"] + place[1]

    def wait_slice(self, name: str) -> None:
        """Waits until the details of a slice of that name, with its links, are shown."""
        self.until(
            "name => document.querySelector('.tl-title')?.textContent === name"
            " && document.querySelector('.pane.r').dataset.slice?.endsWith('/links')",
            name,
        )

    def wait_span(self, t0: float, t1: float) -> None:
        self.until(
            "([a, b]) => { const s = document.querySelector('.tl').timeline.span;"
            " return Math.abs(s.t0 - a) < 2 + (b - a) / 50 && Math.abs(s.t1 - b) < 2 + (b - a) / 50 }",
            [t0, t1],
        )

    @property
    def detail(self) -> str:
        return self.page.locator("[aria-label='Focused slice']").inner_text()


@pytest.fixture
def timeline(page: Page, timeline_served: Served) -> Timeline:
    return Timeline(page, timeline_served)


def test_the_whole_trace_its_tracks_and_totals(timeline: Timeline, steps: Path) -> None:
    timeline.open("#/steps/timeline")
    heads = timeline.page.locator(".hd .tl-name").all_inner_texts()
    assert heads == ["USER", "TINY", "CPU", "CPU:1", "watts", "CPU", "CPU:1"]
    timeline.page.wait_for_selector(".krow")
    found = {row.get_attribute("data-track"): row for row in timeline.page.locator(".brow").all()}
    capture = open_capture(steps)
    sql = "SELECT track, sum(dur), count(*) FROM slices WHERE track IN (3, 4) GROUP BY track ORDER BY track"
    for track, busy, count in run_sql(capture, sql).rows:
        assert found[str(track)].get_attribute("data-busy") == str(int(busy))
        assert found[str(track)].get_attribute("data-count") == str(count)
    totals = [int(row.get_attribute("data-total") or 0) for row in timeline.page.locator(".krow").all()]
    sql = "SELECT sum(dur) FROM slices WHERE track IN (3, 4) GROUP BY name ORDER BY 1 DESC"
    assert totals == [int(row[0]) for row in run_sql(capture, sql).rows]
    assert f"{capture.count('slices')} slices" in timeline.page.locator(".status").inner_text()


def test_click_a_slice_read_its_details_walk_and_go_back(timeline: Timeline) -> None:
    timeline.open("#/steps/timeline")
    timeline.page.mouse.click(*timeline.at(3, 0, 63 * MS))
    timeline.wait_slice(KERNELS[0])
    text = timeline.detail
    assert "6.00 ms · #3 of 6 on CPU" in text
    assert "60.000 ms" in text
    assert "1.36 TFLOPS · 160.00 MB/s" in text
    assert "train.py:35" in text
    assert timeline.page.locator(".tl-buffers td:nth-child(3)").all_inner_texts() == ["write", "read"]
    assert "787.7 kB" in text
    assert f"All {2 * STEPS} runs" in text
    first = timeline.param("slice")
    assert "r_16_32" in timeline.page.locator(".spoken").inner_text()
    timeline.page.keyboard.press("ArrowRight")
    timeline.wait_slice(KERNELS[1])
    assert "Flows" in timeline.detail
    assert timeline.stage("return s.flows.length") == 1
    timeline.page.keyboard.press("ArrowLeft")
    timeline.wait_slice(KERNELS[0])
    assert timeline.param("slice") == first
    timeline.page.keyboard.press("Escape")
    timeline.wait_param("slice", None)
    timeline.page.mouse.click(*timeline.at(4, 0, 69 * MS))
    timeline.wait_slice(KERNELS[1])
    timeline.page.go_back()
    timeline.wait_param("slice", None)


def test_wheel_zooms_at_the_pointer_and_drag_pans(timeline: Timeline) -> None:
    timeline.open("#/steps/timeline")
    x, y = (round(value) for value in timeline.at(3, 0, 63 * MS))
    begin = timeline.at(3, 0, 0)[0]
    when = (x - begin) / (timeline.at(3, 0, MS)[0] - begin) * MS
    timeline.page.mouse.move(x, y)
    for _ in range(5):
        timeline.page.mouse.wheel(0, -300)
    timeline.until("() => { const s = document.querySelector('.tl').timeline.span; return s.t1 - s.t0 < 4e7 }")
    assert timeline.at(3, 0, when)[0] == pytest.approx(x, abs=0.5)
    before = timeline.stage("return [s.span.t0, s.span.t1, s.width]")
    timeline.page.mouse.move(x, y)
    timeline.page.mouse.down()
    timeline.page.mouse.move(x + 100, y, steps=4)
    timeline.page.mouse.up()
    moved = (before[1] - before[0]) / before[2] * 100
    timeline.wait_span(before[0] - moved, before[1] - moved)
    assert timeline.param("slice") is None  # a drag is no click
    timeline.until("() => /t0=/.test(location.hash)")
    timeline.page.keyboard.press(" ")
    timeline.wait_param("t0", None)


def test_a_range_has_its_own_figures_and_survives_a_reload(timeline: Timeline, steps: Path) -> None:
    timeline.open("#/steps/timeline?t0=0&t1=40000000")
    timeline.page.keyboard.down("Shift")
    a, b = timeline.at(3, 0, 5 * MS), timeline.at(3, 0, 15 * MS)
    timeline.page.mouse.move(*a)
    timeline.page.mouse.down()
    timeline.page.mouse.move(*b, steps=5)
    timeline.page.mouse.up()
    timeline.page.keyboard.up("Shift")
    timeline.page.wait_for_selector(".bar b:text('Selected range')")
    low, high = (int(timeline.param(name) or -1) for name in ("r0", "r1"))
    assert [low, high] == pytest.approx([5 * MS, 15 * MS], abs=40_000)
    capture = open_capture(steps)
    origin = capture.span()[0]
    sql = (
        f"SELECT sum(least(start + dur, {origin + high}) - greatest(start, {origin + low})), count(*) FROM slices "
        f"WHERE track = 3 AND start < {origin + high} AND start + dur > {origin + low}"
    )
    busy, count = next(iter(run_sql(capture, sql).rows))
    selector = f".brow[data-track='3'][data-busy='{int(busy)}'][data-count='{count}']"
    timeline.page.wait_for_selector(selector)
    timeline.page.reload()
    timeline.page.wait_for_selector(selector)
    timeline.wait_span(0, 40 * MS)
    timeline.page.keyboard.press("z")
    timeline.wait_span(low - 0.05 * (high - low), high + 0.05 * (high - low))
    timeline.page.keyboard.press("Escape")
    timeline.wait_param("r0", None)


def test_search_finds_slices_in_the_whole_trace_and_steps(timeline: Timeline) -> None:
    timeline.open("#/steps/timeline?t0=0&t1=1000000")
    timeline.page.keyboard.press("f")
    timeline.page.keyboard.type("linearize")
    timeline.page.wait_for_selector(f".hits:has-text('{STEPS} slices')")
    timeline.page.keyboard.press("Enter")
    timeline.wait_slice("linearize/render")
    assert "4.000 ms" in timeline.detail
    timeline.page.keyboard.press("Enter")
    timeline.until("() => /24.000 ms/.test(document.querySelector('[aria-label=\"Focused slice\"]').innerText)")
    timeline.page.wait_for_selector(f".hits:has-text('2 of {STEPS}')")
    timeline.page.keyboard.press("Escape")  # empties the field
    timeline.wait_param("find", None)
    timeline.page.locator(".tl-find input").fill("linearise/rendor")
    timeline.page.wait_for_selector(".hits:has-text('Nothing is named')")
    timeline.page.click(".hits .link:has-text('linearize/render')")
    timeline.page.wait_for_selector(f".hits:has-text('{STEPS}')")


def test_filter_fold_and_pin_tracks(timeline: Timeline) -> None:
    timeline.open("#/steps/timeline")
    timeline.page.locator(".tl-find input").fill("tiny")
    timeline.until("() => document.querySelectorAll('.hd .tl-name').length === 1")
    timeline.page.click(".status .link")
    timeline.until("() => document.querySelectorAll('.hd .tl-name').length === 7")
    timeline.page.click(".tl-fold:has-text('Host')")
    timeline.until("() => document.querySelectorAll('.hd .tl-name').length === 5")
    timeline.page.hover(".hd:has-text('watts')")
    timeline.page.click(".hd:has-text('watts') .tl-pin")
    timeline.until("() => document.querySelectorAll('.hd')[0]?.textContent.includes('Pinned')")
    timeline.wait_param("pin", "t:7")
    timeline.page.reload()
    timeline.until("() => document.querySelectorAll('.hd')[1]?.textContent.includes('watts')")


def test_gaps_longest_first_lead_to_their_place(timeline: Timeline) -> None:
    timeline.open("#/steps/timeline")
    timeline.page.click("text=Idle gaps")
    timeline.page.locator(".gap").first.click()
    timeline.until("() => /r0=/.test(location.hash)")
    low, high = (int(timeline.param(name) or -1) for name in ("r0", "r1"))
    assert high - low == pytest.approx(20 * MS - 13 * MS - 39 * 20_000 - 12_000, abs=2000)


def test_double_click_opens_the_code(timeline: Timeline) -> None:
    timeline.open("#/steps/timeline")
    timeline.page.mouse.dblclick(*timeline.at(3, 0, 63 * MS))
    timeline.until("() => /#.steps.code\\?context=0/.test(location.hash)")
    timeline.page.go_back()
    timeline.until("() => /timeline/.test(location.hash)")


def test_hover_tells_the_full_name(timeline: Timeline) -> None:
    timeline.open("#/steps/timeline")
    timeline.page.mouse.move(*timeline.at(3, 0, 63 * MS))
    timeline.page.wait_for_selector(f".tooltip:visible:has-text('{KERNELS[0]}')")
    assert "6.00 ms" in timeline.page.locator(".tooltip:visible").inner_text()


def test_the_picture_has_the_colours_of_what_ran(timeline: Timeline) -> None:
    """Pixels at a wide slice, at merged ones, and at idle time."""
    timeline.open("#/steps/timeline")
    pixel = (
        "([x, y]) => { const c = document.querySelector('.tl-rows'), b = c.getBoundingClientRect();"
        " return [...c.getContext('2d').getImageData(Math.round(x - b.left), Math.round(y - b.top), 1, 1).data] }"
    )
    colour = timeline.page.evaluate(
        "() => { const d = document.createElement('canvas').getContext('2d');"
        " d.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--cat-5'); d.fillRect(0, 0, 1, 1);"
        " return [...d.getImageData(0, 0, 1, 1).data] }"
    )
    x, y = timeline.at(3, 0, 65 * MS)
    assert timeline.page.evaluate(pixel, [x, y + 9]) == colour
    ground = timeline.page.evaluate(pixel, list(timeline.at(3, 0, 78.7 * MS)))
    merged = timeline.page.evaluate(pixel, list(timeline.at(3, 0, 73.4 * MS)))
    assert merged != ground
    assert max(ground[:3]) < 60


PIXELS = """([lane]) => {
  const s = document.querySelector('.tl').timeline, canvas = document.querySelector('.tl-rows');
  const place = s.layout.places.get(lane), y = Math.round(place.row.y + place.lane.y - s.scroll) + place.lane.h - 2;
  const row = new Uint32Array(canvas.getContext('2d').getImageData(0, y, canvas.width, 1).data.buffer);
  const {bg, grid} = s.theme.pixels;
  return {t0: s.span.t0, t1: s.span.t1, drawn: [...row].map(p => p !== bg && p !== grid)};
}"""


@pytest.mark.parametrize("share", [1.0, 0.11, 0.013, 0.0007])
def test_the_picture_is_truthful_at_every_zoom(timeline: Timeline, large: Path, share: float) -> None:
    """Column by column: where something ran there is colour, where nothing ran there is none."""
    capture = open_capture(large)
    origin, last = capture.span()
    begin = int((last - origin) * 0.35 * (share < 1))
    end = begin + int((last - origin) * share)
    timeline.open(f"#/large/timeline?shut=g:Host&t0={begin}&t1={end}")
    timeline.until("() => !document.querySelector('.tl').timeline.source.waiting")
    for lane in ("0:0", "1:0"):
        track = int(lane[0])
        found = timeline.page.evaluate(PIXELS, [lane])
        t0, scale = found["t0"], len(found["drawn"]) / (found["t1"] - found["t0"])
        frame, _ = capture.slices(track, 0, origin + int(t0), origin + int(found["t1"]) + 1)
        x0 = (frame["start"] - origin - t0) * scale
        x1 = x0 + frame["dur"] * scale
        wide = len(found["drawn"])
        busy = np.zeros(wide + 8, np.int64)
        np.add.at(busy, np.clip(np.floor(x0).astype(int), 0, wide), 1)
        np.add.at(busy, np.clip(np.ceil(x1).astype(int), 1, wide + 1), -1)
        ran = np.cumsum(busy)[:wide] > 0
        drawn = np.array(found["drawn"])
        # a bucket may be two pixels wide, and its edge need not be a pixel's
        near = np.convolve(ran, np.ones(7), "same") > 0
        assert not (drawn & ~near).any()
        # a pixel is left free after a slice, so that two of them are two
        assert not (ran & ~(np.convolve(drawn, np.ones(5), "same") > 0)).any()
        assert ran.any()


def test_a_tinygrad_run(timeline: Timeline, recorded: Path) -> None:
    timeline.open("#/small/timeline")
    capture = open_capture(recorded)
    tracks = capture.read("tracks", ["id", "name", "kind"])
    heads = timeline.page.locator(".hd .tl-name").all_inner_texts()
    assert "TINY" in heads
    assert any(
        name in heads for name, kind in zip(tracks.texts("name"), tracks.texts("kind"), strict=True) if kind == "device"
    )
    timeline.page.keyboard.press("f")
    timeline.page.keyboard.type("r_")
    timeline.page.wait_for_selector(".hits .btn")
    timeline.page.keyboard.press("Enter")
    timeline.page.wait_for_selector("[aria-label='Focused slice'] a.btn:has-text('Code')")
    timeline.page.click("[aria-label='Focused slice'] a.btn:has-text('Code')")
    timeline.page.wait_for_selector("section.view[data-shown$='/source']")


def test_top_equals_sql_sorts_filters_and_leads_on(timeline: Timeline, steps: Path) -> None:
    timeline.open("#/steps/top")
    capture = open_capture(steps)
    sql = "SELECT name, sum(dur), count(*) FROM slices WHERE track IN (3, 4) GROUP BY name ORDER BY 2 DESC"
    rows = timeline.page.locator(".vlist .trow").all()
    found = [tuple(row.get_attribute(f"data-{name}") for name in ("name", "total", "runs")) for row in rows]
    assert found == [(name, str(int(total)), str(runs)) for name, total, runs in run_sql(capture, sql).rows]
    timeline.page.click(".thead button:has-text('Runs')")
    timeline.until("name => document.querySelector('.vlist .trow').dataset.name === name", KERNELS[2])
    timeline.page.keyboard.press("f")
    timeline.page.keyboard.type("r_16_32")
    timeline.until("() => document.querySelectorAll('.vlist .trow').length === 1")
    timeline.wait_param("q", "r_16_32")
    timeline.page.reload()
    timeline.until("() => document.querySelectorAll('.vlist .trow').length === 1")
    timeline.page.wait_for_selector(".top-runs a")
    assert "6 on each of 2 devices" in timeline.page.locator(".pane.r").inner_text()
    timeline.page.locator(".top-runs a").first.click()
    timeline.wait_slice(KERNELS[0])
    assert "longest of 6 on" in timeline.detail
    timeline.page.go_back()
    timeline.page.wait_for_selector(".trow")
    timeline.page.click(".seg button:has-text('Copies')")
    timeline.page.wait_for_selector(".vlist .trow[data-name='copy']")


def test_a_million_slices_zoom_to_a_known_one(timeline: Timeline, large: Path) -> None:
    capture = open_capture(large)
    origin = capture.span()[0]
    where = "dur > 100000 AND correlation > 0"
    sql = f"SELECT track, start, dur, name FROM slices WHERE {where} ORDER BY start LIMIT 1 OFFSET 1000"
    track, begin, dur, name = next(iter(run_sql(capture, sql).rows))
    at = int(begin) - origin
    timeline.open("#/large/timeline")
    timeline.page.mouse.move(60, 500)
    timeline.page.mouse.wheel(0, 300)  # over the names the wheel scrolls
    timeline.until("() => /y=300/.test(location.hash)")
    timeline.page.reload()
    timeline.until("() => document.querySelector('.tl')?.timeline.scroll === 300")
    timeline.open("#/large/timeline?shut=g:Host")
    assert timeline.stage("return s.layout.rows.length") > 10
    x, y = timeline.at(track, 0, at + dur / 2)
    timeline.page.mouse.move(x, y)
    for _ in range(40):
        timeline.page.mouse.wheel(0, -400)
        if timeline.stage("return s.span.t1 - s.span.t0") < dur * 8:
            break
    timeline.until("() => !document.querySelector('.tl').timeline.source.waiting")
    timeline.until("() => document.querySelector('section.view').dataset.shown.split('/')[0] > 0")
    timeline.page.mouse.click(*timeline.at(track, 0, at + dur / 2))
    timeline.wait_slice(name)
    assert timeline.page.locator(".tl-duration").get_attribute("data-ns") == str(dur)
    heap = timeline.page.evaluate("performance.memory.usedJSHeapSize") / 1e6
    assert heap < 120


def test_live_follows_the_end_until_the_user_moves(page: Page, static: Path, tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(GROWING)
    path = tmp_path / "growing.peep"
    command = [sys.executable, "-m", "peephole", "run", "-o", str(path), "prog.py"]
    env = {**os.environ, "PEEPHOLE_DIR": str(tmp_path)}
    with subprocess.Popen(
        command, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as child:
        try:
            end = time.monotonic() + 90
            while not (path / "journal").is_dir() or not list((path / "journal").rglob("*.seg")):
                assert time.monotonic() < end, "the program never began to record"
                time.sleep(0.05)
            time.sleep(1.0)
            for served in start(create_app(Library([path]), static=static)):
                shown = Timeline(page, served)
                shown.open("#/growing/timeline")
                page.wait_for_selector(".status:has-text('following the end')")
                first = shown.stage("return [s.whole, s.span.t1]")
                grown = "s.whole > old && s.span.t1 >= s.whole"
                shown.until(
                    f"old => {{ const s = document.querySelector('.tl').timeline; return {grown} }}", first[0], 20
                )
                page.keyboard.press("w")
                page.keyboard.press("a")
                page.wait_for_selector(".status:has-text('following the end is off')")
                kept = shown.stage("return [s.whole, s.span.t0, s.span.t1]")
                shown.until("old => document.querySelector('.tl').timeline.whole > old", kept[0], 20)
                assert shown.stage("return [s.span.t0, s.span.t1]") == pytest.approx(kept[1:], abs=2)
                page.click(".status .endkey")
                shown.until(
                    "() => { const s = document.querySelector('.tl').timeline; return s.span.t1 >= s.whole * 0.999 }"
                )
                assert "off" not in page.locator(".status").inner_text()
                child.send_signal(signal.SIGINT)
                child.wait(20)
                page.wait_for_selector(".status .live:not(.on)", timeout=60_000)
                page.goto("about:blank")  # nothing is asked of a server that has gone
        finally:
            if child.poll() is None:
                child.kill()


def test_names_are_data(page: Page, static: Path, tmp_path: Path, hostile_name: str) -> None:
    """Slices, tracks, markers, buffers and args that are attacks, and ten thousand tracks."""
    path = tmp_path / "hostile.peep"
    number = 10_050
    with CaptureWriter(path) as writer:
        kinds = ["device", "user", "counter"] + ["thread"] * (number - 3)
        writer.append("tracks", {"id": list(range(number)), "name": [hostile_name] * number, "kind": kinds})
        slices = {"track": [0, 1, *range(3, number)], "depth": [0] * (number - 1), "dur": [1000] * (number - 1)}
        more = {
            "start": [5] * (number - 1),
            "name": [hostile_name] * (number - 1),
            "correlation": [1] + [0] * (number - 2),
        }
        args = [json.dumps({hostile_name: hostile_name, "location": hostile_name})] + [None] * (number - 2)
        writer.append("slices", {**slices, **more, "args": args})
        writer.append(
            "markers", {"time": [100], "name": [hostile_name], "kind": ["marker"], "colour": ["red;x:url(y)"]}
        )
        writer.append("counters", {"track": [2], "time": [0], "value": [float("nan")]})
        buffer = {
            "id": [1],
            "device": [hostile_name],
            "alloc": [0],
            "free": [-1],
            "bytes": [5],
            "dtype": [hostile_name],
        }
        writer.append("buffers", {**buffer, "name": [hostile_name]})
        writer.append("uses", {"buffer": [1], "slice": [1], "mode": [hostile_name], "position": [0]})
    for served in start(create_app(Library([path]), static=static)):
        shown = Timeline(page, served)
        shown.open("#/hostile/timeline?slice=0")
        page.wait_for_selector(".tl-buffers")
        page.wait_for_selector(".krow")
        page.mouse.move(*shown.at(0, 0, 500))
        page.wait_for_selector(".tooltip:visible")
        assert "tracks hidden" in page.locator(".status").inner_text()
        assert page.evaluate("window.hacked") is None
        assert page.locator("img").count() == 0
        shown.open("#/hostile/top")
        page.wait_for_selector(".top-runs")
        assert page.evaluate("window.hacked") is None
        page.goto("about:blank")


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize(("width", "height"), [(1600, 900), (1000, 700)])
def test_pictures(timeline: Timeline, theme: Literal["dark", "light"], width: int, height: int) -> None:
    OUTPUT.mkdir(exist_ok=True)
    timeline.page.set_viewport_size({"width": width, "height": height})
    timeline.page.emulate_media(color_scheme=theme)
    timeline.open("#/steps/timeline?t0=52000000&t1=93000000&r0=60000000&r1=72000000")
    timeline.page.mouse.click(*timeline.at(3, 0, 69 * MS))
    timeline.wait_slice(KERNELS[1])
    timeline.page.wait_for_selector(".krow")
    timeline.page.mouse.move(5, 5)
    timeline.page.screenshot(path=OUTPUT / f"timeline-{theme}-{width}.png")
    # nothing is cut at the sides, no bar scrolls
    wide = timeline.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]
    timeline.open("#/steps/top")
    timeline.page.wait_for_selector(".top-runs")
    timeline.page.screenshot(path=OUTPUT / f"top-{theme}-{width}.png")
    assert json.loads(timeline.page.evaluate("JSON.stringify(document.querySelectorAll('.trow').length)")) > 3
