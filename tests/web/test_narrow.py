"""Below 1100 px, and at 200% of a usual window, every button of Code and Rewrites is within reach."""

from __future__ import annotations

import pytest

from .conftest import Shown

pytestmark = pytest.mark.browser

# buttons and fields of the middle that are cut off: neither whole in sight nor in something that scrolls
CUT = """() => [...document.querySelectorAll('section.view .bar button, section.view .bar input')].filter(e => {
  if (!e.checkVisibility({visibilityProperty: true})) return false;
  const r = e.getBoundingClientRect(), view = document.querySelector('section.view').getBoundingClientRect();
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
    middle = view.page.locator("section.view").bounding_box()
    assert middle is not None and middle["width"] > 280
    for pane in (".pane.l", ".pane.r"):
        box = view.page.locator(pane).bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width + 1
    assert view.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
