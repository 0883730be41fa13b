"""The SQL console in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.timeline_capture import KERNELS, write_timeline

from peephole.server.app import create_app
from peephole.server.library import Library

from .conftest import Served, Shown, start

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
QUERY = "SELECT track, depth, start, dur, name FROM slices WHERE name LIKE 'r_16_32%' ORDER BY dur DESC"


@pytest.fixture(scope="module")
def sql_served(static: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = write_timeline(tmp_path_factory.mktemp("sql") / "steps.peep")
    yield from start(create_app(Library([path]), static=static))


@pytest.fixture
def sql(page: Page, sql_served: Served) -> Shown:
    shown = Shown(page, sql_served)
    shown.open("#/steps/sql")
    return shown


def run(view: Shown, text: str) -> None:
    area = view.page.get_by_label("SQL query")
    area.fill(text)
    area.press("Control+Enter")


def answered(view: Shown, text: str) -> None:
    view.until("(text) => document.querySelector('section.view').dataset.answered === text", text)


def test_a_query_is_run_by_key_and_is_in_the_address(sql: Shown) -> None:
    page = sql.page
    run(sql, QUERY)
    answered(sql, QUERY)
    assert page.locator(".sql-row:not(.sql-head)").first.inner_text().endswith(KERNELS[0])
    assert "12 rows" in page.locator(".status").inner_text()
    address = page.evaluate("location.href")
    page.goto("about:blank")
    page.goto(address)
    answered(sql, QUERY)
    assert page.get_by_label("SQL query").input_value() == QUERY


def test_before_a_query_ran_nothing_says_that_it_did(sql: Shown) -> None:
    page = sql.page
    waiting = page.get_by_text("Ctrl Enter runs the query")
    copy = page.get_by_role("button", name="Copy as CSV")
    assert waiting.is_visible()
    assert not copy.is_visible()
    assert "✓" not in page.locator(".sql-queries").inner_text()
    run(sql, QUERY)
    answered(sql, QUERY)
    assert not waiting.is_visible()
    assert copy.is_visible()
    assert "✓" in page.locator(".sql-queries").inner_text()


def test_no_number_is_cut(sql: Shown) -> None:
    run(sql, QUERY)
    answered(sql, QUERY)
    cut = sql.page.locator(".sql-row .num").evaluate_all(
        "all => all.filter(one => one.scrollWidth > one.clientWidth).length"
    )
    assert cut == 0


def test_a_row_leads_to_its_slice_on_the_timeline(sql: Shown) -> None:
    page = sql.page
    run(sql, QUERY)
    answered(sql, QUERY)
    page.locator(".sql-row:not(.sql-head)").nth(1).click()
    assert "6,000,005" in page.locator(".sql-chosen").inner_text()
    page.keyboard.press("t")
    page.wait_for_url("**timeline?slice=*")
    page.locator("aside.r").get_by_text(KERNELS[0]).first.wait_for()


def test_what_is_wrong_stands_under_the_query_and_in_the_history(sql: Shown) -> None:
    page = sql.page
    run(sql, "SELECT nothing FROM slices")
    page.locator(".sql-trouble").get_by_text("nothing").first.wait_for()
    assert page.locator(".sql-entry .failed").count() > 0
    run(sql, "SELECT 1 AS one")
    answered(sql, "SELECT 1 AS one")
    assert page.locator(".sql-trouble").is_hidden()
    page.get_by_label("Name of this query").fill("The one")
    page.get_by_label("Name of this query").press("Enter")
    page.reload()
    page.locator(".sql-entry").get_by_text("The one").wait_for()
    assert page.locator(".sql-entry").count() == 2


def test_escape_stops_a_query(sql: Shown) -> None:
    page = sql.page
    run(sql, "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t")
    page.get_by_text("running ·").wait_for()
    page.keyboard.press("Escape")
    page.locator(".sql-trouble").get_by_text("stopped after").wait_for()
    run(sql, "SELECT 2 AS two")
    answered(sql, "SELECT 2 AS two")


def test_only_rows_in_sight_exist_and_the_schema_is_beside(sql: Shown) -> None:
    page = sql.page
    run(sql, "SELECT range AS n FROM range(100000)")
    page.get_by_text("the first 20,000 rows").first.wait_for()
    assert page.locator(".sql-row").count() < 100
    page.locator(".sql-results .vlist").evaluate("list => list.scrollTop = list.scrollHeight")
    page.locator(".sql-row").get_by_text("19,999").first.wait_for()
    with page.expect_download() as download:
        page.get_by_role("link", name="All as CSV").click()
    assert len(Path(download.value.path()).read_text().splitlines()) == 100_001
    page.keyboard.press("Escape")
    page.get_by_label("Filter tables and columns").fill("correlation")
    rows = page.locator("aside.l .row .mono")
    assert rows.all_inner_texts()[:2] == ["slices", "correlation"]
    assert rows.first.is_visible()


def test_tab_indents_until_escape_was_pressed(sql: Shown) -> None:
    area = sql.page.get_by_label("SQL query")
    area.fill("SELECT")
    area.press("Tab")
    assert area.input_value() == "SELECT  "
    sql.page.keyboard.press("Escape")
    sql.page.keyboard.press("Tab")
    assert sql.page.evaluate("document.activeElement.getAttribute('aria-label')") != "SQL query"


def test_names_in_an_answer_are_data(view: Shown, hostile_name: str) -> None:
    view.open("#/hostile/sql")
    run(view, "SELECT name, name AS again FROM contexts")
    answered(view, "SELECT name, name AS again FROM contexts")
    view.page.locator(".sql-row:not(.sql-head)").first.click()
    assert view.page.evaluate("window.hacked") is None
