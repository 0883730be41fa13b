"""A schedule: its kernels in the order in which they run, the buffers between them, what keeps them in order."""

from __future__ import annotations

import re
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from peephole.compilers.answers import Buffer, Edge, Kernel, Schedule
from peephole.compilers.labels import NodeText
from peephole.compilers.tinygrad import passes
from peephole.compilers.tinygrad.labels import look
from peephole.compilers.tinygrad.lineage import Lineage
from peephole.compilers.tinygrad.ops import base
from peephole.compilers.tinygrad.shapes import elements
from peephole.compilers.tinygrad.variables import bound_kernels
from peephole.compilers.traces import trace_of
from peephole.errors import PeepholeError
from peephole.model.plain_names import plain
from peephole.replay.pool import Pool
from peephole.replay.trace import RewriteTrace

if TYPE_CHECKING:
    from peephole.store.capture import Capture

RAW = "read after write"
WAR = "write after read"
_SLOT = re.compile(r"slot=(-?\d+)")
_NAME = re.compile(r"\bname='([^']+)'")
_MOST_OPS = 4
_DEVICE = re.compile(r"device='([^']*)'")


@dataclass(slots=True)
class Split:
    """A schedule together with the graph that it was read from, for further questions."""

    schedule: Schedule
    lineage: Lineage
    calls: list[int]
    """The CALL of each kernel in the pool."""
    states: list[int]
    """The node of each buffer in the pool."""
    ends: dict[int, int] = field(default_factory=dict)
    """What each kernel was split off from: kernel index to END or STORE."""


def schedule_contexts(capture: Capture) -> list[tuple[int, str]]:
    """tinygrad's schedules: context and name."""
    frame = capture.read("contexts", ["id", "name", "kind"])
    rows = zip(frame["id"].tolist(), frame.texts("name"), frame.texts("kind"), strict=True)
    trace = trace_of(capture)
    return [
        (number, name or "")
        for number, name, kind in rows
        if kind == "schedule" and trace.compiler_name(number) == "tinygrad"
    ]


def split(capture: Capture, context: int) -> Split:
    """The split of a schedule, kept with the capture's other replays.

    PeepholeError when the context is no schedule or its graph was not recorded.
    """
    trace = trace_of(capture)
    with trace.lock:
        kept = trace.derived.setdefault("splits", {})
        found = kept.get(context)
        if found is None:
            names = dict(schedule_contexts(capture))
            if context not in names:
                raise PeepholeError(f"Context {context} is no schedule.")
            found = kept[context] = _split(trace, context, names)
        assert isinstance(found, Split)
        return found


def _split(trace: RewriteTrace, context: int, names: dict[int, str]) -> Split:
    made_in = _made_in(trace, context, names)
    if made_in is None:
        raise PeepholeError(
            f"{names[context]} holds no kernel graph: it was recorded without tinygrad's views, so only the order of "
            "its kernels is known."
        )
    # a cached schedule has the passes of another, but the program's graph and lines are its own
    callify = _callify(trace, context)
    lineage = Lineage(trace, made_in, _callify(trace, made_in) if callify is None else callify)
    lineage.root(passes.TENSORS)  # first, so that equal nodes keep the numbers of this program's graph
    root = lineage.root(passes.KERNELS)
    assert root is not None
    reader = _Reader(lineage, root)
    calls = reader.order()
    place = {call: i for i, call in enumerate(calls)}
    arguments = [reader.arguments(call) for call in calls]
    states = list(dict.fromkeys(state for own in arguments for state in own))
    slot_of = {state: i for i, state in enumerate(states)}
    users: list[list[int]] = [[] for _ in states]
    for i, own in enumerate(arguments):
        for state in dict.fromkeys(own):
            users[slot_of[state]].append(i)
    found: dict[tuple[int, int, int, str], None] = {}
    for first, second, state, kind in reader.edges:
        if first != second:
            found[place[first], place[second], slot_of[state], kind] = None
    edges = [Edge(*key) for key in sorted(found)]
    ends = _ends(lineage, place)
    contexts = _codegen(trace, lineage, context)
    kernels = [
        _kernel(lineage, i, call, contexts, [slot_of[state] for state in own], states, ends.get(i))
        for i, (call, own) in enumerate(zip(calls, arguments, strict=True))
    ]
    buffers = [
        _buffer(lineage, state, [place[kernel] for kernel in reader.writers.get(state, [])], own)
        for state, own in zip(states, users, strict=True)
    ]
    result = Schedule(context, names[context], made_in, kernels, buffers, edges, look(NodeText("SINK", "void")))
    return Split(result, lineage, calls, states, ends)


class _Reader:
    """Reads a kernel graph. `AFTER(buffer, CALL…)` is the state of a buffer once these kernels have run."""

    def __init__(self, lineage: Lineage, root: int) -> None:
        self.pool = lineage.pool
        self._afters = [node for node in self.pool.walk(root, bodies=False) if self.pool.op(node) == "AFTER"]
        self.edges: list[tuple[int, int, int, str]] = []
        self.writers: dict[int, list[int]] = {}
        self._kernels: dict[int, None] = {}
        self._read()

    def _parts(self, after: int) -> tuple[list[int], list[int]]:
        """The kernels of an AFTER, and the other states that it waits for."""
        pool = self.pool
        kernels, others = [], []
        for s in pool.src[after][1:]:
            op = pool.op(s)
            if op == "CALL":
                kernels.append(s)
            elif op == "END" and pool.op(pool.src[s][0]) == "CALL":
                kernels.append(pool.src[s][0])
            elif op == "AFTER":
                others.append(s)
        return kernels, others

    def _states(self, node: int) -> list[int]:
        pool = self.pool
        while pool.src[node] and pool.op(node) not in ("AFTER", "BUFFER", "PARAM", "MSELECT", "MSTACK"):
            node = pool.src[node][0]
        if pool.op(node) in ("MSELECT", "MSTACK"):
            return [state for s in pool.src[node] for state in self._states(s)]
        return [node]

    def _read(self) -> None:
        reads: list[tuple[int, int, int]] = []
        writes: dict[int, list[tuple[int, int, list[int]]]] = {}
        for after in self._afters:
            kernels, others = self._parts(after)
            before = self._states(self.pool.src[after][0])[0]
            earlier = set(self._parts(before)[0]) if self.pool.op(before) == "AFTER" else set()
            fresh = [kernel for kernel in kernels if kernel not in earlier]
            buffer = base(self.pool, after)
            writes.setdefault(buffer, []).append((after, before, fresh))
            for kernel in kernels:
                self._kernels[kernel] = None
                if kernel not in self.writers.setdefault(buffer, []) and kernel in fresh:
                    self.writers[buffer].append(kernel)
                states = [state for s in self.pool.src[kernel][1:] for state in self._states(s)]
                reads.extend((after, kernel, state) for state in states)
                for state in states + [state for other in others for state in self._states(other)]:
                    if self.pool.op(state) == "AFTER":
                        for producer in self._parts(state)[0]:
                            self.edges.append((producer, kernel, base(self.pool, state), RAW))
        above = self._above()
        for after, kernel, state in reads:
            for other, before, fresh in writes.get(base(self.pool, state), []):
                if other != after and before == state:
                    for writer in fresh:
                        if writer != kernel and writer not in above[kernel]:
                            self.edges.append((kernel, writer, base(self.pool, state), WAR))

    def _above(self) -> dict[int, set[int]]:
        """For each kernel, those that it depends on by what it reads."""
        direct: dict[int, set[int]] = {kernel: set() for kernel in self._kernels}
        for producer, kernel, _, _ in self.edges:
            direct[kernel].add(producer)
        result: dict[int, set[int]] = {}
        for kernel in self._kernels:  # the walk gives producers first
            result[kernel] = direct[kernel].union(*(result.get(p, set()) for p in direct[kernel]))
        return result

    def order(self) -> list[int]:
        """The kernels as tinygrad runs them: first come, first served among those that wait for nothing."""
        waiting = dict.fromkeys(self._kernels, 0)
        after: dict[int, list[int]] = {}
        for first, second, _, _ in self.edges:
            after.setdefault(first, []).append(second)
            waiting[second] += 1
        queue = deque(kernel for kernel, count in waiting.items() if not count)
        order: list[int] = []
        while queue:
            kernel = queue.popleft()
            order.append(kernel)
            for next_one in after.get(kernel, ()):
                waiting[next_one] -= 1
                if not waiting[next_one]:
                    queue.append(next_one)
        return order + [kernel for kernel in self._kernels if kernel not in set(order)]

    def arguments(self, call: int) -> list[int]:
        """The buffers that a kernel is called with."""
        return [base(self.pool, state) for s in self.pool.src[call][1:] for state in self._states(s)]


def _ends(lineage: Lineage, place: dict[int, int]) -> dict[int, int]:
    stage = lineage.stage(passes.SPLIT)
    if stage is None:
        return {}
    indexing = lineage.stage(passes.INDEXING)
    found: dict[int, int] = {}
    for before in stage.before:
        call = stage.value.get(before, before)
        call = call if indexing is None else indexing.value.get(call, call)
        if call in place:
            found.setdefault(place[call], before)
    return found


def _region(pool: Pool, end: int) -> list[int]:
    """What a kernel computes itself: from its END or STORE down to the buffers that it reads."""
    done: set[int] = set()
    order: list[int] = []
    stack = [end]
    while stack:
        node = stack.pop()
        if node in done:
            continue
        done.add(node)
        order.append(node)
        if pool.op(node) not in ("AFTER", "BUFFER", "PARAM"):
            stack.extend(pool.src[node])
    return order


_DULL = frozenset(("CONST", "RANGE", "INDEX", "STACK", "RESHAPE", "EXPAND", "PERMUTE", "PAD", "SHRINK", "FLIP", "STORE",
                   "END", "BUFFER", "PARAM", "AFTER", "STAGE", "NOOP", "SINK"))  # fmt: skip


def is_dull(op: str) -> bool:
    """Whether an op only moves, holds or counts, so that nobody wrote it to compute something."""
    return op in _DULL


def _kernel(
    lineage: Lineage,
    index: int,
    call: int,
    contexts: dict[tuple[int, ...], tuple[int, str]],
    arguments: list[int],
    states: list[int],
    end: int | None,
) -> Kernel:
    pool = lineage.pool
    body = pool.src[call][0]
    devices = {_device(pool.texts(states[slot])[2]) for slot in arguments}
    copy = pool.op(body) == "COPY" or (len(devices) > 1 and pool.src[body] not in contexts)
    called = _NAME.search(pool.texts(call)[2] or "")
    other = "copy" if copy else called[1] if called else f"kernel {index}"
    context, name = contexts.get(pool.src[body], (-1, other))
    members: dict[int, str] = {}
    if end is not None:
        for node in _region(pool, end):
            for origin in lineage.origins.get(node, ()):
                if pool.op(node) not in _DULL and pool.op(origin) not in _DULL:
                    members[pool.ids[origin]] = pool.op(origin)
    ops = list(members.values())
    kind = "copy" if copy else "kernel"
    box = look(NodeText(kind.upper(), _summary(ops), plain(name)))
    return Kernel(index, name, context, pool.ids[call], kind, list(members), ops, arguments, box)


def _summary(ops: list[str]) -> str:
    """`MUL, REDUCE ×2`: enough to tell kernels apart."""
    words = [f"{op} ×{times}" if times > 1 else op for op, times in Counter(ops).items()]
    return ", ".join((*words[:_MOST_OPS], "…") if len(words) > _MOST_OPS else words)


def _buffer(lineage: Lineage, state: int, writers: list[int], users: list[int]) -> Buffer:
    pool = lineage.pool
    op, dtype, arg, _ = pool.texts(state)
    slot = _SLOT.search(arg or "")
    readers = [i for i in users if i not in writers or len(writers) > 1]
    number = int(slot[1]) if slot else -1
    size = elements(pool, state)
    kind = dtype.removeprefix("dtypes.")
    own = op != "BUFFER"
    name = f"{'param' if own else 'buffer'} {number}"
    box = look(NodeText("BUFFER", kind, name, "" if size is None else f"({size})"))
    device = _device(arg)
    return Buffer(pool.ids[state], op, own, name, number, kind, size, device, writers, readers, box)


def _device(arg: str | None) -> str:
    found = _DEVICE.search(arg or "")
    return found[1] if found else ""


def _codegen(trace: RewriteTrace, lineage: Lineage, schedule: int) -> dict[tuple[int, ...], tuple[int, str]]:
    """Compiled kernels by the sources of their AST in a schedule; name and options are not part of what it is."""
    pool = lineage.pool
    names = trace.context_names
    rows: list[tuple[int, int]] = []
    for context, row in trace.steps_named(passes.AST):
        if (root := trace.root(row)) >= 0:
            rows.append((context, root))
    pool.load(root for _, root in rows)
    found: dict[tuple[int, ...], tuple[int, str]] = {}
    for context, root in rows:
        found.setdefault(pool.src[pool.of_row(root)], (context, names.get(context, "")))
    compiled = {
        numbered: found[named] for numbered, named in bound_kernels(trace, pool, schedule).items() if named in found
    }
    return found | compiled


def _made_in(trace: RewriteTrace, context: int, names: dict[int, str]) -> int | None:
    """The schedule whose passes split this one: itself, or an earlier one with an equal graph."""
    if _step_of(trace, context, passes.KERNELS) is not None:
        return context
    row = _step_of(trace, context, passes.LINEAR)
    if row is None:
        return None
    table = trace.table_of(context)
    pool = Pool(table)
    root = trace.root(row)
    if root < 0 or not table.sources(root):
        return None
    wanted = table.sources(root)[0] if table.texts(table.own(root))[0] == "CALL" else root
    pool.load([wanted])
    for other in names:
        if other >= context:
            break
        step = _step_of(trace, other, passes.KERNELIZE)
        if step is not None and _step_of(trace, other, passes.KERNELS) is not None:
            body = trace.root(step)
            pool.load([body])
            if pool.of_row(body) == pool.of_row(wanted):
                return other
    return None


def _callify(trace: RewriteTrace, context: int) -> int | None:
    """The Callify context that made the call which this schedule was made from."""
    row = _step_of(trace, context, passes.LINEAR)
    if row is None:
        return None
    root = trace.number("root", row)
    for other, step in trace.steps_named(passes.CALL):
        if trace.number("root", step) == root:
            return other
    return None


def _step_of(trace: RewriteTrace, context: int, name: str) -> int | None:
    return next((row for row in trace.context_rows(context) if trace.text("name", row) == name), None)
