"""Why tinygrad stored what it stored, found by running tinygrad's own code again on the graphs of a recording.

The check of `why`: nothing here comes from Peephole. The graphs are those of VIZ's pickle, rebuilt by tinygrad's own
viewer; `get_kernel_graph` runs on them with its realize map, its STAGEs and its buffers watched, and must come to the
very kernel graph that was recorded.
"""

from __future__ import annotations

import dataclasses
import linecache
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

RULES = {
    "realize_srcs": "several devices",
    "realize_custom_kernel_srcs": "custom kernel",
    "realize_store_after_src": "assign hazard",
}
INSERTS = (
    ("split_reduceop", "split reduction"),
    ("fix_store_hazard", "assign hazard"),
    ("create_allreduce_function", "several devices"),
    ("Ops.COPY", "device copy"),
)
MOVES = ("RESHAPE", "EXPAND", "PERMUTE", "PAD", "SHRINK", "FLIP", "CAST", "BITCAST")

SETTINGS: tuple[dict[str, int], ...] = ({}, {"RING": 2}, {"ALL2ALL": 2}, {"RING": 0, "ALL2ALL": 0},
            {"RING": 0, "ALLREDUCE_CAST": 1}, {"RING": 0, "ALLREDUCE_CAST": 0})  # fmt: skip
"""What a program may have set for a part of itself, which no recording says: the first that makes the same graph."""

Boundary = tuple[Any, Any, str, int, str]
"""The CALL that writes and the one that reads, the op and slot of the buffer, the reason."""


class Recording:
    """VIZ's pickle, opened by VIZ's own code."""

    def __init__(self, path: Path) -> None:
        from tinygrad.viz import serve

        with path.open("rb") as file:
            self.trace = pickle.load(file)
        self.data = serve.VizData(self.trace)
        self._rebuild: Callable[..., Any] = serve._reconstruct

    def node(self, number: int) -> Any:
        return self._rebuild(self.data, number)

    def steps(self, context: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for step in self.trace.rewrites[context]:
            found.setdefault(step.name, step)
        return found

    def schedules(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The contexts that split a graph into kernels."""
        for context in range(len(self.trace.keys)):
            steps = self.steps(context)
            if "View Kernel Graph" in steps and "multi_pm" in steps:
                yield context, steps

    def callify(self, call: int) -> dict[str, Any] | None:
        """The passes that made a call."""
        for context in range(len(self.trace.keys)):
            steps = self.steps(context)
            if "View Call" in steps and steps["View Call"].sink == call:
                return steps
        return None

    def replaced(self, step: Any) -> dict[Any, Any]:
        return {self.node(before): self.node(after) for before, after, *_ in step.matches}


def boundaries(recording: Recording, steps: dict[str, Any]) -> list[Boundary]:
    """Every buffer between two kernels of a schedule, with the reason that tinygrad had."""
    graph = recording.node(steps["View Kernel Graph"].sink)
    watched, slots = _run_again(recording.node(steps["multi_pm"].sink), graph)
    inserted = _inserted(recording, steps)
    calls = _callified(recording, steps)
    found: list[Boundary] = []
    for writer, reader, buffer in _edges(graph):
        if buffer.op.name == "PARAM":
            reason = _of_the_program(recording, graph, calls, buffer, writer)
        else:
            reason = _reason(watched, inserted, buffer.arg.slot, slots[buffer.arg.slot])
        found.append((writer, reader, buffer.op.name, buffer.arg.slot, reason))
    return found


def overwrites(recording: Recording, steps: dict[str, Any], reader: Any, writer: Any, op: str, slot: int) -> bool:
    """Whether one kernel reads a state of that buffer which the other replaces."""
    graph = recording.node(steps["View Kernel Graph"].sink)
    read = [state for argument in reader.src[1:] for state in _states(argument)]
    return any(
        node.op.name == "AFTER"
        and writer in _calls(node)
        and any(
            state in read and (_base(state).op.name, _base(state).arg.slot) == (op, slot)
            for state in _states(node.src[0])
        )
        for node in _outside(graph)
    )


def _same(recorded: Any, again: Any) -> dict[int, int]:
    """The number of every buffer in the graph that was made again; all else must be equal."""
    slots: dict[int, int] = {}
    pairs = {(recorded, again)}
    stack = [(recorded, again)]
    while stack:
        one, other = stack.pop()
        if one.op.name == "BUFFER":
            slots[one.arg.slot] = other.arg.slot
        if one is other:
            slots.update((n.arg.slot, n.arg.slot) for n in one.toposort() if n.op.name == "BUFFER")
            continue
        same = dataclasses.replace(other.arg, slot=one.arg.slot) if one.op.name == "BUFFER" else other.arg
        assert (one.op, one.dtype, one.arg, len(one.src)) == (other.op, other.dtype, same, len(other.src)), (one, other)
        fresh = [pair for pair in zip(one.src, other.src, strict=True) if pair not in pairs]
        pairs.update(fresh)
        stack.extend(fresh)
    return slots


def _edges(graph: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Which kernel reads what another wrote."""
    seen = set()
    for reader in _outside(graph):
        if reader.op.name != "CALL":
            continue
        for argument in reader.src[1:]:
            for state in _states(argument):
                for call in _calls(state) if state.op.name == "AFTER" else ():
                    edge = (call, reader, _base(state))
                    if edge not in seen:
                        seen.add(edge)
                        yield edge


def _outside(graph: Any) -> list[Any]:
    """The nodes in order, without the bodies of kernels."""
    order: dict[Any, None] = {}
    stack = [(graph, False)]
    while stack:
        node, left = stack.pop()
        if left:
            order[node] = None
        elif node not in order:
            stack.append((node, True))
            stack.extend((s, False) for s in reversed(node.src[1:] if node.op.name == "CALL" else node.src))
    return list(order)


def _states(node: Any) -> list[Any]:
    while node.op.name not in ("AFTER", "BUFFER", "PARAM", "MSELECT", "MSTACK"):
        node = node.src[0]
    return [state for s in node.src for state in _states(s)] if node.op.name in ("MSELECT", "MSTACK") else [node]


def _calls(after: Any) -> list[Any]:
    inner = [s.src[0] if s.op.name == "END" else s for s in after.src[1:]]
    return [s for s in inner if s.op.name == "CALL"]


def _base(node: Any) -> Any:
    while node.op.name not in ("BUFFER", "PARAM"):
        node = node.src[0]
    return node


# buffers that tinygrad put in


@dataclasses.dataclass
class Watched:
    """What `get_kernel_graph` decided: who asked for each node to be stored, and which node each buffer holds."""

    asked: dict[Any, list[str]] = dataclasses.field(default_factory=dict)
    holds: dict[int, Any] = dataclasses.field(default_factory=dict)


LIMIT = object()


@contextmanager
def _watching(watched: Watched) -> Iterator[None]:
    from tinygrad.schedule import indexing, rangeify

    class Asked(dict[Any, Any]):
        def __setitem__(self, node: Any, value: Any) -> None:
            frame = sys._getframe(1)
            name = frame.f_code.co_name
            if name == "run_rangeify":
                line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
                name = "new" if "list(range(" in line else "readers" if "if len(" in line else "ending"
            if name != "new":
                watched.asked.setdefault(node, []).append(name)
            super().__setitem__(node, value)

    @dataclasses.dataclass
    class Context(indexing.IndexingContext):  # type: ignore[misc]
        realize_map: Any = dataclasses.field(default_factory=Asked)

    def holding() -> Any:
        return sys._getframe(2).f_locals["s"]

    @dataclasses.dataclass(frozen=True)
    class Options(indexing.BufferizeOpts):  # type: ignore[misc]
        holds: Any = dataclasses.field(default_factory=holding, compare=False, repr=False)

    strong = rangeify.strong_dtype

    def strong_dtype(dtype: Any) -> Any:
        frame = sys._getframe(1)
        if frame.f_code.co_name == "bufferize_to_store":
            stage, slots = frame.f_locals["x"], frame.f_locals["ctx"]
            if stage.src[0].op.name != "AFTER":
                watched.holds[int(repr(slots).strip("count()"))] = getattr(stage.arg, "holds", LIMIT)
        return strong(dtype)

    plain = indexing.IndexingContext, indexing.BufferizeOpts
    indexing.IndexingContext, indexing.BufferizeOpts, rangeify.strong_dtype = Context, Options, strong_dtype
    try:
        yield
    finally:
        indexing.IndexingContext, indexing.BufferizeOpts = plain
        rangeify.strong_dtype = strong


def _run_again(sink: Any, graph: Any) -> tuple[Watched, dict[int, int]]:
    """What was decided, and the number of every buffer, under the settings that make the graph that was recorded."""
    from tinygrad.helpers import Context
    from tinygrad.schedule import rangeify

    for settings in SETTINGS:
        watched = Watched()
        with Context(**settings), _watching(watched):
            again = rangeify.get_kernel_graph(sink)
        try:
            return watched, _same(graph, again)
        except AssertionError:
            if settings is SETTINGS[-1]:
                raise
    raise AssertionError


def _inserted(recording: Recording, steps: dict[str, Any]) -> dict[Any, str]:
    """The CONTIGUOUS and BUFFERs that rules put in before ranges are known, as they are when ranges are put in."""
    found: dict[Any, str] = {}
    names = ("earliest rewrites", "convert copy to store")
    for at, name in enumerate(names):
        for before, after, location, *_ in steps[name].matches:
            old, new = recording.node(before), recording.node(after)
            rule = linecache.getline(location[0], location[1])
            known = set(old.toposort())
            for node in new.toposort():
                if node in known or node.op.name not in ("CONTIGUOUS", "BUFFER"):
                    continue
                word = "Ops.COPY" if at else rule
                reason = next((why for part, why in INSERTS if part in word), None)
                if reason is None:
                    continue
                last = node
                for later in names[at:]:
                    step = steps[later]
                    last = last.substitute(recording.replaced(step), walk=step.walk, enter_calls=step.enter_calls)
                found.setdefault(last, reason)
                found.setdefault(node, reason)
    return found


def _reason(watched: Watched, inserted: dict[Any, str], slot: int, again: int) -> str:
    if again not in watched.holds:
        made = [why for node, why in inserted.items() if node.op.name == "BUFFER" and node.arg.slot == slot]
        return made[0] if made else "unknown"
    node = watched.holds[again]
    if node is LIMIT:
        return "buffer limit"
    if node.op.name == "CONTIGUOUS":
        return inserted.get(node, "explicit contiguous")
    asked = watched.asked[node]
    for name in asked:
        if name in RULES:
            return RULES[name]
    if "readers" in asked:
        return "readers index differently"
    assert asked == ["ending"], asked
    return "reduce then expand" if _reduces(node, set(watched.asked) - {node}) else "value expanded"


def _reduces(node: Any, stored: set[Any]) -> bool:
    stack, done = [node], set()
    while stack:
        one = stack.pop()
        if one in done or one in stored or one.op.name in ("AFTER", "BUFFER", "PARAM"):
            continue
        done.add(one)
        if one.op.name == "REDUCE":
            return True
        stack.extend(one.src)
    return False


# buffers of the program


def _callified(recording: Recording, steps: dict[str, Any]) -> dict[str, Any] | None:
    return recording.callify(steps["schedule to linear"].sink) if "schedule to linear" in steps else None


def _of_the_program(recording: Recording, graph: Any, steps: dict[str, Any] | None, param: Any, writer: Any) -> str:
    """The writes to a buffer come in one order, in the program's graph and in that of kernels."""
    if steps is None:
        return "unknown"
    call = recording.node(steps["View Call"].sink)
    buffer = call.src[1 + param.arg.slot]
    writes = [call for node in _outside(graph) if node.op.name == "AFTER" and _base(node) is param
              for call in _calls(node)]  # fmt: skip
    writes = list(dict.fromkeys(writes))
    effects = [
        s
        for node in recording.node(steps["replace bufs"].sink).toposort()
        if node.op.name == "AFTER" and _base(node) is _base(buffer)
        for s in node.src[1:]
        if s.op.name in ("STORE", "CALL")
    ]
    effects = list(dict.fromkeys(effects))
    assert len(writes) == len(effects), (len(writes), len(effects), param)
    effect = effects[writes.index(writer)]
    if effect.op.name == "CALL":
        return "custom kernel"
    value = effect.src[1]
    while value.op.name in MOVES:
        value = value.src[0]
    if value.op.name == "COPY":
        return "device copy"
    transform = [
        (recording.node(before), recording.node(after), linecache.getline(*location))
        for before, after, location, *_ in steps["early transform tensor graph"].matches
    ]
    made = [old for old, new, rule in transform
            if "replace_contig_with_store_after" in rule and _made(new) is _base(buffer)]  # fmt: skip
    if not made or effect is not effects[0]:
        return "assign"
    tagged = any(new is made[0] and old.op.name not in ("CONTIGUOUS", "AFTER") for old, new, _ in transform)
    return "realized output" if tagged else "explicit contiguous"


def _made(node: Any) -> Any:
    while node.op.name not in ("AFTER", "BUFFER") and node.src:
        node = node.src[0]
    return _base(node) if node.op.name == "AFTER" else None
