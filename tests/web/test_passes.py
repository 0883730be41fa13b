"""Passes over named instructions in the page: before, matches, after; partition, bodies of calls, decisions."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from peephole.query.capture.contexts import contexts, steps
from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.capture import open_capture

from .conftest import OUTPUT, Served, Shown, start

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
PROGRAM = Path(__file__).parent.parent / "passes_program.py"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("passes") / "passes.peep"
    subprocess.run([sys.executable, str(PROGRAM), str(path)], check=True, timeout=120)
    return path


@pytest.fixture(scope="module")
def passes_served(static: Path, compiled: Path) -> Iterator[Served]:
    yield from start(create_app(Library([compiled]), static=static))


@pytest.fixture(scope="module")
def ids(compiled: Path) -> dict[str, int]:
    capture = open_capture(compiled)
    (context,) = contexts(capture)
    return {step.name: step.id for step in steps(capture, context.id)}


@pytest.fixture
def shown(page: Page, passes_served: Served) -> Shown:
    return Shown(page, passes_served)


def names(view: Shown, state: int | None = None) -> list[str]:
    """What boxes are called, all of them or those of a state: 1 added, 2 changed, 3 removed."""
    return sorted(name for name, own in named(view) if state is None or own == state)


def named(view: Shown) -> list[tuple[str, int]]:
    """The first word of each box, which is the instruction's name, and its state."""
    return [(box["name"].split(" ")[0], box["state"]) for box in view.boxes()]


def places(view: Shown) -> dict[str, tuple[float, float]]:
    return {box["name"].split(" ")[0]: (box["x"], box["y"]) for box in view.boxes()}


def test_the_tree_says_how_many_boxes_each_pass_changed(shown: Shown, ids: dict[str, int]) -> None:
    shown.open("")
    assert shown.shown == f"{ids['transpose folding']}/0"
    shown.until("() => document.querySelectorAll('.tree .row').length === 7")
    shown.until("() => [...document.querySelectorAll('.tree .row .n')].slice(1).every(n => n.textContent !== '')")
    rows = [row.split("\n") for row in shown.page.locator(".tree .row").all_inner_texts()]
    figures = {row[-2].strip(): row[-1].strip() for row in rows[1:]}
    assert figures == {
        "transpose folding": "3",
        "algsimp": "0",
        "dce": "2",
        "fusion": "9",
        "schedule": "order",
        "partition": "1 → 2",
    }
    assert rows[0][-1].strip().endswith("s"), "a context has its time: 2 matches would not be the sum of what is below"
    assert shown.page.locator(".chips").inner_text().split("\n")[-1] == "changes"


def test_stepping_goes_from_the_graph_before_over_matches_to_the_one_that_came_out(
    shown: Shown, ids: dict[str, int]
) -> None:
    step, page = ids["fusion"], shown.page
    shown.open(f"#/passes/rewrites?step={step}")
    assert names(shown) == ["b1", "bias", "gelu", "mm2", "mm_nt", "out", "w1", "w2", "x"]
    before = places(shown)
    page.keyboard.press("ArrowRight")
    shown.wait_shown(f"{step}/1")
    assert (names(shown, 1), names(shown, 2), names(shown, 3)) == (["fusion.1"], ["mm2"], ["bias", "gelu"])
    after = places(shown)
    assert all(after[name] == place for name, place in before.items()), "survivors and ghosts stay where they are"
    page.keyboard.press("ArrowRight")
    shown.wait_shown(f"{step}/2")
    assert names(shown, 2) == ["out"]
    page.wait_for_selector(".untold")
    assert page.locator(".untold").inner_text() == "changed by the pass, rule not recorded"
    assert page.locator(".matches .m").nth(1).inner_text().splitlines()[-1] == "changed by the pass, rule not recorded"
    page.keyboard.press("ArrowRight")  # there is nothing behind the graph that came out
    assert shown.shown == f"{step}/2"
    picture(shown, "passes-rest")


def test_survivors_stay_in_place_from_pass_to_pass(shown: Shown, ids: dict[str, int]) -> None:
    shown.open(f"#/passes/rewrites?step={ids['dce']}")
    before = places(shown)
    shown.page.keyboard.press("ArrowDown")
    shown.wait_shown(f"{ids['fusion']}/0")
    after = places(shown)
    assert after and all(before[name] == place for name, place in after.items())


def test_bodies_of_calls_open(shown: Shown, ids: dict[str, int]) -> None:
    shown.open(f"#/passes/rewrites?step={ids['schedule']}")
    assert "gelu.1" not in names(shown)
    shown.page.keyboard.press("c")
    shown.until("() => document.querySelector('.graph').graphView.boxes.some(b => b.name.startsWith('gelu.1'))")
    assert {"p0", "p1", "bias.1", "gelu.1", "body"} <= set(names(shown))
    picture(shown, "passes-body")
    shown.page.keyboard.press("c")
    shown.until("() => !document.querySelector('.graph').graphView.boxes.some(b => b.name.startsWith('gelu.1'))")


def test_a_partition_is_drawn_as_one(shown: Shown, ids: dict[str, int]) -> None:
    shown.open(f"#/passes/rewrites?step={ids['partition']}&match=1")
    shown.page.wait_for_selector(".partition .into")
    assert [text.split("\n")[0] for text in shown.page.locator(".partition .into").all_inner_texts()] == [
        "forward 6 instructions",
        "backward 4 instructions",
    ]
    assert shown.page.locator(".partition .from").inner_text() == "main"
    assert {"forward", "backward", "saved"} <= set(names(shown, 1))
    assert names(shown).count("fusion.1") == 2
    picture(shown, "passes-partition")


def test_a_pass_that_changed_nothing_says_so_and_leads_on(shown: Shown, ids: dict[str, int]) -> None:
    shown.open(f"#/passes/rewrites?step={ids['algsimp']}")
    shown.page.wait_for_selector(".unchanged")
    assert shown.page.locator(".unchanged").inner_text() == "This pass changed nothing. The next that did: dce"
    shown.page.click(".unchanged .link")
    shown.wait_shown(f"{ids['dce']}/0")


def test_decisions_are_listed_and_light_their_nodes(shown: Shown, ids: dict[str, int]) -> None:
    shown.open(f"#/passes/rewrites?step={ids['fusion']}")
    shown.page.wait_for_selector(".verdict")
    rows = shown.page.locator(".verdict")
    assert rows.count() == 3
    first = rows.first.inner_text().split("\n")
    assert first[:4] == ["✕", "refused", "mm_nt + bias", "producer is not loop-fusible"]
    shown.page.click(".decisions .seg button:has-text('fused 1')")
    assert rows.count() == 1
    rows.first.click()
    marks = shown.page.evaluate("() => document.querySelector('.graph').graphView.marks")
    assert [named(shown)[marks[which]][0] for which in ("selected", "second")] == ["bias", "gelu"]
    assert not shown.page.get_by_role("button", name="Indexing").is_visible(), "nothing here is indexing"
    picture(shown, "passes-decisions")


def test_a_node_is_found_by_its_name(shown: Shown, ids: dict[str, int]) -> None:
    shown.open("")
    shown.page.keyboard.press("/")
    shown.page.keyboard.type("mm_nt")
    shown.page.wait_for_selector(".results .row")
    shown.page.keyboard.press("Enter")
    shown.until("() => /step=/.test(location.hash) && /node=/.test(location.hash)")
    shown.page.wait_for_selector(".sec.node .title:has-text('mm_nt')")


def picture(view: Shown, name: str) -> None:
    """Both sizes, kept as test output."""
    OUTPUT.mkdir(exist_ok=True)
    for width, height, light in ((1600, 900, False), (1000, 700, True)):
        view.page.set_viewport_size({"width": width, "height": height})
        view.page.emulate_media(color_scheme="light" if light else "dark")
        view.page.keyboard.press("Space")
        view.page.wait_for_timeout(150)
        view.page.screenshot(path=OUTPUT / f"{name}-{'light' if light else 'dark'}-{width}.png")
