"""Compare in a real browser: two recordings of a program, one of them without optimisations."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from peephole.server.app import create_app
from peephole.server.library import Library

from .conftest import PROGRAM, Served, Shown, start
from .pictures import channels, pixels_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

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
    link = page.locator(".prow.on a.num").first.get_attribute("href") or ""
    assert link.startswith("#/small/rewrites?") and "step=" in link


@pytest.mark.parametrize("tab", ["graphs", "host", "rules", "passes", "timeline", "calls", "memory"])
def test_every_tab_shows_something(compare: Shown, tab: str) -> None:
    compare.open(f"#/small/compare?b=other&tab={tab}")
    wanted = {"graphs": ".cmp-graphs svg", "timeline": ".cmp-timelines[data-drawn]", "memory": ".curves"}
    compare.page.wait_for_selector(f".cmp-stage {wanted.get(tab, 'tbody tr')}")
    if tab == "timeline":
        before = compare.page.url
        compare.page.locator(".cmp-track canvas").first.hover()
        compare.page.mouse.wheel(0, -400)
        compare.until("(before) => location.href !== before && location.hash.includes('t=')", before)


def test_branches_of_both_call_trees_close_and_are_sorted(compare: Shown) -> None:
    page = compare.page
    compare.open("#/small/compare?b=other&tab=calls")
    rows = page.locator(".cmp-stage tbody tr")
    branch = page.locator('.cmp-stage tr[aria-expanded="true"][aria-level="1"]').first
    branch.wait_for()
    name, whole = branch.locator("td").first.inner_text().lstrip("▾"), rows.count()
    branch.click()
    closed = page.locator('.cmp-stage tr[aria-expanded="false"]')
    closed.wait_for()
    assert closed.locator("td").first.inner_text() == f"▸{name}" and rows.count() < whole
    compare.until("() => location.hash.includes('shut=')")
    page.reload()
    closed.wait_for()
    assert closed.locator("td").first.inner_text() == f"▸{name}", "what is closed is in the address"
    closed.focus()
    page.keyboard.press("ArrowRight")
    compare.until("(whole) => document.querySelectorAll('.cmp-stage tbody tr').length === whole", whole)
    page.keyboard.press("ArrowRight")
    assert page.evaluate("() => document.activeElement.ariaLevel") == "2"
    page.keyboard.press("ArrowLeft")  # an open branch closes; what has none goes to its caller
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("() => document.activeElement.ariaLevel") == "1"
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("() => document.activeElement.ariaExpanded") == "false"

    def outermost() -> list[str]:
        own = page.locator('.cmp-stage tr[aria-level="1"] td:first-child')
        return [text.lstrip("▾▸") for text in own.all_inner_texts()]

    page.get_by_role("button", name="Function").click()
    compare.until("() => location.hash.includes('sort=name')")
    down = outermost()
    page.get_by_role("button", name="Function").click()
    compare.until("() => location.hash.includes('down=0')")
    assert outermost() == down[::-1] and len(down) > 1


def test_what_the_filter_finds_in_both_call_trees_keeps_its_callers(compare: Shown) -> None:
    page = compare.page
    compare.open("#/small/compare?b=other&tab=calls")
    page.locator('.cmp-stage tr[aria-level="2"]').first.wait_for()
    inner = page.locator('.cmp-stage tr[aria-level="2"] td:first-child').first.inner_text().lstrip("▾▸")
    compare.open(f"#/small/compare?b=other&tab=calls&q={quote(inner)}")
    page.locator('.cmp-stage tr[aria-level="2"]').first.wait_for()
    assert page.locator(".cmp-stage tbody tr").first.get_attribute("aria-level") == "1"
    page.locator(".cmp-filter input").fill("nothing is called this")
    page.get_by_text("No function is left").wait_for()
    page.keyboard.press("Escape")
    page.locator('.cmp-stage tr[aria-level="2"]').first.wait_for()


# boxes of the drawings with their places on the screen, in their half
BOXES = """(half) => [...document.querySelectorAll(half)].map((host) => {
  const frame = host.getBoundingClientRect();
  return Object.fromEntries([...host.querySelectorAll('.box')].map((box) => {
    const r = box.getBoundingClientRect();
    return [box.dataset.node, [r.left - frame.left, r.top - frame.top, r.right - frame.left, r.bottom - frame.top,
                               frame.width, frame.height].map(Math.round)];
  }));
})"""


@pytest.mark.parametrize(("width", "height"), [(1600, 900), (1000, 700)])
def test_graphs_of_the_side_are_not_cut_at_the_right(compare: Shown, width: int, height: int) -> None:
    compare.page.set_viewport_size({"width": width, "height": height})
    paired(compare)
    compare.page.wait_for_selector(".graph-half .box")
    for half in compare.page.evaluate(BOXES, ".graph-half"):
        assert all(left >= 0 and right <= wide for left, _, right, _, wide, _ in half.values()), half
    compare.page.get_by_role("link", name="Larger").click()
    compare.page.wait_for_selector(".cmp-graphs .box")
    assert compare.param("tab") == "graphs" and compare.page.locator("aside.r .graph-half").first.is_hidden()


def test_graphs_in_the_middle_move_together_and_the_address_keeps_where(compare: Shown) -> None:
    page = compare.page
    compare.open("#/small/compare?b=other&tab=graphs")
    page.wait_for_selector(".graph-plane .box")
    page.keyboard.press("Space")
    compare.until("() => location.hash.includes('cam=')")
    for half in page.evaluate(BOXES, ".graph-plane"):
        for left, top, right, bottom, wide, tall in half.values():
            assert left >= 0 and right <= wide and top >= 0 and bottom <= tall
    cam = compare.param("cam")
    host = page.locator(".graph-plane").first
    host.hover(position={"x": 90, "y": 70})
    page.mouse.wheel(0, -300)
    compare.until("(old) => !location.hash.includes(encodeURIComponent(old)) && location.hash.includes('cam=')", cam)
    box = host.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 120, box["y"] + 60)
    page.mouse.up()
    page.wait_for_timeout(400)
    a, b = page.evaluate(BOXES, ".graph-plane")
    shared = [node for node in a if node in b]
    assert shared and all(a[node] == b[node] for node in shared)
    page.reload()
    page.wait_for_selector(".graph-plane .box")
    again = page.evaluate(BOXES, ".graph-plane")[0]
    assert all(abs(x - y) <= 2 for node in a for x, y in zip(a[node], again[node], strict=True))
    page.get_by_role("button", name="What differs").click()
    compare.until("() => !location.hash.includes('cam=')")
    page.keyboard.press("+")
    compare.until("() => location.hash.includes('cam=')")
    page.keyboard.press("n")
    compare.until("() => !location.hash.includes('cam=')")


def placed(view: Shown, place: str) -> None:
    view.until("(place) => document.querySelector('aside.r .scroll')?.dataset.place === place", place)


def test_a_pass_and_a_match_have_an_address(compare: Shown) -> None:
    """Every pass of the pair shows both graphs, its matches can be walked, and the link opens the same place."""
    page = compare.page
    name = paired(compare)
    placed(compare, "/0")
    other = page.locator(".prow:not(.on) a.pass").first
    key = other.inner_text().removesuffix(" follows")
    other.click()
    placed(compare, f"{key}/0")
    assert "pass=" in page.url and "kernel=" in page.url
    assert page.locator(".prow.on a.pass").inner_text().removesuffix(" follows") == key
    page.get_by_text("Back to where they part").click()
    placed(compare, "/0")
    assert "pass=" not in page.url
    step = page.locator("aside.r .cmp-matches a").first
    if step.count():
        step.click()
        compare.until("() => location.hash.includes('pass=')")
        compare.until("() => !document.querySelector('aside.r .scroll').dataset.place.startsWith('/')")
        before = page.locator("aside.r .scroll").get_attribute("data-place")
        address = page.url
        compare.open("#/small/compare")
        placed(compare, "/0")
        page.goto(address)
        placed(compare, str(before))
    assert paired(compare) == name


def test_two_kernels_are_paired_by_hand_and_the_address_keeps_it(compare: Shown) -> None:
    page = compare.page
    paired(compare)
    page.get_by_role("button", name="Pair by hand").click()
    a, b = page.get_by_label("Kernel of A"), page.get_by_label("Kernel of B")
    names = [[str(name) for name in one.locator("option").all_inner_texts()] for one in (a, b)]
    first, second = names[0][0], next(name for name in reversed(names[1]) if name != names[0][0])
    a.select_option(first)
    b.select_option(second)
    page.get_by_role("button", name="Pair", exact=True).click()
    both = f"{first} → {second}"
    page.wait_for_selector(f"td:has-text('{both}')")
    assert "pair=" in page.url
    page.reload()
    page.wait_for_selector(f"td:has-text('{both}')")
    page.keyboard.press("x")
    page.wait_for_selector(f"td:has-text('{second} → {first}')")
    page.get_by_role("button", name=f"Take {second} and {first} apart").click()
    compare.until("() => !location.hash.includes('pair=')")


def test_a_pair_that_cannot_be_made_is_said_and_can_be_taken_out(browser: Browser, pair_served: Served) -> None:
    context = browser.new_context(viewport={"width": 1600, "height": 900})
    page = context.new_page()
    page.goto(f"{pair_served.address}#/small/compare?a=small&b=other&pair=nothing%3Dsuch")
    page.wait_for_selector("text=which A does not have")
    page.get_by_role("button", name="Take nothing and such apart").click()
    page.wait_for_selector("section.view[data-shown] .cmp-kernels")
    context.close()


def test_timelines_are_aligned_at_a_kernel_and_at_a_pass(compare: Shown) -> None:
    page = compare.page
    paired(compare)
    compare.open("#/small/compare?a=small&b=other&tab=timeline")
    page.wait_for_selector(".cmp-timelines[data-drawn]")
    ruler = channels(pixels_of(page.locator(".cmp-ruler").screenshot()))
    written = (abs(ruler[:-2] - ruler[1, 1]).max(axis=2) > 60).any(axis=0)
    assert written[:110].any() and written[110:].sum() > 20, "the unit, and times at ticks"
    choice = page.get_by_label("Aligned at")
    offered = choice.locator("option").all_inner_texts()
    assert offered[0] == "the begin" and any(text.startswith("the pass ") for text in offered), offered
    choice.select_option("pass")
    compare.until("() => location.hash.includes('align=pass')")
    page.wait_for_selector(".cmp-timelines[data-drawn]")
    assert choice.input_value() == "pass"
    at = "() => new URLSearchParams(location.hash.split('?')[1]).get('t')"
    page.locator(".cmp-track canvas").last.hover()
    page.mouse.wheel(0, -400)
    compare.until("() => location.hash.includes('t=')")
    before = page.evaluate(at)
    box = page.locator(".cmp-track canvas").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 300, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 10)
    page.mouse.up()
    compare.until(f"(before) => ({at})() !== before", before)
    assert page.evaluate(at).split(",")[1] == before.split(",")[1], "a drag pans both and keeps the scale"


def test_one_capture_has_no_tab_and_can_choose_another(page: Page, served: Served) -> None:
    shown = Shown(page, served)
    shown.open("")
    assert "Compare" not in page.locator(".tabs a").all_inner_texts()
    page.locator("button.cap").click()
    page.get_by_role("menuitem", name="Compare with another …").click()
    page.wait_for_selector(".cmp-choose a")
