"""What the page shows while the server works or fails, what Stop and Try again do; the browser holds answers back."""

from __future__ import annotations

import json
import threading
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from .test_rewrites import api, busiest

if TYPE_CHECKING:
    from playwright.sync_api import FloatRect, Route

    from .conftest import Served, Shown

pytestmark = pytest.mark.browser


class Held:
    """Requests for graphs that wait until they are let go; progress as a server in the middle of a replay tells it."""

    def __init__(self, view: Shown, done: int, total: int) -> None:
        self.waiting: list[Route] = []
        self.going = threading.Event()
        view.page.route("**/graph?match=*", self._hold)
        reply = {"step": 0, "name": "a pass", "running": True, "done": done, "total": total}
        view.page.route("**/progress", lambda route: route.fulfill(json=reply))

    def _hold(self, route: Route) -> None:
        if self.going.is_set():
            route.continue_()
        else:
            self.waiting.append(route)

    def let_go(self) -> None:
        self.going.set()
        for route in self.waiting:
            route.continue_()


def capture_info(served: Served) -> dict[str, Any]:
    with urllib.request.urlopen(f"{served.address}api/v1/captures/small") as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def boxes(view: Shown, selector: str) -> list[FloatRect | None]:
    return [one.bounding_box() for one in view.page.locator(selector).all()]


def hold(view: Shown, answer: str) -> list[Route]:
    """Requests of a kind, none of which gets through until it is told to go on."""
    held: list[Route] = []

    def keep(route: Route) -> None:
        held.append(route)

    view.page.route(answer, keep)
    return held


def test_after_half_a_second_the_page_says_how_far_the_replay_is(rewrites: Shown) -> None:
    step, matches = busiest(rewrites.served, 40)
    held = Held(rewrites, 2, matches)
    page = rewrites.page
    page.evaluate("s => { location.hash = `/small/rewrites?step=${s}&match=3`; }", step)
    bar = page.get_by_role("progressbar")
    rewrites.until("() => document.querySelector('.prog')?.getAttribute('aria-valuenow') === '2'")
    assert bar.get_attribute("aria-valuemax") == str(matches)
    text = page.locator(".layer .mid").inner_text()
    assert text.startswith("Replaying ")
    assert f"match 2 of {matches}" in text
    assert page.locator(".tree .row").count() > 3  # what is there can be used meanwhile
    held.let_go()
    rewrites.wait_shown(f"{step}/3")
    assert bar.count() == 0


def test_stop_shows_the_match_that_was_reached(rewrites: Shown) -> None:
    step, matches = busiest(rewrites.served, 40)
    held = Held(rewrites, 2, matches)
    page = rewrites.page
    page.evaluate("s => { location.hash = `/small/rewrites?step=${s}&match=3`; }", step)
    rewrites.until("() => document.querySelector('.prog')?.getAttribute('aria-valuenow') === '2'")
    held.going.set()
    page.get_by_role("button", name="Stop").click()
    rewrites.wait_shown(f"{step}/2")
    rewrites.wait_param("match", "2")


def test_stop_before_anything_was_reached_says_how_to_go_on(rewrites: Shown) -> None:
    step, matches = busiest(rewrites.served, 40)
    held = Held(rewrites, 0, matches)
    page = rewrites.page
    page.evaluate("s => { location.hash = `/small/rewrites?step=${s}&match=3`; }", step)
    page.get_by_role("button", name="Stop").click()
    page.wait_for_selector(".layer.kept h2")
    assert page.locator(".layer.kept h2").inner_text() == "Stopped"
    held.let_go()
    page.keyboard.press("ArrowRight")
    rewrites.wait_shown(f"{step}/4")


def test_the_bar_does_not_move_where_the_system_asks_for_no_motion(rewrites: Shown) -> None:
    step, _ = busiest(rewrites.served, 40)
    rewrites.page.route("**/progress", lambda route: route.fulfill(json={"running": False, "done": 0, "total": 0}))
    held = hold(rewrites, "**/graph?match=*")
    rewrites.page.evaluate("s => { location.hash = `/small/rewrites?step=${s}&match=3`; }", step)
    rewrites.page.wait_for_selector(".prog i")
    assert rewrites.page.evaluate("() => getComputedStyle(document.querySelector('.prog i')).animationName") == "none"
    for route in held:
        route.continue_()
    rewrites.wait_shown(f"{step}/3")


def test_the_bar_names_the_capture_while_it_is_opened(view: Shown) -> None:
    held = hold(view, "**/captures/small")
    view.page.goto(view.served.address + "#/small/timeline")
    view.page.get_by_text("Opening small.peep").wait_for()
    assert view.page.locator("button.cap .name").inner_text() == "small.peep"
    for route in held:
        route.continue_()
    view.until("() => document.querySelector('section.view')?.dataset.shown")


@pytest.mark.parametrize(
    ("place", "answer"), [("rewrites", "**/graph?match=*"), ("top", "**/top?*"), ("timeline", "**/captures/small")]
)
def test_what_failed_can_be_tried_again(view: Shown, place: str, answer: str) -> None:
    page = view.page
    page.route(answer, lambda route: route.fulfill(body="no JSON"))
    page.goto(f"{view.served.address}#/small/{place}")
    page.get_by_role("alert").wait_for()
    page.unroute(answer)
    page.get_by_role("button", name="Try again").click()
    view.until("() => document.querySelector('section.view')?.dataset.shown")
    assert page.get_by_role("alert").count() == 0


@pytest.mark.parametrize(
    ("place", "answer", "here"),
    [
        ("timeline", "**/timeline", ".hd .tl-name"),
        ("timeline?slice=3", "**/timeline/slice?row=3", ".tl-title"),
        ("timeline", "**/timeline/range", ".brow"),
        ("timeline?gaps=1", "**/timeline/gaps", ".gaps .gap, .pane.r p.dim"),
        ("top", "**/top/runs?*", ".top-runs"),
        ("rewrites", "**/steps", ".tree .vrow"),
        ("rewrites?step={step}", "**/matches?first=1*", ".matches .m b"),
        ("rewrites?step={step}&match=1", "**/matches/1", ".diff"),
        ("memory", "**/memory", ".mem-device"),
        ("memory", "**/memory/alive?*", ".mem-row"),
        ("memory?buffer={buffer}", "**/memory/buffers/*", ".pane.r .kv"),
        ("code", "**/code", ".row"),
        ("code", "**/lines", "[data-traced]"),
        ("code", "**/origin", ".chain"),
        ("schedule", "**/contexts", ".row"),
    ],
)
def test_every_part_that_failed_offers_to_try_again(view: Shown, place: str, answer: str, here: str) -> None:
    page = view.page
    step, _ = busiest(view.served, 40)
    buffers = api(view.served, "memory/alive?device=NULL&time=0") if "{buffer}" in place else {"id": [0]}
    wanted = place.format(step=step, buffer=(buffers["id"] or [0])[0])
    page.route(answer, lambda route: route.fulfill(body="no JSON"))
    page.goto(f"{view.served.address}#/small/{wanted}")
    again = page.get_by_role("button", name="Try again")
    again.wait_for()
    page.wait_for_load_state("networkidle")  # nothing is asked for by itself that would take the button away
    page.unroute(answer)
    again.click()
    again.wait_for(state="detached")
    page.locator(here).first.wait_for()


def test_nothing_speaks_of_what_was_there_before_a_failure(view: Shown) -> None:
    page = view.page
    status = page.locator(".status")
    step, _ = busiest(view.served, 40)
    page.route("**/graph?match=1", lambda route: route.fulfill(body="no JSON"))
    view.open(f"#/small/rewrites?step={step}")
    assert "match 0 of" in status.inner_text()
    page.evaluate("location.hash += '&match=1'")
    page.get_by_role("button", name="Try again").wait_for()
    assert "match" not in status.inner_text().split("matches")[-1] and "shown" not in status.inner_text()
    page.go_back()
    view.wait_shown(f"{step}/0")
    page.get_by_role("button", name="Try again").wait_for(state="detached")
    page.get_by_text("match 0 of").wait_for()
    assert page.locator(".crumbs").inner_text().endswith("input")
    assert "sealed" in status.inner_text()
    page.route("**/captures/hostile", lambda route: route.fulfill(body="no JSON"))
    page.evaluate("location.hash = '/hostile/rewrites'")
    page.get_by_role("button", name="Try again").wait_for()
    assert status.inner_text().strip() == ""


def test_a_graph_that_was_left_before_it_came_is_not_shown(view: Shown) -> None:
    page = view.page
    held = hold(view, "**/graph?match=1")
    step, _ = busiest(view.served, 40)
    view.open(f"#/small/rewrites?step={step}")
    page.evaluate("location.hash += '&match=1'")
    page.locator(".crumbs").get_by_text("match 1").wait_for()
    page.go_back()
    page.locator(".crumbs").get_by_text("input").wait_for()
    assert held
    for route in held:
        route.continue_()
    page.wait_for_timeout(500)  # long enough for the answer, if somebody still waited for it
    assert page.locator(".crumbs").inner_text().endswith("input")
    assert page.locator("section.view").get_attribute("data-shown") == f"{step}/0"
    assert "match 0 of" in page.locator(".status").inner_text()


def test_details_stay_as_they_are_when_the_camera_rests(view: Shown) -> None:
    page = view.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/matches/1") else None)
    step, _ = busiest(view.served, 40)
    view.open(f"#/small/rewrites?step={step}&match=1")
    diff = page.locator(".pane.r .diff").first
    diff.wait_for()
    shown = diff.element_handle()
    before = page.url
    page.mouse.move(800, 400)
    page.mouse.wheel(0, 300)
    view.until("(before) => location.href !== before && location.href.includes('at=')", before)
    page.wait_for_timeout(200)  # as long as a match is waited for before it is asked for
    assert shown is not None and shown.evaluate("e => e.isConnected")
    assert len(asked) == 1


def test_buttons_of_a_bar_say_what_they_are_before_the_answer_is_there(view: Shown) -> None:
    for answer in ("**/top?*", "**/captures/small/timeline"):
        hold(view, answer)
    for place in ("top", "timeline"):
        view.page.goto("about:blank")
        view.page.goto(f"{view.served.address}#/small/{place}")
        view.page.wait_for_selector(".view .prog")
        assert all(box is not None and box["width"] > 10 for box in boxes(view, ".bar .seg:visible"))
        assert "" not in [text.strip() for text in view.page.locator(".bar button:visible").all_inner_texts()]


@pytest.mark.own_page
def test_another_schedule_chosen_while_one_is_being_laid_out(view: Shown) -> None:
    view.page.add_init_script(
        """(() => {
          const post = Worker.prototype.postMessage;
          Worker.prototype.postMessage = function (...args) {
            window.posted = (window.posted ?? 0) + 1;
            setTimeout(() => post.apply(this, args), 300);
          };
        })()"""
    )
    contexts = api(view.served, "contexts")
    first, second = [at for at, kind in zip(contexts["id"], contexts["kind"], strict=True) if kind == "schedule"][:2]
    view.page.goto(f"{view.served.address}#/small/schedule?context={first}")
    view.until("() => window.posted === 1")  # read, its layout under way
    held = hold(view, f"**/contexts/{second}/schedule")
    view.page.evaluate("at => { location.hash = `/small/schedule?context=${at}`; }", second)
    view.until("() => window.posted === 1 && document.querySelector('.layer') !== null", seconds=5)
    for one in held:
        one.continue_()
    view.page.unroute(f"**/contexts/{second}/schedule")
    view.wait_shown(f"schedule/{second}")
