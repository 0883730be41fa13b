"""The rewrites view: every key, every click path, and the address."""

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


def busiest(served: Served, most: int = 200) -> tuple[int, int]:
    """A step with several matches: its id and how many."""
    steps = api(served, "steps")
    matches, step = max((m, s) for s, m in zip(steps["id"], steps["matches"], strict=True) if m <= most)
    assert matches >= 4
    return step, matches


def test_it_opens_on_a_pass_of_a_kernel_that_is_worth_seeing(view: Shown) -> None:
    view.open("")
    steps, contexts = api(view.served, "steps"), api(view.served, "contexts")
    kind = dict(zip(contexts["id"], contexts["kind"], strict=True))
    passes = zip(steps["id"], steps["matches"], steps["context"], steps["name"], strict=True)
    step, name = next((id, name) for id, many, of, name in passes if 12 <= many <= 200 and kind[of] == "kernel")
    assert view.shown == f"{step}/0"
    assert view.page.title() == "Rewrites · small.peep · Peephole"
    selected = view.page.locator(".tree [aria-selected=true]")
    assert selected.inner_text().splitlines()[0] == steps["names"][name]


def test_right_and_left_step_through_the_matches(rewrites: Shown) -> None:
    step = rewrites.shown.split("/")[0]
    page = rewrites.page
    page.keyboard.press("ArrowRight")
    rewrites.wait_shown(f"{step}/1")
    rewrites.wait_param("match", "1")
    assert page.locator(".matches [aria-selected=true] .i").inner_text() == "1"
    page.wait_for_selector(".rule .hit")
    page.wait_for_selector(".diff .a, .diff .d")
    page.keyboard.press("ArrowRight")
    rewrites.wait_shown(f"{step}/2")
    page.keyboard.press("ArrowLeft")
    rewrites.wait_shown(f"{step}/1")
    page.keyboard.press("ArrowLeft")
    rewrites.wait_shown(f"{step}/0")
    rewrites.wait_param("match", None)
    page.keyboard.press("ArrowLeft")  # there is nothing before the graph that went in
    assert rewrites.shown == f"{step}/0"


def test_an_address_beyond_the_last_match_shows_it_and_the_keys_go_on_from_there(rewrites: Shown) -> None:
    step, matches = busiest(rewrites.served, 40)
    rewrites.open(f"#/small/rewrites?step={step}&match={matches + 500}")
    rewrites.wait_shown(f"{step}/{matches}")
    rewrites.page.keyboard.press("ArrowLeft")
    rewrites.wait_shown(f"{step}/{matches - 1}")


def test_survivors_stay_where_they_are_while_stepping(rewrites: Shown) -> None:
    step, _ = busiest(rewrites.served, 40)
    rewrites.open(f"#/small/rewrites?step={step}")
    rewrites.wait_shown(f"{step}/0")
    before = {box["key"]: (box["x"], box["y"]) for box in rewrites.boxes()}
    for match in range(1, 4):
        rewrites.page.keyboard.press("ArrowRight")
        rewrites.wait_shown(f"{step}/{match}")
        after = {box["key"]: (box["x"], box["y"]) for box in rewrites.boxes()}
        for key in before.keys() & after.keys():
            assert after[key] == before[key]
        before = after


def test_a_held_key_plays_and_shows_every_match(rewrites: Shown) -> None:
    step, matches = busiest(rewrites.served, 40)
    rewrites.open(f"#/small/rewrites?step={step}")
    rewrites.wait_shown(f"{step}/0")
    rewrites.page.evaluate(
        """() => {
          window.seen = [];
          const view = document.querySelector('section.view');
          const note = () => window.seen.push(view.dataset.shown);
          new MutationObserver(note).observe(view, {attributeFilter: ['data-shown']});
        }"""
    )
    goal = min(8, matches)
    while int(rewrites.shown.split("/")[1]) < goal:
        rewrites.page.keyboard.down("ArrowRight")  # a repeat, as a held key sends it
    rewrites.page.keyboard.up("ArrowRight")
    seen = rewrites.page.evaluate("window.seen")
    assert seen[:goal] == [f"{step}/{match}" for match in range(1, goal + 1)]


def test_up_and_down_go_through_steps_and_contexts(rewrites: Shown) -> None:
    page = rewrites.page
    steps = api(rewrites.served, "steps")
    at = steps["id"].index(int(rewrites.shown.split("/")[0]))
    page.keyboard.press("ArrowDown")
    rewrites.wait_shown(f"{steps['id'][at + 1]}/0")
    page.keyboard.press("ArrowUp")
    rewrites.wait_shown(f"{steps['id'][at]}/0")
    for _ in range(at + 1):
        page.keyboard.press("ArrowUp")
    rewrites.wait_shown("context/0")
    page.wait_for_selector(".page h2")


def test_enter_opens_and_shuts(rewrites: Shown) -> None:
    page = rewrites.page
    page.keyboard.press("Enter")  # on a step without sub-steps: its context is shut and stood on
    rewrites.wait_shown("context/0")
    context = page.locator(".tree .ctx").first
    assert context.get_attribute("aria-expanded") == "false"
    page.keyboard.press("Enter")
    page.wait_for_selector(".tree .ctx[aria-expanded=true]")
    page.keyboard.press("ArrowDown")
    rewrites.wait_other("context/0")


@pytest.mark.parametrize(
    ("key", "name", "title"), [("r", "indexing", "Indexing"), ("c", "calls", "Call sources"), ("s", "sink", "Sink")]
)
def test_letters_switch_what_is_shown(rewrites: Shown, key: str, name: str, title: str) -> None:
    button = rewrites.page.locator(".bar.low .btn", has_text=title)
    before = button.get_attribute("aria-pressed")
    rewrites.page.keyboard.press(key)
    rewrites.until("([e, b]) => e.getAttribute('aria-pressed') !== b", [button.element_handle(), before])
    after = {"indexing": "none", "calls": "calls,indexing", "sink": "indexing,sink"}[name]
    rewrites.wait_param("show", after)
    rewrites.page.keyboard.press(key)
    rewrites.wait_param("show", None)


def test_the_sink_comes_and_goes(rewrites: Shown) -> None:
    step, _ = busiest(rewrites.served, 40)
    rewrites.open(f"#/small/rewrites?step={step}")
    count = len(rewrites.boxes())
    rewrites.page.keyboard.press("s")
    script = "n => document.querySelector('.graph').graphView.boxes.length === n"
    rewrites.until(script, count + 1)
    rewrites.page.keyboard.press("s")
    rewrites.until(script, count)


def test_every_line_of_the_text_can_be_reached(rewrites: Shown) -> None:
    page = rewrites.page
    page.set_viewport_size({"width": 700, "height": 700})  # the deepest lines begin outside
    page.keyboard.press("g")
    page.locator(".listing .t").first.wait_for()
    seen: list[float] = page.evaluate(
        """() => {
          const host = document.querySelector('.listing'), ends = [...host.querySelectorAll('.t')].map(line => {
            const range = document.createRange();
            range.selectNodeContents(line);
            return range.getBoundingClientRect().right;
          });
          return [host.clientWidth, host.scrollWidth, Math.max(...ends) - host.getBoundingClientRect().left];
        }"""
    )
    shown, reach, longest = seen
    assert shown < longest <= reach < longest + 40


def test_g_switches_to_text_and_back(rewrites: Shown) -> None:
    page = rewrites.page
    page.keyboard.press("g")
    lines = page.locator(".listing .t")
    lines.first.wait_for()
    rewrites.wait_param("as", "text")
    graph = api(rewrites.served, f"steps/{rewrites.shown.split('/')[0]}/graph")
    first = lines.first.inner_text()
    assert graph["ops"][graph["op"][graph["root"]]] in first
    own = [text for text in lines.all_inner_texts() if "↑" not in text]
    assert len(own) == len(graph["id"])
    page.keyboard.press("g")
    page.wait_for_selector(".listing", state="detached")
    rewrites.wait_param("as", None)


def test_a_node_leads_to_the_line_of_the_program(rewrites: Shown) -> None:
    graph = api(rewrites.served, f"steps/{rewrites.shown.split('/')[0]}/graph")
    known = (
        at for at, node in enumerate(graph["id"]) if "@" in (api(rewrites.served, f"nodes/{node}")["metadata"] or "")
    )
    at = next(known)
    name, _, place = api(rewrites.served, f"nodes/{graph['id'][at]}")["metadata"].partition("@")
    rewrites.open(f"#/small/rewrites?step={graph['step']}&node={graph['identity'][at]}")
    origin = rewrites.page.locator(".node dd", has_text=" in ").filter(has=rewrites.page.locator("[data-tip]"))
    origin.wait_for()
    # the place leads to the editor where its path is whole; its tooltip has it as it is
    assert origin.inner_text() == f"{place.rpartition('/')[2]} in {name}"
    assert origin.locator("a[href^='vscode:']").count() == (1 if place.startswith("/") else 0)


def test_in_the_text_what_folds_the_graph_rests(rewrites: Shown) -> None:
    page = rewrites.page
    page.wait_for_selector(".status :text('nodes shown')")
    page.keyboard.press("g")
    page.locator(".listing .t").first.wait_for()
    rewrites.until("() => !document.querySelector('.status').innerText.includes('shown')")
    for name in ("Indexing", "Call sources", "Sink", "Lay out again", "Fit"):
        assert page.get_by_role("button", name=name).is_disabled()
    page.keyboard.press("s")
    page.get_by_text("The text has every node").wait_for()
    assert rewrites.param("show") is None


def test_on_the_page_of_a_context_ctrl_f_is_the_browser_s(rewrites: Shown) -> None:
    page = rewrites.page
    page.evaluate("window.addEventListener('keydown', event => { window.taken = event.defaultPrevented })")
    page.keyboard.press("Control+f")
    assert page.evaluate("window.taken") is True
    page.keyboard.press("Escape")
    page.locator(".crumbs .crumb").first.click()
    rewrites.until("() => document.querySelector('section.view').dataset.shown.startsWith('context/')")
    page.keyboard.press("Control+f")
    assert page.evaluate("window.taken") is False


def test_space_fits(rewrites: Shown) -> None:
    camera = "() => document.querySelector('.graph').graphView.camera"
    page = rewrites.page
    page.evaluate("() => { document.querySelector('.graph').graphView.camera = {x: 5000, y: 5000, zoom: 2}; }")
    page.keyboard.press("Space")
    rewrites.until("() => document.querySelector('.graph').graphView.camera.zoom < 2")
    assert page.evaluate(camera)["x"] != 5000


def test_a_link_reopens_step_match_zoom_and_selection(rewrites: Shown) -> None:
    step, _ = busiest(rewrites.served, 40)
    graph = api(rewrites.served, f"steps/{step}/graph?match=2")
    node = graph["identity"][graph["root"]]
    rewrites.open(f"#/small/rewrites?step={step}&match=2")
    rewrites.wait_shown(f"{step}/2")
    seen = rewrites.boxes()[0]["key"]
    rewrites.open(f"#/small/rewrites?step={step}&match=2&node={node}&at={seen},100,200,0.5")
    rewrites.wait_shown(f"{step}/2")
    page = rewrites.page
    box = next(box for box in rewrites.boxes() if box["key"] == seen)

    def check() -> None:
        page.wait_for_selector(".node .title")
        assert page.locator(".node .title").inner_text() == graph["ops"][graph["op"][graph["root"]]]
        assert page.evaluate("() => document.querySelector('.graph').graphView.camera") == {
            "x": pytest.approx(box["x"] + 100, abs=0.2),
            "y": pytest.approx(box["y"] + 200, abs=0.2),
            "zoom": 0.5,
        }
        assert page.locator(".matches [aria-selected=true] .i").inner_text() == "2"

    check()
    page.reload()
    rewrites.wait_shown(f"{step}/2")
    check()


def test_back_and_forward(rewrites: Shown) -> None:
    page = rewrites.page
    first = rewrites.shown
    page.locator(".matches .m").nth(1).click()
    step = first.split("/")[0]
    rewrites.wait_shown(f"{step}/2")
    page.locator(".tree .row").nth(4).click()
    third = rewrites.wait_other(f"{step}/2")
    page.go_back()
    rewrites.wait_shown(f"{step}/2")
    page.go_back()
    rewrites.wait_shown(first)
    page.go_forward()
    rewrites.wait_shown(f"{step}/2")
    page.go_forward()
    rewrites.wait_shown(third)


def test_a_click_on_a_box_shows_its_parents_and_children(rewrites: Shown) -> None:
    step, _ = busiest(rewrites.served, 40)
    rewrites.open(f"#/small/rewrites?step={step}")
    page = rewrites.page
    page.keyboard.press("Space")
    graph = api(rewrites.served, f"steps/{step}/graph")
    starts = graph["srcStart"]
    inner = {
        graph["identity"][at] for at in range(len(graph["id"])) if starts[at + 1] > starts[at] and at != graph["root"]
    }
    box = next(box for box in rewrites.boxes() if box["key"] in inner)
    page.mouse.click(box["px"], box["py"])
    rewrites.wait_param("node", str(box["key"]))
    page.wait_for_selector(".node .nearby")
    titles = page.locator(".nearby .h .grow").all_inner_texts()
    assert titles == ["Sources", "Used by"]
    page.locator(".nearby .near").first.click()
    rewrites.until("key => new URLSearchParams(location.hash.split('?')[1]).get('node') !== key", str(box["key"]))
    page.keyboard.press("Escape")
    rewrites.wait_param("node", None)
    assert page.locator(".node").is_hidden()


def test_it_jumps_to_the_match_that_made_and_removed_a_node(rewrites: Shown) -> None:
    step, matches = busiest(rewrites.served, 40)
    made = next(
        (match, graph["identity"][graph["added"][0]])
        for match in range(1, matches + 1)
        if (graph := api(rewrites.served, f"steps/{step}/graph?match={match}"))["added"]
    )
    rewrites.open(f"#/small/rewrites?step={step}&match={matches}&node={made[1]}")
    history = api(rewrites.served, f"steps/{step}/history?identity={made[1]}&match={made[0]}")
    assert history["created"] == made[0]
    rewrites.open(f"#/small/rewrites?step={step}&match={made[0]}&node={made[1]}")
    rewrites.wait_shown(f"{step}/{made[0]}")
    link = rewrites.page.locator(".history .link:not(.name)")
    link.first.wait_for()
    assert link.first.inner_text() == f"match {made[0]}"
    last = link.all()[-1]
    if history["deleted"] > 0:
        last.click()
        rewrites.wait_shown(f"{step}/{history['deleted']}")


def test_the_filter_narrows_the_tree(rewrites: Shown) -> None:
    page = rewrites.page
    page.keyboard.press("f")
    page.keyboard.type("symbolic")
    rewrites.until(
        "() => [...document.querySelectorAll('.tree .row:not(.ctx)')].every(r => r.innerText.includes('symbolic'))"
    )
    assert page.locator(".tree .row:not(.ctx)").count() > 0
    page.keyboard.type(" nothing like this")
    page.wait_for_selector(".pane.l .none:not([hidden])")
    assert "No context or step fits" in page.locator(".pane.l .none").inner_text()
    page.keyboard.press("Escape")
    page.wait_for_selector(".tree .row.ctx")
    page.get_by_role("button", name="kernels").click()
    names = page.locator(".tree .ctx .name").all_inner_texts()
    assert names
    assert all(not name.startswith(("Schedule", "Callify")) for name in names)


def test_find_in_graph(rewrites: Shown) -> None:
    step, _ = busiest(rewrites.served, 40)
    rewrites.open(f"#/small/rewrites?step={step}")
    find = rewrites.page.get_by_label("Find in graph")
    op = rewrites.boxes()[0]["name"].split()[0]
    find.fill(op)
    rewrites.until("() => /\\d+ found/.test(document.querySelector('.bar.low').innerText)")
    find.fill("no such thing")
    rewrites.until("() => /none/.test(document.querySelector('.bar.low').innerText)")


def test_in_a_small_window_what_was_found_leaves_the_bar_whole(rewrites: Shown) -> None:
    page = rewrites.page
    page.set_viewport_size({"width": 1000, "height": 700})
    op = next(box["name"] for box in rewrites.boxes())
    page.get_by_label("Find in graph").fill(op)
    rewrites.until("() => /\\d+ found/.test(document.querySelector('.bar.low').innerText)")
    told = page.locator(".bar.low .found").bounding_box()
    assert told is not None and told["height"] < 30, "one line"
    assert page.evaluate(
        "() => { const b = document.querySelector('.bar.low'); return b.scrollWidth <= b.clientWidth; }"
    )


def test_numbers_of_a_rule_s_lines_stay_on_their_line(rewrites: Shown) -> None:
    step, _ = busiest(rewrites.served, 40)
    rewrites.page.evaluate("s => { location.hash = `/small/rewrites?step=${s}&match=1`; }", step)
    rewrites.wait_shown(f"{step}/1")
    rewrites.page.wait_for_selector(".rule .hit .ln")
    # as a rule of line 1756 would have it
    heights = rewrites.page.locator(".rule .ln").evaluate_all(
        "all => all.map(e => { e.textContent = '17563'; return e.getBoundingClientRect().height; })"
    )
    assert heights and max(heights) < 20


def test_an_address_typed_by_hand_is_followed(rewrites: Shown) -> None:
    step, _ = busiest(rewrites.served, 40)
    rewrites.page.evaluate("s => { location.hash = `/small/rewrites?step=${s}&match=2`; }", step)
    rewrites.wait_shown(f"{step}/2")
    rewrites.page.go_back()
    rewrites.wait_other(f"{step}/2")


def test_a_bad_link_shows_something_all_the_same(view: Shown) -> None:
    view.open("#/small/rewrites?step=99999999&match=-3&node=x&at=1,2")
    assert view.param("step") != "99999999"
    view.open("#/small/nonsense?step=1")
    assert "/small/rewrites" in view.page.url


def test_z_and_the_legend_go_to_the_change(rewrites: Shown) -> None:
    step, _ = busiest(rewrites.served, 40)
    rewrites.open(f"#/small/rewrites?step={step}&match=1")
    rewrites.wait_shown(f"{step}/1")
    page = rewrites.page
    away = "() => { document.querySelector('.graph').graphView.camera = {x: 90000, y: 90000, zoom: 1}; }"
    near = "() => Math.abs(document.querySelector('.graph').graphView.camera.x) < 50000"
    page.evaluate(away)
    page.keyboard.press("z")
    rewrites.until(near)
    page.evaluate(away)
    page.locator("button.legend").click()
    rewrites.until(near)
    page.keyboard.press("ArrowLeft")
    rewrites.wait_shown(f"{step}/0")
    page.keyboard.press("z")
    rewrites.until("() => document.querySelector('.bar.low').innerText.includes('Nothing changed yet')")


def test_find_goes_through_the_text_too(rewrites: Shown) -> None:
    page = rewrites.page
    page.keyboard.press("g")
    page.wait_for_selector(".listing .t")
    page.keyboard.press("Control+f")
    page.keyboard.type("sink")
    rewrites.until("() => /1 of \\d+ found/.test(document.querySelector('.bar.low').innerText)")
    assert "SINK" in page.locator(".listing .t.hit").first.inner_text()
    page.keyboard.press("Escape")
    rewrites.until("() => document.querySelectorAll('.listing .t.hit').length === 0")


def test_the_rule_is_a_link_for_the_editor(rewrites: Shown) -> None:
    before = rewrites.shown
    rewrites.page.keyboard.press("ArrowRight")
    step, match = rewrites.wait_other(before).split("/")
    rule = api(rewrites.served, f"steps/{step}/matches/{match}")
    # the pane follows the graph: until then the links of the match before stand there
    place = f"{rule['file'].rsplit('/', 1)[1]}:{rule['line']}"
    rewrites.page.locator(f".pane.r a[href^='vscode://file/'][href$='{place}']").first.wait_for()


def test_kernels_of_one_name_are_told_apart(rewrites: Shown) -> None:
    names = api(rewrites.served, "contexts")["name"]
    twice = [name for name in names if names.count(name) > 1]
    shown = rewrites.page.locator(".tree .ctx").all_inner_texts()
    for name in twice:
        rows = [text.split("\n")[1:] for text in shown if text.split("\n")[1] == name]
        assert len({tuple(row) for row in rows}) == len(rows)


def test_matches_of_a_step_that_was_reached_in_a_hurry_come_at_once(rewrites: Shown) -> None:
    page = rewrites.page
    step, _ = busiest(rewrites.served, 40)
    other = next(
        one for one in api(rewrites.served, "steps")["id"] if one not in (step, int(rewrites.shown.split("/")[0]))
    )
    # two steps within a quarter of a second: the page waits whether the user stays
    page.evaluate(
        """async ([other, step]) => {
          location.hash = `/small/rewrites?step=${other}`;
          await new Promise(next => addEventListener('hashchange', () => setTimeout(next), {once: true}));
          location.hash = `/small/rewrites?step=${step}`;
        }""",
        [other, step],
    )
    rewrites.wait_shown(f"{step}/0")
    took = page.evaluate(
        """([step]) => new Promise(done => {
          const view = document.querySelector('section.view'), begun = performance.now();
          new MutationObserver(() => {
            if (view.dataset.shown === `${step}/1`) done(performance.now() - begun);
          }).observe(view, {attributeFilter: ['data-shown']});
          window.waits = 0;
          const later = window.setTimeout;
          window.setTimeout = (act, ms, ...rest) => (ms === 120 && window.waits++, later(act, ms, ...rest));
          document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
        })""",
        [step],
    )
    assert took > 0
    assert page.evaluate("window.waits") == 0
