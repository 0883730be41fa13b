"""A recorded program of torch.compile in a real browser: passes, partition, decisions, chain, code, figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.recorded_torch import PATIENCE, TorchRun, torch_run

from peephole.query.capture.contexts import contexts, steps
from peephole.query.rewrites.chains import chain, chains_of
from peephole.server.app import create_app
from peephole.server.library import Library

from .conftest import Served, Shown, start

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = [pytest.mark.browser, pytest.mark.timeout(PATIENCE)]
pytest.importorskip("torch")
__all__ = ["torch_run"]


@pytest.fixture(scope="module")
def torch_served(static: Path, torch_run: TorchRun) -> Iterator[Served]:
    yield from start(create_app(Library([torch_run.folder / "c.peep"]), static=static))


@pytest.fixture
def shown(page: Page, torch_served: Served) -> Shown:
    return Shown(page, torch_served)


def step_of(run: TorchRun, context: str, name: str) -> int:
    """The first step of that name in a context."""
    own = next(one for one in contexts(run.capture) if one.name == context)
    return next(step.id for step in steps(run.capture, own.id) if step.name == name)


def test_the_tree_goes_from_the_compile_id_to_halves_and_passes(shown: Shown, torch_run: TorchRun) -> None:
    partition = step_of(torch_run, "0/0", "partition")
    shown.open(f"#/c/rewrites?step={partition}&match=1")
    shown.until("(wanted) => document.querySelector('section.view').dataset.shown === wanted", f"{partition}/1")
    rows = [row.split("\n") for row in shown.page.locator(".tree .row").all_inner_texts()]
    figures = {row[-2].strip(): row[-1].strip() for row in rows if len(row) > 1}
    assert figures["partition"] == "1 → 2" and figures["dynamo"] == "0"
    assert int(figures["aot_joint_graph"]) > 40 and "0/0 forward" in figures and "0/0 backward" in figures
    drawer = shown.page.locator("section.view").inner_text()
    assert "forward" in drawer and "backward" in drawer and "saved, or computed again" in drawer


def test_rewrites_opens_on_a_pass_that_has_something_to_see(shown: Shown, torch_run: TorchRun) -> None:
    shown.open("#/c/rewrites")
    known = torch_run.capture.read("steps", ["id", "matches"])
    first = known["id"][known["matches"] > 0].min()
    shown.until("(wanted) => document.querySelector('section.view').dataset.shown === wanted", f"{first}/0")


def test_decisions_say_what_was_fused_and_what_not(shown: Shown, torch_run: TorchRun) -> None:
    step = step_of(torch_run, "0/0 forward", "fusion round 1")
    shown.open(f"#/c/rewrites?step={step}")
    shown.until("() => document.body.innerText.includes('intermediate nodes between node1 & node2')")
    text = shown.page.locator("section.view").inner_text()
    assert "refused" in text and "fused" in text and "scheduler.py" in text


def test_a_node_shows_its_chain_and_every_link_leads_there(shown: Shown, torch_run: TorchRun) -> None:
    capture = torch_run.capture
    layer = next(link for link in chain(capture, *chains_of(capture, "layer_norm")[0]) if link.stage == "dynamo")
    shown.page.set_viewport_size({"width": 1600, "height": 1500})  # where nothing scrolls, what grows moves the rest
    late: list[Route] = []

    def hold(route: Route) -> None:
        late.append(route)

    shown.page.route("**/passages?*", hold)
    shown.open(f"#/c/rewrites?step={layer.step}&match=0&node={layer.identity}")
    links = shown.page.locator(".chain [data-stage]")
    shown.until("() => document.querySelectorAll('.chain [data-stage=kernel]').length > 0")
    assert links.evaluate_all("rows => rows.map(row => row.dataset.stage)")[:2] == ["line", "dynamo"]
    assert "torch_program.py:" in links.first.inner_text()
    kernel = shown.page.locator(".chain [data-stage=kernel] a").first
    name = kernel.inner_text()
    # the history grows above the links while the button is held: the click arrives all the same
    kernel.hover()
    shown.page.mouse.down()
    with shown.page.expect_response("**/passages?*") as response:
        late.pop().continue_()
    response.value.finished()
    shown.page.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    shown.page.mouse.up()
    shown.page.unroute("**/passages?*")
    shown.until("() => location.hash.startsWith('#/c/code')")
    shown.until("(name) => document.querySelector('.pane.r')?.innerText.includes(name)", name)
    assert name.startswith("cpp_fused")
    # the code leads back to the program's line
    shown.until("() => document.querySelector('.pane.r')?.innerText.includes('torch_program.py:')")
    shown.page.go_back()
    shown.until("() => document.querySelectorAll('.chain [data-stage=lowered] button').length > 0")
    shown.page.locator(".chain [data-stage=lowered] button").first.click()
    lowering = step_of(torch_run, "0/0 forward", "lowering")
    shown.until("(step) => location.hash.includes(`step=${step}`)", lowering)


def test_a_half_says_where_it_was_called(shown: Shown, torch_run: TorchRun) -> None:
    half = next(one for one in contexts(torch_run.capture) if one.name == "0/0 forward")
    shown.open(f"#/c/rewrites?context={half.id}")
    shown.until("() => document.body.innerText.includes('Opened at')")
    shown.until("() => document.querySelector('.pane.r').innerText.includes('torch_program.py')")
