"""Operations that Inductor only calls: what feeds them, what they compute, and who reads it in the same memory."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from tests.recorded_torch import PATIENCE, clean_environment

from peephole.compilers.answers import Why
from peephole.query.rewrites.origins import all_origins
from peephole.query.rewrites.schedules import schedule
from peephole.query.rewrites.why import answer
from peephole.store.capture import Capture, open_capture

pytest.importorskip("torch")
pytestmark = pytest.mark.timeout(PATIENCE)

PROGRAM = """
import torch

@torch.library.custom_op("mine::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2

@twice.register_fake
def _(x):
    return torch.empty_like(x)

@torch.compile
def function(x, w):
    y = twice(torch.sin(x) + 1)
    return twice(torch.relu(torch.cos(y) @ w))

with torch.no_grad():
    function(torch.ones(8, 8), torch.ones(8, 8))
"""
CALL = "torch.ops.mine.twice.default"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Capture:
    folder = tmp_path_factory.mktemp("library")
    program, capture = folder / "program.py", folder / "c.peep"
    program.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "peephole", "run", "--no-view", "-o", str(capture), str(program)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=clean_environment(), timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return open_capture(capture)


def related(capture: Capture, a: str, b: str) -> tuple[str, str, str]:
    found = answer(capture, a, b)
    assert isinstance(found, Why)
    return found.relation, found.first.name, found.second.name


def test_what_a_call_computes_is_not_in_the_kernel_that_feeds_it(recorded: Capture) -> None:
    relation, first, second = related(recorded, "twice", "sin")
    assert (relation, second) == ("dependent", CALL) and first.startswith("cpp_fused")
    found = answer(recorded, "sin", "twice")
    assert isinstance(found, Why) and found.boundaries[0].forced is not None
    assert found.boundaries[0].forced.op == "add"
    assert {text.split("@")[0] for text in found.boundaries[0].forced.tensors} == {"sin", "add"}
    for origin in all_origins(recorded):
        operations = {operation.name for operation in origin.operations}
        assert operations == {"twice"} if origin.name.startswith(CALL) else "twice" not in operations
    # of two calls of one operation each computes its own
    relation, first, second = related(recorded, "twice", "twice_1")
    assert (relation, first, second) == ("between", CALL, f"{CALL}.2")


def test_a_kernel_that_works_in_place_reads_what_a_library_wrote_there(recorded: Capture) -> None:
    assert related(recorded, "mm", "relu")[0] == "dependent"
    assert related(recorded, "twice", "cos")[0] == "dependent"  # a call's result has another name than its memory
    assert related(recorded, "sin", "cos")[0] == "between"
    (context,) = {origin.schedule for origin in all_origins(recorded)}
    found = schedule(recorded, context)
    kernels = [re.sub(r"cpp_fused_\w+", "cpp", kernel.name) for kernel in found.kernels]
    assert kernels == ["cpp", CALL, "cpp", "extern_kernels.mm", "cpp", f"{CALL}.2"]
    assert [(edge.first, edge.second) for edge in found.edges] == [(at, at + 1) for at in range(len(kernels) - 1)]
    assert {buffer.device for buffer in found.buffers} <= {"", "cpu"}
