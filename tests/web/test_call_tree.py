"""The Calls tab in a real browser: tree and flame graph, inverted, focus, ranges, search, links, keys alone, words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.writer import CaptureWriter

from .conftest import HOSTILE, Served, Shown, start

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

MS = 1_000_000
ROWS: list[tuple[int, int, int, str, int, str | None]] = [
    (0, 0, 100, "main", -1, '{"open":true}'),
    *(row for step in range(3) for row in [
        (0, 30 * step + 2, 28, "step", -1, json.dumps({"location": "/prog/train.py:35"})),
        (0, 30 * step + 3, 18, "compile", 0, json.dumps({"location": "/prog/uop/ops.py:12"})),
        (0, 30 * step + 4, 8, "rewrite", -1, json.dumps({"location": "/prog/uop/ops.py:90"})),
        (0, 30 * step + 5, 3, "rewrite", -1, json.dumps({"location": "/prog/uop/late.py:7"})),
        (0, 30 * step + 22, 6, "run", -1, None),
    ]),
    (1, 10, 20, "worker", -1, None), (1, 12, 5, HOSTILE, -1, None), (2, 0, 50, "kernel", -1, None),
]  # fmt: skip


def write(path: Path) -> Path:
    with CaptureWriter(path) as writer:
        names = {"id": [0, 1, 2], "name": ["MainThread", "Pool", "GPU"], "kind": ["thread", "thread", "device"]}
        writer.append("tracks", {**names, "order": [0, 1, 2]})
        track, start_, dur, name, context, args = zip(*ROWS, strict=True)
        times = {"start": [MS * at for at in start_], "dur": [MS * length for length in dur]}
        writer.append("slices", {"track": track, **times, "name": name, "context": context, "args": args})
        stack = json.dumps([["/prog/train.py", 35, "step", "loss.backward()"]])
        writer.append("contexts", {"id": [0], "name": ["compile"], "kind": ["kernel"], "stack": [stack]})
        code = {"context": [0], "step": [-1], "kind": ["source"], "language": ["c"], "name": ["compile"]}
        writer.append("artifacts", {**code, "content": [b"void kernel(float* a) {}"]})
    return path


@pytest.fixture(scope="module")
def calls_served(static: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    yield from start(create_app(Library([write(tmp_path_factory.mktemp("calls") / "calls.peep")]), static=static))


@pytest.fixture
def calls(page: Page, calls_served: Served) -> Shown:
    shown = Shown(page, calls_served)
    shown.open("#/calls/calls")
    return shown


def rows(page: Page) -> list[tuple[int, str, int, int]]:
    """Level, name, total and self in ms of the rows on the screen, from the top."""
    found: list[Any] = page.evaluate(
        """() => [...document.querySelectorAll('.call-list .crow')]
          .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
          .map(r => [+r.ariaLevel, r.dataset.name, +r.dataset.total / 1e6, +r.dataset.self / 1e6])"""
    )
    return [tuple(row) for row in found]


def selected(page: Page) -> str:
    return page.locator('.call-list [aria-selected="true"]').get_attribute("data-name") or ""


TREE = [
    (1, "main", 100, 16), (2, "step", 84, 12), (3, "compile", 54, 30), (4, "rewrite", 24, 15), (5, "rewrite", 9, 9),
    (3, "run", 18, 18),
]  # fmt: skip


def test_the_tree_says_total_and_self(calls: Shown) -> None:
    page = calls.page
    assert rows(page) == TREE
    assert page.locator(".tabs a").all_inner_texts()[:2] == ["Timeline", "Calls"]
    cells = page.locator(".call-list .crow").nth(2).inner_text().split("\n")
    assert cells[:6] == ["54.00 ms", "54.0", "30.00 ms", "30.0", "3", "▾"] and cells[-1] == "uop/ops.py:12"
    status = page.locator("footer, .status").first.inner_text()
    assert "16 slices on this thread" in status and "1 slice without end, to the end of the trace" in status


def test_a_click_selects_in_both_halves_and_a_double_click_focuses(calls: Shown) -> None:
    page = calls.page
    box = page.locator(".flame canvas").bounding_box()
    assert box is not None
    # third level of the flame graph: compile begins at the left, run stands behind it
    wide = box["width"] - 20
    x, y = box["x"] + 10 + wide * (54 + 9) / 100, box["y"] + 8 + 3 * 23 + 11
    page.mouse.click(x, y)
    calls.until("() => document.querySelector('.call-list [aria-selected=true]')?.dataset.name === 'run'")
    calls.wait_param("sel", "main/step/run")
    calls.page.wait_for_selector("aside[data-name=run]")
    page.mouse.dblclick(box["x"] + 40, y)
    calls.wait_param("focus", "main/step/compile")
    calls.until("() => document.querySelectorAll('.call-list .crow').length === 3")
    assert [row[:2] for row in rows(page)] == [(1, "compile"), (2, "rewrite"), (3, "rewrite")]
    crumbs = page.locator(".call-crumbs").inner_text().replace("\n", " ")
    assert "MainThread › main › step › compile" in crumbs and "54.00 ms of 100.0 ms" in crumbs
    page.get_by_role("button", name="step", exact=True).click()
    calls.wait_param("focus", "main/step")
    page.keyboard.press("Escape")
    calls.wait_param("focus", None)


def test_inverted_shows_functions_then_callers(calls: Shown) -> None:
    page = calls.page
    page.keyboard.press("i")
    calls.wait_param("mode", "inverted")
    calls.until("() => document.querySelector('section.view').dataset.shown.startsWith('inverted')")
    names = [(name, own) for level, name, _, own in rows(page) if level == 1]
    assert names == [("compile", 30), ("rewrite", 24), ("run", 18), ("main", 16), ("step", 12)]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    calls.until("""() => document.querySelectorAll('.call-list [aria-level="2"]').length > 0""")
    assert [(level, name, own) for level, name, _, own in rows(page)][1:4] == [
        (1, "rewrite", 24), (2, "compile", 15), (2, "rewrite", 9),
    ]  # fmt: skip
    calls.wait_param("open", "rewrite")


def test_a_filter_keeps_callers_and_what_is_called(calls: Shown) -> None:
    page = calls.page
    page.keyboard.press("f")
    page.keyboard.type("compile")
    calls.until("() => document.querySelectorAll('.call-list .crow').length === 5")
    assert rows(page) == [
        (1, "main", 54, 0), (2, "step", 54, 0), (3, "compile", 54, 30), (4, "rewrite", 24, 15), (5, "rewrite", 9, 9),
    ]  # fmt: skip
    page.keyboard.press("Control+A")
    page.keyboard.type("nonsense")
    page.wait_for_selector("text=No function fits “nonsense”.")
    page.keyboard.press("Escape")
    calls.until("() => document.querySelectorAll('.call-list .crow').length === 6")


def test_a_range_of_the_timeline_limits_it(calls: Shown) -> None:
    page = calls.page
    calls.open(f"#/calls/timeline?r0={32 * MS}&r1={62 * MS}")
    page.locator(".tl-calls").click()
    calls.wait_param("range", f"{32 * MS}-{62 * MS}")
    calls.until("() => document.querySelectorAll('.call-list .crow').length === 6")
    assert rows(page)[:2] == [(1, "main", 30, 2), (2, "step", 28, 4)]
    calls.open(f"#/calls/calls?thread=Pool&range={40 * MS}-{90 * MS}")
    page.wait_for_selector("text=No slices on this thread between 40.00 ms and 90.00 ms")
    page.get_by_role("button", name="Whole trace", exact=True).click()
    calls.until("() => document.querySelectorAll('.call-list .crow').length === 2")
    assert page.evaluate("window.hacked") is None and rows(page)[1][0] == 2


def test_places_of_one_name_are_kept_apart_when_asked(calls: Shown) -> None:
    page = calls.page
    page.get_by_role("button", name="By name").click()
    page.get_by_role("menuitemradio", name="Merge calls of one name and place").click()
    calls.wait_param("merge", "place")
    page.keyboard.press("i")
    calls.until("() => document.querySelector('section.view').dataset.shown.startsWith('inverted')")
    own = page.evaluate(
        """() => [...document.querySelectorAll('.call-list .crow[data-name=rewrite][aria-level="1"]')]
          .map(r => r.querySelector('.cp').textContent)"""
    )
    assert sorted(own) == ["uop/late.py:7", "uop/ops.py:90"]


def test_a_link_opens_the_same_picture(calls: Shown) -> None:
    page = calls.page
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    calls.wait_param("shut", "main/step/compile")
    page.keyboard.press("ArrowDown")
    calls.wait_param("sel", "main/step/run")
    expected, address = rows(page), page.evaluate("location.hash")
    assert len(expected) == 4
    calls.open(address)
    assert rows(page) == expected and selected(page) == "run"


def test_all_of_it_without_a_mouse(calls: Shown) -> None:
    """Find what takes most by itself, who calls it, its slices and its code."""
    page = calls.page
    page.keyboard.press("i")
    calls.until("() => document.querySelector('section.view').dataset.shown.startsWith('inverted')")
    assert selected(page) == "compile"
    calls.page.wait_for_selector("aside[data-name=compile]")
    side = page.locator("aside[data-name]").inner_text()
    assert "Callers" in side and "step" in side and "Longest of 3 slices" in side and "train.py:35" in side
    page.keyboard.press("t")
    calls.wait_param("find", "compile")
    page.go_back()
    page.wait_for_selector('.call-list [aria-selected="true"]')
    page.keyboard.press("c")
    calls.until("() => location.hash.includes('/code?context=0')")
    page.go_back()
    page.wait_for_selector('.call-list [aria-selected="true"]')
    page.keyboard.press("i")
    calls.until("() => document.querySelector('section.view').dataset.shown.startsWith('tree')")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    calls.wait_param("focus", "main/step")
    page.keyboard.press("Escape")
    calls.wait_param("focus", None)


def test_the_side_says_where_the_time_goes(calls: Shown) -> None:
    page = calls.page
    page.locator('.call-list [data-name="compile"]').click()
    calls.page.wait_for_selector("aside[data-name=compile]")
    parts = page.locator(".call-part").all_inner_texts()
    assert [part.split("\n")[0] for part in parts] == ["self", "rewrite", "step"]
    page.locator('.call-list [data-name="rewrite"]').first.click()
    calls.page.wait_for_selector("aside[data-name=rewrite]")
    text = page.locator("aside[data-name]").inner_text()
    assert "15.00 ms · 24.00 ms in all places" in text and "3 · 6 in all places" in text
    page.locator("a.call-slice").first.click()
    calls.until("() => location.hash.includes('/timeline?slice=')")


def test_top_has_self_time_where_slices_nest(calls: Shown) -> None:
    page = calls.page
    calls.open("#/calls/top?group=host")
    main = page.locator('.trow[data-name="main"]').inner_text().split("\n")
    assert "16.00 ms" in main and any(cell.strip() == "83.3%" for cell in main)  # of 100 ms here and 20 on the other
    calls.open("#/calls/top?group=host&tracks=0")
    assert "100.0%" in page.locator('.trow[data-name="main"]').inner_text()
    rewrite = page.locator('.trow[data-name="rewrite"]').inner_text().split("\n")
    assert rewrite.count("24.00 ms") == 2  # total and self: what lies within its like is not counted twice
    calls.open("#/calls/top?group=kernels")
    assert not page.locator(".thead .own").is_visible()


def test_a_tree_that_is_cut_says_at_which_depth(page: Page, static: Path, tmp_path: Path) -> None:
    levels = 32_010
    with CaptureWriter(tmp_path / "deep.peep") as writer:
        writer.append("tracks", {"id": [0], "name": ["deep"], "kind": ["thread"]})
        dur = [2 * levels - at for at in range(levels)]
        writer.append("slices", {"track": [0] * levels, "start": range(levels), "dur": dur, "name": ["f"] * levels})
    for served in start(create_app(Library([tmp_path / "deep.peep"]), static=static)):
        Shown(page, served).open("#/deep/calls")
        said = page.locator("footer", has_text="cut at depth 32,000: deeper calls stand at that depth")
        said.wait_for(timeout=60_000)
        page.goto("about:blank")
