"""Find the rule, find the slowest kernel, why are these two: each from begin to end with keys alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.kernels_of_one_name import FIRST_RUN, LAST_END, NAME, write_kernels

from peephole.server.app import create_app
from peephole.server.library import Library

from .conftest import Served, Shown, start
from .test_rewrites import api

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def alike(static: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = write_kernels(tmp_path_factory.mktemp("alike") / "alike.peep")
    yield from start(create_app(Library([path]), static=static))


def test_find_the_rule(rewrites: Shown) -> None:
    """From a node in the graph to the match and the rule that touched it."""
    steps = api(rewrites.served, "steps")
    step = max(zip(steps["matches"], steps["id"], strict=True))[1]
    rewrites.open(f"#/small/rewrites?step={step}")
    rewrites.wait_shown(f"{step}/0")
    graph = api(rewrites.served, f"steps/{step}/graph?match=1")
    op = graph["ops"][graph["op"][graph["changed"][0]]] if graph["changed"] else graph["removed"][0]["op"]
    page = rewrites.page
    page.keyboard.press("Control+f")
    page.keyboard.type(f"op:{op}")
    page.keyboard.press("Enter")
    rewrites.until("() => location.hash.includes('node=')")
    page.keyboard.press("Escape")
    rewrites.until("() => document.activeElement === document.body || document.activeElement.tagName !== 'INPUT'")
    page.keyboard.press("n")
    shown = rewrites.wait_other(f"{step}/0")
    page.wait_for_selector(".rule .hit, .rule .l")
    assert int(shown.split("/")[1]) > 0


def test_find_the_slowest_kernel(page: Page, alike: Served) -> None:
    shown = Shown(page, alike)
    shown.open("#/alike/top")
    page.keyboard.press("Enter")  # the first row is the one that took most
    page.get_by_text("1 of 4").wait_for()
    assert (shown.param("find") or "") == NAME
    page.wait_for_selector("[data-slice]")
    # the range of this run, and then up to the next one
    first = (page.locator("[data-slice]").first.get_attribute("data-slice") or "").split("/")[0]
    page.keyboard.press("r")
    shown.until("() => location.hash.includes('r0=')")
    before = int(shown.param("r1") or 0)
    page.keyboard.press("n")
    page.get_by_text("2 of 4").wait_for()
    shown.until("old => document.querySelector('[data-slice]')?.dataset.slice.split('/')[0] !== old", first)
    page.keyboard.press("Shift+R")
    shown.until("old => Number(new URLSearchParams(location.hash.split('?')[1]).get('r1')) > old", before)
    assert int(shown.param("r0") or 0) == FIRST_RUN and int(shown.param("r1") or 0) < LAST_END


def test_why_are_these_two(rewrites: Shown) -> None:
    rewrites.open("#/small/schedule")
    page = rewrites.page
    rows = page.locator(".tree .row")
    rewrites.until("() => document.querySelectorAll('.tree .row').length > 3")
    while rewrites.param("a") is None:
        page.keyboard.press("ArrowDown")
        page.wait_for_timeout(50)
    a = int(rewrites.param("a") or -1)
    page.keyboard.press("Shift+ArrowDown")
    rewrites.wait_param("b", str(a + 1))
    assert rewrites.param("a") == str(a), "the first stays"
    page.keyboard.press("Shift+ArrowDown")
    rewrites.wait_param("b", str(a + 2))
    assert rows.count() > 3
    page.wait_for_selector(".why, .sec")
    page.keyboard.press("Escape")
    rewrites.wait_param("b", None)
