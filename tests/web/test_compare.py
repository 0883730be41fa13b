"""Compare in a real browser: two recordings of a program, one of them without optimisations."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from peephole.server.app import create_app
from peephole.server.library import Library

from .conftest import PROGRAM, Served, Shown, start

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def pair_served(static: Path, recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("compared")
    (folder / "prog.py").write_text(PROGRAM)
    env = {**os.environ, "DEV": "NULL", "NOOPT": "1", "PEEPHOLE_DIR": str(folder), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "peephole", "run", "-o", str(folder / "other.peep"), "prog.py"]
    subprocess.run(command, cwd=folder, env=env, check=True, timeout=120, capture_output=True)
    yield from start(create_app(Library([recorded, folder / "other.peep"], named=2), static=static))


@pytest.fixture
def compare(page: Page, pair_served: Served) -> Shown:
    shown = Shown(page, pair_served)
    shown.open("#/small/compare")
    return shown


def paired(view: Shown) -> str:
    view.until("() => document.querySelector('aside.r .scroll')?.dataset.pair")
    return str(view.page.evaluate("() => document.querySelector('aside.r .scroll').dataset.pair"))


def test_two_captures_have_a_tab_and_an_address(compare: Shown) -> None:
    page = compare.page
    assert page.locator(".tabs a").first.inner_text() == "Compare"
    assert "changed of" in page.locator(".cmp-verdict .title").inner_text()
    assert "a=small" in page.url and "b=other" in page.url
    name = paired(compare)
    page.keyboard.press("n")
    compare.until("(name) => document.querySelector('aside.r .scroll').dataset.pair !== name", name)
    assert "kernel=" in page.url
    page.keyboard.press("x")
    compare.until("() => location.hash.includes('a=other')")
    assert "b=small" in page.url and "#/other/compare" in page.url


def test_a_pair_shows_code_passes_and_both_graphs(compare: Shown) -> None:
    page = compare.page
    paired(compare)
    assert page.locator(".prow.on").count() == 1
    assert page.locator(".halves .cl.d").count() > 0 and page.locator(".halves .cl.a").count() > 0
    compare.until("() => document.querySelectorAll('.graph-half svg').length === 2")
    boxes = """() => [...document.querySelectorAll('.graph-half')].map((half) =>
      Object.fromEntries([...half.querySelectorAll('.box')].filter((box) => !box.classList.contains('only-a')
        && !box.classList.contains('only-b')).map((box) => [box.querySelector('title').textContent
        + box.getAttribute('transform'), 1])))"""
    left, right = page.evaluate(boxes)
    assert left == right and left, "what both have stands at the same place"
    link = page.locator(".prow.on a").first.get_attribute("href") or ""
    assert link.startswith("#/small/rewrites?") and "step=" in link


@pytest.mark.parametrize("tab", ["graphs", "host", "rules", "passes", "timeline", "calls", "memory"])
def test_every_tab_shows_something(compare: Shown, tab: str) -> None:
    compare.open(f"#/small/compare?b=other&tab={tab}")
    wanted = {"graphs": ".cmp-large svg", "timeline": ".cmp-timelines[data-drawn]", "memory": ".curves"}
    compare.page.wait_for_selector(f".cmp-stage {wanted.get(tab, 'tbody tr')}")
    if tab == "timeline":
        before = compare.page.url
        compare.page.locator(".cmp-track canvas").first.hover()
        compare.page.mouse.wheel(0, -400)
        compare.until("(before) => location.href !== before && location.hash.includes('t=')", before)


def test_one_capture_has_no_tab_and_can_choose_another(page: Page, served: Served) -> None:
    shown = Shown(page, served)
    shown.open("")
    assert "Compare" not in page.locator(".tabs a").all_inner_texts()
    page.locator("button.cap").click()
    page.get_by_role("menuitem", name="Compare with another …").click()
    page.wait_for_selector(".cmp-choose a")
