"""Where instructions and kernels came from: XLA's op_name and the calls that JAX traced it on.

The source writes it as `jit(f)/mul@prog.py:9 norm < prog.py:24 block`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from peephole.compilers.answers import Operation, Origin
from peephole.compilers.traces import trace_of
from peephole.compilers.xla.kernels import KernelContext, kernel_contexts
from peephole.replay.trace import RewriteTrace

if TYPE_CHECKING:
    from peephole.store.capture import Capture

_CALL: Final = re.compile(r"(.*):(-?\d+)(?: (.*))?", re.DOTALL)
DULL: Final = frozenset(("parameter", "constant", "tuple", "get-tuple-element", "GRAPH"))
"""What is there in every kernel and was asked for by no line."""


@dataclass(frozen=True, slots=True)
class Call:
    """A place in the program."""

    file: str
    line: int
    function: str


def parse(metadata: str | None) -> tuple[str, list[Call]]:
    """The op_name of an instruction and the calls that it was traced on, innermost first."""
    name, _, stack = (metadata or "").partition("@")
    calls = []
    for part in stack.split(" < ") if stack else ():
        if found := _CALL.fullmatch(part):
            calls.append(Call(found[1], int(found[2]), found[3] or ""))
    return name, calls


def operations(trace: RewriteTrace, rows: Iterable[int]) -> list[Operation]:
    """The operations of the program that these nodes came from, in order, each with its line."""
    table, nodes = trace.table, trace.instructions()
    found: dict[tuple[str, str | None], list[int]] = {}
    for row in rows:
        op = table.texts(table.own(row))[0]
        metadata = nodes.metadata(row)
        if op in DULL or metadata is None:
            continue
        name, calls = parse(metadata)
        line = f"{calls[0].file}:{calls[0].line}" if calls else None
        found.setdefault((name or op, line), []).append(int(table.ids[row]))
    return [
        Operation(name, line, trace.places.line(*_split(line)) if line else None, ids)
        for (name, line), ids in found.items()
    ]


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
    rows = kernel.members
    return Origin(kernel.context, kernel.name, kernel.module, kernel.index, operations(trace, rows), None, None)


def _split(line: str) -> tuple[str, int]:
    file, _, number = line.rpartition(":")
    return file, int(number)
