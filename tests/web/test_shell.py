"""The frame: search, keys, theme, panes, states, and that names stay text."""

from __future__ import annotations

import gzip
import http.server
import threading
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

    from .conftest import Served, Shown

pytestmark = pytest.mark.browser


def test_search_finds_and_goes(rewrites: Shown) -> None:
    page = rewrites.page
    page.keyboard.press("/")
    page.keyboard.type("r_64_16_512_4")
    # results come while one types: those of the whole word are waited for
    rewrites.until("() => document.querySelector('.results .row')?.innerText.startsWith('r_64_16_512_4')")
    page.keyboard.press("Enter")
    page.wait_for_selector(".palette", state="detached")
    # a kernel leads to its runs on the devices, as everywhere
    rewrites.until("() => location.hash.includes('/timeline') && location.hash.includes('find=r_64_16_512_4')")
    rewrites.until("() => document.querySelector('.tl-rows') && document.querySelector('.pane.r .sec, .pane.r h2')")
    page.keyboard.press("Control+k")
    page.keyboard.type("symbolic 512")
    rewrites.until("() => document.querySelector('.results .row')?.innerText.includes('symbolic')")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    rewrites.until("() => location.hash.includes('/rewrites?')")
    rewrites.until("() => document.querySelector('section.view').dataset.shown?.endsWith('/0')")


def test_enter_takes_what_was_typed_even_before_it_is_answered(rewrites: Shown) -> None:
    page = rewrites.page
    before = rewrites.shown
    page.keyboard.press("/")
    page.keyboard.type("early symbolic")
    page.keyboard.press("Enter")
    rewrites.wait_other(before)
    assert "early symbolic" in page.locator(".tree [aria-selected=true]").inner_text()


def test_search_says_what_is_near_when_there_is_nothing(rewrites: Shown) -> None:
    page = rewrites.page
    page.keyboard.press("/")
    page.keyboard.type("r_64_16_512_5")
    page.wait_for_selector(".none h2")
    assert page.locator(".none h2").inner_text() == "Nothing is named r_64_16_512_5"
    assert "r_64_16_512_4" in page.locator(".results").inner_text()
    page.keyboard.press("Escape")
    page.wait_for_selector(".palette", state="detached")


def test_a_wrong_query_is_said_and_not_tried_again(rewrites: Shown) -> None:
    page = rewrites.page
    page.keyboard.press("/")
    for query, sentence in (("/(/", "/(/ is not a regular expression"), ("kind:zzz", "There is no kind zzz")):
        page.keyboard.press("Control+a")
        page.keyboard.type(query)
        page.locator(".results").get_by_text(sentence).wait_for()
        assert page.locator(".results button").count() == 0


def test_an_op_leads_to_the_match_that_made_one(rewrites: Shown) -> None:
    page = rewrites.page
    page.keyboard.press("/")
    page.keyboard.type("WHERE")
    rewrites.until("() => document.querySelector('.results .row')?.innerText.startsWith('WHERE')")
    page.locator(".results .row", has_text="node").first.click()
    page.wait_for_selector(".node .title")
    assert page.locator(".node .title").inner_text() == "WHERE"
    assert int(rewrites.shown.split("/")[1]) > 0


def test_the_question_mark_lists_the_keys(rewrites: Shown) -> None:
    page = rewrites.page
    page.keyboard.press("?")
    text = page.get_by_role("dialog", name="Keys").inner_text()
    for word in ("Search", "Next, previous match", "Indexing", "Graph or text"):
        assert word in text
    page.keyboard.press("r")  # keys rest while a dialog is open
    assert rewrites.param("show") is None
    page.keyboard.press("Escape")
    page.wait_for_selector(".keyhelp", state="detached")


def test_letters_do_nothing_in_a_text_field(rewrites: Shown) -> None:
    page = rewrites.page
    page.keyboard.press("f")
    page.keyboard.type("rcsg/?[]")
    assert page.get_by_label("Filter contexts and steps").input_value() == "rcsg/?[]"
    assert rewrites.param("show") is None


def test_brackets_go_through_the_views(rewrites: Shown) -> None:
    page = rewrites.page
    titles = page.locator(".tabs a").all_inner_texts()
    assert titles[0:1] == ["Rewrites"] or "Rewrites" in titles
    at = titles.index("Rewrites")
    page.keyboard.press("]")
    rewrites.until(
        "t => document.querySelector('.tabs [aria-current]')?.innerText === t", titles[(at + 1) % len(titles)]
    )
    page.keyboard.press("[")
    rewrites.until("() => document.querySelector('.tabs [aria-current]')?.innerText === 'Rewrites'")


def test_the_theme_follows_the_system_and_the_switch(rewrites: Shown) -> None:
    page = rewrites.page
    background = "() => getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.emulate_media(color_scheme="light")
    rewrites.until(f"old => ({background})() !== old", dark)
    page.get_by_role("button", name="Theme").click()
    page.get_by_role("menuitemradio", name="Dark").click()
    rewrites.until(f"old => ({background})() === old", dark)
    page.reload()
    page.wait_for_selector(".tabs a")
    assert page.evaluate(background) == dark


def test_panes_shut_open_and_resize(rewrites: Shown) -> None:
    page = rewrites.page
    page.get_by_role("button", name="Panes").click()
    page.get_by_role("menuitemcheckbox", name="Left pane").click()
    page.wait_for_selector(".pane.l", state="hidden")
    page.get_by_role("button", name="Panes").click()
    page.get_by_role("menuitemcheckbox", name="Left pane").click()
    page.wait_for_selector(".pane.l", state="visible")
    width = "() => document.querySelector('.pane.l').offsetWidth"
    before = page.evaluate(width)
    handle = page.locator(".split.left")
    handle.focus()
    page.keyboard.press("ArrowRight")
    rewrites.until(f"b => ({width})() === b + 16", before)
    page.reload()
    page.wait_for_selector(".pane.l .row")
    assert page.evaluate(width) == before + 16


def test_trees_and_lists_are_announced(rewrites: Shown) -> None:
    page = rewrites.page
    tree = page.get_by_role("tree", name="Contexts and steps")
    row = tree.get_by_role("treeitem", selected=True)
    assert row.get_attribute("aria-level") == "2"
    assert tree.get_attribute("aria-activedescendant") == row.get_attribute("id")
    assert page.get_by_role("listbox", name="Matches").get_by_role("option").count() > 0
    tree.focus()
    page.keyboard.press("End")
    assert tree.get_by_role("treeitem", selected=True).get_attribute("aria-posinset") == row.get_attribute(
        "aria-setsize"
    )


def test_nothing_overflows_at_1000_by_700(rewrites: Shown) -> None:
    page = rewrites.page
    page.set_viewport_size({"width": 1000, "height": 700})
    assert page.evaluate(
        "() => document.documentElement.scrollWidth <= 1000 && document.documentElement.scrollHeight <= 700"
    )
    for selector in (".top", ".status", ".bar.low"):
        assert page.evaluate(
            "s => { const e = document.querySelector(s); return e.scrollWidth <= e.clientWidth + 1; }", selector
        )


def test_without_a_capture_the_page_says_how_to_get_one(page: Page, empty_served: Served) -> None:
    page.goto(empty_served.address)
    page.wait_for_selector("h2")
    assert page.locator("h2").inner_text() == "No capture yet"
    assert page.locator(".cmd").count() == 3
    for name in ("Search the capture", "Panes"):  # nothing to search, no pane to shut, no capture to choose
        assert page.get_by_role("button", name=name).is_disabled()
    assert page.locator("button.cap").is_hidden()


def test_several_captures_are_open_at_once(rewrites: Shown) -> None:
    page = rewrites.page
    page.locator("button.cap").click()
    items = page.get_by_role("menuitemradio")
    assert items.count() == 2
    assert items.first.get_attribute("aria-checked") == "true"
    items.last.click()
    rewrites.until("() => location.hash.startsWith('#/hostile/')")
    rewrites.wait_shown("0/0")
    page.go_back()
    rewrites.until("() => location.hash.startsWith('#/small/') && document.title.includes('small')")


def test_an_unknown_capture_is_an_error_that_says_what_to_do(browser_page: Page, served: Served) -> None:
    browser_page.goto(f"{served.address}#/nothing/rewrites")
    alert = browser_page.get_by_role("alert")
    alert.wait_for()
    assert "No capture is called 'nothing' here" in alert.inner_text()
    assert "Choose one from the list" in alert.inner_text()


def test_a_server_that_is_gone_is_an_error_that_says_what_to_do(browser_page: Page, served: Served) -> None:
    browser_page.goto(served.address)
    browser_page.wait_for_selector(".tree .row")
    browser_page.route("**/api/**", lambda route: route.abort("connectionrefused"))
    browser_page.locator(".tree .row").nth(5).click()
    alert = browser_page.get_by_role("alert").first
    alert.wait_for()
    assert "peephole serve" in alert.inner_text()
    assert browser_page.get_by_role("button", name="Copy details").count() >= 1


def test_hostile_names_stay_text(view: Shown, hostile_name: str) -> None:
    page = view.page
    view.open("#/hostile/rewrites?step=0&match=1")
    view.wait_shown("0/1")
    visible = hostile_name.replace("\u0007", "")[:20]
    assert visible in page.locator(".tree").inner_text()
    page.wait_for_selector("[role=alert] .bad")  # the pass ended in an error: its text is shown
    page.keyboard.press("g")
    page.wait_for_selector(".listing")
    page.keyboard.press("ArrowLeft")
    view.wait_shown("0/0")
    assert visible in (page.locator(".listing").text_content() or "")  # laid out or not yet
    page.keyboard.press("/")
    page.keyboard.type("<img")
    page.wait_for_selector(".results .row")
    page.keyboard.press("Escape")
    page.locator(".warnt .link").click()
    page.wait_for_selector(".problems")
    page.keyboard.press("Escape")
    view.open("#/hostile/code?context=0")
    page.wait_for_selector(".code .ln")
    assert visible in page.locator(".code").inner_text()
    assert page.evaluate("() => window.hacked") is None
    assert page.locator("img, .code script").count() == 0
    assert page.locator("a[href^='javascript:']").count() == 0
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_a_page_on_another_origin_cannot_read_the_api(browser_page: Page, served: Served) -> None:
    class Other(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b"<!doctype html><title>other</title>"
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        browser_page.goto(f"http://127.0.0.1:{other.server_port}/")
        api = f"{served.address}api/v1/captures"
        read = browser_page.evaluate("url => fetch(url).then(r => r.text(), e => 'refused: ' + e.name)", api)
        assert read == "refused: TypeError"
        opaque = browser_page.evaluate(
            "url => fetch(url, {mode: 'no-cors'}).then(r => r.text(), e => 'refused: ' + e.name)", api
        )
        assert opaque in ("", "refused: TypeError")
        other.shutdown()


@pytest.fixture
def browser_page(browser: object) -> object:
    """A page whose console may complain: it is on another site."""
    context = browser.new_context()  # type: ignore[attr-defined]
    yield context.new_page()
    context.close()


def test_no_script_is_over_200_kb_gzipped_and_rare_views_come_later(static: Path) -> None:
    sizes = {path.name: len(gzip.compress(path.read_bytes())) for path in static.rglob("*.js")}
    assert max(sizes.values()) < 200_000, sizes
    (later,) = (name for name in sizes if name.startswith("later-"))
    assert later not in (static / "index.html").read_text()
