"""Which box of one graph of a context is which of another, through the passes between them.

Within a pass a box is known by its identity. From the graph that came out of a pass to the one that goes into the next
it is known by what it is: equal nodes are one. So a pass, seen from outside, is what it made of each node that went in
(`Flow`), and two graphs are joined by the flows of the passes between them. A pass that runs inside another one works
on graphs of its own: only what leads from the one graph to the other is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from peephole.errors import PeepholeError
from peephole.model.tables import NONE
from peephole.replay.identity import INSIDE
from peephole.replay.named import named_step, own_named_step

if TYPE_CHECKING:
    from peephole.replay.pool import Pool
    from peephole.replay.replay import Graph, Replay
    from peephole.replay.trace import RewriteTrace

KEPT: Final = 2
"""Contexts whose flows are kept at hand."""
Stop = Callable[[], bool] | None


class Contents:
    """Numbers for what nodes are: equal in all graphs of a context, whatever pool they are in."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, tuple[int, ...]], int] = {}

    def of(self, pool: Pool, nodes: Iterable[int]) -> dict[int, int]:
        """The number of each of these nodes, sources first."""
        numbers, own, src = self._numbers, pool.own, pool.src
        found: dict[int, int] = {}
        for node in nodes:
            key = (own[node], tuple([found[s] for s in src[node]]))
            found[node] = numbers.setdefault(key, len(numbers))
        return found


@dataclass(frozen=True, slots=True)
class Flow:
    """What a pass made of the nodes that went into it, by what they are; where they have names, by these."""

    went_in: NDArray[np.int64]
    """Ascending."""
    boxes: NDArray[np.int64]
    """The identities of these in the step."""
    moved: dict[int, int]
    """What those became that came out as something else, and are the same box still."""
    changed: frozenset[int]
    """Of those that came out: whose own fields, or the boxes that they read, are others."""
    gone: frozenset[int]
    born: dict[int, tuple[int, int]]
    """Boxes that came out and did not go in: the match that made each (0 where that is not known), and its identity."""

    def box(self, content: int) -> int:
        """The identity of what went in; -1 for what did not."""
        at = int(np.searchsorted(self.went_in, content))
        return int(self.boxes[at]) if at < len(self.went_in) and self.went_in[at] == content else NONE

    def back(self) -> dict[int, int]:
        """What those were that came out as something else."""
        return {new: old for old, new in self.moved.items()}


@dataclass(frozen=True, slots=True)
class Station:
    """A graph of a context: of a step after a match, with what each of its nodes is."""

    step: int
    replay: Replay
    graph: Graph
    content: dict[int, int]

    @property
    def boxes(self) -> dict[int, int]:
        """What each box is."""
        identity = self.graph.identity
        return {identity[node]: number for node, number in self.content.items()}


@dataclass(frozen=True, slots=True)
class Inside:
    """A box in one step: what went in as it and what came out, by contents, -1 for neither."""

    identity: int
    went_in: int
    came_out: int
    changed: bool
    created: int


class Lineage:
    """The boxes of one context from graph to graph. Hold the trace's lock."""

    def __init__(self, trace: RewriteTrace, context: int) -> None:
        self._trace = trace
        rows = trace.context_rows(context)
        self.steps = [trace.number("id", row) for row in rows]
        self._depth = [trace.number("depth", row) for row in rows]
        self._place = {step: place for place, step in enumerate(self.steps)}
        self.named = any(trace.number("after", row) >= 0 for row in rows)
        """Whether boxes are known by the names of instructions, the same in all steps."""
        self._contents = Contents()
        self._flows: dict[int, Flow] = {}

    def station(self, step: int, match: int, stop: Stop = None) -> Station:
        """A graph; beyond an error, the error's. Good until its replay is asked for again."""
        replay = self._trace.replay(step)
        with_stop(replay, stop)
        graph = replay.graph(match)
        return Station(step, replay, graph, self._contents.of(replay.pool, graph.nodes))

    def place(self, step: int) -> int:
        """The place of a step among those of its context."""
        return self._place[step]

    def between(self, first: int, second: int) -> list[int]:
        """The steps that lead from the place of one to that of another (exclusive); -1 is the begin of the context, and
        its number of steps the end.

        Not among them: those that a step on the way, or the second one itself, runs inside of.
        """
        if self.named:
            return self.steps[first + 1 : second]
        used: set[int] = set()
        level = self._depth[second] if second < len(self.steps) else 0
        for at in range(second - 1, first, -1):
            if self._depth[at] == level:
                used.add(at)
            level = min(level, self._depth[at])
        level = self._depth[first] if first >= 0 else -1
        for at in range(first + 1, second):
            if self._depth[at] < level:
                break
            if self._depth[at] == level:
                used.add(at)
        return [self.steps[at] for at in sorted(used)]

    def flow(self, step: int, stop: Stop = None) -> Flow:
        """What a pass made of what went in, worked out once."""
        known = self._flows.get(step)
        if known is None:
            known = self._flows[step] = self._flow(step, stop)
        return known

    def pairs(self, first: Station, second: Station, stop: Stop = None) -> dict[int, int]:
        """The box of the second graph that each box of the first one is, where it is there."""
        if first.step == second.step:
            there = set(second.graph.identity.values())
            return {box: box for box in first.graph.identity.values() if box in there}
        at, to = self.place(first.step), self.place(second.step)
        if at > to:
            return {b: a for a, b in self.pairs(second, first, stop).items()}
        replay = first.replay
        last = replay.graph(replay.matches)
        out = Station(first.step, replay, last, self._contents.of(replay.pool, last.nodes)).boxes
        there = set(first.graph.identity.values())
        current = {content: box for box, content in out.items() if box in there}
        for step in self.between(at, to):
            _pass_on(self.flow(step, stop), current)
        went_in = second.replay.graph(0)
        into = self._contents.of(second.replay.pool, went_in.nodes)
        now = set(second.graph.identity.values())
        found: dict[int, int] = {}
        for node, content in into.items():
            box = went_in.identity[node]
            if content in current and box in now:
                found[current[content]] = box
        # what went and came again as the very same node
        taken, own = set(found.values()), {content: box for box, content in second.boxes.items()}
        for box, content in first.boxes.items():
            other = own.get(content)
            if box not in found and other is not None and other not in taken:
                found[box] = other
                taken.add(other)
        return found

    def within(self, step: int, match: int, identities: Iterable[int], stop: Stop = None) -> list[Inside]:
        """What becomes of these boxes of a graph in its own step."""
        if self.named:
            return self._named_within(step, match, identities)
        station = self.station(step, match, stop)
        replay = station.replay
        try:
            ends = [replay.graph(number) for number in (0, replay.matches)]
            what = [self._contents.of(replay.pool, graph.nodes) for graph in ends]
            first, last = ({g.identity[n]: c for n, c in own.items()} for g, own in zip(ends, what, strict=True))
            changed, made = self.flow(step, stop).changed, made_by(replay)
        finally:
            replay.stop = None
        found = []
        for box in identities:
            was, now = first.get(box, NONE), last.get(box, NONE)
            found.append(Inside(box, was, now, now >= 0 and was in changed, 0 if was >= 0 else made(box)))
        return found

    def _named_within(self, step: int, match: int, identities: Iterable[int]) -> list[Inside]:
        named = named_step(self._trace, step)
        assert named is not None, "all steps of this context are over named instructions"
        first, last = (set(named.graph(number).keys) for number in (0, len(named.entries)))
        changed = self.flow(step).changed
        return [
            Inside(
                key,
                key if key in first else NONE,
                key if key in last else NONE,
                key in changed,
                max(0, named.life(key, match)[0]),
            )
            for key in identities
        ]

    def births(self, step: int, match: int, stop: Stop = None) -> dict[int, tuple[int, int]]:
        """The step and match that made each box of a graph; (-1, 0) for what went into the context's first pass."""
        if self.named:
            return self._named_births(step, match)
        station = self.station(step, match, stop)
        made = made_by(station.replay)
        found: dict[int, tuple[int, int]] = {}
        pending: dict[int, list[int]] = {}
        first = station.replay.graph(0)
        into = {first.identity[n]: c for n, c in self._contents.of(station.replay.pool, first.nodes).items()}
        for box in station.graph.identity.values():
            if box in into:
                pending.setdefault(into[box], []).append(box)
            else:
                found[box] = (station.step, made(box))
        for one in reversed(self.between(NONE, self.place(step))):
            flow = self.flow(one, stop)
            for content, (number, _) in flow.born.items():
                for box in pending.pop(content, ()):
                    found[box] = (one, number)
            was = [(old, pending.pop(new)) for old, new in flow.moved.items() if new in pending]
            for old, boxes in was:
                pending.setdefault(old, []).extend(boxes)
        found.update((box, (NONE, 0)) for boxes in pending.values() for box in boxes)
        return found

    def _named_births(self, step: int, match: int) -> dict[int, tuple[int, int]]:
        """The same where boxes have names: the last pass up to this graph that made one of that name."""
        found: dict[int, tuple[int, int]] = {}
        for one in self.between(NONE, self.place(step)):
            found.update((key, (one, entry)) for key, (entry, _) in self.flow(one).born.items())
        named = named_step(self._trace, step)
        for number, entry in enumerate(named.entries[:match] if named is not None else (), 1):
            found.update((key, (step, number)) for key, (old, new) in entry.delta.items() if old is None and new)
        return found

    def _flow(self, step: int, stop: Stop) -> Flow:
        if self.named:
            return _named_flow(self._trace, step)
        replay = self._trace.own_replay(step)
        with_stop(replay, stop)
        pool, first, last = replay.pool, replay.graph(0), replay.graph(replay.matches)
        into = self._contents.of(pool, first.nodes)
        rows = sorted((content, first.identity[node]) for node, content in into.items())
        went_in, own = np.array(rows, np.int64).reshape(-1, 2).T
        if last.root == first.root:
            return Flow(went_in, own, {}, frozenset(), frozenset(), {})
        came_out = self._contents.of(pool, last.nodes)
        now = {last.identity[node]: node for node in last.nodes}
        moved: dict[int, int] = {}
        changed: set[int] = set()
        gone: set[int] = set()
        for node, content in into.items():
            other = now.pop(first.identity[node], None)
            if other is None:
                gone.add(content)
            elif other != node:
                moved[content] = came_out[other]
                reads = [first.identity[s] for s in pool.src[node]]
                if pool.own[node] != pool.own[other] or reads != [last.identity[s] for s in pool.src[other]]:
                    changed.add(content)
        made = made_by(replay)
        born = {came_out[node]: (made(box), box) for box, node in now.items()}
        return Flow(went_in, own, moved, frozenset(changed), frozenset(gone), born)


def _named_flow(trace: RewriteTrace, step: int) -> Flow:
    """A pass over named instructions: a box is what it is called."""
    named = own_named_step(trace, step)
    if named is None:
        nothing = np.zeros(0, np.int64)
        return Flow(nothing, nothing, {}, frozenset(), frozenset(), {})
    first, last = named.graph(0).keys, set(named.graph(len(named.entries)).keys)
    keys = np.array(sorted(first), np.int64)
    there = set(first)
    changed: set[int] = set()
    born: dict[int, tuple[int, int]] = {}
    for number in range(1, len(named.entries) + 1):
        found = named.difference(number)
        changed.update(key for key in found.altered if key in there and key in last)
        born.update((key, (number, key)) for key in found.added if key not in there)
    born = {key: one for key, one in born.items() if key in last}
    return Flow(keys, keys, {}, frozenset(changed), frozenset(there - last), born)


def lineage_of(trace: RewriteTrace, context: int) -> Lineage:
    """The boxes of a context, worked out as they are asked for. Hold `trace.lock`."""
    kept: dict[int, Lineage] = trace.derived.setdefault("lineage", {})
    found = kept.pop(context, None) or Lineage(trace, context)
    while len(kept) >= KEPT:
        kept.pop(next(iter(kept)))
    kept[context] = found
    return found


def made_by(replay: Replay) -> Callable[[int], int]:
    """Which match made a box of a step; 0 where none did, or it is not known."""
    if not replay.regular:
        return replay.born
    pool = replay.pool
    seen = pool.reach(replay.first)
    made: dict[int, int] = {}
    for match, after in enumerate(replay.after, 1):
        stack = [after]
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                made[node] = match
                stack.extend(pool.src[node])
    return lambda box: made.get(box - INSIDE if box >= INSIDE else box, 0)


def check_context(trace: RewriteTrace, first: int, second: int) -> int:
    """The context of two steps; PeepholeError when they are not of one."""
    contexts = [trace.number("context", trace.step_row(step)) for step in (first, second)]
    if contexts[0] != contexts[1]:
        names = [trace.numbered_names.get(context, "?") for context in contexts]
        raise PeepholeError(
            f"Step {first} is of {names[0]} and step {second} of {names[1]}: only graphs of one context are compared."
        )
    return contexts[0]


def with_stop(replay: Replay, stop: Stop) -> None:
    """Has a replay end when nobody waits for it any more."""
    replay.stop = stop


def _pass_on(flow: Flow, current: dict[int, int]) -> None:
    """Takes boxes through a pass, by what they are."""
    for content in flow.gone:
        current.pop(content, None)
    moved = [(new, current.pop(old)) for old, new in flow.moved.items() if old in current]
    for new, box in moved:
        current.setdefault(new, box)
