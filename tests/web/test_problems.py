"""The list of problems in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.query.problems.test_problems import log
from tests.sources.torch.logs import event

from peephole.ingest import import_files
from peephole.server.app import create_app
from peephole.server.library import Library

from .conftest import Served, Shown, start

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def problems_served(static: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("problems")
    (folder / "bad.log").write_text(log())
    (folder / "good.log").write_text(
        "".join(event("dynamo", p, s, f"{i}/0") for i in range(7) for p, s in (("B", i), ("E", i + 0.1)))
    )
    paths = [import_files([folder / f"{name}.log"], folder / f"{name}.peep") for name in ("bad", "good")]
    yield from start(create_app(Library(paths), static=static))


@pytest.fixture
def problems(page: Page, problems_served: Served) -> Shown:
    shown = Shown(page, problems_served)
    shown.open("#/bad/problems")
    listed(shown, 8)
    return shown


def listed(view: Shown, number: int) -> None:
    view.until("(n) => document.querySelector('section.view').dataset.shown === `problems/${n}`", number)


def chosen(view: Shown) -> str:
    return view.page.locator(".pr[aria-selected=true]").get_attribute("data-kind") or ""


def test_the_list_and_one_of_them(problems: Shown) -> None:
    page = problems.page
    heads = page.locator(".pr-head").all_inner_texts()
    assert [head.split("\n")[0] for head in heads] == [
        "Graph breaks",
        "Recompilations",
        "Specialisations",
        "Fallbacks",
        "Slow phases",
    ]
    assert chosen(problems) == "break" and "not timed" in page.locator(".pr").first.inner_text()
    side = page.locator(".pane.r")
    assert "Failed to trace builtin operator" in side.inner_text() and "prog.py:8" in side.inner_text()
    assert 'print("a break")' in side.locator(".pr-code").inner_text(), "from the stack: the file is not here"
    assert "8 problems" in page.locator(".status").inner_text()


def test_keys_step_and_the_address_opens_the_same(problems: Shown) -> None:
    page = problems.page
    page.keyboard.press("n")
    problems.until("() => location.hash.includes('kind=recompile')")
    assert "id=0%2F1" in page.evaluate("location.hash") or "id=0/1" in page.evaluate("location.hash")
    side = page.locator(".pane.r")
    assert side.locator(".pr-guard").inner_text().split("\n") == ["x.size(0) == 4", "x.size(0) == 6"]
    assert "f was compiled again" in side.inner_text()
    address = page.evaluate("location.href")
    page.keyboard.press("n")
    problems.until("() => location.hash.includes('kind=specialization')")
    page.keyboard.press("Shift+N")
    problems.until("() => location.hash.includes('kind=recompile')")
    page.goto("about:blank")
    page.goto(address)
    listed(problems, 8)
    problems.until("() => document.querySelector('.pr[aria-selected=true]')?.dataset.kind === 'recompile'")
    page.keyboard.press("ArrowUp")
    problems.until("() => location.hash.includes('kind=break')")
    page.keyboard.press("ArrowDown")
    problems.until("() => location.hash.includes('kind=recompile')")
    page.keyboard.press("t")
    problems.until("() => location.hash.includes('/bad/timeline?')")


def test_muting_is_counted_and_remembered(problems: Shown) -> None:
    page = problems.page
    page.get_by_role("button", name="Mute", exact=True).click()
    listed(problems, 7)
    muted = page.locator(".status").get_by_role("button", name="1 muted")
    assert muted.is_visible() and page.locator(".pr-head").first.inner_text().startswith("Recompilations")
    page.reload()
    listed(problems, 7)
    muted.click()
    listed(problems, 8)
    assert page.locator(".pr.muted").count() == 1
    page.locator(".pr.muted").click()
    page.get_by_role("button", name="Unmute").click()
    problems.until("() => !document.querySelector('.pr.muted')")
    listed(problems, 8)


def test_filter_order_and_whose(problems: Shown) -> None:
    page = problems.page
    page.keyboard.press("f")
    page.get_by_label("Filter problems").fill("compile_file")
    listed(problems, 1)
    page.keyboard.press("Escape")
    listed(problems, 8)
    page.get_by_role("button", name="Libraries").click()
    listed(problems, 0)
    assert page.get_by_text("None of them is here").is_visible()
    page.get_by_role("button", name="All 8").click()
    listed(problems, 8)


def test_none_says_in_how_many_compilations(page: Page, problems_served: Served) -> None:
    shown = Shown(page, problems_served)
    shown.open("#/good/problems")
    listed(shown, 0)
    assert page.get_by_text("No problems in 7 compilations").is_visible()
