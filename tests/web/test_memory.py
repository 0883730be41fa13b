"""The memory page in a real browser: what was written is what is drawn, listed and linked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from bench.generate import many_buffers
from tests.web.conftest import start

from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.writer import CaptureWriter

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
OUTPUT = Path(__file__).resolve().parent.parent.parent / "test-output"
ORIGIN = 7_000_000_000
MS = 1_000_000
MANY = 600_000


def write_training(path: Path) -> dict[int, dict[str, Any]]:
    """Two steps of training on two devices: weights that stay, activations that live until their backward kernel."""
    sizes = [524288, 393216, 262144, 131072, 65536, 524288, 262144, 32768]
    found: dict[int, dict[str, Any]] = {}
    slices: list[tuple[int, int, int, str, int]] = []
    uses: list[tuple[int, int, str, int]] = []

    def run(device: int, start: int, dur: int, name: str, touched: list[tuple[int, str]]) -> None:
        number = 1000 + len(slices)
        slices.append((device, start, dur, name, number))
        uses.extend((buffer, number, mode, position) for position, (buffer, mode) in enumerate(touched))

    def add(number: int, device: int, alloc: int, free: int, size: int, name: str | None = None) -> None:
        text = "CPU" if device == 0 else f"CPU:{device}"
        found[number] = {"device": text, "alloc": alloc, "free": free, "bytes": size, "name": name}

    for device in (0, 1):
        base = 1000 * device
        for i in range(38):
            add(base + i, device, ORIGIN + i * MS // 10, -1, sizes[i % 4] // (2 if device else 1), f"weight.{i}")
        for step in range(2):
            begin = ORIGIN + 10 * MS + step * 200 * MS
            layers = 14
            first = base + 100 + step * 100
            for i in range(layers):
                at = begin + i * 6 * MS
                back = begin + 180 * MS - i * 6 * MS
                add(first + i, device, at, back, sizes[(i * 3 + device) % 8], None)
                run(device, at + MS, 3 * MS, f"r_32_{16 * (i + 1)}_4_4", [(first + i, "write"), (base + i, "read")])
            for i in reversed(range(layers)):
                at = begin + 180 * MS - (i + 1) * 6 * MS
                add(first + 50 + i, device, at, at + 9 * MS, sizes[(i * 5 + 1) % 8], None)
                touched = [(first + 50 + i, "write"), (first + i, "read"), (base + i, "readwrite")]
                run(device, at + MS, 2 * MS, f"r_{i}_back_8_4", touched)
    with CaptureWriter(path) as writer:
        writer.describe(name=path.name, source="test", frameworks={"tinygrad": "0.14.0"})
        writer.append("tracks", {"id": [0, 1], "name": ["CPU", "CPU:1"], "kind": ["device"] * 2})
        columns = list(zip(*((n, *facts.values()) for n, facts in found.items()), strict=True))
        names = ("id", "device", "alloc", "free", "bytes", "name")
        kinds = {"dtype": ["float"] * len(found)}
        writer.append("buffers", {**dict(zip(names, columns, strict=True)), **kinds})
        columns = list(zip(*slices, strict=True))
        writer.append("slices", dict(zip(("track", "start", "dur", "name", "correlation"), columns, strict=True)))
        columns = list(zip(*uses, strict=True))
        writer.append("uses", dict(zip(("buffer", "slice", "mode", "position"), columns, strict=True)))
    return found


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, dict[str, Any]]]:
    path = tmp_path_factory.mktemp("memory") / "train.peep"
    return path, write_training(path)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "many.peep"
    many_buffers(path, MANY)
    return path


@pytest.fixture(scope="module")
def address(static: Path, training: tuple[Path, Any], many: Path) -> Iterator[str]:
    for served in start(create_app(Library([training[0], many]), static=static)):
        yield served.address


def shown(page: Page, device: str) -> None:
    page.wait_for_selector(f'section.view[data-shown="memory/{device}"]', timeout=60_000)


def stage(page: Page, script: str, arg: Any = None) -> Any:
    """The value of a script in which `s` is the stage and `a` an argument."""
    return page.evaluate(
        f"a => {{ const s = document.querySelector('.mem-canvas').memoryStage; return {script}; }}", arg
    )


def middle_of(page: Page, buffer: int) -> tuple[float, float]:
    box = stage(page, "s.boxOf(a)", buffer)
    assert box is not None, f"b{buffer} has no band"
    place = page.locator(".mem-canvas").bounding_box()
    assert place is not None
    return place["x"] + box["x"] + box["w"] / 2, place["y"] + box["y"] + box["h"] / 2


def held(found: dict[int, dict[str, Any]], device: str, time: int) -> list[int]:
    rows = [
        n
        for n, b in found.items()
        if b["device"] == device and b["alloc"] <= time < (b["free"] if b["free"] >= 0 else 1 << 62)
    ]
    return sorted(rows, key=lambda n: (-found[n]["bytes"], n))


def test_devices_peak_and_bands_are_what_was_written(page: Page, address: str, training: tuple[Path, Any]) -> None:
    _, found = training
    page.goto(f"{address}#/train/memory")
    shown(page, "CPU")
    assert page.locator(".mem-device").count() == 2
    own = [b for b in found.values() if b["device"] == "CPU"]
    moments = sorted({b["alloc"] for b in own})
    totals = [sum(found[n]["bytes"] for n in held(found, "CPU", t)) for t in moments]
    peak = max(totals)
    assert stage(page, "s.picture.peak") == peak
    assert stage(page, "s.picture.peakTime") == moments[totals.index(peak)] - ORIGIN
    assert f"{peak / 1e6:.2f} MB" in page.locator(".mem-device").first.inner_text()
    # every buffer has a band of its own but the first weight, which lives from the first moment to the last
    bands = stage(
        page,
        "({...Object.fromEntries(['id', 'bytes', 'alloc'].map(name => [name, [...s.picture.bands[name]]])), "
        "low: [...s.picture.plan.low], free: [...s.picture.bands.free].map(f => isFinite(f) ? f : -1)})",
    )
    assert set(bands["id"]) == {n for n, b in found.items() if b["device"] == "CPU" and b["alloc"] > ORIGIN}
    for number, size, alloc, free in zip(bands["id"], bands["bytes"], bands["alloc"], bands["free"], strict=True):
        wanted = found[number]
        assert (size, alloc + ORIGIN) == (wanted["bytes"], wanted["alloc"])
        assert (free + ORIGIN if free >= 0 else -1) == wanted["free"]
    # none overlap: what lives at one time stands apart
    rows = list(
        zip(bands["low"], bands["bytes"], bands["alloc"], [f if f >= 0 else 1e18 for f in bands["free"]], strict=True)
    )
    for i, (low, size, alloc, free) in enumerate(rows):
        for other_low, other_size, other_alloc, other_free in rows[:i]:
            if alloc < other_free and other_alloc < free:
                assert low + size <= other_low or other_low + other_size <= low
    # the bytes of the total at the peak's pixel
    assert stage(page, "Math.max(...s.picture.data.total.high)") == peak


def test_a_buffer_has_its_facts_and_links(page: Page, address: str, training: tuple[Path, Any]) -> None:
    _, found = training
    page.goto(f"{address}#/train/memory")
    shown(page, "CPU")
    page.mouse.click(*middle_of(page, 102))
    page.wait_for_selector('aside.r[data-buffer="102"]')
    buffer = found[102]
    right = page.locator("aside.r")
    assert right.locator("[data-bytes]").get_attribute("data-bytes") == str(buffer["bytes"])
    times = [int(t.get_attribute("data-ns") or 0) for t in right.locator(".mem-facts [data-ns]").all()]
    assert times == [buffer["alloc"] - ORIGIN, buffer["free"] - ORIGIN]
    assert f"{buffer['bytes'] // 4:,} × float" in right.inner_text()
    assert right.locator(".producer .mem-use").text_content() == "23.0 msr_32_48_4_4write@0"
    assert right.locator(".readers .mem-use").text_content() == "173.0 msr_2_back_8_4read@1"
    # written from 23 to 26 ms, read again at 173 ms
    assert right.locator(".mem-idle").get_attribute("data-ns") == str(147 * MS)
    assert "buffer=102" in page.evaluate("location.hash") and "time=" in page.evaluate("location.hash")
    page.locator('.mem-row[aria-selected="true"][data-buffer="102"]').wait_for()
    page.reload()
    page.wait_for_selector('aside.r[data-buffer="102"]')
    page.locator(".readers a").click()
    page.wait_for_selector("aside.r .tl-title")
    assert page.locator("aside.r .tl-title").inner_text() == "r_2_back_8_4"
    page.go_back()
    page.wait_for_selector('aside.r[data-buffer="102"]')


def test_alive_at_a_moment_largest_first(page: Page, address: str, training: tuple[Path, Any]) -> None:
    _, found = training
    time = 150 * MS
    page.goto(f"{address}#/train/memory?device=CPU:1&time={time}")
    shown(page, "CPU:1")
    page.wait_for_selector(f'aside.l[data-alive="{time}"]')
    wanted = held(found, "CPU:1", ORIGIN + time)
    rows = [int(row.get_attribute("data-buffer") or -1) for row in page.locator(".mem-row").all()]
    assert rows == wanted[: len(rows)] and len(rows) > 10
    assert page.locator(".mem-at .chip").inner_text() == str(len(wanted))
    total = sum(found[n]["bytes"] for n in wanted)
    assert stage(page, "s.picture.cursor.total") == total


def test_what_was_alive_can_be_filtered(page: Page, address: str, training: tuple[Path, Any]) -> None:
    _, found = training
    page.goto(f"{address}#/train/memory?device=CPU:1&time={150 * MS}")
    shown(page, "CPU:1")
    wanted = held(found, "CPU:1", ORIGIN + 150 * MS)
    page.wait_for_selector(f'aside.l[data-alive="{150 * MS}"]')
    page.keyboard.press("f")
    page.keyboard.type(f"b{wanted[3]}")
    page.locator(".mem-at .chip", has_text=f"1 of {len(wanted)}").wait_for()
    assert page.locator(".mem-row").count() == 1
    page.wait_for_url(lambda url: f"q=b{wanted[3]}" in url)  # the address follows the typing
    page.reload()
    page.locator(".mem-at .chip", has_text=f"1 of {len(wanted)}").wait_for()
    page.locator(".mem-row").click()
    page.wait_for_selector(f'aside.r[data-buffer="{wanted[3]}"]')
    page.keyboard.press("f")
    page.keyboard.type("nothing is called so")
    page.get_by_text("Nothing alive here matches").wait_for()


def test_small_buffers_are_one_band_until_they_are_shown(page: Page, address: str) -> None:
    page.goto(f"{address}#/many/memory?t0={5000 * MS}&t1={5100 * MS}")
    shown(page, "GPU")
    page.wait_for_selector(".mem-small")
    small = stage(page, "s.picture.plan.small.length")
    least = stage(page, "0.5 / ((s.size.height - 14 - 230) / s.picture.plan.height)")
    assert small > 10 and stage(page, "s.picture.plan.small.every(i => s.picture.bands.bytes[i] < a)", 3 * least)
    assert page.locator(".mem-small").inner_text().startswith(f"{small:,} buffers of up to")
    page.get_by_text("show", exact=True).click()
    page.wait_for_url("**small=1**")
    page.get_by_text("draw as one").wait_for()
    assert stage(page, "s.picture.plan.small.length") == 0
    page.get_by_text("draw as one").click()
    page.locator(".mem-small", has_text="buffers of up to").wait_for()
    assert stage(page, "s.picture.plan.small.length") == small


def test_zoom_fold_pan_and_keys(page: Page, address: str, training: tuple[Path, Any]) -> None:
    _, found = training
    page.goto(f"{address}#/train/memory?device=CPU&t0={80 * MS}&t1={100 * MS}")
    shown(page, "CPU")
    low, high = ORIGIN + 80 * MS, ORIGIN + 100 * MS
    own = [b for b in found.values() if b["device"] == "CPU"]
    folded = [b for b in own if b["alloc"] <= low and (b["free"] < 0 or b["free"] >= high)]
    script = "[s.picture.data.folded + s.picture.plan.folded, s.picture.data.foldedBytes + s.picture.plan.foldedBytes]"
    assert stage(page, script) == [len(folded), sum(b["bytes"] for b in folded)]
    assert stage(page, "s.boxOf(100)") is None and stage(page, "s.boxOf(113)") is not None
    box = page.locator(".mem-canvas").bounding_box()
    assert box is not None
    x = box["x"] + 700
    before = stage(page, "s.timeAt(700)")
    page.mouse.move(x, box["y"] + 400)
    page.mouse.wheel(0, -300)
    after = stage(page, "s.timeAt(700)")
    assert abs(after - before) < 2 and stage(page, "s.span.t1 - s.span.t0") < 15 * MS
    start = stage(page, "s.span.t0")
    page.mouse.down()
    page.mouse.move(x - 100, box["y"] + 400, steps=4)
    page.mouse.up()
    assert stage(page, "s.span.t0") > start
    page.wait_for_url(lambda url: f"t0={80 * MS}&" not in url and "t0=" in url)
    length = stage(page, "s.span.t1 - s.span.t0")
    page.keyboard.press("w")
    assert stage(page, "s.span.t1 - s.span.t0") < length
    start = stage(page, "s.span.t0")
    page.keyboard.press("a")
    assert stage(page, "s.span.t0") < start
    page.keyboard.press(" ")
    page.wait_for_url(lambda url: "t0=" not in url)
    page.keyboard.press("p")
    page.wait_for_url("**time=**")
    page.goto(f"{address}#/train/memory?device=CPU&buffer=103")
    page.wait_for_selector('aside.r[data-buffer="103"]')
    page.keyboard.press("ArrowRight")
    page.wait_for_selector('aside.r[data-buffer="104"]')
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector('aside.r[data-buffer="103"]')
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "buffer=" not in url)


def test_a_link_with_a_buffer_alone_finds_its_device(page: Page, address: str) -> None:
    page.goto(f"{address}#/train/memory?buffer=1105")
    shown(page, "CPU:1")
    page.wait_for_selector('aside.r[data-buffer="1105"]')
    assert page.locator('.mem-device[aria-selected="true"]').get_attribute("data-device") == "CPU:1"
    page.goto("about:blank")
    page.goto(f"{address}#/train/memory?device=CPU&show=total")
    shown(page, "CPU")
    assert stage(page, "s.picture.buffers") is False


def test_a_cache_that_is_written_in_parts_is_not_said_to_end_with_each_write(
    page: Page, static: Path, tmp_path: Path
) -> None:
    path = tmp_path / "cache.peep"
    with CaptureWriter(path) as writer:
        writer.append("tracks", {"id": [0], "name": ["CPU"], "kind": ["device"]})
        buffer = {"id": [1], "device": ["CPU"], "alloc": [5], "free": [-1], "bytes": [256], "dtype": ["float"]}
        writer.append("buffers", buffer)
        rows = {"start": [10, 20, 30], "dur": [5] * 3, "name": ["fill", "row", "row"], "correlation": [1, 2, 3]}
        writer.append("slices", {"track": [0] * 3, **rows})
        writer.append("uses", {"buffer": [1] * 3, "slice": [1, 2, 3], "mode": ["write"] * 3, "position": [0] * 3})
    for served in start(create_app(Library([path]), static=static)):
        page.goto(f"{served.address}#/cache/memory?buffer=1")
        said = page.locator(".mem-reused")
        said.wait_for()
        assert said.inner_text() == "Written 3 times: a write replaces what was there, or a part of it."
        assert page.locator(".writers .mem-use").count() == 2


def test_names_are_data(page: Page, static: Path, tmp_path: Path, hostile_name: str) -> None:
    path = tmp_path / "odd.peep"
    with CaptureWriter(path) as writer:
        columns = {
            "id": [1, 2],
            "alloc": [5, 10],
            "free": [50, -1],
            "bytes": [100, 1 << 60],
            "device": [hostile_name, None],
        }
        writer.append("buffers", {**columns, "dtype": [hostile_name] * 2, "name": [hostile_name, "x" * 10_000]})
        slices = {"track": [0], "depth": [0], "start": [20], "dur": [5], "name": [hostile_name], "correlation": [1]}
        writer.append("slices", slices)
        writer.append("uses", {"buffer": [1], "slice": [1], "mode": [hostile_name], "position": [0]})
    for served in start(create_app(Library([path]), static=static)):
        page.goto(f"{served.address}#/odd/memory?buffer=1")
        page.wait_for_selector('aside.r[data-buffer="1"]')
        page.wait_for_selector("section.view[data-shown]")
        page.wait_for_selector(".mem-row")
        page.locator(".mem-device").nth(1).click()
        page.wait_for_selector("section.view[data-shown='memory/']")
        page.locator('.mem-row[data-buffer="2"]').click()
        page.wait_for_selector('aside.r[data-buffer="2"]')
        assert page.evaluate("window.hacked") is None


def test_many_allocations(page: Page, address: str, many: Path) -> None:
    page.goto(f"{address}#/many/memory")
    shown(page, "GPU")
    assert stage(page, "s.picture.bands.id.length") == 4000
    left = stage(page, "s.picture.data.left")
    assert left > MANY - 4100
    assert f"{left:,} smaller buffers not drawn" in page.locator("footer, .status").first.inner_text()
    page.goto("about:blank")
    page.goto(f"{address}#/many/memory?t0={5000 * MS}&t1={5010 * MS}")
    shown(page, "GPU")
    assert stage(page, "s.picture.data.left") == 0 and stage(page, "s.picture.bands.id.length") > 500


@pytest.mark.parametrize(("size", "width", "height"), [("1600", 1600, 900), ("1000", 1000, 700)])
def test_pictures(page: Page, address: str, size: str, width: int, height: int) -> None:
    OUTPUT.mkdir(exist_ok=True)
    page.set_viewport_size({"width": width, "height": height})
    for theme in ("dark", "light"):
        page.emulate_media(color_scheme=theme)
        page.goto("about:blank")
        page.goto(f"{address}#/train/memory?device=CPU&t0={10 * MS}&t1={200 * MS}&buffer=103&time={88 * MS}")
        shown(page, "CPU")
        page.wait_for_selector('aside.r[data-buffer="103"]')
        page.locator('.mem-row[aria-selected="true"]').wait_for()
        assert len(page.screenshot(path=OUTPUT / f"memory-{theme}-{size}.png")) > 20_000
    page.goto("about:blank")
    page.goto(f"{address}#/many/memory?t0={5000 * MS}&t1={5030 * MS}")
    shown(page, "GPU")
    page.wait_for_selector("aside.l[data-alive]")
    assert len(page.screenshot(path=OUTPUT / f"memory-many-{size}.png")) > 20_000
    page.keyboard.press(" ")
    page.wait_for_url(lambda url: "t0=" not in url)
    page.wait_for_selector(".mem-left")
    assert len(page.screenshot(path=OUTPUT / f"memory-whole-{size}.png")) > 20_000


GROWING = """
import time
from peephole.record import active
one = active.recorder
for number in range(100_000):
    now = one.clock()
    one.row("buffers", id=number, device="GPU", alloc=now, bytes=1000 + number, dtype="float")
    if number >= 5:
        one.free(number - 5, now)
    time.sleep(0.02)
"""


def test_a_live_capture_grows(page: Page, static: Path, tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(GROWING)
    path = tmp_path / "growing.peep"
    command = [sys.executable, "-m", "peephole", "run", "-o", str(path), "prog.py"]
    env = {**os.environ, "PEEPHOLE_DIR": str(tmp_path)}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=tmp_path, env=env, **quiet) as child:  # type: ignore[call-overload]
        try:
            end = time.monotonic() + 90
            while not (path / "journal").is_dir() or not list((path / "journal").rglob("*.seg")):
                assert time.monotonic() < end, "the program never began to record"
                time.sleep(0.05)
            time.sleep(1.5)
            for served in start(create_app(Library([path]), static=static)):
                page.goto(f"{served.address}#/growing/memory")
                shown(page, "GPU")
                first = stage(page, "[s.whole, s.picture.bands.id.length]")
                end = time.monotonic() + 90
                while stage(page, "[s.whole, s.picture.bands.id.length]")[1] <= first[1]:
                    assert time.monotonic() < end, "the page never showed more"
                    time.sleep(0.1)
                assert stage(page, "s.whole") > first[0]
                page.goto("about:blank")  # a page of a live capture asks on; the server is about to stop
        finally:
            child.send_signal(signal.SIGINT)  # which its program gets too; a kill would leave that behind
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                child.kill()
