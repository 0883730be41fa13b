"""Why two kernels are two: the buffers that keep them apart, and what put each of them into memory."""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from peephole.compilers.answers import Boundary, Edge, Evidence, Forced, Schedule, Why
from peephole.compilers.tinygrad.forcing import Force, Forcing
from peephole.compilers.tinygrad.ops import MOVEMENT
from peephole.compilers.tinygrad.schedule import WAR, Split, split
from peephole.compilers.tinygrad.shapes import Shapes
from peephole.compilers.traces import trace_of
from peephole.errors import PeepholeError
from peephole.replay.pool import Pool
from peephole.replay.trace import RewriteTrace

if TYPE_CHECKING:
    from peephole.store.capture import Capture

_GIVEN: Final = {"CONTIGUOUS": 0, "COPY": 0, "STORE": 1}
"""Which source of a node that tinygrad keeps no line for is what it is given."""


def why_kernels(capture: Capture, schedule_a: int, a: int, schedule_b: int, b: int) -> Why:
    """Why two kernels, by their schedule's context and their place in it, are two."""
    trace = trace_of(capture)
    with trace.lock:
        if schedule_a != schedule_b:
            return _apart(capture, trace, schedule_a, a, schedule_b, b)
        found = split(capture, schedule_a)
        made = found.schedule
        for index in (a, b):
            if not 0 <= index < len(made.kernels):
                raise PeepholeError(f"{made.name} has {len(made.kernels)} kernels; there is no number {index}.")
        if a == b:
            raise PeepholeError("These are the same kernel; give two.")
        first, second = sorted((a, b))
        direct = [edge for edge in made.edges if edge.first == first and edge.second == second]
        kernels = made.kernels
        if direct:
            boundaries = [_boundary(trace, found, edge) for edge in _distinct(direct)]
            text = f"{kernels[second].name} needs what {kernels[first].name} does: " + "; ".join(
                f"{boundary.reason}: {boundary.text}" for boundary in boundaries
            )
            return Why("dependent", kernels[first], kernels[second], made, made, boundaries, [], [], text)
        path = _path(made, first, second)
        if path:
            between = [kernels[i] for i in path[1:-1]]
            hops = list(pairwise(path))
            edges = [edge for hop in hops for edge in made.edges if (edge.first, edge.second) == hop]
            boundaries = [_boundary(trace, found, edge) for edge in _distinct(edges)]
            names = ", ".join(kernel.name for kernel in between)
            text = f"{kernels[first].name} and {kernels[second].name} share no buffer; between them: {names}"
            return Why("between", kernels[first], kernels[second], made, made, boundaries, between, [], text)
        common = [kernels[i] for i in sorted(_sources(made, first) & _sources(made, second))]
        text = "neither needs the other: tinygrad makes a kernel of every store and joins none side by side"
        if common:
            text += "; both read what " + ", ".join(kernel.name for kernel in common) + " wrote"
        return Why("independent", kernels[first], kernels[second], made, made, [], [], common, text)


def _apart(capture: Capture, trace: RewriteTrace, schedule_a: int, a: int, schedule_b: int, b: int) -> Why:
    if schedule_b < schedule_a:
        schedule_a, a, schedule_b, b = schedule_b, b, schedule_a, a
    one, other = split(capture, schedule_a).schedule, split(capture, schedule_b).schedule
    lines = [trace.user_line(schedule) for schedule in (one.context, other.context)]
    places = " and ".join(line for line in lines if line)
    text = f"they were realized separately, in {one.name} and {other.name}" + (f" ({places})" if places else "")
    return Why("other schedule", one.kernels[a], other.kernels[b], one, other, [], [], [], text)


def _boundary(trace: RewriteTrace, found: Split, edge: Edge) -> Boundary:
    kept = trace.derived.setdefault("forcing", {})
    if found.schedule.context not in kept:
        kept[found.schedule.context] = Forcing(found.lineage, found.ends)
    forcing: Forcing = kept[found.schedule.context]
    buffer = found.schedule.buffers[edge.buffer]
    # who overwrites is the cause of an order that only keeps a reader safe
    force = forcing.of(found.states[edge.buffer], edge.second if edge.kind == WAR else edge.first)
    reason, text = force.reason, force.text
    if edge.kind == WAR:
        reason, text = "write after read", f"it overwrites what the other still reads ({force.reason})"
    forced = _forced(trace, found, force)
    lines = [text.partition("@")[2] for text in (forced.tensors if forced else []) if "@" in text]
    line = trace.full_line(lines[0]) if lines else trace.user_line(found.schedule.context)
    return Boundary(buffer, edge.kind, reason, text, force.kept, forced, _evidence(trace, force), line)


def _forced(trace: RewriteTrace, found: Split, force: Force) -> Forced | None:
    if force.node is None:
        return None
    pool = found.lineage.pool
    op, dtype, _, _ = pool.texts(force.node)
    shape = Shapes(pool).of((force.node,))[0]
    texts = dict.fromkeys(_tensor(trace, pool, node) for node in force.tensors)
    tensors = [text for text in texts if text not in MOVEMENT]
    return Forced(pool.ids[force.node], op, dtype.removeprefix("dtypes."), shape, tensors)


def _tensor(trace: RewriteTrace, pool: Pool, node: int) -> str:
    """The operation of a node; of a store, a contiguous() or a copy without a line, of what it is given."""
    below = node
    while (
        pool.op(below) in _GIVEN
        and not _metadata(trace, pool.ids[below])
        and len(pool.src[below]) > _GIVEN[pool.op(below)]
    ):
        below = pool.src[below][_GIVEN[pool.op(below)]]
    text = _metadata(trace, pool.ids[below])
    if text and pool.op(node) == "STORE" and pool.op(below) in MOVEMENT:
        # a value that is only spread out is made by nothing that the program has a name for
        _, at, line = text.partition("@")
        return f"store{at}{line}"
    return text or pool.op(node)


def _metadata(trace: RewriteTrace, node: int) -> str | None:
    row = int(trace.table.rows([node])[0])
    return trace.node_metadata[row] if row >= 0 else None


def tensor_text(trace: RewriteTrace, node: int, op: str) -> str:
    """The tensor operation that a node of the user's graph came from, else its op."""
    return _metadata(trace, node) or op


def _evidence(trace: RewriteTrace, force: Force) -> Evidence | None:
    if force.stage is None:
        return None
    step = force.stage.step
    rows = trace.match_rows(step)
    one = slice(rows.start + force.match - 1, rows.start + force.match)
    file, line = trace.match_files(one)[0], int(trace.match_numbers("line", one)[0])
    name = trace.text("name", trace.step_row(step)) or ""
    return Evidence(step, name, force.match, file, line, trace.places.line(file, line))


def _distinct(edges: list[Edge]) -> list[Edge]:
    """One edge for each buffer, a read before a write."""
    found: dict[tuple[int, str], Edge] = {}
    for edge in edges:
        found.setdefault((edge.buffer, edge.kind), edge)
    return list(found.values())


def _path(made: Schedule, first: int, second: int) -> list[int]:
    """A shortest way along the edges, both ends included; empty when there is none."""
    after: dict[int, list[int]] = {}
    for edge in made.edges:
        after.setdefault(edge.first, []).append(edge.second)
    came: dict[int, int] = {first: -1}
    queue = deque([first])
    while queue and second not in came:
        here = queue.popleft()
        for next_one in after.get(here, ()):
            if next_one not in came:
                came[next_one] = here
                queue.append(next_one)
    path = []
    at = second if second in came else -1
    while at >= 0:
        path.append(at)
        at = came[at]
    return path[::-1]


def _sources(made: Schedule, kernel: int) -> set[int]:
    return {edge.first for edge in made.edges if edge.second == kernel and edge.kind != WAR}
