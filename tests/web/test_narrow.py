"""Below 1100 px, and at 200% of a usual window, buttons are within reach, and what has no room goes as a whole."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from .conftest import Shown
from .pictures import channels, pixels_of

pytestmark = pytest.mark.browser

# buttons and fields of the middle and the panes that are cut off: neither whole in sight nor in something that scrolls
CUT = """() => [...document.querySelectorAll('.bar button, .bar input')].filter(e => {
  const pane = e.closest('section.view, .pane');
  if (pane === null || !e.checkVisibility({visibilityProperty: true})) return false;
  const r = e.getBoundingClientRect(), view = pane.getBoundingClientRect();
  return r.width > 0 && (r.right > view.right + 1 || r.left < view.left - 1 || r.bottom > view.bottom + 1);
}).map(e => e.textContent || e.placeholder)"""


# what stands in a side pane and reaches past its right edge
SIDE_CUT = """() => [...document.querySelectorAll('.pane.r *')].filter(e => {
  if (!e.checkVisibility({visibilityProperty: true})) return false;
  const r = e.getBoundingClientRect();
  return r.width > 0 && r.right > e.closest('.pane').getBoundingClientRect().right + 1;
}).map(e => e.textContent)"""


@pytest.mark.parametrize(("width", "height"), [(1099, 700), (1000, 700), (800, 450)])
@pytest.mark.parametrize("place", ["#/small/code", "#/small/rewrites"])
def test_buttons_are_within_reach(view: Shown, place: str, width: int, height: int) -> None:
    view.page.set_viewport_size({"width": width, "height": height})
    view.open(place)
    view.page.wait_for_selector("section.view .bar button")
    view.page.wait_for_timeout(300)
    assert view.page.evaluate(CUT) == []
    if place.endswith("code"):
        view.page.wait_for_selector(".stage[data-traced]")
        edges = view.page.evaluate(
            """() => [...document.querySelectorAll('.codehead .pv span, .code .pv span:first-child')]
              .filter(e => e.textContent && e.checkVisibility()).map(e => e.getBoundingClientRect().right)"""
        )
        right = view.page.evaluate("document.querySelector('section.view').getBoundingClientRect().right")
        assert len(edges) > 2 and max(edges) <= right, "the column of ops stays"
    if place.endswith("rewrites"):
        for name in ("Lay out again", "Follow", "Change", "Fit"):
            assert view.page.get_by_role("button", name=name).first.is_visible(), name
        shown = view.page.evaluate(
            """() => [...document.querySelectorAll('.bar.chips > *')].map(e => {
              const bar = e.parentElement.getBoundingClientRect(), r = e.getBoundingClientRect();
              return [e.textContent, r.top >= bar.bottom, r.right <= bar.right];
            })"""
        )
        assert shown[0][1:] == [False, True] and all(gone or whole for _, gone, whole in shown), shown
    middle = view.page.locator("section.view").bounding_box()
    assert middle is not None and middle["width"] > 280
    for pane in (".pane.l", ".pane.r"):
        box = view.page.locator(pane).bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width + 1
    assert view.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_buttons_below_a_graph_take_a_second_line_between_wide_panes(view: Shown) -> None:
    view.page.set_viewport_size({"width": 1280, "height": 720})
    view.open("#/small/rewrites")
    view.page.wait_for_selector(".bar.low button")
    view.page.evaluate("document.documentElement.style.setProperty('--w-right', '520px')")
    middle = view.page.locator("section.view").bounding_box()
    assert middle is not None and 280 < middle["width"] < 600
    assert view.page.evaluate(CUT) == []
    assert view.page.locator(".bar.low").get_by_role("button", name="Fit").is_visible()


def test_the_status_bar_drops_whole_parts_and_keeps_its_state(view: Shown) -> None:
    view.open("#/small/rewrites")
    full = view.page.locator("footer.status").inner_text()
    for width in (1600, 760, 560):
        view.page.set_viewport_size({"width": width, "height": 700})
        # in one go: the bar is drawn anew when the view has settled
        right = view.page.evaluate("document.querySelector('.status .live').getBoundingClientRect().right")
        assert 0 < right <= width
        cut = view.page.evaluate(
            """() => [...document.querySelectorAll('.status > .parts')].flatMap(parts => {
              const box = parts.getBoundingClientRect();
              return [...parts.children].filter(e => {
                const r = e.getBoundingClientRect();
                return r.width > 0 && r.top < box.bottom - 1 && (r.right > box.right + 1 || r.left < box.left - 1);
              }).map(e => e.textContent);
            })"""
        )
        assert cut == []
    # where there is no room at all even the first figure goes, and goes whole
    gone = view.page.evaluate(
        """() => [...document.querySelectorAll('.status > .parts')].map(parts => {
          parts.style.flex = '0 0 20px';
          const first = parts.firstElementChild, box = parts.getBoundingClientRect();
          return first === null || first.getBoundingClientRect().top >= box.bottom - 1;
        })"""
    )
    assert gone and all(gone)
    assert "sealed" in full


def test_a_kernel_s_dots_stand_at_its_tail(view: Shown) -> None:
    view.page.set_viewport_size({"width": 1000, "height": 700})
    view.open("#/small/code")
    names = view.page.locator(".tree .mono.both, .pane.l .mono.both")
    names.first.wait_for()
    gaps = names.evaluate_all(
        """all => all.filter(e => e.firstChild.scrollWidth <= e.firstChild.clientWidth).map(e => {
          const [head, tail] = [...e.children].map(one => {
            const text = document.createRange();
            text.selectNodeContents(one);
            return text.getBoundingClientRect();
          });
          return [e.textContent, tail.left - head.right];
        })"""
    )
    assert [name for name, gap in gaps if gap > 2] == [], "in one piece where there is room"
    names.evaluate_all("all => all.forEach((e, at) => { e.style.width = `${62 + at % 7}px`; e.style.flex = 'none'; })")
    shown = [one for one in names.all() if one.evaluate("e => e.firstChild.scrollWidth > e.firstChild.clientWidth")]
    assert shown
    for name in shown:
        picture = channels(pixels_of(name.screenshot()))
        ink = np.flatnonzero((abs(picture - picture[0, 0]).max(axis=2) > 40).any(axis=0))
        assert np.diff(ink).max() < 7, name.text_content()  # a letter is 7 px wide


# what stands in the top bar, from left to right: the capture, tabs, the rest
TOP = """() => [...document.querySelectorAll('.top .name, .cap .caret, .tabs a, .tabs .more, .top .search, .top .icon')]
  .filter(e => e.checkVisibility({visibilityProperty: true}) && e.getBoundingClientRect().width > 0)
  .map(e => [e.textContent, e.getBoundingClientRect().left, e.getBoundingClientRect().right])"""


@pytest.mark.parametrize("capture", ["small", "hostile"])
def test_the_name_and_the_tabs_have_room_in_every_window(view: Shown, capture: str) -> None:
    """However long the name and however many the tabs: nothing overlaps, and every tab is in the bar or in its menu."""
    view.open(f"#/{capture}/rewrites")
    page = view.page
    every = page.locator(".tabs a:visible").all_inner_texts()
    assert len(every) > 3 and page.locator(".tabs .more").is_hidden()
    for width in (1000, 800, 640, 520, 1600):
        page.set_viewport_size({"width": width, "height": 700})
        page.wait_for_timeout(50)
        placed = page.evaluate(TOP)
        for (left, _, end), (right, begin, _) in pairwise(placed):
            assert begin >= end - 0.5, (width, left, right)
        assert placed[-1][2] <= width
        seen = page.locator(".tabs a:visible").all_inner_texts()
        assert "Rewrites" in seen
        if seen == every:
            continue
        page.locator(".tabs .more").click()
        inside = page.locator(".menu:visible .mi").all_inner_texts()
        assert sorted(seen + [text.strip() for text in inside]) == sorted(every)
        page.keyboard.press("Escape")
    page.set_viewport_size({"width": 520, "height": 700})
    page.locator(".tabs .more").click()
    page.get_by_role("menuitem", name="Code").click()
    page.wait_for_selector(".tabs a[aria-current]:visible:has-text('Code')")


def test_a_column_s_name_is_whole_beside_its_type(view: Shown) -> None:
    view.page.set_viewport_size({"width": 800, "height": 450})
    view.open("#/small/sql")
    names = view.page.locator(".sql-column .mono")
    names.first.wait_for()
    cut = names.evaluate_all("all => all.filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent)")
    assert names.count() > 3 and cut == []
