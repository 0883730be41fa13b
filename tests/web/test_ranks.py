"""The Ranks tab in a real browser: the slow rank is what one sees first, and all of it works without a mouse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.query.ranks.test_unnumbered import write_processes
from tests.rank_traces import write_ranks

from peephole.fleet.run import make_run
from peephole.server.app import create_app
from peephole.server.library import Library

from .conftest import Served, Shown, start
from .test_narrow import SIDE_CUT

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def ranks_served(static: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("ranks")
    run = make_run(write_ranks(folder, 5, slow={2: (1, 3)}).files, folder / "run.peep")
    yield from start(create_app(Library([run]), static=static))


@pytest.fixture
def ranks(page: Page, ranks_served: Served) -> Shown:
    shown = Shown(page, ranks_served)
    shown.open("#/run/ranks")
    shown.until("() => document.querySelector('.srow') !== null")
    return shown


def test_the_first_look_shows_the_slow_rank_in_its_step(ranks: Shown) -> None:
    assert ranks.page.locator("section.view").get_attribute("data-shown") == "1"
    side = ranks.page.locator(".pane.r, aside").filter(has_text="Step 1").first.inner_text()
    assert "rank 2" in side and "holds 4 others" in side
    assert ranks.page.locator(".srow").first.inner_text().split("\n")[1] == "2"
    assert "± " in ranks.page.locator("footer, .status").first.inner_text()


def test_keys_walk_steps_and_the_address_says_where(ranks: Shown) -> None:
    page = ranks.page
    page.keyboard.press("n")
    ranks.until("() => document.querySelector('section.view').dataset.shown === '3'")
    page.keyboard.press("ArrowRight")
    ranks.until("() => document.querySelector('section.view').dataset.shown === '4'")
    page.keyboard.press("Shift+N")
    ranks.until("() => document.querySelector('section.view').dataset.shown === '3'")
    assert "step=3" in page.url and "rank=2" in page.url
    page.keyboard.press("ArrowDown")
    page.keyboard.press("k")
    ranks.until("() => location.hash.includes('with=')")
    page.keyboard.press("p")
    ranks.until("() => location.hash.includes('path=0')")
    page.keyboard.press("Escape")
    ranks.until("() => !location.hash.includes('with=')")


def test_metric_and_order_are_chosen_and_linkable(ranks: Shown) -> None:
    page = ranks.page
    page.get_by_role("button", name="Wait", exact=True).click()
    ranks.until("() => location.hash.includes('metric=wait')")
    page.get_by_role("button", name="Slowest first").click()
    page.get_by_role("menuitemradio", name="By host").click()
    ranks.until("() => location.hash.includes('order=host')")
    page.reload()
    ranks.until("() => document.querySelector('.srow') !== null")
    assert page.get_by_role("button", name="Wait", exact=True).get_attribute("aria-pressed") == "true"
    assert page.get_by_role("button", name="By host").is_visible()


def test_a_click_on_a_cell_chooses_it(ranks: Shown) -> None:
    canvas = ranks.page.locator(".rank-heat canvas")
    box = canvas.bounding_box()
    assert box is not None
    ranks.page.mouse.click(box["x"] + 140 + 48 * 4, box["y"] + 22 + 7)
    ranks.until("() => document.querySelector('section.view').dataset.shown === '4'")


def settled(ranks: Shown, place: str) -> bytes:
    """A drawing once it stays as it is."""
    ranks.page.wait_for_load_state("networkidle")
    before = b""
    while (now := ranks.page.locator(place).screenshot()) != before:
        before = now
        ranks.page.wait_for_timeout(200)
    return now


def drag(ranks: Shown, first: int, last: int) -> None:
    """Over the cells of some steps, without letting go."""
    box = ranks.page.locator(".rank-heat canvas").bounding_box()
    assert box is not None
    ranks.page.mouse.move(box["x"] + 132 + 48 * (first + 0.5), box["y"] + 22 + 7)
    ranks.page.mouse.down()
    ranks.page.mouse.move(box["x"] + 132 + 48 * (last + 0.5), box["y"] + 22 + 21, steps=4)


def side(ranks: Shown) -> str:
    return ranks.page.locator("aside").filter(has=ranks.page.locator(".srow")).inner_text()


def test_dragging_over_steps_selects_them_and_the_side_has_their_figures(ranks: Shown) -> None:
    page = ranks.page
    before = page.locator(".rank-heat canvas").screenshot()
    drag(ranks, 4, 1)
    assert page.locator(".rank-heat canvas").screenshot() != before, "the range is drawn while it is dragged"
    page.mouse.up()
    ranks.until("() => location.hash.includes('steps=1-4') && document.querySelector('.of-steps') !== null")
    told = side(ranks)
    assert "Steps 1–4" in told and "4 steps" in told and " lost" in told and "slow in 2 of 4" in told
    rows = [row.split("\n") for row in page.locator(".srow.of-steps").all_inner_texts()]
    assert {(row[0], row[-1]) for row in rows} == {("step 1", "rank 2"), ("step 3", "rank 2")}
    page.mouse.move(4, 4)
    drawn = settled(ranks, ".rank-heat canvas")
    page.reload()
    ranks.until("() => document.querySelector('.of-steps') !== null")
    assert settled(ranks, ".rank-heat canvas") == drawn, "a link opens the same range"
    page.get_by_role("button", name="step 3").click()
    ranks.until("() => !location.hash.includes('steps=') && /step=3.*rank=2|rank=2.*step=3/.test(location.hash)")
    ranks.until("() => document.querySelector('.of-steps') === null")
    assert "Step 3" in side(ranks)


def test_escape_clears_what_is_innermost_first(ranks: Shown) -> None:
    page = ranks.page
    drag(ranks, 0, 2)
    page.keyboard.press("Escape")
    page.mouse.up()
    page.wait_for_timeout(100)
    assert "steps=" not in page.url, "Escape lets go of what is dragged"
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    ranks.until("() => location.hash.includes('open=1') && location.hash.includes('with=')")
    page.keyboard.press("w")
    ranks.until("() => /[?&]t=/.test(location.hash)")
    page.keyboard.press("Escape")
    ranks.until("() => !/[?&]t=/.test(location.hash) && location.hash.includes('open=1')")
    page.keyboard.press("Escape")
    ranks.until("() => !location.hash.includes('open=1') && location.hash.includes('with=')")
    drag(ranks, 0, 2)
    page.mouse.up()
    ranks.until("() => location.hash.includes('steps=0-2')")
    page.keyboard.press("Escape")
    ranks.until("() => !location.hash.includes('steps=') && location.hash.includes('with=')")
    page.keyboard.press("Escape")
    ranks.until("() => !location.hash.includes('with=')")


def test_steps_are_selected_with_shift_and_arrows(ranks: Shown) -> None:
    page = ranks.page
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    ranks.until("() => location.hash.includes('steps=1-3')")
    for _ in range(3):
        page.keyboard.press("Shift+ArrowLeft")
    ranks.until("() => location.hash.includes('steps=0-1')")  # past where it began, the other way
    page.keyboard.press("ArrowDown")
    assert "steps=0-1" in page.url, "another rank in the same steps"
    page.keyboard.press("Shift+End")
    last = page.locator(".statusbar, footer").first.inner_text().partition(" steps")[0].split()[-1]
    ranks.until(f"() => location.hash.includes('steps=1-{int(last) - 1}')")
    page.keyboard.press("ArrowLeft")
    ranks.until("() => !location.hash.includes('steps=')")


def test_enter_opens_the_step_in_all_of_the_middle(ranks: Shown) -> None:
    page = ranks.page
    drag(ranks, 1, 3)
    page.mouse.up()
    ranks.until("() => location.hash.includes('steps=1-3')")
    before = page.locator(".rank-step").bounding_box()
    page.keyboard.press("Enter")
    ranks.until("() => location.hash.includes('open=1') && !location.hash.includes('steps=')")
    page.locator(".rank-heat").wait_for(state="hidden")
    after = page.locator(".rank-step").bounding_box()
    assert before is not None and after is not None and after["height"] > before["height"] + 80
    assert page.get_by_role("button", name="Open step").get_attribute("aria-pressed") == "true"
    page.keyboard.press("ArrowLeft")
    ranks.until(
        "() => document.querySelector('section.view').dataset.shown === '2' && location.hash.includes('step=2')"
    )
    page.reload()
    ranks.until("() => document.querySelector('.srow') !== null")
    assert not page.locator(".rank-heat").is_visible() and "step 2 on one clock" in lanes(ranks)
    page.keyboard.press("Enter")
    page.locator(".rank-heat").wait_for(state="visible")


def test_each_button_says_its_own_key(ranks: Shown) -> None:
    page = ranks.page
    keys = {"Open step": "Enter", "Keep rank": "k", "Critical path": "p"}
    for name, key in keys.items():
        said = page.get_by_role("button", name=name).get_attribute("aria-keyshortcuts")
        assert said is not None and said.lower() == key.lower()
    page.keyboard.press("?")
    told = page.get_by_role("dialog").inner_text()
    assert "Open the step" in told and "Keep the rank" in told and "Select steps" in told


def lanes(ranks: Shown) -> str:
    return ranks.page.locator(".rank-step canvas").get_attribute("aria-label") or ""


def test_the_lanes_have_the_slow_rank_a_median_one_its_neighbours_and_the_chosen_one(ranks: Shown) -> None:
    assert lanes(ranks).startswith("rank 2 (slowest), ") and "(median)" in lanes(ranks)
    assert lanes(ranks).endswith(" of step 1 on one clock") and "(neighbour)" in lanes(ranks)
    canvas = ranks.page.locator(".rank-heat canvas").bounding_box()
    assert canvas is not None
    ranks.page.mouse.click(canvas["x"] + 140 + 48, canvas["y"] + 22 + 14 * 4 + 7)
    ranks.until("() => document.querySelector('section.view').dataset.shown === '1' && location.hash.includes('rank=')")
    rank = ranks.page.url.partition("rank=")[2].partition("&")[0]
    ranks.until(f"() => document.querySelector('.rank-step canvas').ariaLabel.includes('rank {rank} (')")


def test_the_lanes_are_zoomed_and_the_address_has_the_part(ranks: Shown) -> None:
    page = ranks.page
    before = page.locator(".rank-step canvas").screenshot()
    for _ in range(4):
        page.keyboard.press("w")
    ranks.until("() => /t=\\d+-\\d+/.test(location.hash)")
    near = settled(ranks, ".rank-step canvas")
    assert near != before
    page.reload()
    ranks.until("() => document.querySelector('.srow') !== null")
    assert settled(ranks, ".rank-step canvas") == near, "a link opens the same picture"
    page.keyboard.press("Space")
    ranks.until("() => !location.hash.includes('t=')")


def test_from_a_cell_to_the_timeline_of_its_rank(ranks: Shown) -> None:
    ranks.page.keyboard.press("t")
    ranks.until("() => /trace-00002.*timeline.*t0=/.test(location.hash)")
    ranks.until("() => document.querySelector('section.view[data-shown]') !== null")
    ranks.page.go_back()
    ranks.until("() => location.hash.startsWith('#/run/ranks')")


def test_the_side_is_whole_in_a_small_window(ranks: Shown) -> None:
    ranks.page.set_viewport_size({"width": 800, "height": 450})
    assert ranks.page.locator(".srow").count() == 5
    assert ranks.page.evaluate(SIDE_CUT) == []


def test_without_steps_it_says_so_and_draws_no_lanes(page: Page, static: Path, tmp_path: Path) -> None:
    for served in start(create_app(Library([write_processes(tmp_path / "it's.peep", steps=False)]), static=static)):
        page.goto(f"{served.address}#/it-s/ranks")
        Shown(page, served).until("() => document.body.innerText.includes('No steps')")
        assert not page.locator(".rank-step, .rank-bar").first.is_visible()
        assert "'\\''" in page.locator(".layer .cmd").first.inner_text()  # a name that a shell takes as one word
        break


def test_the_timeline_of_a_process_opens_with_a_key_in_the_same_capture(
    page: Page, static: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_processes(tmp_path / "two.peep")
    monkeypatch.chdir(tmp_path)
    for served in start(create_app(Library([Path("two.peep")]), static=static)):
        shown = Shown(page, served)
        shown.open("#/two/ranks")
        shown.until("() => document.querySelector('.srow') !== null")
        page.keyboard.press("t")
        page.wait_for_url("**/#/two/timeline?t0=*")
        break
