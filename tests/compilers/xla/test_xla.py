"""What is known about HLO: labels, origins, why kernels are two, passes summed up, kernels of a module."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.conftest import Cli
from tests.recorded_jax import PROGRAM

from peephole.compilers.labels import Family, NodeText
from peephole.compilers.xla.compiler import compiler
from peephole.compilers.xla.fusion import came_from, why_kernels
from peephole.compilers.xla.schedule import module_schedule
from peephole.query.capture.contexts import contexts, steps
from peephole.query.rewrites.calls import called_context
from peephole.query.rewrites.origins import all_origins, kernels_of
from peephole.query.rewrites.passes import pass_stats
from peephole.query.rewrites.step_graphs import count_matches, graph_at
from peephole.query.rewrites.why import answer, why
from peephole.store.capture import Capture, open_capture

BLOCK = "jit_block"


def module(capture: Capture, name: str) -> int:
    return next(one.id for one in contexts(capture) if one.kind == "module" and one.name.endswith("." + name))


@pytest.mark.parametrize(
    ("text", "said", "kind", "family"),
    [
        (NodeText("dot", "f32", "lhs_contracting_dims={1}, rhs_contracting_dims={0}", "[8,16]{1,0}"),
         "lhs={1}, rhs={0}", "f32[8,16]{1,0}", Family.ARITHMETIC),
        (NodeText("fusion", "f32", "kind=kLoop, calls=%fused_computation.3", "[8]{0}"), "kind=kLoop", "f32[8]{0}",
         Family.CALL),
        (NodeText("reduce", "f32", "dimensions={1}, to_apply=%region_0.1", "[8]{0}"), "dims={1}", "f32[8]{0}",
         Family.REDUCTION),
        (NodeText("while", "", "condition=%c.1, body=%b.2, backend_config={\"n\":1}", "(s32[], f32[8]{0})"), "",
         "(s32[], f32[8]{0})", Family.LOOP),
        (NodeText("constant", "f32", "0.0625", "[]"), "0.0625", "f32[]", Family.CONSTANT),
        (NodeText("new-op", "f8e4m3fn", "x=1", "[2]{0:T(8,128)S(1)}"), "x=1", "f8e4m3fn[2]{0:T(8,128)S(1)}",
         Family.OTHER),
    ],
)  # fmt: skip
def test_labels(text: NodeText, said: str, kind: str, family: Family) -> None:
    look = compiler.look(text)
    assert (look.name, look.arg, look.type, look.family) == (text.op, said, kind, family)


def test_scalars_stand_in_the_labels_of_their_users() -> None:
    texts = [NodeText("constant", "f32", "2", "[]"), NodeText("broadcast", "f32", "dimensions={}", "[8]{0}")]
    texts += [NodeText("parameter", "f32", "0", "[8]{0}"), NodeText("multiply", "f32", "", "[8]{0}")]
    values = compiler.constants(texts, [[], [0], [], [2, 1]], 3)
    assert values == ["2", "2", None, None]
    assert compiler.argument(texts[3], (None, "2")) == "2"


def test_kernels_and_lines(five: Capture) -> None:
    lines = PROGRAM.read_text().splitlines()
    softmax = next(number for number, line in enumerate(lines, 1) if "jax.nn.softmax" in line)
    found = {one.name for one in kernels_of(five, f"jax_program.py:{softmax}")}
    assert "subtract_exponential_fusion" in found and "reduce_divide_fusion" in found
    for origin in all_origins(five):
        for operation in origin.operations:
            assert operation.line is None or re.search(r"\.py:\d+$", operation.line), operation


def test_why_two_kernels_are_two(five: Capture) -> None:
    found = why(five, "subtract_exponential_fusion", "reduce_divide_fusion", f"module_{number(five)}.{BLOCK}")
    (boundary,) = found.boundaries
    assert found.relation == "dependent" and boundary.reason == "expensive producer would be duplicated"
    assert boundary.evidence is not None and boundary.evidence.step_name == "fusion"
    assert boundary.user_line is not None and "jax_program.py" in boundary.user_line
    verdict = answer(five, "exp.1", "reduce_divide_fusion")
    assert getattr(verdict, "last").decision.reason == boundary.reason  # noqa: B009 - a Verdict


def number(capture: Capture) -> str:
    (found,) = {one.name for one in contexts(capture) if one.kind == "module" and one.name.endswith(f".{BLOCK}")}
    return found.removeprefix("module_").partition(".")[0]


def test_where_fused_instructions_came_from(five: Capture) -> None:
    block = module(five, BLOCK)
    found = came_from(five, block, "subtract_exponential_fusion")
    assert {"exp.1", "sub.23"} <= found.keys()
    fusion = next(step for step in steps(five, block) if step.name == "fusion")
    before, after = (graph_at(five, fusion.id, at).nodes for at in (0, count_matches(five, fusion.id)))
    assert "exp.1" in before.name and "exp.1" not in after.name and found["exp.1"] in after.name


def test_a_fusion_opens_its_kernel(five: Capture) -> None:
    block = module(five, BLOCK)
    last = steps(five, block)[-1]
    nodes = graph_at(five, last.id, 0).nodes
    place = nodes.name.index("subtract_exponential_fusion")
    kernel = next(one for one in contexts(five) if one.id == called_context(five, last.id, nodes.id[place]))
    assert (kernel.name, kernel.kind, kernel.parent) == ("subtract_exponential_fusion", "kernel", block)
    (step,) = steps(five, kernel.id)
    assert "exponential" in graph_at(five, step.id, 0).nodes.op


def test_passes_are_summed_up(five: Capture, peephole: Cli) -> None:
    stats = {one.name: one for one in pass_stats(five)}
    assert stats["fusion"].runs == stats["fusion"].changed and stats["fusion"].added > stats["fusion"].removed
    assert stats["dce"].removed and not stats["dce"].added
    rows = [json.loads(line) for line in peephole("rules", five.path, "--json").stdout.splitlines()]
    assert {row["pass"]: row["instructions"] for row in rows} == {n: one.instructions for n, one in stats.items()}
    assert "fusion" in peephole("rules", five.path).stdout


def test_why_is_answered_in_the_terminal(five: Capture, peephole: Cli) -> None:
    done = peephole("why", "exp.1", "reduce_divide_fusion", five.path).stdout
    assert "expensive producer would be duplicated" in done and "fusion" in done


def test_why_says_how_to_have_reasons_where_there_are_none(jax_recorded: Path) -> None:
    capture = open_capture(jax_recorded)
    again = [one for one in contexts(capture) if one.name.endswith(".jit_train_step")][-1]
    reasons = capture.read("decisions", ["kind"]).texts("kind")
    assert set(reasons) == {"recompile"}, "which says nothing of kernels"
    schedule = module_schedule(capture, again.id)
    edge = schedule.edges[0]
    (boundary,) = why_kernels(capture, again.id, edge.first, again.id, edge.second).boundaries
    assert boundary.reason == "not recorded" and "peephole run --full" in boundary.text
    after = {one.first: one.second for one in schedule.edges}
    direct = {(one.first, one.second) for one in schedule.edges}
    far = next((a, after[b]) for a, b in after.items() if b in after and (a, after[b]) not in direct)
    found = why_kernels(capture, again.id, far[0], again.id, far[1])
    assert found.relation == "between" and "peephole run --full" in found.text
