"""Where kernels came from: XLA's op_name and the calls that JAX traced it on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from peephole.compilers.answers import Origin
from peephole.compilers.program_lines import operations
from peephole.compilers.traces import trace_of
from peephole.compilers.xla.kernels import KernelContext, kernel_contexts
from peephole.replay.trace import RewriteTrace

if TYPE_CHECKING:
    from peephole.store.capture import Capture

DULL: Final = frozenset(("parameter", "constant", "tuple", "get-tuple-element", "GRAPH"))
"""What is there in every kernel and was asked for by no line."""


def all_origins(capture: Capture) -> list[Origin]:
    """The origins of all kernels, module by module."""
    trace = trace_of(capture)
    with trace.lock:
        kept = trace.derived.setdefault("xla origins", {})
        if 0 not in kept:
            kept[0] = [_origin(trace, one) for one in kernel_contexts(capture)]
        found: list[Origin] = kept[0]
        return found


def _origin(trace: RewriteTrace, kernel: KernelContext) -> Origin:
    told = operations(trace, kernel.members, DULL)
    return Origin(kernel.context, kernel.name, kernel.module, kernel.index, told, None, None)
