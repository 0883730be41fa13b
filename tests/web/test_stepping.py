"""Stepping through rewrites: links that show the same picture, the change in sight, the history of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from .test_rewrites import api, busiest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from .conftest import Shown

pytestmark = pytest.mark.browser


def longest(view: Shown) -> tuple[int, int]:
    """The step with most matches."""
    return busiest(view.served, 100_000)


def on_screen(view: Shown) -> dict[int, tuple[float, float]]:
    """Boxes whose middle is inside the graph's part of the window, and where."""
    area = view.page.locator(".graph").bounding_box()
    assert area is not None
    right, bottom = area["x"] + area["width"], area["y"] + area["height"]
    return {
        box["key"]: (round(box["px"], 0), round(box["py"], 0))
        for box in view.boxes()
        if area["x"] <= box["px"] <= right and area["y"] <= box["py"] <= bottom
    }


def near(a: dict[int, tuple[float, float]], b: dict[int, tuple[float, float]]) -> list[Any]:
    """What is not at the same place in both, to two pixels; a box at the very edge may be in one alone."""
    assert len(a) >= 5
    wrong: list[Any] = [
        key for key in a.keys() & b.keys() if max(abs(p - q) for p, q in zip(a[key], b[key], strict=True)) > 2
    ]
    return wrong + [key for key in a.keys() ^ b.keys() if len(a.keys() ^ b.keys()) > 1]


def fresh(view: Shown, browser: Browser) -> dict[int, tuple[float, float]]:
    """What another browser shows for the address that this one has."""
    context = browser.new_context(viewport={"width": 1600, "height": 900}, reduced_motion="reduce")
    try:
        other = type(view)(context.new_page(), view.served)
        other.open(view.page.evaluate("location.hash"))
        other.wait_shown(view.shown)
        return on_screen(other)
    finally:
        context.close()


def rest(view: Shown, laid: str | None) -> None:
    """Until the address has the layout and the camera of what is shown."""
    view.wait_param("laid", laid)
    view.until(
        """() => {
          const at = new URLSearchParams(location.hash.split('?')[1] ?? '').get('at');
          return at !== null && at === document.querySelector('.graph').graphView.anchor;
        }"""
    )


def test_a_link_after_21_keys_and_a_jump_shows_the_same_boxes_in_another_browser(
    rewrites: Shown, browser: Browser
) -> None:
    step, matches = longest(rewrites)
    keys = 21
    assert matches > keys + 12
    rewrites.open(f"#/small/rewrites?step={step}")
    rewrites.wait_shown(f"{step}/0")
    for match in range(1, keys + 1):
        rewrites.page.keyboard.press("ArrowRight")
        rewrites.wait_shown(f"{step}/{match}")
    rest(rewrites, f"0-{keys}")
    assert near(on_screen(rewrites), fresh(rewrites, browser)) == []

    jump = keys + 12
    rewrites.page.evaluate("match => { location.hash = location.hash.replace(/match=\\d+/, `match=${match}`) }", jump)
    rewrites.wait_shown(f"{step}/{jump}")
    rewrites.page.keyboard.press("ArrowLeft")
    rewrites.wait_shown(f"{step}/{jump - 1}")
    rest(rewrites, f"0-{keys},{jump}-{jump - 1}")
    assert near(on_screen(rewrites), fresh(rewrites, browser)) == []

    # the camera is told from a box: moved and zoomed it means the same
    rewrites.page.evaluate(
        """() => {
          const view = document.querySelector('.graph').graphView, {x, y} = view.camera;
          view.camera = {x: x + 90, y, zoom: 0.4};
        }"""
    )
    rest(rewrites, f"0-{keys},{jump}-{jump - 1}")
    assert near(on_screen(rewrites), fresh(rewrites, browser)) == []


def test_stepping_back_is_the_same_way_as_never_having_gone_on(rewrites: Shown, browser: Browser) -> None:
    step, _ = longest(rewrites)
    rewrites.open(f"#/small/rewrites?step={step}")
    rewrites.wait_shown(f"{step}/0")
    for match in [*range(1, 13), *range(11, 5, -1)]:
        rewrites.page.keyboard.press("ArrowRight" if match > int(rewrites.shown.split("/")[1]) else "ArrowLeft")
        rewrites.wait_shown(f"{step}/{match}")
    rest(rewrites, "0-6")
    assert near(on_screen(rewrites), fresh(rewrites, browser)) == []
    rewrites.page.keyboard.press("s")  # another scene is laid out anew, and the link says so
    rest(rewrites, None)
    assert near(on_screen(rewrites), fresh(rewrites, browser)) == []


def changed_in_sight(view: Shown) -> bool:
    seen = on_screen(view)
    return any(box["key"] in seen for box in view.boxes() if box["state"])


def look_away(view: Shown) -> dict[str, float]:
    """Moves the view to a corner of the graph that is far from any change."""
    far: dict[str, float] = view.page.evaluate(
        """() => {
          const view = document.querySelector('.graph').graphView;
          const right = Math.max(...view.boxes.map(box => box.x));
          view.camera = {x: right + 3000, y: 0, zoom: 0.9};
          return view.camera;
        }"""
    )
    return far


def test_stepping_moves_the_view_only_when_the_change_is_outside(rewrites: Shown) -> None:
    step, _ = longest(rewrites)
    camera = "() => document.querySelector('.graph').graphView.camera"
    rewrites.open(f"#/small/rewrites?step={step}")
    rewrites.wait_shown(f"{step}/0")
    page, moved = rewrites.page, 0
    for match in range(1, 15):
        before = page.evaluate(camera)
        page.keyboard.press("ArrowRight")
        rewrites.wait_shown(f"{step}/{match}")
        after = page.evaluate(camera)
        assert after["zoom"] == before["zoom"]
        if any(box["state"] for box in rewrites.boxes()):
            assert changed_in_sight(rewrites)
        if after != before:
            moved += 1
            page.evaluate("c => { document.querySelector('.graph').graphView.camera = c }", before)
            assert not changed_in_sight(rewrites)  # it had to move
            page.evaluate("c => { document.querySelector('.graph').graphView.camera = c }", after)
    look_away(rewrites)
    page.keyboard.press("ArrowRight")
    rewrites.wait_shown(f"{step}/15")
    assert changed_in_sight(rewrites)

    page.keyboard.press("k")
    away = look_away(rewrites)
    page.keyboard.press("ArrowRight")
    rewrites.wait_shown(f"{step}/16")
    assert page.evaluate(camera) == away
    assert page.locator(".graph-outside").is_visible()
    page.keyboard.press("k")  # on again: it goes there at once
    assert changed_in_sight(rewrites)
    rewrites.until("match => location.hash.includes(match)", "match=16")  # the address is written a moment later
    page.reload()
    rewrites.wait_shown(f"{step}/16")
    assert page.locator(".btn", has_text="Follow").get_attribute("aria-pressed") == "true"


def test_rows_of_one_rule_say_what_they_matched(rewrites: Shown) -> None:
    step, matches = longest(rewrites)
    wire = api(rewrites.served, f"steps/{step}/matches?first=1&count={min(matches, 2000)}")
    columns = [wire[name] for name in ("op", "became", "line", "file")]
    rules = list(zip(*columns, strict=True))
    told = list(zip(*columns, wire["about"], strict=True))
    assert len(set(rules)) < len(rules) / 3  # many rows of one rule
    assert len(set(told)) > 1.5 * len(set(rules))
    rewrites.open(f"#/small/rewrites?step={step}&match=1")
    rewrites.wait_shown(f"{step}/1")
    row = rewrites.page.locator(".matches [aria-selected=true] .about")
    assert row.inner_text().startswith(wire["abouts"][wire["about"][0]])
    assert "(" in row.inner_text()


def lives(view: Shown, step: int, matches: int) -> dict[int, list[int]]:
    """The matches that touched each node of a pass, out of its graphs one by one."""
    touched: dict[int, list[int]] = {}
    for match in range(1, matches + 1):
        graph = api(view.served, f"steps/{step}/graph?match={match}")
        nodes = [graph["identity"][at] for at in (*graph["added"], *graph["changed"])]
        for identity in {*nodes, *(node["identity"] for node in graph["removed"])}:
            touched.setdefault(identity, []).append(match)
    return touched


def test_a_history_has_every_match_that_touched_a_node_and_leads_to_it(rewrites: Shown) -> None:
    step, matches = busiest(rewrites.served, 40)
    truth = lives(rewrites, step, matches)
    for identity, touched in truth.items():
        told = api(rewrites.served, f"steps/{step}/history?identity={identity}&match={touched[0]}")
        assert told["touched"] == touched
    identity = max((one for one in truth if len(truth[one]) < 10), key=lambda one: len(truth[one]))
    touched = truth[identity]
    assert len(touched) >= 2
    rewrites.open(f"#/small/rewrites?step={step}&match={touched[0]}&node={identity}")
    links = rewrites.page.locator(".history .link", has_text="match")
    links.first.wait_for()
    assert rewrites.page.locator(".history [aria-current=true]").inner_text() == f"match {touched[0]}"
    look_away(rewrites)
    rewrites.page.locator(".history .link", has_text=f"match {touched[-1]}").last.click()
    rewrites.wait_shown(f"{step}/{touched[-1]}")
    if any(box["key"] == identity for box in rewrites.boxes()):
        assert identity in on_screen(rewrites)


def test_a_history_goes_on_through_the_passes_of_the_context(rewrites: Shown) -> None:
    steps = api(rewrites.served, "steps")
    step, _ = busiest(rewrites.served, 40)
    at = steps["id"].index(step)
    context = [s for s, c in zip(steps["id"], steps["context"], strict=True) if c == steps["context"][at]]
    graph = api(rewrites.served, f"steps/{step}/graph")
    found = {one: api(rewrites.served, f"steps/{step}/passages?identity={one}") for one in graph["identity"][:12]}
    identity, passages = max(found.items(), key=lambda item: len(item[1]))
    assert passages
    assert [one["step"] for one in passages] == sorted(one["step"] for one in passages)
    assert {one["step"] for one in passages} <= set(context) - {step}
    node = graph["id"][graph["identity"].index(identity)]
    for one in passages:  # it is there: as it went out of the pass before, and into the one after
        first = api(rewrites.served, f"steps/{one['step']}/graph?match={max(0, one['created'])}")
        assert one["identity"] in first["identity"]
    before = [one for one in passages if one["step"] < step]
    if before:
        last = before[-1]
        end = api(
            rewrites.served, f"steps/{last['step']}/graph?match={steps['matches'][steps['id'].index(last['step'])]}"
        )
        assert end["id"][end["identity"].index(last["identity"])] == node
    rewrites.open(f"#/small/rewrites?step={step}&node={identity}")
    rewrites.until("() => document.querySelectorAll('.history .name').length > 0")
    for folded in rewrites.page.locator(".history summary").all():
        folded.click()  # many that left it untouched are one line until that is opened
    other = passages[0]
    rewrites.page.locator(".history .name", has_text=other["name"]).first.click()
    rewrites.wait_shown(f"{other['step']}/0")
    rewrites.wait_param("node", str(other["identity"]))


def test_a_node_is_found_and_walked_from_without_a_mouse(rewrites: Shown) -> None:
    step, _ = longest(rewrites)
    rewrites.open(f"#/small/rewrites?step={step}&match=3")
    rewrites.wait_shown(f"{step}/3")
    page = rewrites.page
    # nothing is selected: the first key goes to the change, and the pass stays
    page.keyboard.press("Shift+ArrowDown")
    rewrites.until("() => location.hash.includes('node=')")
    chosen = rewrites.param("node")
    assert chosen in {str(box["key"]) for box in rewrites.boxes() if box["state"]}
    for key in ("Shift+ArrowDown", "Shift+ArrowUp", "Shift+ArrowLeft", "Shift+ArrowRight"):
        page.keyboard.press(key)
    assert rewrites.shown == f"{step}/3"
    page.keyboard.press("Control+f")
    page.keyboard.type("RESHAPE")
    page.keyboard.press("Enter")
    hits = {str(box["key"]) for box in rewrites.boxes() if "RESHAPE" in box["name"]}
    assert len(hits) > 1
    rewrites.until("hits => hits.includes(new URLSearchParams(location.hash.split('?')[1]).get('node'))", list(hits))
    first = rewrites.param("node")
    assert page.locator(".found").inner_text().startswith("1 of ")
    marks = page.evaluate("() => document.querySelector('.graph').graphView.marks")
    assert marks["current"] == marks["selected"] >= 0
    page.keyboard.press("Enter")
    rewrites.until("old => new URLSearchParams(location.hash.split('?')[1]).get('node') !== old", first)
    assert page.locator(".found").inner_text().startswith("2 of ")


def test_of_a_change_too_wide_for_the_window_as_much_as_fits_is_in_sight(view: Shown) -> None:
    view.open("#/small/rewrites?match=1")
    camera, height = view.page.evaluate(
        """() => {
          const view = document.querySelector('.graph').graphView, {scene, placement} = view.picture;
          const places = [[0, 0], [0, 0.6 * view.height], [90000, 0]];
          scene.state.fill(0);
          places.forEach(([x, y], box) => {
            [scene.state[box], placement.x[box], placement.y[box]] = [1, x, y];
          });
          view.camera = {x: 0, y: -2000, zoom: 1};
          view.keepInSight();
          return [view.camera, view.height];
        }"""
    )
    assert camera["y"] - height / 2 < -16  # the box that is nearest
    assert camera["y"] + height / 2 > 0.6 * height + 16  # and the one below the window, not the one far away
    assert abs(camera["x"]) < 1000
