"""From a kernel to the user's program and back: the tensor operations and lines that its code came from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from peephole.compilers.answers import Kernel, Operation, Origin
from peephole.compilers.tinygrad.fusion import tensor_text
from peephole.compilers.tinygrad.schedule import is_dull, schedule_contexts, split
from peephole.compilers.traces import trace_of
from peephole.errors import PeepholeError
from peephole.model.natural import whole_number
from peephole.replay.pool import Pool
from peephole.replay.trace import RewriteTrace

if TYPE_CHECKING:
    from peephole.store.capture import Capture

Key = tuple[str, str | None]
"""What a tensor operation is called, and `file:line` where it was called, if that is known."""


def all_origins(capture: Capture) -> list[Origin]:
    """The origins of all kernels, schedule by schedule."""
    trace = trace_of(capture)
    with trace.lock:
        kept = trace.derived.setdefault("origins", {})
        if 0 not in kept:
            found: list[Origin] = []
            for schedule, _ in schedule_contexts(capture):
                try:
                    made = split(capture, schedule)
                except PeepholeError:
                    continue
                line = trace.user_line(schedule)
                for kernel in made.schedule.kernels:
                    operations = _operations(trace, kernel)
                    source = _source(trace, line)
                    found.append(Origin(kernel.context, kernel.name, schedule, kernel.index, operations, line, source))
            kept[0] = found
        result: list[Origin] = kept[0]
        return result


def node_operations(capture: Capture, origin: Origin, asking: Pool, ast: int) -> dict[int, list[Key]]:
    """For the nodes of a kernel's AST, in the pool of whoever asks: the tensor operations that they came from."""
    trace = trace_of(capture)
    with trace.lock:
        found = split(capture, origin.schedule)
        lineage = found.lineage
        pool, end = lineage.pool, found.ends.get(origin.index)
        body = pool.src[found.calls[origin.index]][0]
        if end is None or not pool.src[body]:
            return {}
        made: dict[int, list[Key]] = {}
        # splitting a kernel off renumbers its ranges and names its buffers anew; the rest of it stays as it was
        for old, new in _side_by_side(pool, end, pool, pool.src[body][0]):
            for tensor in lineage.origins.get(old, ()) if not is_dull(pool.op(old)) else ():
                if not is_dull(pool.op(tensor)):
                    made.setdefault(new, []).extend(_keys(trace, pool.ids[tensor], pool.op(tensor)))
        result: dict[int, list[Key]] = {}
        for node, same in _side_by_side(asking, asking.src[ast][0], pool, pool.src[body][0]):
            if same in made:
                result[node] = list(dict.fromkeys(made[same]))
        return result


def _side_by_side(pool: Pool, node: int, other: Pool, twin: int) -> Iterator[tuple[int, int]]:
    """Nodes in the same places of two graphs, as far down as the ops agree."""
    done = {(node, twin)}
    stack = [(node, twin)]
    while stack:
        a, b = stack.pop()
        if pool.op(a) != other.op(b):
            continue
        yield a, b
        for pair in zip(pool.src[a], other.src[b], strict=False):
            if pair not in done:
                done.add(pair)
                stack.append(pair)


def _keys(trace: RewriteTrace, node: int, op: str) -> list[Key]:
    """Name and line of the tensor operations that a node of the user's graph came from."""
    parts = (part.partition("@") for part in tensor_text(trace, node, op).split(", "))
    return [(name, trace.full_line(line) if at else None) for name, at, line in parts]


def _operations(trace: RewriteTrace, kernel: Kernel) -> list[Operation]:
    found: dict[Key, list[int]] = {}
    for node, op in zip(kernel.members, kernel.ops, strict=True):
        for key in _keys(trace, node, op):
            found.setdefault(key, []).append(node)
    return [Operation(name, line, _source(trace, line), nodes) for (name, line), nodes in found.items()]


def _source(trace: RewriteTrace, line: str | None) -> str | None:
    file, _, number = (line or "").rpartition(":")
    return trace.places.line(file, whole_number(number)) if number.isdecimal() else None
