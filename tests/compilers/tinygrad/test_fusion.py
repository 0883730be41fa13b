"""Why kernels are two, on programs whose reason is known."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from peephole.compilers.answers import Schedule
from peephole.errors import PeepholeError
from peephole.query.rewrites import origins as origin
from peephole.query.rewrites import why as fusion
from peephole.query.rewrites.schedules import schedule, schedule_contexts
from peephole.query.timeline.source_items import compiled
from peephole.store.capture import Capture, open_capture

IMPORT = "from tinygrad import Tensor\n"
EMPTY = IMPORT + "a, b, c, d = (Tensor.empty(16, 16) for _ in range(4))\n"

CUSTOM = """
from tinygrad.uop.ops import KernelInfo, UOp
def add1(out, x):
    i = UOp.range(256, 0)
    return out.flatten()[i].store(x.flatten()[i] + 1).end(i).sink(arg=KernelInfo(name="add1"))
"""

# program, how many kernels, (first, second, kind, reason) of every boundary
KNOWN = {
    "fused": (EMPTY + "(a * 2 + b).realize()", 1, []),
    "reduced and fused": (EMPTY + "(a.sum(1) * 2 + 1).realize()", 1, []),
    "a reduction used twice": (
        EMPTY + "s = a.sum(1)\nTensor.realize(s.reshape(4, 4).permute(1, 0) + 1, s * 2)",
        3,
        [(0, 1, "readers index differently"), (0, 2, "readers index differently")],
    ),
    "softmax": (
        EMPTY + "a.softmax(1).realize()",
        3,
        [(0, 1, "reduce then expand"), (0, 2, "reduce then expand"), (1, 2, "reduce then expand")],
    ),
    "contiguous": (EMPTY + "((a + 1).contiguous() * 2).realize()", 2, [(0, 1, "explicit contiguous")]),
    "two outputs": (EMPTY + "Tensor.realize(a + 1, a * 2)", 2, []),
    "matmul, relu, matmul": (EMPTY + "((a @ b).relu() @ c).realize()", 2, [(0, 1, "reduce then expand")]),
    "copy": (
        EMPTY + "((a + 1).to('NULL:1') * 2).realize()",
        3,
        [(0, 1, "device copy"), (1, 2, "device copy")],
    ),
    "40 inputs": (
        IMPORT + "r, *rest = (Tensor.empty(16) for _ in range(40))\nfor t in rest: r = r + t\nr.realize()",
        2,
        [(0, 1, "buffer limit")],
    ),
    "a shared value of 4 inputs": (
        EMPTY + "v = a + b + c + d\nTensor.realize(v.permute(1, 0) * 2 + v, v + 3)",
        3,
        [(0, 1, "readers index differently"), (0, 2, "readers index differently")],
    ),
    "a shared value of 2 inputs": (EMPTY + "v = a + b\nTensor.realize(v.permute(1, 0) * 2, v + 3)", 2, []),
    "sum of a million": (IMPORT + "Tensor.empty(1000, 1000).sum().realize()", 2, [(0, 1, "split reduction")]),
    "w.assign(w.T + 1)": (
        EMPTY + "w = a.realize()\nw.assign(w.T + 1)\nw.realize()",
        2,
        [(0, 1, "assign hazard"), (0, 1, "write after read")],
    ),
    "an expanded value of 4 inputs": (
        EMPTY + "((a + b + c + d) @ Tensor.empty(16, 16)).realize()",
        2,
        [(0, 1, "value expanded")],
    ),
    "a custom kernel": (
        EMPTY + CUSTOM + "(c.custom_kernel(a * 2 + b, fxn=add1)[0] * 3).realize()",
        3,
        [(0, 1, "custom kernel"), (1, 2, "custom kernel")],
    ),
    "parts of two devices": (
        EMPTY + "x = a.realize().shard(('NULL', 'NULL:1'), axis=0).realize()\n((x + 1).to('NULL') * 2).realize()",
        4,
        [(0, 1, "several devices"), (0, 3, "several devices"), (1, 2, "device copy"), (2, 3, "device copy")],
    ),
    "a sum over two devices": (
        EMPTY + "x = a.realize().shard(('NULL', 'NULL:1'), axis=0).realize()\n(x.sum(0) + 1).realize()",
        3,
        [(0, 1, "several devices"), (1, 2, "several devices")],
    ),
    "3 buffers and a variable": (
        "from tinygrad import Tensor, Variable\n"
        "a, b, c = (Tensor.empty(8, 16).realize() for _ in range(3))\n"
        "n = Variable('n', 1, 8).bind(3)\n"
        "v = a[:n] + b[:n] + c[:n] * n\n"
        "Tensor.realize((v + 1).contiguous(), v.sum(1))",
        3,
        [(0, 1, "readers index differently"), (0, 2, "readers index differently")],
    ),
    "assign": (
        EMPTY + "w = a.realize()\nold = w + 1\nw.assign(b)\nTensor.realize(old, w, w.sum(1))",
        3,
        [(0, 1, "write after read"), (1, 2, "assign")],
    ),
}


@pytest.fixture(scope="module")
def known(record: Callable[..., Any]) -> Callable[[str], tuple[Capture, Schedule]]:
    def find(name: str) -> tuple[Capture, Schedule]:
        capture = record(KNOWN[name][0] + "\n", TRACEMETA="2", MAX_KERNEL_BUFFERS="31").capture
        return capture, schedule(capture, schedule_contexts(capture)[-1][0])

    return find


@pytest.mark.parametrize("name", KNOWN)
def test_the_reason_is_the_known_one(name: str, known: Callable[[str], tuple[Capture, Schedule]]) -> None:
    capture, made = known(name)
    _, kernels, expected = KNOWN[name]
    assert len(made.kernels) == kernels
    pairs = sorted({(edge.first, edge.second) for edge in made.edges})
    found = []
    for first, second in pairs:
        answer = fusion.why_kernels(capture, made.context, first, made.context, second)
        assert answer.relation == "dependent"
        assert (answer.first.index, answer.second.index) == (first, second)
        found += [(first, second, boundary.reason) for boundary in answer.boundaries]
    assert sorted(found) == sorted(expected)


def test_the_evidence_is_the_rule_that_did_it(known: Callable[[str], tuple[Capture, Schedule]]) -> None:
    capture, made = known("sum of a million")
    (boundary,) = fusion.why_kernels(capture, made.context, 0, made.context, 1).boundaries
    assert boundary.evidence is not None and boundary.evidence.step_name == "earliest rewrites"
    assert "split_reduceop" in (boundary.evidence.source or "")
    assert boundary.user_line is not None and boundary.user_line.endswith("program.py:2")
    assert boundary.buffer.elements == 250
    capture, made = known("contiguous")
    (boundary,) = fusion.why_kernels(capture, made.context, 0, made.context, 1).boundaries
    assert boundary.evidence is not None and "replace_contig_with_store_after" in (boundary.evidence.source or "")
    assert boundary.forced is not None and boundary.forced.op == "CONTIGUOUS"


def test_why_a_value_was_kept(known: Callable[[str], tuple[Capture, Schedule]]) -> None:
    for name, kept in (
        ("a shared value of 4 inputs", "it reads 4 buffers"),
        ("a reduction used twice", "it reduces a buffer"),
        ("copy", "it must be stored"),
        ("3 buffers and a variable", "it reads 3 buffers and 1 variable, and more than 3"),
    ):
        capture, made = known(name)
        boundary = fusion.why_kernels(capture, made.context, 0, made.context, 1).boundaries[0]
        assert boundary.kept is not None and boundary.kept.startswith(kept)


def test_independent_and_a_third_between(known: Callable[[str], tuple[Capture, Schedule]]) -> None:
    capture, made = known("two outputs")
    answer = fusion.why_kernels(capture, made.context, 1, made.context, 0)
    assert (answer.relation, answer.boundaries, answer.common) == ("independent", [], [])
    capture, made = known("a reduction used twice")
    answer = fusion.why_kernels(capture, made.context, 1, made.context, 2)
    assert (answer.relation, [kernel.index for kernel in answer.common]) == ("independent", [0])
    capture, made = known("copy")
    answer = fusion.why_kernels(capture, made.context, 0, made.context, 2)
    assert (answer.relation, [kernel.kind for kernel in answer.between]) == ("between", ["copy"])
    with pytest.raises(PeepholeError, match="the same kernel"):
        fusion.why_kernels(capture, made.context, 0, made.context, 0)


def test_kernels_by_name(known: Callable[[str], tuple[Capture, Schedule]]) -> None:
    capture, made = known("softmax")
    first, second, last = (kernel.name for kernel in made.kernels)
    assert first == second
    answer = fusion.why(capture, first, f"{second}#2")
    assert (answer.first.index, answer.second.index) == (0, 1)
    assert fusion.why(capture, "#0", last).second.index == 2
    with pytest.raises(PeepholeError, match=r"no kernel 'nothing'.*kernels are"):
        fusion.why(capture, "nothing", last)


def test_members_and_their_lines(known: Callable[[str], tuple[Capture, Schedule]]) -> None:
    capture, made = known("softmax")
    assert [set(kernel.ops) for kernel in made.kernels] == [
        {"REDUCE"},
        {"REDUCE", "EXP2", "MUL", "ADD"},
        {"RECIPROCAL", "EXP2", "MUL", "ADD"},
    ]
    capture, made = known("matmul, relu, matmul")
    names = [{operation.name for operation in found.operations} for found in origin.all_origins(capture)]
    assert names == [{"relu", "__matmul__"}, {"__matmul__"}]
    found = origin.origins(capture, made.kernels[0].context)
    assert [one.index for one in found] == [0] and (found[0].realized_source or "").endswith("realize()")
    assert len(origin.kernels_of(capture, "program.py:3")) == 2 and origin.kernels_of(capture, "program.py:1") == []


def test_lines_of_a_live_recording(tmp_path: Path, peephole: Callable[..., Any]) -> None:
    program = tmp_path / "live.py"
    program.write_text(
        IMPORT + "a = Tensor.empty(16, 16)\nb = a.exp()\nc = b.sum(1)\n(b / c.reshape(16, 1)).realize()\n"
    )
    peephole("run", "-o", tmp_path / "live.peep", program, env={"DEV": "NULL"})
    capture = open_capture(tmp_path / "live.peep")
    first, second = origin.all_origins(capture)
    assert {(one.name, one.source) for one in first.operations} == {("exp", "b = a.exp()"), ("sum", "c = b.sum(1)")}
    assert [found.index for found in origin.kernels_of(capture, "live.py:3")] == [0, 1]
    assert [found.index for found in origin.kernels_of(capture, "live.py:4")] == [0]
    (boundary,) = fusion.why_kernels(capture, first.schedule, first.index, second.schedule, second.index).boundaries
    assert boundary.user_line == f"{program}:4"


def test_the_line_of_a_contiguous_is_that_of_what_it_is_given(tmp_path: Path, peephole: Callable[..., Any]) -> None:
    program = tmp_path / "kept.py"
    program.write_text(IMPORT + "y = (Tensor.empty(64, 32) * 2).contiguous()\ny.reshape(32, 64).sum(0).realize()\n")
    peephole("run", "-o", tmp_path / "kept.peep", program, env={"DEV": "NULL"})
    (boundary,) = fusion.why(open_capture(tmp_path / "kept.peep"), "#0", "#1").boundaries
    assert boundary.reason == "explicit contiguous" and boundary.user_line == f"{program}:2"
    assert boundary.forced is not None and [text.partition("@")[0] for text in boundary.forced.tensors] == ["__mul__"]


def test_a_number_counts_through_the_capture_as_show_does(record: Callable[..., Any]) -> None:
    lines = ["x.sum(1).realize()", "x.sum(1).sum().realize()", "(x + 1).sum(1).contiguous().exp().realize()"]
    capture = record(IMPORT + "x = Tensor.empty(64, 32)\n" + "\n".join(lines) + "\n").capture
    names = {item.context.id: item.name for item in compiled(capture)}
    for context, _ in schedule_contexts(capture):
        made = schedule(capture, context)
        for first, second in pairwise(made.kernels):
            answer = fusion.why(capture, names[first.context], names[second.context])
            assert (answer.first.context, answer.second.context) == (first.context, second.context)
            assert answer.first_schedule.context == context
    assert sum("#" in name for name in names.values()) >= 1


def test_two_schedules(record: Callable[..., Any]) -> None:
    program = EMPTY + "x = (a + 1).realize()\n(x * 2).sum().realize()\n"
    capture = record(program).capture
    (one, _), (other, _) = schedule_contexts(capture)
    answer = fusion.why_kernels(capture, other, 0, one, 0)
    assert answer.relation == "other schedule" and answer.first_schedule.context == one
    assert "program.py:3" in answer.text and "program.py:4" in answer.text


def test_a_cached_schedule_shows_the_one_it_came_from(record: Callable[..., Any]) -> None:
    program = IMPORT + "for _ in range(2): (Tensor.empty(4, 4).sum(1).contiguous() + 1).realize()\n"
    capture = record(program).capture
    first, second = (schedule(capture, context) for context, _ in schedule_contexts(capture))
    assert second.made_in == first.context != second.context
    assert [k.name for k in second.kernels] == [k.name for k in first.kernels]


def test_no_schedule(add: Any) -> None:
    with pytest.raises(PeepholeError, match="no schedule"):
        schedule(add.capture, 0)
