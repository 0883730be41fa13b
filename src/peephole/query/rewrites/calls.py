"""What the calls in a graph lead to, and which steps stand for a whole graph: asked of the step's compiler."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from peephole.compilers import compiler_named, compiler_of
from peephole.compilers.protocol import AST, KERNELS
from peephole.compilers.traces import trace_of
from peephole.errors import PeepholeError
from peephole.model.tables import NONE

if TYPE_CHECKING:
    from peephole.query.capture.contexts import Step
    from peephole.store.capture import Capture


def called_context(capture: Capture, step: int, node: int) -> int:
    """The context that a node of a step's graphs, by its id, was compiled in: a kernel, or a schedule for the call of
    a whole graph. -1 when the node is no call, or what it calls was compiled in no context of this capture."""
    trace = trace_of(capture)
    try:
        context = trace.number("context", trace.step_row(step))
    except PeepholeError:
        return NONE
    return compiler_named(trace.compiler_name(context)).called_context(capture, step, node)


def shows_ast(capture: Capture, step: Step) -> bool:
    """Whether a step is there to show the graph that a kernel is compiled from."""
    return compiler_of(capture, step.context).role(step.name) == AST


def shows_kernels(capture: Capture, step: Step) -> bool:
    """Whether a step is there to show the kernels that a schedule became."""
    return compiler_of(capture, step.context).role(step.name) == KERNELS


def kernel_graph(capture: Capture, context: int) -> str:
    """What the compiler of a context calls the graph that a kernel is compiled from."""
    return compiler_of(capture, context).kernel_graph


def ast_steps(capture: Capture, contexts: Iterable[int], names: Iterable[str | None]) -> list[bool]:
    """The same for many steps, given by their contexts and names."""
    trace = trace_of(capture)
    known: dict[tuple[str, str], bool] = {}
    found = []
    for context, name in zip(contexts, names, strict=True):
        key = (trace.compiler_name(context), name or "")
        if key not in known:
            known[key] = compiler_named(key[0]).role(key[1]) == AST
        found.append(known[key])
    return found
