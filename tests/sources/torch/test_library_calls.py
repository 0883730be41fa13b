"""Operations that Inductor only calls: what feeds them, what they compute, and who reads it in the same memory."""

from __future__ import annotations

import re

import pytest
from tests.recorded_torch import PATIENCE, TorchRun, torch_run

from peephole.compilers.answers import Origin, Why
from peephole.query.capture.contexts import contexts
from peephole.query.rewrites.origins import all_origins
from peephole.query.rewrites.schedules import schedule
from peephole.query.rewrites.why import answer
from peephole.store.capture import Capture

pytest.importorskip("torch")
pytestmark = pytest.mark.timeout(PATIENCE)
__all__ = ["torch_run"]

CALL = "torch.ops.mine.twice.default"


@pytest.fixture(scope="module")
def recorded(torch_run: TorchRun) -> Capture:
    return torch_run.capture


def half_of(capture: Capture) -> tuple[str, int]:
    """The half of the program `library`: its name and its context."""
    frame = capture.read("contexts", ["id", "function"])
    graph = frame["id"][list(frame.texts("function")).index("called")]
    half = next(one for one in contexts(capture) if one.parent == graph)
    return half.name, half.id


def own_origins(capture: Capture) -> list[Origin]:
    return [one for one in all_origins(capture) if one.schedule == half_of(capture)[1]]


def related(capture: Capture, a: str, b: str) -> tuple[str, str, str]:
    found = answer(capture, a, b, half_of(capture)[0])
    assert isinstance(found, Why)
    return found.relation, found.first.name, found.second.name


def test_what_a_call_computes_is_not_in_the_kernel_that_feeds_it(recorded: Capture) -> None:
    relation, first, second = related(recorded, "twice", "sin")
    assert (relation, second) == ("dependent", CALL) and first.startswith("cpp_fused")
    found = answer(recorded, "sin", "twice", half_of(recorded)[0])
    assert isinstance(found, Why) and found.boundaries[0].forced is not None
    assert found.boundaries[0].forced.op == "add"
    assert {text.split("@")[0] for text in found.boundaries[0].forced.tensors} == {"sin", "add"}
    for origin in own_origins(recorded):
        operations = {operation.name for operation in origin.operations}
        assert operations == {"twice"} if origin.name.startswith(CALL) else "twice" not in operations
    # of two calls of one operation each computes its own
    relation, first, second = related(recorded, "twice", "twice_1")
    assert (relation, first, second) == ("between", CALL, f"{CALL}.2")


def test_a_kernel_that_works_in_place_reads_what_a_library_wrote_there(recorded: Capture) -> None:
    assert related(recorded, "mm", "relu")[0] == "dependent"
    assert related(recorded, "twice", "cos")[0] == "dependent"  # a call's result has another name than its memory
    assert related(recorded, "sin", "cos")[0] == "between"
    found = schedule(recorded, half_of(recorded)[1])
    kernels = [re.sub(r"cpp_fused_\w+", "cpp", kernel.name) for kernel in found.kernels]
    assert kernels == ["cpp", CALL, "cpp", "extern_kernels.mm", "cpp", f"{CALL}.2"]
    assert [(edge.first, edge.second) for edge in found.edges] == [(at, at + 1) for at in range(len(kernels) - 1)]
    assert {buffer.device for buffer in found.buffers} <= {"", "cpu"}
