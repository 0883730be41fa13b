"""Stepping as in the best compiler viewers: differences, a selection in every pass, parts of a graph, colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from .conftest import OUTPUT, Served, Shown
from .test_passes import compiled, ids, names, passes_served, places
from .test_rewrites import api

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
__all__ = ["compiled", "ids", "passes_served"]


def worked(view: Shown) -> list[tuple[int, int]]:
    """Passes of the context with most of them, not inside of others, that have matches: their ids and how many."""
    steps = api(view.served, "steps")
    rows = list(zip(steps["id"], steps["context"], steps["depth"], steps["matches"], strict=True))
    of: dict[int, list[tuple[int, int]]] = {}
    for step, context, depth, matches in rows:
        if depth == 0 and matches > 0:
            of.setdefault(context, []).append((step, matches))
    return max(of.values(), key=len)


def at(view: Shown, step: int, match: int = 0, more: str = "") -> None:
    view.open(f"#/small/rewrites?step={step}&match={match}{more}")
    view.wait_shown(f"{step}/{match}")


def drawn(view: Shown) -> dict[int, tuple[float, float, int]]:
    return {box["key"]: (box["x"], box["y"], box["state"]) for box in view.boxes()}


def since(view: Shown, first: str) -> None:
    view.page.wait_for_selector(f'section.view[data-since="{first}"]')


def test_the_difference_of_two_far_graphs_with_survivors_in_place(rewrites: Shown) -> None:
    passes = worked(rewrites)
    (one, _), (other, _) = passes[0], passes[1]
    at(rewrites, one)
    before = drawn(rewrites)
    rewrites.page.keyboard.press("a")
    rewrites.wait_param("first", f"{one}.0")
    rewrites.page.evaluate(f"location.hash = location.hash.replace('step={one}', 'step={other}')")
    rewrites.wait_shown(f"{other}/0")
    since(rewrites, f"{one}.0")
    after = drawn(rewrites)
    wire = api(rewrites.served, f"steps/{other}/graph?match=0&from={one}.0")
    states = [state for _, _, state in after.values()]
    assert 1 in states or 2 in states or 3 in states, "something differs"
    if 2 * wire["shared"] >= len(wire["id"]):
        kept = before.keys() & after.keys()
        assert kept and all(before[key][:2] == after[key][:2] for key in kept), "what is in both stays where it was"
    ghosts = {key for key, (_, _, state) in after.items() if state == 3}
    assert ghosts <= {node["identity"] for node in wire["removed"]}
    legend = rewrites.page.locator("button.legend").inner_text()
    for word, number in (("added", len(wire["added"])), ("changed", len(wire["changed"]))):
        assert number == 0 or f"{number} {word}" in legend
    assert "Difference" in rewrites.page.locator(".sec.difference").inner_text()
    rewrites.page.screenshot(path=OUTPUT / "difference-dark.png")
    # on through the matches of the second pass, against the same first graph
    rewrites.page.keyboard.press("ArrowRight")
    rewrites.wait_shown(f"{other}/1")
    since(rewrites, f"{one}.0")
    # turned round, and then no difference any more
    rewrites.page.keyboard.press("Shift+A")
    rewrites.wait_shown(f"{one}/0")
    since(rewrites, f"{other}.1")
    back = api(rewrites.served, f"steps/{one}/graph?match=0&from={other}.1")
    forth = api(rewrites.served, f"steps/{other}/graph?match=1&from={one}.0")
    assert len(back["added"]) == len(forth["removed"]) and len(back["changed"]) == len(forth["changed"])
    rewrites.page.keyboard.press("Escape")
    since(rewrites, "")
    rewrites.wait_param("first", None)


def test_what_a_whole_pass_changed_and_the_menu(rewrites: Shown) -> None:
    step, matches = max(worked(rewrites), key=lambda one: one[1])
    at(rewrites, step)
    rewrites.page.keyboard.press("p")
    rewrites.wait_shown(f"{step}/{matches}")
    since(rewrites, f"{step}.0")
    rewrites.page.keyboard.press("p")
    since(rewrites, "")
    page = rewrites.page
    page.get_by_role("button", name="Show ▾").click()
    page.get_by_role("menuitemcheckbox", name="Difference from this graph on A").click()
    rewrites.wait_param("first", f"{step}.{matches}")
    page.locator(".mode.since").get_by_role("button", name="No difference").click()
    rewrites.wait_param("first", None)


def test_a_link_to_a_difference_shows_the_same_boxes(rewrites: Shown, browser: Browser) -> None:
    passes = worked(rewrites)
    one, other = passes[0][0], passes[1][0]
    at(rewrites, one)
    rewrites.page.keyboard.press("a")
    rewrites.wait_param("first", f"{one}.0")
    rewrites.page.evaluate(
        f"location.hash = location.hash.replace('step={one}', 'step={other}').replace(/at=[^&]*&/, '')"
    )
    rewrites.wait_shown(f"{other}/0")
    since(rewrites, f"{one}.0")
    rewrites.until("() => new URLSearchParams(location.hash.split('?')[1]).get('at') !== null")
    rewrites.until("() => location.hash.includes('first=')")
    rewrites.page.wait_for_timeout(400)  # the address is written a moment after the view rests
    context = browser.new_context(viewport={"width": 1600, "height": 900}, reduced_motion="reduce")
    try:
        copy = Shown(context.new_page(), rewrites.served)
        copy.open(rewrites.page.evaluate("location.hash"))
        copy.wait_shown(f"{other}/0")
        since(copy, f"{one}.0")
        there, here = drawn(copy), drawn(rewrites)
        assert there.keys() == here.keys() and [s for *_, s in there.values()] == [s for *_, s in here.values()]
    finally:
        context.close()


def select(view: Shown, key: int) -> None:
    view.page.evaluate(
        "key => { const v = document.querySelector('.graph').graphView; v.options.onSelect(key, 'alone') }", key
    )


def fates(view: Shown) -> dict[int, str]:
    """What the strip says of the first selected node, by step."""
    cells: list[list[Any]] = view.page.evaluate(
        """() => [...document.querySelectorAll('.life:first-child .cell')]
          .map(cell => [Number(cell.dataset.step), cell.className])"""
    )
    kinds = ("made", "changes", "dies", "stays", "passing")
    return {step: next((kind for kind in kinds if kind in text.split()), "") for step, text in cells}


def long_lived(view: Shown, passes: list[tuple[int, int]]) -> tuple[int, int, dict[str, Any]]:
    """A pass, a node of the graph that went into it, and its life: one that is in three passes, and changes in one."""
    for step, _ in passes:
        graph = api(view.served, f"steps/{step}/graph?match=0")
        nodes = ",".join(str(n) for n, fold in zip(graph["identity"], graph["fold"], strict=True) if fold == 0)
        for life in api(view.served, f"steps/{step}/lives?match=0&identity={nodes}"):
            later = [s for s in life["step"] if s > step]
            if len(later) > 2 and any(life["changed"][life["step"].index(s)] for s in later):
                return step, life["of"], life
    raise AssertionError("no node lives that long")


def test_a_selection_stays_selected_in_every_pass(rewrites: Shown) -> None:
    step, node, life = long_lived(rewrites, worked(rewrites))
    at(rewrites, step)
    select(rewrites, node)
    rewrites.wait_param("node", str(node))
    rewrites.page.wait_for_selector(".lives:not([hidden]) .cell")
    said = fates(rewrites)
    for other, went_in, came_out, changed in zip(
        life["step"], life["wentIn"], life["cameOut"], life["changed"], strict=True
    ):
        fate = "made" if not went_in else "dies" if not came_out else "changes" if changed else "stays"
        assert said[other] == fate
    rewrites.page.screenshot(path=OUTPUT / "lives-dark.png")
    # a click on the strip goes to the match that changed it, and it is selected there too
    other = next(s for s, changed in zip(life["step"], life["changed"], strict=True) if changed and s > step)
    rewrites.page.locator(f'.life:first-child .cell[data-step="{other}"]').click()
    rewrites.until("step => document.querySelector('section.view').dataset.shown.startsWith(`${step}/`)", str(other))
    identity = life["identity"][life["step"].index(other)]
    history = api(rewrites.served, f"steps/{other}/history?identity={identity}&match=0")
    rewrites.wait_shown(f"{other}/{history['touched'][0]}")
    assert rewrites.param("held") == f"{step}.0" and rewrites.param("node") == str(node)
    rewrites.page.wait_for_selector("[data-selected]:not([hidden])")
    # back with the arrow keys: the same node is selected where it was selected
    rewrites.page.evaluate(
        f"location.hash = location.hash.replace('step={other}', 'step={step}').replace(/match=\\d+&?/, '')"
    )
    rewrites.wait_shown(f"{step}/0")
    rewrites.page.wait_for_selector("[data-selected]:not([hidden])")
    # N goes on to the next match that touches it
    rewrites.page.keyboard.press("n")
    shown = rewrites.wait_other(f"{step}/0")
    assert int(shown.split("/")[1]) > 0


def test_the_neighbourhood_grows_and_shrinks(rewrites: Shown) -> None:
    step, _ = max(worked(rewrites), key=lambda one: one[1])
    at(rewrites, step)
    whole = len(rewrites.boxes())
    rewrites.page.keyboard.press("v")
    assert "Select a node" in rewrites.page.locator(".found").inner_text()
    rewrites.page.keyboard.press("Shift+ArrowUp")
    rewrites.until("() => location.hash.includes('node=')")
    # a selection that is out of sight comes into it: what is near it is all that is shown
    rewrites.page.evaluate("() => { document.querySelector('.graph').graphView.camera = {x: 9e4, y: 9e4, zoom: 0.9}; }")
    sizes: list[int] = []
    for key, near in (("v", "1.1"), ("u", "2.1"), ("d", "2.2"), (".", "3.3"), (",", "2.2"), ("Shift+U", "1.2")):
        rewrites.page.keyboard.press(key)
        rewrites.wait_param("near", near)
        rewrites.until(
            "n => document.querySelector('.graph').graphView.boxes.length !== n", sizes[-1] if sizes else whole
        )
        sizes.append(len(rewrites.boxes()))
        chosen = next(box for box in rewrites.boxes() if str(box["key"]) == rewrites.param("node"))
        area = rewrites.page.locator(".graph").bounding_box()
        assert area is not None and 0 <= chosen["px"] - area["x"] <= area["width"]
        assert 0 <= chosen["py"] - area["y"] <= area["height"]
    edges = rewrites.page.locator(".mode.part .num")
    assert edges.all_inner_texts() == ["1 up", "2 down"]
    assert all(one.evaluate("e => e.scrollWidth <= e.clientWidth + 1") for one in edges.all()), "nothing lies over it"
    assert sizes[0] < sizes[1] <= sizes[2] < sizes[3] < whole and sizes[4] == sizes[2] and sizes[5] < sizes[4]
    assert "outside hidden" in rewrites.page.locator("footer, .status").last.inner_text()
    rewrites.page.screenshot(path=OUTPUT / "near-dark.png")
    rewrites.page.keyboard.press("Escape")
    rewrites.wait_param("near", None)
    rewrites.until("n => document.querySelector('.graph').graphView.boxes.length === n", whole)


def test_only_the_change_with_a_ring(rewrites: Shown) -> None:
    step, matches = max(worked(rewrites), key=lambda one: one[1])
    at(rewrites, step, matches // 2)
    whole = len(rewrites.boxes())
    rewrites.page.keyboard.press("Shift+Z")
    rewrites.wait_param("near", "change.1.1")
    rewrites.until("n => document.querySelector('.graph').graphView.boxes.length < n", whole)
    ringed = rewrites.boxes()
    changed = [box for box in ringed if box["state"] != 0]
    assert changed and len(changed) < len(ringed)
    rewrites.page.keyboard.press(",")
    rewrites.wait_param("near", "change.0.0")
    rewrites.until("() => document.querySelector('.graph').graphView.boxes.every(b => b.state !== 0)")
    # stepping keeps it at what each match changed
    rewrites.page.keyboard.press("ArrowRight")
    rewrites.wait_shown(f"{step}/{matches // 2 + 1}")
    assert all(box["state"] != 0 for box in rewrites.boxes())


def test_passes_that_changed_nothing_are_hidden_by_one_key(rewrites: Shown) -> None:
    step, _ = worked(rewrites)[0]
    at(rewrites, step)
    idle = rewrites.page.locator(".tree .row.zero:not(.ctx)")
    assert idle.count() > 0
    rewrites.page.keyboard.press("h")
    rewrites.wait_param("only", "matches")
    rewrites.until("() => document.querySelectorAll('.tree .row.zero:not(.ctx)').length === 0")
    rewrites.page.keyboard.press("h")
    rewrites.wait_param("only", None)
    assert idle.count() > 0


def colours(view: Shown) -> set[int]:
    found: list[int] = view.page.evaluate(
        "() => [...new Set(document.querySelector('.graph').graphView.picture.family)]"
    )
    return set(found)


def test_boxes_are_coloured_by_what_one_chooses(rewrites: Shown) -> None:
    step, matches = max(worked(rewrites), key=lambda one: one[1])
    at(rewrites, step, matches)
    families = colours(rewrites)
    for by in ("dtype", "rule", "birth", "time"):
        rewrites.page.keyboard.press("l")
        rewrites.wait_param("colour", by)
        rewrites.page.wait_for_selector(".entries .entry")
        rewrites.until(
            "old => JSON.stringify([...document.querySelector('.graph').graphView.picture.family]) !== old", ""
        )
        legend = rewrites.page.locator(".entries .entry").all_inner_texts()
        assert legend and all(any(c.isdigit() for c in entry) for entry in legend), "each with how many boxes it has"
        if by == "time":
            assert any(colour >= 13 for colour in colours(rewrites)), "heat, not colours of names"
    rewrites.page.screenshot(path=OUTPUT / "colours-dark.png")
    address = rewrites.page.evaluate("location.hash")
    rewrites.page.keyboard.press("l")
    rewrites.wait_param("colour", None)
    assert colours(rewrites) == families
    rewrites.open(address)
    rewrites.page.wait_for_selector(".entries .entry")


def test_several_nodes_are_selected_at_once(rewrites: Shown) -> None:
    step, _ = max(worked(rewrites), key=lambda one: one[1])
    at(rewrites, step)
    page = rewrites.page
    page.keyboard.press("Shift+ArrowUp")
    rewrites.until("() => location.hash.includes('node=')")
    page.keyboard.press("j")
    rewrites.until("() => location.hash.includes('~') || location.hash.includes('%7E')")
    first = (rewrites.param("node") or "").split("~")[0]
    page.keyboard.press("Shift+ArrowUp")
    rewrites.until("old => !new URLSearchParams(location.hash.split('?')[1]).get('node').startsWith(old)", first)
    assert (rewrites.param("node") or "").split("~")[1:] == [first]
    page.wait_for_selector(".life:nth-child(2)")
    assert page.locator(".life").count() == 2
    page.keyboard.press("Escape")
    rewrites.wait_param("node", None)
    page.wait_for_selector(".lives", state="hidden")


def test_named_passes_alike(page: Any, passes_served: Served, ids: dict[str, int]) -> None:
    shown = Shown(page, passes_served)
    first, fusion = ids["transpose folding"], ids["fusion"]
    shown.open(f"#/passes/rewrites?step={first}")
    shown.wait_shown(f"{first}/0")
    before = places(shown)
    page.keyboard.press("a")
    shown.wait_param("first", f"{first}.0")
    page.evaluate(f"location.hash = '#/passes/rewrites?first={first}.0&step={fusion}&match=1'")
    shown.wait_shown(f"{fusion}/1")
    since(shown, f"{first}.0")
    assert "mm_nt" in names(shown, 1) and "mm" in names(shown, 3), "what was made and what went since then"
    after = places(shown)
    assert all(before[name] == after[name] for name in before.keys() & after.keys())
    page.evaluate(f"location.hash = '#/passes/rewrites?step={fusion}'")
    shown.wait_shown(f"{fusion}/0")
    key = next(box["key"] for box in shown.boxes() if box["name"].startswith("mm_nt"))
    select(shown, key)
    page.wait_for_selector(".lives:not([hidden]) .cell")
    said = fates(shown)
    assert said[first] == "made" and said[ids["dce"]] == "stays"
    for by in ("dtype", "rule", "birth"):
        page.keyboard.press("l")
        shown.wait_param("colour", by)
        page.wait_for_selector(".entries .entry")
    assert "transpose folding" in page.locator(".entries").inner_text()
