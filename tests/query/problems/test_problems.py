"""Problems of compiling: from whatever a compiler decided, and from the times of its phases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Cli
from tests.sources.torch.logs import BREAK, artifact, event, record, small_log

from peephole.ingest import import_files
from peephole.query.problems.problems import Problems, problems, tells_problems
from peephole.store.capture import Capture, open_capture
from peephole.store.writer import CaptureWriter

AGAIN = json.dumps(
    ["0/0: tensor 'x' size mismatch at index 0. expected 4, actual 6", "0/0: factor == 1.5  # return x  # a.py:3 in f"]
)
FAILED = {
    "co_name": "f",
    "fail_type": "Unsupported",
    "fail_reason": "Dynamo recompile limit exceeded\n  Explanation: Too often.\n  Hint: Raise the limit.",
}


def log() -> str:
    """Two compilations of a function, of which the second fails in the end, with a slow phase in a slow phase."""
    start = record("dynamo_start", {"stack": [{"line": 5, "name": "f", "filename": 1}]}, id="0/1", second=4)
    return "".join(
        (
            small_log(),
            event("dynamo", "B", 4, id="0/1"),
            start,
            artifact("recompile_reasons", AGAIN, id="0/1", second=4),
            event("inductor_compile", "B", 5, id="0/1"),
            event("compile_file", "B", 5.25, id="0/1"),
            event("compile_file", "E", 6, id="0/1"),
            event("inductor_compile", "E", 6.25, id="0/1"),
            record("symbolic_shape_specialization", SPECIAL, id="0/1", second=6),
            record("compilation_metrics", FAILED, id="0/1", second=6.5),
            event("dynamo", "E", 6.5, id="0/1"),
        )
    )


SPECIAL = {
    "symbol": "s0",
    "sources": ["L['x'].size()[0]"],
    "value": "8",
    "reason": "solve",
    "user_stack": [{"line": 9, "name": "f", "filename": 1}],
}


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Capture:
    folder = tmp_path_factory.mktemp("problems")
    (folder / "t.log").write_text(log())
    return open_capture(import_files([folder / "t.log"], folder / "t.peep"))


@pytest.fixture(scope="module")
def found(capture: Capture) -> Problems:
    return problems(capture)


def one(found: Problems, kind: str) -> Any:
    (problem,) = [problem for problem in found.problems if problem.kind == kind]
    return problem


def test_a_break(found: Problems) -> None:
    problem = one(found, "break")
    assert (problem.context_name, problem.file, problem.line) == ("0/0", "/prog/prog.py", 8)
    assert problem.title == "Failed to trace builtin operator"
    assert problem.reason.startswith("Dynamo does not know how to trace builtin operator `print`")
    assert problem.hint == "Avoid calling builtin `print` with argument types ['str']."
    assert [frame.line for frame in problem.stack] == [8, 25] and problem.text == BREAK.rstrip("\n")
    assert problem.cost == -1 and problem.time == 1_500_000_000 and problem.is_own


def test_a_recompilation_with_its_guard_and_its_cost(found: Problems) -> None:
    problem = one(found, "recompile")
    assert (problem.context_name, problem.title, problem.line) == ("0/1", "f 0/1", 5)
    assert problem.reason == "size of x changed in dimension 0: the guard wanted 4, got 6"
    assert (problem.wanted, problem.got, problem.missed) == ("x.size(0) == 4", "x.size(0) == 6", "0/0")
    assert problem.hint.endswith("`torch._dynamo.mark_dynamic(x, 0)`") and len(problem.others) == 1
    assert problem.cost == 2_500_000_000


def test_a_specialization_and_a_fallback(found: Problems) -> None:
    special, fallback = one(found, "specialization"), one(found, "fallback")
    assert (special.title, special.line) == ("x.size()[0] = 8", 9)
    assert (fallback.title, fallback.reason, fallback.hint) == (
        "Dynamo recompile limit exceeded",
        "Too often.",
        "Raise the limit.",
    )
    assert fallback.line == 5, "the function's"


def test_slow_phases_count_by_their_own_time(found: Problems) -> None:
    slow = [(problem.title, problem.context_name, problem.cost) for problem in found.problems if problem.kind == "slow"]
    assert slow == [
        ("dynamo", "0/0", 2_000_000_000),
        ("dynamo", "0/1", 1_250_000_000),
        ("compile_file", "0/1", 750_000_000),
        ("inductor_compile", "0/1", 500_000_000),
    ]
    assert found.compiling == 4_500_000_000 and [one.name for one in found.compilations] == ["0/0", "0/1"]


def test_each_has_a_name_of_its_own(found: Problems) -> None:
    names = [(problem.kind, problem.id) for problem in found.problems]
    assert len(set(names)) == len(names) and ("slow", "0/1#2") in names


def test_the_command(peephole: Cli, capture: Capture, found: Problems) -> None:
    said = [json.loads(line) for line in peephole("problems", capture.path, "--json").stdout.splitlines()]
    assert [(one["kind"], one["context"]) for one in said] == [(one.kind, one.context_name) for one in found.problems]
    again = next(one for one in said if one["kind"] == "recompile")
    assert again.items() >= {"file": "/prog/prog.py", "line": 5, "missed": "0/0", "cost_ns": 2_500_000_000}.items()
    assert {"kind", "context", "reason", "file", "line", "hint"} <= set(again)
    text = peephole("problems", capture.path).stdout
    assert "Graph breaks  1" in text and "hint  Avoid calling" in text
    assert "8 problems in 2 compilations, 4.50 s of compiling" in text
    assert len(peephole("problems", capture.path, "--kind", "slow", "--json").stdout.splitlines()) == 4


def test_none(peephole: Cli, tmp_path: Path) -> None:
    (tmp_path / "t.log").write_text(event("dynamo", "B", 1) + event("dynamo", "E", 1.1))
    capture = open_capture(import_files([tmp_path / "t.log"], tmp_path / "t.peep"))
    assert tells_problems(capture) and problems(capture).problems == []
    assert peephole("problems", capture.path).stdout == "No problems in 1 compilation.\n"
    assert peephole("problems", capture.path, "--json").stdout == ""
    with CaptureWriter(tmp_path / "plain.peep") as writer:
        writer.append("contexts", {"id": [0], "name": ["k"], "kind": ["kernel"]})
    assert not tells_problems(open_capture(tmp_path / "plain.peep"))
    assert "no compilation of a compiler that tells them" in peephole("problems", tmp_path / "plain.peep").stdout


def test_what_is_compiled_later_counts_and_a_frame_of_a_library_is_at_the_users_line(tmp_path: Path) -> None:
    library = "/env/lib/python3.11/site-packages/torch/_dynamo/external_utils.py"
    stack = json.dumps([[library, 67, "inner", ""], ["/prog/train.py", 15, "train", "loss(model(x))"]])
    second = 10**9
    with CaptureWriter(tmp_path / "c.peep") as writer:
        writer.append(
            "contexts",
            {
                "id": [0, 1, 2],
                "name": ["0/1", "0/1 forward", "0/1 backward"],
                "kind": ["graph", "half", "half"],
                "compiler": ["torch"] * 3,
                "parent": [-1, 0, 0],
                "start": [0, second // 2, 5 * second],
                "dur": [second, second // 4, 3 * second],
                "stack": [stack, None, None],
            },
        )
        steps = {"id": [0, 1], "context": [0, 2], "ordinal": [0, 0], "name": ["dynamo", "codegen"]}
        writer.append("steps", {**steps, "start": [0, 5 * second], "dur": [1, 3 * second]})
        reasons = ["0/0: tensor 'x' dtype mismatch. expected Float, actual Double", "s0 = 4: solve"]
        rows = {"step": [0, 0], "ordinal": [0, 1], "kind": ["recompile", "specialization"], "reason": reasons}
        writer.append("decisions", {**rows, "file": [library, None], "line": [67, -1]})
    found = problems(open_capture(tmp_path / "c.peep"))
    assert found.compiling == 4 * second
    assert one(found, "slow").reason == "code is written: 75% of compiling 0/1"
    for kind in ("recompile", "specialization", "slow"):
        assert (one(found, kind).file, one(found, kind).line) == ("/prog/train.py", 15)


def test_a_compiler_that_nobody_knows(tmp_path: Path) -> None:
    with CaptureWriter(tmp_path / "own.peep") as writer:
        writer.append("contexts", {"id": [0], "name": ["m"], "kind": ["module"], "compiler": ["mine"]})
        writer.append("steps", {"id": [0], "context": [0], "ordinal": [0], "name": ["layout"], "dur": [10**10]})
        rows = {
            "step": [0, 0],
            "ordinal": [0, 1],
            "kind": ["fallback", "fused"],
            "reason": ["no kernel for it\nsorry", ""],
        }
        writer.append("decisions", {**rows, "file": ["m.py", None], "line": [3, -1]})
    capture = open_capture(tmp_path / "own.peep")
    assert tells_problems(capture)
    (problem,) = problems(capture).problems
    assert (problem.kind, problem.title, problem.reason, problem.line) == ("fallback", "no kernel for it", "sorry", 3)
