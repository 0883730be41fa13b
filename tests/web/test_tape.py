"""The tab Messages in a real browser, on tapes that the test writes and on real ones where they are present."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from peephole.ingest import import_files
from peephole.query.tape.tape import tape
from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.capture import open_capture

from .tape_texts import EVIL, HEADER, crowd_text, tape_text
from .test_narrow import SIDE_CUT

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parent.parent.parent


def module(path: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture(scope="module")
def tapes(tmp_path_factory: pytest.TempPathFactory, tape_line: Any) -> list[Path]:
    folder = tmp_path_factory.mktemp("tapes")
    texts = {
        "small": tape_text(tape_line, 8),
        "many": tape_text(tape_line, 12_000),
        "runs": tape_text(tape_line, 3) + tape_text(tape_line, 6),
        "header": HEADER,
        "crowd": crowd_text(tape_line),
    }
    for name, text in texts.items():
        (folder / f"{name}.log").write_text(text)
    found = [import_files([folder / f"{name}.log"], folder / f"{name}.peep") for name in texts]
    real = ROOT.parent / "shared" / "fixtures" / "gt"
    for one in ("03_manual_4w_sharded_signals", "05_two_clients_2w_train", "10_long_4w_6000iters"):
        if (real / f"{one}.log").exists():
            found.append(import_files([real / f"{one}.log"], folder / f"{one[:2]}.peep"))
    return found


@pytest.fixture(scope="module")
def address(static: Path, tapes: list[Path]) -> Iterator[str]:
    conftest = module(Path(__file__).with_name("conftest.py"), "web_conftest_tape")
    for served in conftest.start(create_app(Library(tapes), static=static)):
        yield served.address


@pytest.fixture(scope="module")
def cluster(static: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A real Dask program, recorded and served."""
    pytest.importorskip("distributed")
    path = tmp_path_factory.mktemp("cluster") / "dask.peep"
    subprocess.run(
        [sys.executable, "-m", "peephole", "run", "--no-view", "-o", str(path), str(ROOT / "examples/dask_matmul.py")],
        check=True,
        capture_output=True,
        timeout=240,
    )
    conftest = module(Path(__file__).with_name("conftest.py"), "web_conftest_cluster")
    for served in conftest.start(create_app(Library([path]), static=static)):
        yield served.address, path


def open_tape(page: Page, address: str, place: str) -> None:
    page.goto("about:blank")
    page.goto(f"{address}#/{place}")
    page.wait_for_selector("section.view[data-shown]")


def shown(page: Page) -> tuple[int, int, int, int]:
    """Run, selected message, marks and events in columns that are on the screen."""
    text = str(page.evaluate("document.querySelector('section.view').dataset.shown"))
    run, seq, marks, columns = text.split("/")[:4]
    return int(run), int(seq or 0), int(marks), int(columns)


def until(page: Page, what: Any, seconds: float = 30) -> None:
    """Waits for the page; its policy forbids the eval that Playwright's own waiting needs."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, (what, page.url, shown(page))
        time.sleep(0.02)


def param(page: Page, name: str) -> str | None:
    found: str | None = page.evaluate("n => new URLSearchParams(location.hash.split('?')[1] ?? '').get(n)", name)
    return found


def colour_count(page: Page, wanted: tuple[int, int, int], near: int = 14) -> int:
    """How many pixels of the drawing have about that colour."""
    count: int = page.evaluate(
        """([r, g, b, near]) => {
          const c = document.querySelector('.tp-canvas');
          const data = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
          let n = 0;
          for (let i = 0; i < data.length; i += 4)
            if ([r, g, b].every((wanted, k) => Math.abs(data[i + k] - wanted) < near)) n++;
          return n;
        }""",
        [*wanted, near],
    )
    return count


def test_lanes_marks_signals_and_figures(page: Page, address: str) -> None:
    open_tape(page, address, "small/messages")
    assert page.locator(".tabs [aria-current]").inner_text() == "Messages"
    heads = page.locator(".tp-hd b").all_inner_texts()
    assert heads == ["Client", "Dispatcher", "w0", "w1"]
    assert page.locator(".tp-hd", has_text="Signals").count() == 1
    # 8 commands of 5 events; the registrations before them are folded, signals are lines
    assert shown(page)[2:] == (40, 0)
    assert colour_count(page, (0xD6, 0x27, 0x28)) > 60, "matmul is red"
    assert colour_count(page, (0x1F, 0x6F, 0xB5)) > 40, "add is blue"
    page.get_by_role("button", name="Signals").click()
    until(page, lambda: param(page, "show") == "flows")
    side = page.locator(".tp-side").inner_text()
    for words in ("Balance", "Bytes per pair", "Longest waits", "Workers", "Not understood", "does not tell"):
        assert words in side, words
    assert "this line says nothing" in side
    status = page.locator("footer.status").inner_text()
    assert "folded" in status and "not understood" in status


def test_selection_walks_and_is_in_the_address(page: Page, address: str) -> None:
    open_tape(page, address, "small/messages")
    page.locator(".tp-canvas").focus()
    page.keyboard.press("Enter")
    until(page, lambda: shown(page)[1] == 5)
    page.keyboard.press("ArrowRight")
    until(page, lambda: shown(page)[1] == 6)
    page.keyboard.press("ArrowRight")
    until(page, lambda: shown(page)[1] == 7)
    page.keyboard.press("ArrowLeft")
    until(page, lambda: shown(page)[1] == 6)
    until(page, lambda: param(page, "ev") == "6")
    page.locator(".tp-row", has_text="WORKER_SEND").first.click()
    until(page, lambda: shown(page)[1] == 7)
    side = page.locator(".tp-side .kv").inner_text()
    assert "Dispatcher → w0" in side and "#8 matmul" in side and "order known, time not" in side
    page.locator(".tp-side .kv .link", has_text="#8").click()
    until(page, lambda: shown(page)[1] == 8)
    page.go_back()
    until(page, lambda: shown(page)[1] == 7)
    page.reload()
    page.wait_for_selector('.tp-row[aria-selected="true"]')
    until(page, lambda: shown(page)[1] == 7)
    page.keyboard.press("Escape")
    until(page, lambda: shown(page)[1] == 0)


def test_click_selects_a_mark(page: Page, address: str) -> None:
    open_tape(page, address, "small/messages?ev=7")
    until(page, lambda: shown(page)[1] == 7)
    at = page.evaluate(
        """() => {
          // the outline of the selected mark is the brightest thing of the lanes
          const c = document.querySelector('.tp-canvas'), g = c.getContext('2d'), r = c.getBoundingClientRect();
          const d = g.getImageData(0, 0, c.width, c.height).data;
          let n = 0, x = 0, y = 0;
          for (let i = 0; i < d.length; i += 4)
            if (d[i] > 215 && d[i + 1] > 215 && d[i + 2] > 215) {
              n++;
              x += i / 4 % c.width;
              y += Math.floor(i / 4 / c.width);
            }
          return [r.left + x / n * r.width / c.width, r.top + y / n * r.height / c.height, n];
        }"""
    )
    assert at[2] > 10
    page.keyboard.press("Escape")
    until(page, lambda: shown(page)[1] == 0)
    page.mouse.click(at[0], at[1])
    until(page, lambda: shown(page)[1] == 7)
    page.mouse.move(at[0], at[1] + 1)
    tooltip = page.locator(".tooltip:visible")
    tooltip.wait_for()
    assert "#7 matmul" in tooltip.inner_text()


def test_zoom_keeps_the_time_under_the_pointer(page: Page, address: str) -> None:
    open_tape(page, address, "many/messages")
    assert shown(page)[2] < 100 and shown(page)[3] > 50_000
    box = page.locator(".tp-canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 200)
    page.mouse.wheel(0, -800)
    until(page, lambda: param(page, "t0") is not None)

    def window() -> tuple[int, int]:
        """The window once the address has stopped changing: it is written a few times a second."""
        found = (0, 0)
        while (now := (int(param(page, "t0") or 0), int(param(page, "t1") or 0))) != found:
            found = now
            time.sleep(0.2)
        return found

    t0, t1 = window()
    first, last = 2.0e9 - 0.02 * 12.001e9, 14.001e9 + 0.02 * 12.001e9
    under = first + (last - first) * 0.25
    assert abs((t0 + (t1 - t0) * 0.25) - under) < 0.01 * (t1 - t0)
    for _ in range(5):
        page.mouse.wheel(0, -800)
    until(page, lambda: shown(page)[3] == 0 and shown(page)[2] > 20)
    before = window()
    page.keyboard.press("d")
    until(page, lambda: window()[0] > before[0])
    page.keyboard.press("a")
    page.keyboard.press("s")
    until(page, lambda: window()[1] - window()[0] > 1.2 * (before[1] - before[0]))
    here = window()
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 200, steps=4)
    page.mouse.up()
    until(page, lambda: window()[0] < here[0])
    page.keyboard.press(" ")
    until(page, lambda: param(page, "t0") is None and shown(page)[3] > 50_000)


def test_the_list_follows_the_window(page: Page, address: str) -> None:
    open_tape(page, address, "many/messages?t0=8000000000&t1=8040000000")
    page.locator(".tp-row", has_text="8.000").first.wait_for()
    page.locator(".vlist .tp-row", has_text="RECV").first.click()
    until(page, lambda: shown(page)[1] > 25_000)


def test_a_range_is_selected_by_shift_and_drag(page: Page, address: str, tapes: list[Path]) -> None:
    open_tape(page, address, "many/messages")
    box = page.locator(".tp-canvas").bounding_box()
    assert box is not None

    def pull(start: float, end: float, shift: bool) -> None:
        if shift:
            page.keyboard.down("Shift")
        page.mouse.move(box["x"] + start, box["y"] + 120)
        page.mouse.down()
        page.mouse.move(box["x"] + end, box["y"] + 140, steps=5)
        page.mouse.up()
        if shift:
            page.keyboard.up("Shift")

    def span() -> tuple[int, int]:
        return int(param(page, "r0") or 0), int(param(page, "r1") or 0)

    whole = shown(page)[2:]
    pull(box["width"] * 0.25, box["width"] * 0.5, True)
    until(page, lambda: param(page, "r1") is not None)
    r0, r1 = span()
    # the window is the whole tape and 2% on both sides, and does not move
    first, length = 2.0e9 - 0.02 * 12.001e9, 12.001e9 * 1.04
    assert abs(r0 - (first + 0.25 * length)) < 0.005 * length
    assert abs(r1 - (first + 0.50 * length)) < 0.005 * length
    assert param(page, "t0") is None and shown(page)[2:] == whole
    page.locator(".tp-range").wait_for()
    t = tape(open_capture(next(path for path in tapes if path.stem == "many")))
    inside = (t.time >= r0) & (t.time <= r1)
    figures = page.locator(".tp-range").inner_text()
    assert f"{int(inside.sum()):,}" in figures
    for lane, name in enumerate(("Client", "Dispatcher", "w0", "w1")):
        told = page.locator(".tp-range .tp-pair", has_text=name).first.inner_text()
        assert f"{int((inside & (t.lane == lane)).sum()):,}" in told, told
    # the list begins with the range, what is before it is faint
    row = page.locator(".vlist .tp-row:not(.out)").first
    row.wait_for()
    at = float(row.locator(".num").nth(1).inner_text()) * 1e9
    assert r0 - 1e6 <= at <= r0 + 20e6
    # an edge can be pulled, the other one stays
    pull((r1 - first) / length * box["width"], box["width"] * 0.75, False)
    until(page, lambda: span()[1] > r1 + 0.2 * length)
    assert span()[0] == r0
    page.keyboard.press("z")
    until(page, lambda: param(page, "t0") is not None and abs(int(param(page, "t0") or 0) - r0) < 0.05 * length)
    page.keyboard.press("Escape")
    until(page, lambda: param(page, "r0") is None)
    assert page.locator(".tp-range").count() == 0
    # the address alone selects too
    page.goto(f"{address}#/small/messages?r0=2000000000&r1=2001000000")
    page.locator(".tp-range").wait_for()
    assert "1.00 ms" in page.locator(".tp-range").inner_text()


def window_of(status: str) -> str:
    """What the status bar says of the window: "657.8 ms"."""
    return next(line for line in status.split("\n") if line.startswith("window ")).removeprefix("window ")


def test_a_fine_clock(page: Page, cluster: tuple[str, Path]) -> None:
    """A recorded Dask cluster tells microseconds: they are listed, and one can go as near."""
    address, path = cluster
    t = tape(open_capture(path))
    open_tape(page, address, "dask/messages")
    heads = page.locator(".tp-hd b").all_inner_texts()
    assert heads[:2] == ["Client", "Dispatcher"]
    assert heads[2:] == [f"worker-{i}" for i in range(4)]
    chosen = int(np.flatnonzero(t.is_event("COMPUTE"))[3])
    seq, time_ns, dur = int(t.seq[chosen]), int(t.time[chosen]), int(t.dur[chosen])
    page.goto(f"{address}#/dask/messages?ev={seq}")
    until(page, lambda: shown(page)[1] == seq)
    row = page.locator('.tp-row[aria-selected="true"]')
    row.wait_for()
    assert row.locator(".num").nth(1).inner_text() == f"{time_ns / 1e9:.6f}"
    fields = page.locator(".tp-side .kv").inner_text()
    assert "COMPUTE on worker-" in fields and "Duration" in fields
    assert "in this millisecond" not in fields
    # a window of half its length around its begin shows it alone on its lane
    status = page.locator("footer.status")
    fitted = window_of(status.inner_text())
    page.goto(f"{address}#/dask/messages?ev={seq}&t0={time_ns - 20_000}&t1={time_ns + max(20_000, dur // 2)}")
    until(page, lambda: window_of(status.inner_text()) != fitted)
    until(page, lambda: shown(page)[1] == seq and 0 < shown(page)[2] < len(t) and shown(page)[3] == 0)
    assert window_of(status.inner_text()).endswith("µs") or dur > 1_900_000
    assert t.resolution <= 1000
    page.set_viewport_size({"width": 1600, "height": 900})
    (ROOT / "test-output").mkdir(exist_ok=True)
    page.screenshot(path=ROOT / "test-output" / "messages-dask-near.png")


def test_filter_by_operation_and_worker(page: Page, address: str) -> None:
    open_tape(page, address, "small/messages")
    page.locator(".tp-canvas").focus()
    page.keyboard.press("f")
    page.keyboard.type("matmul")
    until(page, lambda: param(page, "q") == "matmul" and shown(page)[2] == 10)
    assert "hidden by the filter" in page.locator("footer.status").inner_text()
    page.get_by_label("Filter ops and lanes").fill("w1")
    until(page, lambda: page.locator(".tp-hd b").all_inner_texts() == ["Client", "Dispatcher", "w1"])
    page.get_by_label("Filter ops and lanes").fill("nonsense")
    page.get_by_text("Nothing is named nonsense").wait_for()
    page.get_by_label("Filter ops and lanes").fill("")
    until(page, lambda: shown(page)[2] == 40)


def test_idle_time_unfolds(page: Page, address: str) -> None:
    open_tape(page, address, "small/messages")
    page.get_by_role("button", name="unfold").click()
    until(page, lambda: param(page, "fold") == "0" and sum(shown(page)[2:]) >= 42)
    page.get_by_role("button", name="fold", exact=True).click()
    until(page, lambda: param(page, "fold") is None and shown(page)[2] == 40)
    # a message of the folded time unfolds it
    page.goto(f"{address}#/small/messages?ev=1")
    until(page, lambda: param(page, "fold") == "0" and shown(page)[1] == 1)


def test_runs_of_one_file(page: Page, address: str) -> None:
    open_tape(page, address, "runs/messages")
    assert shown(page)[0] == 2
    page.get_by_label("Run", exact=True).select_option("1")
    until(page, lambda: shown(page)[0] == 1 and param(page, "run") == "1")
    assert "run 1 of 2" in page.locator("footer.status").inner_text()


def test_names_are_data(page: Page, address: str) -> None:
    open_tape(page, address, "small/messages?q=relu")
    page.locator(".tp-row", has_text="<img").first.click()
    page.locator(".tp-side dd", has_text=EVIL).wait_for()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0


def test_arrows_of_a_crowd_are_their_ends_and_the_page_says_so(page: Page, address: str) -> None:
    open_tape(page, address, "crowd/messages")
    status = page.locator("footer, .status").first
    status.get_by_text("ends of arrows only").wait_for()
    open_tape(page, address, "small/messages")
    assert "ends of arrows only" not in status.inner_text()


def test_a_worker_that_came_late_is_judged_over_its_own_time(page: Page, address: str) -> None:
    open_tape(page, address, "crowd/messages?q=w39")
    page.get_by_text("28 more").first.click()
    row = page.locator(".tp-pair.four", has_text="w39")
    assert row.inner_text().split()[:2] == ["w39", "*"]
    assert page.locator(".tp-pair.four", has_text="*").count() == 1
    page.get_by_text("* came later or left earlier: of the time it was there").wait_for()
    row.hover()
    page.get_by_text("of the time it was there (from 3.000 s)").wait_for()


def test_a_tape_without_events_says_what_to_check(page: Page, address: str) -> None:
    page.goto(f"{address}#/header")
    page.get_by_role("heading", name="No events").wait_for()
    said = page.locator(".layer").inner_text()
    assert "Check that GT_INSTRUCTION_LOG was set" in said
    assert "`" not in said  # marks of a terminal's text are none of a page's


def test_a_capture_without_a_tape_has_no_such_tab(view: Any) -> None:
    view.open("#/small/rewrites")
    assert "Messages" not in view.page.locator(".tabs").inner_text()


@pytest.mark.parametrize("name", ["03", "05", "10"])
def test_pictures_of_real_tapes(page: Page, address: str, tapes: list[Path], name: str) -> None:
    if not any(path.name == f"{name}.peep" for path in tapes):
        pytest.skip("needs ../shared/fixtures/gt, which is not part of the repository")
    folder = ROOT / "test-output"
    folder.mkdir(exist_ok=True)
    for width, height in ((1600, 900), (1000, 700)):
        page.set_viewport_size({"width": width, "height": height})
        for theme in ("dark", "light"):
            page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            open_tape(page, address, f"{name}/messages" + ("?ev=159" if name == "03" else ""))
            page.locator(".tp-row .num", has_text=".").first.wait_for()
            data = page.screenshot(path=folder / f"messages-{name}-{theme}-{width}.png")
            assert len(data) > 40_000
            assert colour_count(page, (0x2C, 0xA0, 0x2C)) > 100, "unary operations are green"


def test_the_side_is_whole_in_a_small_window(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 800, "height": 450})
    page.goto(f"{address}#/small/messages")
    page.locator(".tp-pair.four").first.wait_for()
    # as wide as the figures of a long tape are
    page.evaluate(
        """() => document.querySelectorAll('.tp-pair.four').forEach(row =>
          ['5,402', '0.1% to 60%', '100%'].forEach((text, at) => { row.children[at + 1].textContent = text; }))"""
    )
    assert page.evaluate(SIDE_CUT) == []
    names = page.locator(".tp-pair.four .name").evaluate_all("all => all.map(e => [e.scrollWidth, e.clientWidth])")
    assert names and all(wanted <= there for wanted, there in names)


def test_ranks_without_steps_have_an_empty_state_and_no_buttons(page: Page, address: str) -> None:
    open_tape(page, address, "small/ranks")
    words = page.get_by_text("No slice of these ranks is a training step")
    frame, box = page.locator("section.view").bounding_box(), words.bounding_box()
    assert frame is not None and box is not None
    assert box["y"] + box["height"] < frame["y"] + frame["height"] and box["y"] > frame["y"] + frame["height"] / 5
    assert page.locator("section.view .bar:visible").count() == 0
    assert "1 runs" not in page.locator("footer.status").inner_text()


def test_figures_of_workers_stand_apart_in_a_small_window(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 800, "height": 450})
    open_tape(page, address, "small/messages")
    for row in page.locator(".tp-pair.four").all():
        cells = row.evaluate(
            """row => [...row.children].filter(cell => cell.checkVisibility()).map(cell => {
              const range = document.createRange();
              range.selectNodeContents(cell);
              const ink = range.getBoundingClientRect(), box = cell.getBoundingClientRect();
              return cell.classList.contains('ell') ? [box.left, box.right] : [ink.left, ink.right];
            })"""
        )
        assert all(left[1] <= right[0] for left, right in pairwise(cells)), cells
