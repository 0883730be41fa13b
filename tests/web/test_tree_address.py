"""Lists at the left in the address: a link shows their filter, and of the rewrites what was open and shut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .test_rewrites import api

if TYPE_CHECKING:
    from .conftest import Shown

pytestmark = pytest.mark.browser

ROWS = ".tree .vrow"


def texts(view: Shown) -> list[str]:
    """The rows of the tree, each with what shows whether it is open."""
    return [text.replace("\n", " ") for text in view.page.locator(ROWS).all_inner_texts()]


def reopened(view: Shown) -> list[str]:
    """The rows that somebody sees who opens the address on a page of their own."""
    address = view.page.evaluate("location.hash")
    view.open(address)
    return texts(view)


def test_opened_and_shut_contexts_are_in_the_address(rewrites: Shown) -> None:
    page = rewrites.page
    assert rewrites.param("open") is None  # the context of the step alone is open: nothing to say
    before = texts(rewrites)
    page.locator(".tree .ctx[aria-expanded=false] .tw").first.click()
    rewrites.until("n => document.querySelectorAll('.tree .vrow').length > n", len(before))
    rewrites.until("() => location.hash.includes('open=')")
    opened = texts(rewrites)
    assert reopened(rewrites) == opened
    for _ in range(page.locator(".tree .ctx[aria-expanded=true]").count()):
        page.locator(".tree .ctx[aria-expanded=true] .tw").first.click()
    rewrites.wait_param("open", "none")
    shut = texts(rewrites)
    assert all(text.startswith("▸") for text in shut if text[0] in "▸▾")
    assert reopened(rewrites) == shut
    page.keyboard.press("ArrowRight")  # another match of the step that is out of sight opens nothing
    rewrites.wait_param("match", "1")
    assert texts(rewrites) == shut


def test_folded_steps_are_in_the_address(rewrites: Shown) -> None:
    steps = api(rewrites.served, "steps")
    at = next(at for at in range(len(steps["id"]) - 1) if steps["depth"][at + 1] > steps["depth"][at])
    rewrites.open(f"#/small/rewrites?step={steps['id'][at]}")
    rewrites.page.locator(".tree [aria-selected=true] .tw").click()
    rewrites.wait_param("shut", str(steps["id"][at]))
    assert reopened(rewrites) == texts(rewrites)
    rewrites.page.locator(".tree [aria-selected=true] .tw").click()
    rewrites.wait_param("shut", None)


def test_filter_and_chips_are_in_the_address_and_stay_while_moving(rewrites: Shown) -> None:
    page = rewrites.page
    page.keyboard.press("f")
    page.keyboard.type("symbolic")
    page.get_by_role("button", name="with matches").click()
    page.get_by_role("button", name="kernels", exact=True).click()
    rewrites.wait_param("q", "symbolic")
    rewrites.wait_param("only", "matches,kernels")
    filtered = texts(rewrites)
    assert filtered
    assert reopened(rewrites) == filtered
    assert page.get_by_label("Filter contexts and steps").input_value() == "symbolic"
    assert page.get_by_role("button", name="with matches").get_attribute("aria-pressed") == "true"
    step = page.locator(".tree .vrow:not(.ctx)").last
    step.click()
    rewrites.until("() => document.querySelector('.tree .vrow:not(.ctx)[aria-selected=true]')")
    assert (rewrites.param("q"), rewrites.param("only")) == ("symbolic", "matches,kernels")
    page.locator("section.view").click(position={"x": 5, "y": 5})
    page.keyboard.press("Escape")
    rewrites.wait_param("q", None)
    assert page.get_by_label("Filter contexts and steps").input_value() == ""


def test_choices_in_quick_succession_are_entries_of_the_history(rewrites: Shown) -> None:
    clicked = rewrites.page.evaluate("""() => {
      const rows = [...document.querySelectorAll('.tree .vrow:not([aria-selected=true])')].slice(0, 2);
      const length = history.length;
      for (const row of rows) row.dispatchEvent(new PointerEvent('pointerdown', {bubbles: true}));
      return [rows.length, history.length - length];
    }""")
    assert clicked == [2, 2], "a click right after another is a choice of its own"


def test_back_undoes_a_choice_and_leaves_the_tree_as_it_is(rewrites: Shown) -> None:
    page = rewrites.page
    page.locator(".tree .ctx[aria-expanded=false] .tw").first.click()
    rewrites.until("() => location.hash.includes('open=')")
    before = rewrites.shown
    page.locator(".tree .ctx").last.click()
    rewrites.wait_other(before)
    rows = texts(rewrites)
    page.go_back()
    rewrites.wait_shown(before)
    assert texts(rewrites) == rows


@pytest.mark.parametrize(("place", "label"), [("code", "Filter kernels"), ("schedule", "Filter schedules and kernels")])
def test_the_filter_of_a_list_is_in_the_address_and_stays_while_moving(view: Shown, place: str, label: str) -> None:
    page = view.page
    view.open(f"#/small/{place}")
    rows = page.locator(".pane.l .vrow")
    if place == "schedule":  # the one that is open is listed with its kernels
        rows.last.click()
        view.until("() => document.querySelector('.pane.l .vrow:last-child')?.innerText.startsWith('r')")
    before = rows.count()
    page.keyboard.press("f")
    page.keyboard.type("_ r")
    view.wait_param("q", "_ r")
    view.until("n => { const k = document.querySelectorAll('.pane.l .vrow').length; return k && k < n }", before)
    left = rows.all_inner_texts()
    rows.last.click()
    view.until("() => document.querySelector('.pane.l .vrow:last-child')?.ariaSelected === 'true'")
    assert view.param("q") == "_ r"
    view.open(page.evaluate("location.hash"))
    view.until(
        "left => [...document.querySelectorAll('.pane.l .vrow')].map(row => row.innerText).join('|') === left",
        "|".join(left),
    )
    assert page.get_by_label(label).input_value() == "_ r"
    page.get_by_label(label).fill("")
    view.wait_param("q", None)
    view.until("n => document.querySelectorAll('.pane.l .vrow').length === n", before)
