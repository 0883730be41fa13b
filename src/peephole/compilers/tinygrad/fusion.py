"""Why two kernels are two: the buffers that keep them apart, and what put each of them into memory."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from peephole.compilers.tinygrad.forcing import Force, Forcing
from peephole.compilers.tinygrad.schedule import WAR, Buffer, Edge, Kernel, Schedule, Split, schedule_contexts, split
from peephole.errors import PeepholeError
from peephole.model.plain_names import plain
from peephole.model.stacks import frames, user_frame
from peephole.replay.pool import Pool
from peephole.replay.trace import RewriteTrace, trace_of

if TYPE_CHECKING:
    from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class Forced:
    """The node that was put into memory, and the tensor operations of the user's program that it came from."""

    id: int
    op: str
    dtype: str
    shape: str | None
    tensors: list[str]
    """`exp@prog.py:4` where the recording has it, else the operation."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where the trace shows it: the step and match, and the rule's source line."""

    step: int
    step_name: str
    match: int
    file: str | None
    line: int
    source: str | None


@dataclass(frozen=True, slots=True)
class Boundary:
    """One buffer between the two, and why it is there."""

    buffer: Buffer
    kind: str
    reason: str
    text: str
    kept: str | None
    forced: Forced | None
    evidence: Evidence | None
    user_line: str | None


@dataclass(frozen=True, slots=True)
class Why:
    """The answer for two kernels; `first` runs before `second`.

    relation: `dependent` (one reads what the other wrote, or overwrites what it reads), `between` (a third kernel
    stands between), `independent`, `other schedule`.
    """

    relation: str
    first: Kernel
    second: Kernel
    first_schedule: Schedule
    second_schedule: Schedule
    boundaries: list[Boundary]
    between: list[Kernel]
    """The kernels of a shortest path from the first to the second."""
    common: list[Kernel]
    """Kernels that both read from, when they are independent."""
    text: str


def why(capture: Capture, a: str, b: str, schedule: str | None = None) -> Why:
    """Why these two kernels are not one. Kernels are given by name, `name#2` for the second of it, or `#7` by place."""
    first, second = _find(capture, a, b, schedule)
    return why_kernels(capture, *first, *second)


def why_kernels(capture: Capture, schedule_a: int, a: int, schedule_b: int, b: int) -> Why:
    """The same for kernels by their schedule's context and their place in it."""
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


def find_kernels(capture: Capture, name: str, schedule: str | None = None) -> list[tuple[int, int]]:
    """Schedule and place of every kernel that a name stands for.

    `name#2` is the second of that name in the capture, as `show` and the page count them; where that is none of these
    schedules', the second in each.
    """
    contexts = schedule_contexts(capture)
    if schedule is not None:
        contexts = [c for c in contexts if plain(c[1]) == plain(schedule) or str(c[0]) == schedule]
        if not contexts:
            raise PeepholeError(f"There is no schedule {schedule!r} in this capture.")
    numbered = re.fullmatch(r"(.*)#(\d+)", name)
    result: list[tuple[int, int]] = []
    if numbered and numbered[1]:
        own = {context for context, own in trace_of(capture).numbered_names.items() if own == plain(name)}
        result = [(c, k.index) for c, _ in contexts for k in _kernels(capture, c) if k.context in own]
        if result:
            return result
    for context, _ in contexts:
        kernels = _kernels(capture, context)
        same = [k.index for k in kernels if plain(k.name) == plain(name)]
        if not same and numbered:
            number = int(numbered[2])
            if numbered[1]:
                same = [k.index for k in kernels if plain(k.name) == plain(numbered[1])]
                same = same[number - 1 : number] if number else []
            elif number < len(kernels):
                same = [number]
        result.extend((context, index) for index in same)
    return result


def _find(capture: Capture, a: str, b: str, schedule: str | None) -> tuple[tuple[int, int], tuple[int, int]]:
    found = []
    for name in (a, b):
        kernels = find_kernels(capture, name, schedule)
        if not kernels:
            known = sorted({k.name for c, _ in schedule_contexts(capture) for k in _kernels(capture, c)})
            hint = f"kernels are {', '.join(known[:8])}{', …' if len(known) > 8 else ''}" if known else "there are none"
            raise PeepholeError(f"There is no kernel {name!r} in the schedules of this capture; {hint}.")
        found.append(kernels)
    for one in found[0]:
        for other in found[1]:
            if one[0] == other[0] and one != other:
                return one, other
    return found[0][0], next((other for other in found[1] if other != found[0][0]), found[1][0])


def _kernels(capture: Capture, context: int) -> list[Kernel]:
    try:
        return split(capture, context).schedule.kernels
    except PeepholeError:
        return []


def _apart(capture: Capture, trace: RewriteTrace, schedule_a: int, a: int, schedule_b: int, b: int) -> Why:
    if schedule_b < schedule_a:
        schedule_a, a, schedule_b, b = schedule_b, b, schedule_a, a
    one, other = split(capture, schedule_a).schedule, split(capture, schedule_b).schedule
    lines = [user_line(trace, schedule) for schedule in (one.context, other.context)]
    places = " and ".join(line for line in lines if line)
    text = f"they were realized separately, in {one.name} and {other.name}" + (f" ({places})" if places else "")
    return Why("other schedule", one.kernels[a], other.kernels[b], one, other, [], [], [], text)


def _boundary(trace: RewriteTrace, found: Split, edge: Edge) -> Boundary:
    kept = trace.derived.setdefault("forcing", {})
    if found.schedule.context not in kept:
        kept[found.schedule.context] = Forcing(found.lineage)
    forcing: Forcing = kept[found.schedule.context]
    buffer = found.schedule.buffers[edge.buffer]
    force = forcing.of(found.states[edge.buffer])
    reason, text = force.reason, force.text
    if edge.kind == WAR:
        reason, text = "write after read", f"it overwrites what the other still reads ({force.reason})"
    forced = _forced(trace, found, force)
    lines = [text.partition("@")[2] for text in (forced.tensors if forced else []) if "@" in text]
    line = trace.full_line(lines[0]) if lines else user_line(trace, found.schedule.context)
    return Boundary(buffer, edge.kind, reason, text, force.kept, forced, _evidence(trace, force), line)


def _forced(trace: RewriteTrace, found: Split, force: Force) -> Forced | None:
    if force.node is None:
        return None
    pool = found.lineage.pool
    op, dtype, _, _ = pool.texts(force.node)
    shape = trace.shape_text(pool, force.node)
    tensors = list(dict.fromkeys(_tensor(trace, pool, node) for node in force.tensors))
    return Forced(pool.ids[force.node], op, dtype.removeprefix("dtypes."), shape, tensors)


def _tensor(trace: RewriteTrace, pool: Pool, node: int) -> str:
    """The operation of a node; of a contiguous() or a copy, which tinygrad keeps no line for, of what it is given."""
    below = node
    while pool.op(below) in ("CONTIGUOUS", "COPY") and not _metadata(trace, pool.ids[below]) and pool.src[below]:
        below = pool.src[below][0]
    return _metadata(trace, pool.ids[below]) or pool.op(node)


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


def user_line(trace: RewriteTrace, context: int) -> str | None:
    """The line of the program that a context was opened from."""
    frame = user_frame(frames(trace.stacks.get(context)))
    return None if frame is None else f"{frame.file}:{frame.line}"


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
