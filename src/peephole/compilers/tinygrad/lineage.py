"""The passes of a schedule in one pool: what became of a node of the user's graph, pass by pass.

Schedules are made in two contexts. `Callify` takes the graph of tensors and puts a buffer under everything that has to
be realized; `Schedule` takes what Callify made and splits it into kernels.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Final

from peephole.compilers.tinygrad.passes import CALLIFY_PASSES, SCHEDULE_PASSES, TENSORS
from peephole.replay.pool import Pool
from peephole.replay.rules import Refused
from peephole.replay.substitute import Endless, substitute

if TYPE_CHECKING:
    from peephole.replay.trace import RewriteTrace

WRAPPED: Final = 5
"""Levels below a replacement in which the node that it replaced is looked for, and nodes of a level."""
WIDE: Final = 64
MOST_PAIRS: Final = 2000
"""Nodes of one match that are walked on both sides."""


class Stage:
    """One pass: its root, its matches and what it made of each node, all as nodes of the pool."""

    def __init__(self, trace: RewriteTrace, pool: Pool, step: int) -> None:
        self._pool = pool
        self.step = step
        made = trace.pass_of(trace.step_row(step))
        pool.load((made.root, *made.before, *made.after))
        self.root = pool.of_row(made.root)
        self.before = [pool.of_row(node) for node in made.before]
        self.after = [pool.of_row(node) for node in made.after]
        self._walk = made.walk

    @cached_property
    def value(self) -> dict[int, int]:
        """What became of every node that the pass visited; empty when it cannot be replayed."""
        pairs = dict(zip(self.before, self.after, strict=True))
        pairs = {before: after for before, after in pairs.items() if before != after}
        if not pairs:
            return {}
        try:
            outcome = substitute(self._pool, self.root, pairs, walk=self._walk)
        except (Endless, Refused):
            return {}
        value = dict(outcome.value)
        for node, holder in outcome.chased:
            if holder in outcome.value:
                value.setdefault(node, outcome.value[holder])
        return value

    @cached_property
    def copies(self) -> dict[int, list[int]]:
        """Nodes below a match that its rule made anew: wrapped into others, or with other ranges in them.

        tinygrad's own substitutions inside a rule leave no matches, so both sides are walked in step as far as the ops
        agree.
        """
        found: dict[int, list[int]] = {}
        for before, after in zip(self.before, self.after, strict=True):
            for pair in self._starts(before, after):
                self._pair(pair, found)
        return found

    def _starts(self, before: int, after: int) -> list[tuple[int, int]]:
        """Where the two sides of a match begin to agree."""
        pool = self._pool
        src = pool.src[before]
        if pool.op(before) == pool.op(after):
            inner = pool.src[after][0] if pool.src[after] else after
            if pool.op(before) == "REDUCE" and pool.op(inner) == "CONTIGUOUS":
                # a long reduction in two stages
                return [(before, after), (before, pool.src[inner][0])]
            return [(before, after)]
        if pool.op(before) == "INDEX" and pool.op(src[0]) == "STAGE":
            # fused: what was stored is computed where it was read
            return [(pool.src[src[0]][0], after)]
        reduce = pool.op(before) == "REDUCE"
        return [
            (before, node)
            for node in self._levels(after, WRAPPED)
            if pool.op(node) == pool.op(before) and (reduce or pool.src[node] == src)
        ][:2]

    def _levels(self, node: int, depth: int) -> list[int]:
        """The nodes of the first few levels below one."""
        found: list[int] = []
        layer = [node]
        for _ in range(depth):
            layer = [s for n in layer for s in self._pool.src[n]][:WIDE]
            found.extend(layer)
        return found

    def _pair(self, start: tuple[int, int], found: dict[int, list[int]]) -> None:
        pool = self._pool
        stack, done = [start], {start}
        while stack and len(done) < MOST_PAIRS:
            old, new = stack.pop()
            if pool.op(new) == "INDEX" and pool.op(old) != "INDEX" and pool.op(pool.src[new][0]) == "STAGE":
                # stored and read back, the value itself is still the same
                new = pool.src[pool.src[new][0]][0]
            if old == new or pool.op(old) != pool.op(new):
                continue
            copies = found.setdefault(old, [])
            if new not in copies:
                copies.append(new)
            for pair in zip(pool.src[old], pool.src[new], strict=False):
                if pair not in done:
                    done.add(pair)
                    stack.append(pair)

    @cached_property
    def _wrapped(self) -> dict[tuple[int, str], list[int]]:
        """By what a matched node became in the end, and its op: the copies of it inside that."""
        pool, value = self._pool, self.value
        found: dict[tuple[int, str], list[int]] = {}
        for before, after in zip(self.before, self.after, strict=True):
            op = pool.op(before)
            if pool.op(after) != op:
                key = (value.get(before, after), op)
                found.setdefault(key, []).extend(n for old, n in self._starts(before, after) if old == before)
        return found

    def images(self, nodes: Iterable[int]) -> set[int]:
        """What the pass made of these nodes, copies included."""
        value, copies, wrapped, pool = self.value, self.copies, self._wrapped, self._pool
        found: set[int] = set()
        stack = list(nodes)
        while stack:
            node = stack.pop()
            last = value.get(node, node)
            inside = wrapped.get((last, pool.op(node)), ()) if pool.op(last) != pool.op(node) else ()
            for new in (last, *copies.get(node, ()), *copies.get(last, ()), *inside):
                if new not in found:
                    found.add(new)
                    if new != node:
                        stack.append(new)
        return found

    @cached_property
    def first_match(self) -> dict[int, int]:
        """The match (from 1) whose result first held a node."""
        found: dict[int, int] = {}
        for number, after in enumerate(self.after, 1):
            stack = [after]
            while stack:
                node = stack.pop()
                if node not in found:
                    found[node] = number
                    stack.extend(self._pool.src[node])
        return found


class Lineage:
    """A schedule's passes by name, and those of the Callify that it came from."""

    def __init__(self, trace: RewriteTrace, schedule: int, callify: int | None) -> None:
        self.trace = trace
        self.pool = Pool(trace.table_of(schedule))
        self.schedule = schedule
        self.callify = callify
        self._steps: dict[str, int] = {}
        for context in (callify, schedule):
            for row in trace.context_rows(context) if context is not None else ():
                name = trace.text("name", row) or ""
                self._steps.setdefault(name, trace.number("id", row))
        self._stages: dict[str, Stage | None] = {}
        self._origins: dict[tuple[str, ...], dict[int, list[int]]] = {}

    def stage(self, name: str) -> Stage | None:
        """A pass by name; None when this schedule has none."""
        if name not in self._stages:
            step = self._steps.get(name)
            self._stages[name] = None if step is None else Stage(self.trace, self.pool, step)
        return self._stages[name]

    def root(self, name: str) -> int | None:
        """The graph that went into a pass."""
        stage = self.stage(name)
        return None if stage is None else stage.root

    def images(self, node: int, passes: tuple[str, ...]) -> set[int]:
        """What these passes, one after the other, made of a node."""
        nodes = {node}
        for name in passes:
            stage = self.stage(name)
            if stage is not None:
                nodes = stage.images(nodes)
        return nodes

    def origins_of(self, passes: tuple[str, ...]) -> dict[int, list[int]]:
        """For what these passes made: the nodes of the user's graph that became it."""
        if passes not in self._origins:
            root = self.root(TENSORS)
            found: dict[int, list[int]] = {}
            for node in self.pool.walk(root) if root is not None else ():
                for made in self.images(node, passes):
                    found.setdefault(made, []).append(node)
            self._origins[passes] = found
        return self._origins[passes]

    @property
    def origins(self) -> dict[int, list[int]]:
        """Nodes of the user's graph by what they are before kernels are split."""
        return self.origins_of(CALLIFY_PASSES + SCHEDULE_PASSES)
