"""The code and schedule views."""

from __future__ import annotations

import json
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .conftest import Served, Shown

pytestmark = pytest.mark.browser


def api(served: Served, path: str) -> Any:
    with urllib.request.urlopen(f"{served.address}api/v1/captures/small/{path}") as answer:
        return json.load(answer)


def kernel_named(served: Served, name: str) -> int:
    contexts = api(served, "contexts")
    return int(contexts["id"][contexts["name"].index(name)])


def test_the_source_of_a_kernel(view: Shown) -> None:
    context = kernel_named(view.served, "r_64_16_512_4")
    view.open(f"#/small/code?context={context}")
    view.wait_shown(f"{context}/source")
    page = view.page
    artifact = next(a for a in api(view.served, f"contexts/{context}")["artifacts"] if a["kind"] == "source")
    text = api(view.served, f"artifacts/{artifact['row']}")["text"]
    shown = page.locator(".code .tx").all_text_contents()
    assert [line.rstrip("\n") for line in shown] == text.rstrip("\n").split("\n")
    assert page.locator(".code .k").count() > 0
    assert page.locator(".pane.l [aria-selected=true] .n").inner_text() == str(len(shown))


def test_ops_and_ast_have_tabs_and_an_address(view: Shown) -> None:
    context = kernel_named(view.served, "r_64_16_512_4")
    view.open(f"#/small/code?context={context}")
    page = view.page
    page.get_by_role("button", name="Ops").click()
    view.wait_shown(f"{context}/oplist")
    page.get_by_role("button", name="AST").click()
    view.wait_shown(f"{context}/ast")
    assert "SINK" in page.locator(".code .tx").first.inner_text()
    page.reload()
    view.wait_shown(f"{context}/ast")
    page.go_back()
    view.wait_shown(f"{context}/oplist")


def test_a_line_is_in_the_address_and_find_goes_to_lines(view: Shown) -> None:
    context = kernel_named(view.served, "r_64_16_512_4")
    view.open(f"#/small/code?context={context}&line=3")
    page = view.page
    page.wait_for_selector(".code .ln[aria-current]")
    assert page.locator(".code .ln[aria-current] .no0").get_attribute("data-n") == "3"
    page.locator(".code .ln").nth(4).click()
    view.wait_param("line", "5")
    find = page.get_by_label("Find in code")
    find.fill("void")
    view.until("() => /1 line/.test(document.querySelector('.view .bar').innerText)")
    assert page.evaluate("() => CSS.highlights.get('found').size") == 1
    find.fill("not in any kernel")
    view.until("() => /none/.test(document.querySelector('.view .bar').innerText)")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    view.wait_param("line", None)


def test_arrows_go_through_the_kernels(view: Shown) -> None:
    view.open("#/small/code")
    first = view.shown
    view.page.keyboard.press("ArrowDown")
    second = view.wait_other(first)
    view.page.keyboard.press("ArrowUp")
    view.wait_shown(first)
    assert second != first


def test_copy_takes_the_whole_code(view: Shown) -> None:
    view.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    view.open("#/small/code")
    view.page.get_by_role("button", name="Copy").click()
    view.page.get_by_role("button", name="Copied").wait_for()
    assert "void" in view.page.evaluate("() => navigator.clipboard.readText()")


def test_a_schedule_shows_its_kernels_and_why_two_are_two(view: Shown) -> None:
    context = kernel_named(view.served, "Schedule 4 Kernels n3")
    view.open(f"#/small/schedule?context={context}")
    view.wait_shown(f"schedule/{context}")
    page = view.page
    kernels = api(view.served, f"contexts/{context}/schedule")["kernels"]
    rows = page.locator(".tree [aria-level='2']")
    view.until("n => document.querySelectorAll(\".tree [aria-level='2']\").length === n", len(kernels))
    rows.nth(0).click()
    view.wait_param("a", "0")
    page.wait_for_selector(".pane.r .title")
    assert page.locator(".pane.r .title").inner_text() == kernels[0]["name"]
    rows.nth(1).click(modifiers=["Shift"])
    view.wait_param("b", "1")
    page.wait_for_selector(".pane.r .answer")
    why = api(view.served, f"contexts/{context}/why?a=0&b=1")
    assert why["sentence"][1:] in page.locator(".pane.r .answer").inner_text()
    assert why["relation"] == "dependent"
    page.locator(".pane.r .chain a").first.wait_for()
    page.keyboard.press("Escape")
    view.wait_param("b", None)
    page.reload()
    page.wait_for_selector(".pane.r .title")
    page.get_by_role("link", name="Code").last.click()
    view.until("() => location.hash.startsWith('#/small/code')")


def test_the_rule_behind_a_boundary_can_be_visited(view: Shown) -> None:
    context = kernel_named(view.served, "Schedule 4 Kernels n3")
    view.open(f"#/small/schedule?context={context}&a=0&b=1")
    link = view.page.locator(".pane.r .chain a.name").first
    link.click()
    view.until("() => location.hash.startsWith('#/small/rewrites')")
    view.until("() => /^\\d+\\/\\d+$/.test(document.querySelector('section.view').dataset.shown ?? '')")
    view.page.go_back()
    view.wait_shown(f"schedule/{context}")
