"""Every line of real generated code: the op that wrote it, the match that made that op, the user's operation."""

from __future__ import annotations

import re
import shutil
from typing import Any

import pytest

from peephole.compilers.answers import LineOrigins
from peephole.errors import PeepholeError
from peephole.query.capture.contexts import artifacts, contexts
from peephole.query.rewrites import step_graphs as rewrites
from peephole.query.rewrites.origins import line_origins
from peephole.store.capture import Capture

PROGRAM = """
from tinygrad import Tensor
a, b = Tensor.empty(64, 32), Tensor.empty(32, 16)
hidden = (a @ b).relu()
out = hidden.exp().sum(axis=1)
(out + 1).sqrt().realize()
Tensor.empty(70)[3:50].pad((2, 3)).sum().realize()
"""

needs_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="tinygrad's CPU device needs clang")


def kernels(capture: Capture) -> dict[str, LineOrigins]:
    found = {c.name: line_origins(capture, c.id, operations=True) for c in contexts(capture)}
    return {name: lines for name, lines in found.items() if lines.artifact >= 0}


def source(capture: Capture, lines: LineOrigins) -> list[str]:
    frame = capture.read("artifacts", ["content"], slice(lines.artifact, lines.artifact + 1))
    text: str = (frame.blobs("content")[0] or b"").decode()
    return text.removesuffix("\n").split("\n")


@needs_clang
def test_lines_of_a_cpu_kernel(record: Any) -> None:
    capture = record(PROGRAM, DEV="CPU", TRACEMETA="2").capture
    found = kernels(capture)
    [name] = [name for name in found if name.startswith("r_64")]
    lines, texts = found[name], source(capture, found[name])
    assert lines.note is None and len(lines.lines) == len(texts)
    wanted = {
        r"\s+for \(int Ridx\w+ = 0": "RANGE",
        r"\s+float buf0\[": "BUFFER",
        r"\s+\*\(buf0\+\d+\) = 0\.0f;": "STORE",
        r"\s+\*\(buf0\+\d+\) = \(\(\*\(buf0": "STORE",
        r"\s+float\d* val\d+ = ": "LOAD",
        r"\s+float alu\d+ = \(.*\?.*:": "WHERE",
        r"\s+\*\(data0_64": "STORE",
    }
    for pattern, op in wanted.items():
        hits = [line for line, text in zip(lines.lines, texts, strict=True) if re.match(pattern, text)]
        assert hits and all(line.ops[0] == op and line.node >= 0 for line in hits), pattern
    accumulate = next(
        line for line, text in zip(lines.lines, texts, strict=True) if re.match(r"\s+\*\(buf0\+0\) = \(\(\*", text)
    )
    assert {"ADD", "MUL", "LOAD"} <= set(accumulate.ops)
    assert lines.operations is not None
    assert [lines.operations[i].name for i in accumulate.operations] == ["__matmul__"]
    last = [line for line, text in zip(lines.lines, texts, strict=True) if text.startswith("    *(data0_64")][-1]
    assert "sqrt" in {lines.operations[i].name for i in last.operations}
    assert last.step == -1 and last.rule is None, "the store was in the AST already"
    head = next(line for line in lines.lines if line.kind == "signature")
    assert head.ops == ["PARAM"] and head.node == -1 and head.rule is None
    assert [line.kind for line in lines.lines[-2:]] == ["brace", "brace"]
    assert all(line.kind == "none" and not line.ops for line in lines.lines[: head.line - 1]), "typedefs"


def test_a_line_s_op_is_in_the_op_list(record: Any) -> None:
    capture = record(PROGRAM, TRACEMETA="2").capture
    frame = capture.read("nodes", ["id", "dtype"])
    dtypes = dict(zip(frame["id"].tolist(), frame.texts("dtype"), strict=True))
    checked = 0
    for lines in kernels(capture).values():
        [listed] = artifacts(capture, lines.context, "oplist")
        rows = listed.content.decode().removesuffix("\n").split("\n")
        seen = [line.row for line in lines.lines if line.node >= 0]
        assert all(1 <= row <= len(rows) for row in seen)
        assert len({line.node for line in lines.lines if line.node >= 0}) == len(set(seen)), "a row for each node"
        for line in lines.lines:
            if line.row > 0:
                assert rows[line.row - 1].split()[1] == line.ops[0]
                assert line.alike == sum(row.split()[1] == line.ops[0] for row in rows)
                assert dtypes[line.node] in rows[line.row - 1]
                checked += 1
    assert checked > 20


def test_a_line_s_match_is_the_one_that_made_its_op(record: Any) -> None:
    capture = record(PROGRAM, TRACEMETA="2").capture
    checked = 0
    for lines in kernels(capture).values():
        assert lines.note is None
        seen = {(line.step, line.match, line.ops[0]) for line in lines.lines if line.match}
        for step, match, op in sorted(seen):
            graph = rewrites.graph_at(capture, step, match)
            ops = dict(zip(graph.nodes.id, graph.nodes.op, strict=True))
            assert op in {ops[node] for node in graph.added}, (step, match)
            checked += 1
        for line in lines.lines:
            assert (line.rule is not None) == (line.match > 0)
            assert line.rule is None or (line.rule.file and line.rule.line > 0 and line.rule.source)
    assert checked > 20


def test_all_lines_of_a_training_step(train: Any) -> None:
    found = kernels(train.capture)
    assert len(found) > 5
    for lines in found.values():
        assert lines.note is None
        body = [line for line in lines.lines if line.kind in ("op", "brace")]
        # the last brace is the function's
        assert all(line.node >= 0 for line in body[:-1]) and body[-1].node == -1
        assert any(line.ops[0] == "STORE" for line in body if line.ops)


def test_what_is_no_c_is_left_open(record: Any) -> None:
    capture = record(PROGRAM, DEV="PYTHON").capture
    kernel_contexts = [c for c in contexts(capture) if c.kind == "kernel"]
    for context in kernel_contexts:
        lines = line_origins(capture, context.id)
        assert all(line.node == -1 and line.rule is None for line in lines.lines)
        assert lines.note
    assert kernel_contexts
    with pytest.raises(PeepholeError, match="no context 99999"):
        line_origins(capture, 99999)
