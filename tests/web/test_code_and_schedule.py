"""The code and schedule views."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.query.hardware import kernels
from tests.web.conftest import OUTPUT, start

from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.store.writer import CaptureWriter

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

    from .conftest import Served, Shown

pytestmark = pytest.mark.browser


def api(served: Served, path: str) -> Any:
    with urllib.request.urlopen(f"{served.address}api/v1/captures/small/{path}") as answer:
        return json.load(answer)


def kernel_named(served: Served, name: str) -> int:
    contexts = api(served, "contexts")
    return int(contexts["id"][contexts["name"].index(name)])


def test_the_source_of_a_kernel(view: Shown) -> None:
    context = kernel_named(view.served, "r_64_16_512_4")
    view.open(f"#/small/code?context={context}")
    view.wait_shown(f"{context}/source")
    page = view.page
    artifact = next(a for a in api(view.served, f"contexts/{context}")["artifacts"] if a["kind"] == "source")
    text = api(view.served, f"artifacts/{artifact['row']}")["text"]
    shown = page.locator(".code .tx").all_text_contents()
    assert [line.rstrip("\n") for line in shown] == text.rstrip("\n").split("\n")
    assert page.locator(".code .k").count() > 0
    assert page.locator(".pane.l [aria-selected=true] .n.lines").inner_text() == str(len(shown))


def test_ops_and_ast_have_tabs_and_an_address(view: Shown) -> None:
    context = kernel_named(view.served, "r_64_16_512_4")
    view.open(f"#/small/code?context={context}")
    page = view.page
    page.get_by_role("button", name="Ops").click()
    view.wait_shown(f"{context}/oplist")
    page.get_by_role("button", name="AST").click()
    view.wait_shown(f"{context}/ast")
    assert "SINK" in page.locator(".code .tx").first.inner_text()
    page.reload()
    view.wait_shown(f"{context}/ast")
    page.go_back()
    view.wait_shown(f"{context}/oplist")


def test_a_line_is_in_the_address_and_find_goes_to_lines(view: Shown) -> None:
    context = kernel_named(view.served, "r_64_16_512_4")
    view.open(f"#/small/code?context={context}&line=3")
    page = view.page
    page.wait_for_selector(".code .ln[aria-current]")
    assert page.locator(".code .ln[aria-current] .no0").get_attribute("data-n") == "3"
    page.locator(".code .ln").nth(4).click()
    view.wait_param("line", "5")
    find = page.get_by_label("Find in code")
    find.fill("void")
    view.until("() => /1 line/.test(document.querySelector('.view .bar').innerText)")
    assert page.evaluate("() => CSS.highlights.get('found').size") == 1
    find.fill("not in any kernel")
    view.until("() => /none/.test(document.querySelector('.view .bar').innerText)")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    view.wait_param("line", None)


def test_arrows_go_through_the_kernels(view: Shown) -> None:
    view.open("#/small/code")
    first = view.shown
    view.page.keyboard.press("ArrowDown")
    second = view.wait_other(first)
    view.page.keyboard.press("ArrowUp")
    view.wait_shown(first)
    assert second != first


def test_copy_takes_the_whole_code(view: Shown) -> None:
    view.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    view.open("#/small/code")
    view.page.get_by_role("button", name="Copy").click()
    view.page.get_by_role("button", name="Copied").wait_for()
    assert "void" in view.page.evaluate("() => navigator.clipboard.readText()")


def test_a_schedule_shows_its_kernels_and_why_two_are_two(view: Shown) -> None:
    context = kernel_named(view.served, "Schedule 4 Kernels n3")
    view.open(f"#/small/schedule?context={context}")
    view.wait_shown(f"schedule/{context}")
    page = view.page
    kernels = api(view.served, f"contexts/{context}/schedule")["kernels"]
    rows = page.locator(".tree [aria-level='2']")
    view.until("n => document.querySelectorAll(\".tree [aria-level='2']\").length === n", len(kernels))
    names = api(view.served, "contexts")["name"]
    for at, kernel in enumerate(kernels):  # kernels of one name are told apart as in the other views
        before = names[: kernel["context"]].count(kernel["name"])
        expected = f"{kernel['name']}#{before + 1}" if before else kernel["name"]
        # and numbered as `peephole why` and the address do
        assert rows.nth(at).inner_text().replace("\n", "").removesuffix(f"#{at}") == expected
    rows.nth(0).click()
    view.wait_param("a", "0")
    page.wait_for_selector(".pane.r .title")
    assert page.locator(".pane.r .title").inner_text() == kernels[0]["name"]
    runs = api(view.served, f"contexts/{kernels[0]['context']}/runs")  # what Code says
    assert runs["count"] > 0 and (kernels[0]["runs"], kernels[0]["total"]) == (runs["count"], runs["total"])
    assert page.locator(".pane.r dd[data-ns]").get_attribute("data-ns") == str(runs["total"])
    rows.nth(1).click(modifiers=["Shift"])
    view.wait_param("b", "1")
    page.wait_for_selector(".pane.r .answer")
    why = api(view.served, f"contexts/{context}/why?a=0&b=1")
    assert why["sentence"][1:] in page.locator(".pane.r .answer").inner_text()
    assert why["relation"] == "dependent"
    page.locator(".pane.r .chain a").first.wait_for()
    page.keyboard.press("Escape")
    view.wait_param("b", None)
    page.reload()
    page.wait_for_selector(".pane.r .title")
    page.get_by_role("link", name="Code").last.click()
    view.until("() => location.hash.startsWith('#/small/code')")


def test_a_schedule_says_how_many_kernels_it_has_whatever_its_name_says(view: Shown) -> None:
    """tinygrad calls one that was cached "Schedule 0 Kernels"."""

    def renamed(route: Route) -> None:
        reply = route.fetch()
        wire = reply.json()
        wire["name"] = [re.sub(r"^Schedule \d+", "Schedule 0", name) for name in wire["name"]]
        route.fulfill(response=reply, json=wire)

    view.page.route("**/captures/small/contexts", renamed)
    context = kernel_named(view.served, "Schedule 4 Kernels n3")
    view.open(f"#/small/schedule?context={context}")
    view.wait_shown(f"schedule/{context}")
    wanted = [str(number) for number in api(view.served, "schedules")["kernels"]]
    assert "4" in wanted and len(wanted) > 1
    view.until(
        "all => JSON.stringify([...document.querySelectorAll(\".tree [aria-level='1'] .n\")]"
        ".map((one) => one.textContent)) === JSON.stringify(all)",
        wanted,
    )


def test_the_rule_behind_a_boundary_can_be_visited(view: Shown) -> None:
    context = kernel_named(view.served, "Schedule 4 Kernels n3")
    view.open(f"#/small/schedule?context={context}&a=0&b=1")
    link = view.page.locator(".pane.r .chain a.name").first
    link.click()
    view.until("() => location.hash.startsWith('#/small/rewrites')")
    view.until("() => /^\\d+\\/\\d+$/.test(document.querySelector('section.view').dataset.shown ?? '')")
    view.page.go_back()
    view.wait_shown(f"schedule/{context}")


def test_each_line_says_its_op_pass_and_rule(view: Shown) -> None:
    context = kernel_named(view.served, "r_64_16_512_4")
    view.open(f"#/small/code?context={context}")
    page = view.page
    page.wait_for_selector(".stage[data-traced]")
    lines = api(view.served, f"contexts/{context}/lines")["lines"]
    rows = page.locator(".code .ln")
    assert rows.count() == len(lines)
    for line in (line for line in lines if line["step"] >= 0):
        beside = rows.nth(line["line"] - 1).locator(".pv")
        assert beside.locator("span").first.inner_text() == line["ops"][0]
        assert beside.locator("span").last.inner_text().startswith(line["stepName"])
    rules = [line["rule"] and (line["rule"]["file"], line["rule"]["line"]) for line in lines]
    changes = sum(1 for at, rule in enumerate(rules) if rule and (at == 0 or rules[at - 1] != rule))
    assert page.locator(".code .pv span:last-child", has_text=" · ").count() == changes > 2
    known = sum(1 for line in lines if line["kind"] != "none" and (line["kind"] != "brace" or line["ops"]))
    assert f"{known} of {len(lines)} lines have a known origin" in page.locator(".status").inner_text()


def test_a_line_shows_the_chain_it_came_from(view: Shown) -> None:
    context = kernel_named(view.served, "r_64_16_512_4")
    lines = api(view.served, f"contexts/{context}/lines")["lines"]
    ruled = [line for line in lines if line["rule"]]
    place = {line["line"]: (line["rule"]["file"], line["rule"]["line"]) for line in ruled}
    chosen = max(ruled, key=lambda line: list(place.values()).count(place[line["line"]]))
    alike = [number for number, rule in place.items() if rule == place[chosen["line"]]]
    view.open(f"#/small/code?context={context}&line={chosen['line']}")
    page = view.page
    page.locator(".pane.r .bar", has_text=f"Where line {chosen['line']} comes from").wait_for()
    tinted = page.locator(".code .ln.same .no0").evaluate_all("all => all.map(e => Number(e.dataset.n))")
    assert tinted == alike
    assert page.locator(".pane.r .chip.same").inner_text() == str(len(alike))
    chain = page.locator(".pane.r .chain")
    for title in ("Your program", "Tensor operation", "Schedule", "Pass", "Rule", "This line"):
        chain.locator("b", has_text=title).first.wait_for()
    chain.get_by_text(
        re.compile(rf"match {chosen['match']} of [1-9]")
    ).wait_for()  # the total comes with an answer of its own
    text = chain.inner_text()
    assert chosen["stepName"] in text
    assert "dtypes" not in text, "types are named as in boxes"
    assert "prog.py:" in text
    page.keyboard.press("n")  # the next line of the rule
    if len(alike) > 1:
        view.wait_param("line", str(alike[(alike.index(chosen["line"]) + 1) % len(alike)]))
        page.go_back()
        view.open(f"#/small/code?context={context}&line={chosen['line']}")
    page.locator(".pane.r .tomatch").wait_for()
    page.keyboard.press("Enter")
    view.wait_shown(f"{chosen['step']}/{chosen['match']}")
    page.go_back()
    view.wait_shown(f"{context}/source")


def test_a_line_leads_to_its_row_of_the_op_list(view: Shown) -> None:
    context = kernel_named(view.served, "r_64_16_512_4")
    line = next(one for one in api(view.served, f"contexts/{context}/lines")["lines"] if one["ops"][:1] == ["LOAD"])
    view.open(f"#/small/code?context={context}&line={line['line']}")
    page = view.page
    page.locator(".pane.r .chain", has_text=f"one of {line['alike']} in the op list").wait_for()
    page.get_by_role("link", name="Show op").click()
    view.wait_shown(f"{context}/oplist")
    view.wait_param("line", str(line["row"]))
    row = page.locator(".code .ln[aria-current]")
    assert row.locator(".no0").get_attribute("data-n") == str(line["row"])
    assert row.locator(".tx").inner_text().split()[1] == "LOAD"
    shown = page.locator(".code .tx").all_inner_texts()
    assert sum(text.split()[1] == "LOAD" for text in shown) == line["alike"] > 1
    page.go_back()
    view.wait_shown(f"{context}/source")


def test_lines_are_walked_with_the_keyboard_and_ctrl_f_finds(view: Shown) -> None:
    context = kernel_named(view.served, "r_64_16_512_4")
    view.open(f"#/small/code?context={context}&line=3")
    page = view.page
    page.keyboard.press("Shift+ArrowDown")
    view.wait_param("line", "4")
    page.keyboard.press("Shift+ArrowUp")
    view.wait_param("line", "3")
    page.keyboard.press("Control+f")
    view.until("() => document.activeElement?.getAttribute('aria-label') === 'Find in code'")


def test_ops_and_ast_are_coloured_and_counted(view: Shown) -> None:
    context = kernel_named(view.served, "r_64_16_512_4")
    view.open(f"#/small/code?context={context}&as=oplist")
    page = view.page
    page.wait_for_selector(".code .ln .k")
    ops = page.locator(".code .ln").count()
    assert page.get_by_role("button", name="Ops").inner_text().split() == ["Ops", f"{ops:,}"]
    assert page.locator(".code .ln .ty").count() > 0
    # what the NULL device was given to run are no instructions
    assert page.get_by_role("button", name="Binary").count() == 1


def test_every_kernel_of_a_schedule_is_drawn_and_both_chosen_ones_are_in_sight(view: Shown) -> None:
    context = kernel_named(view.served, "Schedule 4 Kernels n3")
    view.open(f"#/small/schedule?context={context}&a=0&b=3")
    view.wait_shown(f"schedule/{context}")
    kernels = api(view.served, f"contexts/{context}/schedule")["kernels"]
    view.until("() => document.querySelector('.pane.r .answer')")
    boxes = {box["key"]: box for box in view.boxes()}
    assert set(range(len(kernels))) <= set(boxes)
    area = view.page.locator(".graph").bounding_box()
    assert area is not None
    for kernel in (0, 3):
        assert area["x"] < boxes[kernel]["px"] < area["x"] + area["width"]
        assert area["y"] < boxes[kernel]["py"] < area["y"] + area["height"]


def test_a_failed_compilation_shows_its_traceback(view: Shown) -> None:
    view.open("#/hostile/code?context=1")
    view.wait_shown("1/error")
    page = view.page
    assert page.locator(".code .tx").last.inner_text().rstrip() == "CompileError: no such type"
    page.set_viewport_size({"width": 1000, "height": 160})  # too low for all of it
    page.reload()
    view.wait_shown("1/error")
    seen, stage = page.locator(".code .ln").last.bounding_box(), page.locator(".stage").bounding_box()
    assert seen is not None and stage is not None
    assert stage["y"] <= seen["y"] and seen["y"] + seen["height"] <= stage["y"] + stage["height"] + 1
    assert page.get_by_role("button", name="Error", exact=True).get_attribute("aria-pressed") == "true"
    assert page.locator(".pane.l [aria-selected=true] .bad").inner_text() == "!"


@pytest.fixture(scope="module")
def long_code(static: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A kernel of many short lines."""
    path = tmp_path_factory.mktemp("long") / "long.peep"
    with CaptureWriter(path) as writer:
        context = {"id": [0], "name": ["E_4"], "kind": ["kernel"], "parent": [-1], "keys": ["[]"], "stack": ["[]"]}
        writer.append("contexts", {**context, "function": ["E_4"]})
        source = {"context": [0], "step": [-1], "kind": ["source"], "language": ["c"], "name": ["E_4"]}
        writer.append("artifacts", {**source, "content": ["\n".join(f"x = {i};" for i in range(1000)).encode()]})
    yield from start(create_app(Library([path]), static=static))


def test_short_lines_do_not_scroll_sideways(page: Page, long_code: Served) -> None:
    page.goto(f"{long_code.address}#/long/code")
    page.locator(".code .tx").first.wait_for()
    code = "document.querySelector('.code')"
    assert page.evaluate(f"{code}.scrollHeight > 1000 * 18 && {code}.scrollWidth <= {code}.clientWidth")


@pytest.fixture(scope="module")
def machine_code(static: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A kernel whose assembly names parts and ranges of registers."""
    path = tmp_path_factory.mktemp("machine") / "machine.peep"
    lines = ["lea (%rsi,%rax,4),%rcx", "xor %esi,%esi # not %rsi", "v_add_f32 v[2:3], s[0:1], v4", "v_mov_b32 v3, 0"]
    with CaptureWriter(path) as writer:
        context = {"id": [0], "name": ["E_4"], "kind": ["kernel"], "parent": [-1], "keys": ["[]"], "stack": ["[]"]}
        writer.append("contexts", {**context, "function": ["E_4"]})
        code = {"context": [0], "step": [-1], "kind": ["assembly"], "language": ["asm"], "name": ["E_4"]}
        writer.append("artifacts", {**code, "content": ["\n".join(lines).encode()]})
    yield from start(create_app(Library([path]), static=static))


def test_a_register_of_machine_code_is_lit_wherever_it_is_named(page: Page, machine_code: Served) -> None:
    page.goto(f"{machine_code.address}#/machine/code")
    lit = page.locator(".code .reg.lit")
    page.locator(".code .reg", has_text="%rsi").click()
    assert lit.all_inner_texts() == ["%rsi", "%esi", "%esi"]
    assert "%rsi lit" in page.locator(".status").inner_text()
    page.locator(".code .reg", has_text="v[2:3]").click()
    assert lit.all_inner_texts() == ["v[2:3]", "v3"]
    page.keyboard.press("r")
    assert lit.all_inner_texts() == ["s[0:1]"]
    page.keyboard.press("Escape")
    assert lit.count() == 0
    page.wait_for_url("**line=3*")  # it takes up the address when it is at rest


@pytest.fixture(scope="module")
def untraced(static: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A GPU's kernel that was compiled and never traced, and one whose bytes nobody can decode."""
    path = tmp_path_factory.mktemp("untraced") / "untraced.peep"
    binary, _ = kernels.kernel("loop")
    with CaptureWriter(path) as writer:
        of = {"kind": ["kernel"] * 2, "parent": [-1] * 2, "keys": ["[]"] * 2, "stack": ["[]"] * 2}
        writer.append("contexts", {"id": [0, 1], "name": ["r_4", "odd"], "function": ["r_4", "odd"], **of})
        code = {"context": [0, 0, 1], "step": [-1] * 3, "name": ["r_4", "r_4", "odd"]}
        kinds = {"kind": ["source", "binary", "binary"], "language": ["c", "gfx1100", "gfx1100"]}
        writer.append("artifacts", {**code, **kinds, "content": [b"void r_4() {}", binary, b"\x7fELF" + bytes(80)]})
    yield from start(create_app(Library([path]), static=static))


@pytest.mark.parametrize(("width", "height"), [(1600, 900), (1000, 700)])
def test_a_binary_has_its_control_flow_without_a_trace(page: Page, untraced: Served, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    page.goto(f"{untraced.address}#/untraced/code?context=0")
    page.get_by_role("button", name="Control flow").click()
    page.wait_for_selector("section.view[data-shown='0/flow']")
    _, program = kernels.kernel("loop")
    blocks = page.locator("section.blk")
    assert blocks.count() == 3, "before the loop, the loop and the end"
    assert page.locator(".ways path").count() == 3, "into the loop, back to its begin, and out"
    shown = page.locator(".blk .ln .name").all_inner_texts()
    assert [text.strip() for text in shown] == [text.strip() for text in program.text]
    assert "not reached" not in blocks.first.inner_text(), "nothing is known of what ran"
    page.locator(".blk .reg", has_text="s[0]").first.click()
    assert set(page.locator(".blk .reg.lit").all_inner_texts()) == {"s[0]"}
    OUTPUT.mkdir(exist_ok=True)
    page.screenshot(path=OUTPUT / f"code_flow_{width}.png")
    page.reload()
    page.wait_for_selector("section.blk")
    page.get_by_role("button", name="Source").click()
    page.wait_for_selector("section.view[data-shown='0/source']")
    assert blocks.count() == 0


def test_a_binary_that_cannot_be_decoded_says_so_instead_of_its_control_flow(page: Page, untraced: Served) -> None:
    page.goto(f"{untraced.address}#/untraced/code?context=1&as=flow")
    page.get_by_text("No control flow").wait_for()
    assert "cannot be shown" in page.locator(".stage").inner_text()


def test_the_filter_leaves_the_mark_on_the_kernel_that_is_shown(view: Shown) -> None:
    context = kernel_named(view.served, "r_64_16_512_4")
    view.open(f"#/small/code?context={context}")
    view.wait_shown(f"{context}/source")
    page = view.page
    marked = page.locator(".pane.l .vrow[aria-selected=true]")
    assert "r_64_16_512_4" in (marked.get_attribute("aria-label") or marked.inner_text().replace("\n", ""))
    page.keyboard.press("f")
    page.keyboard.type("r_64_16_512_4")
    view.until("() => document.querySelectorAll('.pane.l .vrow').length === 1")
    assert marked.count() == 1
    page.keyboard.press("Control+a")
    page.keyboard.type("E_")
    view.until("() => !document.querySelector('.pane.l .vlist').innerText.includes('r_64')")
    assert page.locator(".pane.l .vrow").count() > 0 and marked.count() == 0
