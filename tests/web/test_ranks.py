"""The Ranks tab in a real browser: the slow rank is what one sees first, and all of it works without a mouse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
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
    page.keyboard.press("Enter")
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
    page.wait_for_timeout(300)
    near = page.locator(".rank-step canvas").screenshot()
    assert near != before
    page.reload()
    ranks.until("() => document.querySelector('.srow') !== null")
    page.wait_for_timeout(300)
    assert page.locator(".rank-step canvas").screenshot() == near, "a link opens the same picture"
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
