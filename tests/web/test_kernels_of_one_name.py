"""Two kernels of one name in Top, Code and on the timeline: apart, with the same numbers, and found where they ran."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.kernels_of_one_name import FIRST_RUN, LAST_END, NAME, TOTALS, write_kernels

from peephole.server.app import create_app
from peephole.server.library import Library

from .conftest import OUTPUT, Served, Shown, start

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="module")
def alike(static: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = write_kernels(tmp_path_factory.mktemp("alike") / "alike.peep")
    yield from start(create_app(Library([path]), static=static))


def window(shown: Shown) -> tuple[float, float]:
    span = shown.page.evaluate("(s => [s.span.t0, s.span.t1])(document.querySelector('.tl').timeline)")
    return span[0], span[1]


def test_top_and_code_say_the_same_of_each(page: Page, alike: Served) -> None:
    shown = Shown(page, alike)
    shown.open("#/alike/top")
    rows = page.locator(".top-list .trow").all()
    found = {row.get_attribute("data-name"): row.get_attribute("data-total") for row in rows}
    assert found[NAME] == str(TOTALS[0][1]) and found[f"{NAME}#2"] == str(TOTALS[1][1])
    page.screenshot(path=OUTPUT / "kernels-top.png")
    shown.open("#/alike/code")
    times = page.locator(".code-sorts").locator("xpath=..").locator(".row .time")
    assert [one.get_attribute("data-ns") for one in times.all()] == [str(TOTALS[number][1]) for number in (0, 2, 1)]
    page.screenshot(path=OUTPUT / "kernels-code.png")
    page.locator(".code-sorts button", has_text="lines").click()
    shown.wait_param("sort", "lines")
    lines = page.locator(".row .n.lines").all_inner_texts()
    assert lines == sorted(lines, reverse=True)
    page.locator(".code-sorts button", has_text="order").click()
    shown.wait_param("sort", "order")
    assert [one.get_attribute("data-ns") for one in times.all()] == [str(TOTALS[number][1]) for number in (0, 1, 2)]


def test_a_row_of_top_leads_to_its_runs_and_not_to_its_compilation(page: Page, alike: Served) -> None:
    shown = Shown(page, alike)
    shown.open("#/alike/top")
    page.keyboard.press("Enter")
    page.wait_for_selector("aside [data-slice], [data-slice]")
    page.get_by_text("1 of 4").wait_for()
    t0, t1 = window(shown)
    assert t0 < FIRST_RUN and t1 > LAST_END and t1 - t0 < 1.2 * (LAST_END - FIRST_RUN)
    assert page.locator(".tl-duration").get_attribute("data-ns") == str(9_000_000)
    page.screenshot(path=OUTPUT / "kernels-timeline.png")
    shown.open("#/alike/timeline")
    page.locator(".tl-most .krow button").first.click()
    page.get_by_text("1 of 4").wait_for()  # of this kernel alone, on devices
    assert page.locator(".tl-duration").get_attribute("data-ns") == str(9_000_000)
