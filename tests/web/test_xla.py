"""JAX and XLA in the page: from a kernel on the timeline to its fusion, its instructions, its lines and its code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.capture_rows import rows
from tests.recorded_jax import PROGRAM, jax_recorded

from peephole.query.capture.contexts import Context, contexts, steps
from peephole.query.rewrites.chains import chain, chains_of
from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.capture import Capture, open_capture

from .conftest import OUTPUT, Served, Shown, start

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["jax_recorded"]
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def served(static: Path, jax_recorded: Path) -> Iterator[Served]:
    yield from start(create_app(Library([jax_recorded]), static=static))


@pytest.fixture(scope="module")
def capture(jax_recorded: Path) -> Capture:
    return open_capture(jax_recorded)


@pytest.fixture(scope="module")
def block(capture: Capture) -> Context:
    return next(one for one in contexts(capture) if one.kind == "module" and one.name.endswith("jit_block"))


@pytest.fixture(scope="module")
def kernel(capture: Capture, block: Context) -> Context:
    """The softmax's reduction."""
    return next(one for one in contexts(capture) if one.parent == block.id and one.name == "reduce_divide_fusion")


@pytest.fixture
def shown(page: Page, served: Served) -> Shown:
    return Shown(page, served)


def go(shown: Shown, place: str) -> None:
    shown.page.goto("about:blank")
    shown.page.goto(f"{shown.served.address}#/jax_recorded/{place}")


def test_passes_are_a_tree_and_stepping_keeps_boxes_in_place(shown: Shown, capture: Capture, block: Context) -> None:
    fusion = next(step for step in steps(capture, block.id) if step.name == "fusion")
    shown.open(f"#/jax_recorded/rewrites?step={fusion.id}")
    for name in ("dot-library-rewriter", "fusion-wrapper", "copy-insertion"):
        shown.page.get_by_text(name, exact=True).first.wait_for()
    before = {box["name"].split(" ")[0]: box for box in shown.boxes()}
    assert {"ynn_fusion.2", "exp.1", "multiply.4"} <= set(before), "instructions by name"
    shown.page.keyboard.press("ArrowRight")
    shown.wait_param("match", "1")
    shown.until("() => document.querySelector('.graph').graphView.boxes.some(box => box.state === 3)")
    after = {box["name"].split(" ")[0]: box for box in shown.boxes()}
    assert any("fusion" in name for name, box in after.items() if box["state"] == 1), "what was fused is new"
    alike = [name for name, box in after.items() if box["state"] == 0 and name in before]
    assert alike and all(
        (after[name]["x"], after[name]["y"]) == (before[name]["x"], before[name]["y"]) for name in alike
    )
    shown.page.screenshot(path=OUTPUT / "xla_fusion.png")


def test_a_module_lists_the_passes_that_changed_it(shown: Shown, block: Context) -> None:
    go(shown, f"rewrites?context={block.id}")
    page = shown.page
    page.get_by_text("Passes that changed the graph").wait_for()
    table = page.locator(".page table").inner_text()
    assert "fusion" in table and "async-collective" not in table
    assert "Changes" in table and "No rule fired" not in page.locator(".page").inner_text()
    assert page.get_by_text("0 matches").count() == 0


def test_an_instruction_leads_into_its_fusion_and_to_its_kernel(shown: Shown, capture: Capture, block: Context) -> None:
    places = [place for place in chains_of(capture, "exp.1") if steps_of(capture, block).count(place[0])]
    traced = next(link for link in chain(capture, *places[0]) if link.stage == "pass")
    shown.open(f"#/jax_recorded/rewrites?step={traced.step}&match=0&node={traced.identity}")
    shown.until("() => document.querySelectorAll('.chain [data-stage=kernel] a').length > 0")
    text = shown.page.locator(".chain").inner_text()
    assert "Inside the fusion" in text and "jax_program.py:" in text and "subtract_exponential_fusion" in text
    shown.page.screenshot(path=OUTPUT / "xla_chain.png")
    inside = shown.page.locator(".chain [data-stage=fused] button").first
    name = inside.inner_text()
    inside.click()
    last = steps_of(capture, block)[-1]
    shown.until("(step) => location.hash.includes(`step=${step}`)", last)
    shown.until("(name) => document.querySelector('.pane.r')?.innerText.includes(name)", name)
    shown.until(
        "(name) => document.querySelector('.graph').graphView.boxes.some(b => b.name.split(' ')[0] === name)", name
    )
    (box,) = (one for one in shown.boxes() if one["name"].split(" ")[0] == name)
    assert 0 < box["px"] < 1600 and 0 < box["py"] < 900, "its fusion's body is open, and it is in sight"
    shown.until("() => document.querySelectorAll('.chain [data-stage=traced] button').length > 0")
    assert "exp.1" in shown.page.locator(".chain [data-stage=traced]").inner_text()
    shown.page.locator(".chain [data-stage=kernel] a").first.click()
    shown.until("() => location.hash.startsWith('#/jax_recorded/code')")
    shown.until("() => document.querySelector('.pane.r')?.innerText.includes('subtract_exponential_fusion')")


def test_rewrites_opens_on_a_pass_that_altered_the_longest_compilation(shown: Shown, capture: Capture) -> None:
    shown.open("#/jax_recorded/rewrites")
    longest = max((one for one in contexts(capture) if one.kind == "module"), key=lambda one: one.dur)
    known = capture.read("steps", ["id", "context", "root", "after"])
    altered = (known["root"] != known["after"]) & (known["root"] >= 0) & (known["context"] == longest.id)
    shown.until(
        "(wanted) => document.querySelector('section.view').dataset.shown === wanted", f"{known['id'][altered][0]}/0"
    )


def steps_of(capture: Capture, context: Context) -> list[int]:
    return [step.id for step in steps(capture, context.id)]


def test_a_kernel_leads_to_its_lines_code_and_module(shown: Shown, kernel: Context) -> None:
    go(shown, f"code?context={kernel.id}")
    page = shown.page
    page.get_by_text("Your program").wait_for()
    for tab in ("LLVM IR, optimised", "LLVM IR as emitted", "Assembly"):
        assert page.get_by_text(tab, exact=True).count() == 1
    line = next(at for at, text in enumerate(PROGRAM.read_text().splitlines(), 1) if "jax.nn.softmax" in text)
    assert page.get_by_text(f"jax_program.py:{line}").count()
    page.locator(".pv").first.wait_for(state="detached")
    page.get_by_text("Assembly", exact=True).click()
    page.get_by_text("reduce_divide_fusion").first.wait_for()
    page.screenshot(path=OUTPUT / "xla_code.png")
    assert page.get_by_role("button", name="Graph", exact=True).count() == 1, "an AST is tinygrad's"
    inside = page.locator(".instructions [data-stage=fused] a").first
    inside.wait_for()
    name = inside.inner_text()
    assert "div" in page.locator(".instructions [data-stage=traced]").inner_text()
    inside.click()
    shown.until("(name) => document.querySelector('.pane.r')?.innerText.includes(name)", name)
    assert page.url.partition("#")[2].startswith("/jax_recorded/rewrites?"), "the instruction inside its fusion"


def test_a_line_of_the_program_leads_to_its_kernels(shown: Shown, kernel: Context) -> None:
    go(shown, "top")
    line = next(at for at, text in enumerate(PROGRAM.read_text().splitlines(), 1) if "jax.nn.softmax" in text)
    shown.page.get_by_text("dot").first.wait_for()
    shown.page.keyboard.press("Control+k")
    shown.page.keyboard.type(f"jax_program.py:{line}")
    shown.page.get_by_role("option").filter(has_text=f"{kernel.name} in module_").first.click()
    shown.wait_param("context", str(kernel.id))
    assert "/code" in shown.page.url


def test_schedule_lists_the_kernels_of_modules_by_name(shown: Shown, block: Context) -> None:
    go(shown, f"schedule?context={block.id}")
    page = shown.page
    page.get_by_text("14 kernels").first.wait_for()
    page.get_by_text("reduce_divide_fusion").first.click()
    page.get_by_text("divide").first.wait_for()
    page.screenshot(path=OUTPUT / "xla_schedule.png")


@pytest.mark.parametrize(("width", "height", "scheme"), [(1600, 900, "dark"), (1000, 700, "light")])
def test_problems_have_reasons_and_sizes(shown: Shown, width: int, height: int, scheme: str) -> None:
    shown.page.set_viewport_size({"width": width, "height": height})
    shown.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    go(shown, "problems")
    page = shown.page
    page.get_by_text("jit_train_step was compiled again").wait_for()
    for head in ("Recompilations", "Copies", "Memory at the peak"):
        page.get_by_text(head).first.wait_for()
    assert page.get_by_text("Only weak types differ").count()
    page.get_by_text("layout-assignment put it in").first.click()
    page.get_by_text("Memory", exact=True).first.wait_for()
    page.screenshot(path=OUTPUT / f"xla_problems_{width}.png")


def test_memory_of_a_module_is_its_buffer_assignment(shown: Shown, block: Context) -> None:
    go(shown, f"memory?device={block.name}")
    shown.page.get_by_text("Alive at the peak").wait_for()
    for name in ("ynn_fusion.2", "w.1"):
        shown.page.get_by_text(name, exact=True).first.wait_for()


def test_memory_of_a_module_opens_where_its_values_are(shown: Shown, capture: Capture, block: Context) -> None:
    """Compiling takes seconds, a run milliseconds: on the whole trace there would be nothing to see."""
    go(shown, f"memory?device={block.name}")
    page = shown.page
    page.wait_for_selector(f'section.view[data-shown="memory/{block.name}"]', timeout=30_000)
    ask = (
        "() => { const s = document.querySelector('.mem-canvas').memoryStage; return [s.span.t0, s.span.t1, s.whole]; }"
    )
    t0, t1, whole = page.evaluate(ask)
    own = [one for one in rows(capture, "buffers") if one["device"] == block.name]
    first = min(one["alloc"] for one in own) - capture.span()[0]
    last = max(one["free"] for one in own) - capture.span()[0]
    assert t0 < first < last < t1 and t1 - t0 < 1.2 * (last - first) < whole / 4
    page.screenshot(path=OUTPUT / "xla_memory_of_a_module.png")
    assert "t0" not in page.url
    page.locator("canvas.mem-canvas").focus()
    page.keyboard.press(" ")
    page.wait_for_url("**t0=0&t1=**")
    assert page.evaluate(ask)[1] >= whole
    page.keyboard.press(" ")
    page.wait_for_url(lambda url: "t0=" not in url)
    assert page.evaluate(ask) == [t0, t1, whole]


def test_a_kernel_of_top_leads_to_its_compilation(shown: Shown, kernel: Context) -> None:
    go(shown, "top?q=reduce_divide_fusion")
    shown.page.get_by_text("reduce_divide_fusion").first.click()
    link = shown.page.locator(f"a[href*='context={kernel.id}']").first
    link.wait_for()
