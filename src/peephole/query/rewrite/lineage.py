"""The passes of a schedule in one pool: what became of a node of the user's graph, pass by pass.

Schedules are made in two contexts. `Callify` takes the graph of tensors and puts a buffer under everything that has to
be realized; `Schedule` takes what Callify made and splits it into kernels. The names are tinygrad 0.14's.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from peephole.query.rewrite.dtypes import DtypeError
from peephole.query.rewrite.pool import Pool
from peephole.query.rewrite.substitute import Endless, substitute

if TYPE_CHECKING:
    from peephole.query.rewrite.trace import Trace

TENSORS: Final = "View Tensor Graph"
NUMBER: Final = "number the uops"
TRANSFORM: Final = "early transform tensor graph"
FINALIZE: Final = "finalize call"
REPLACE: Final = "replace bufs"
CALL: Final = "View Call"
LINEAR: Final = "schedule to linear"
KERNELIZE: Final = "get_kernel_graph"
MULTI: Final = "multi_pm"
EARLIEST: Final = "earliest rewrites"
COPY: Final = "convert copy to store"
RANGEIFY: Final = "run_rangeify"
APPLY: Final = "apply rangeify"
DEVICE: Final = "add device to deviceless"
SYMBOLIC: Final = "symbolic+reduce_collapse+debuf"
LIMIT: Final = "limit buffers"
STORES: Final = "stage to store"
SPLIT: Final = "split kernels"
INDEXING: Final = "remove indexing from call args"
KERNELS: Final = "View Kernel Graph"
CALLIFY_PASSES: Final = (NUMBER, TRANSFORM, FINALIZE, REPLACE)
SCHEDULE_PASSES: Final = (MULTI, EARLIEST, COPY, APPLY, DEVICE, SYMBOLIC, LIMIT, STORES)
AST: Final = "View Base AST"
WRAPPED: Final = 5
"""Levels below a replacement in which the node that it replaced is looked for, and nodes of a level."""
WIDE: Final = 64


class Stage:
    """One pass: its root, its matches and what it made of each node, all as nodes of the pool."""

    def __init__(self, trace: Trace, pool: Pool, step: int) -> None:
        self._pool = pool
        self.step = step
        row = trace.step_row(step)
        rows = trace.match_rows(step)
        table = trace.table
        roots = table.rows([trace.number("root", row)]).tolist()
        before = table.rows(trace.match_numbers("before", rows)).tolist()
        after = table.rows(trace.match_numbers("after", rows)).tolist()
        pool.load((*roots, *before, *after))
        self.root = pool.of_row(roots[0])
        self.before = [pool.of_row(node) for node in before]
        self.after = [pool.of_row(node) for node in after]
        self._walk = bool(trace.number("walk", row))

    @cached_property
    def value(self) -> dict[int, int]:
        """What became of every node that the pass visited; empty when it cannot be replayed."""
        pairs = dict(zip(self.before, self.after, strict=True))
        pairs = {before: after for before, after in pairs.items() if before != after}
        if not pairs:
            return {}
        try:
            outcome = substitute(self._pool, self.root, pairs, walk=self._walk)
        except (Endless, DtypeError):
            return {}
        value = dict(outcome.value)
        for node, holder in outcome.visited:
            if holder in outcome.value:
                value.setdefault(node, outcome.value[holder])
        return value

    @cached_property
    def became(self) -> dict[int, int]:
        """Like `value`, but a node that was wrapped up in others is followed inside: ADD stays the ADD that is stored."""
        pool, value = self._pool, self.value
        inside: dict[tuple[int, str], int] = {}
        for before, after in zip(self.before, self.after, strict=True):
            op = pool.op(before)
            if pool.op(after) != op and (found := self._wrapped(before, after)) is not None:
                inside.setdefault((value.get(before, after), op), value.get(found, found))
        if not inside:
            return value
        return {
            node: new if pool.op(new) == pool.op(node) else inside.get((new, pool.op(node)), new)
            for node, new in value.items()
        }

    def _wrapped(self, before: int, after: int) -> int | None:
        """The node a few sources below `after` that is `before` but for its tag."""
        pool = self._pool
        op, _, arg, _ = pool.texts(before)
        layer = [after]
        for _ in range(WRAPPED):
            layer = [s for node in layer for s in pool.src[node]][:WIDE]
            for node in layer:
                if pool.op(node) == op and pool.texts(node)[2] == arg and len(pool.src[node]) == len(pool.src[before]):
                    return node
        return None

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

    def __init__(self, trace: Trace, schedule: int, callify: int | None) -> None:
        self.trace = trace
        self.pool = Pool(trace.table, derive_dtypes=trace.derive_dtypes, enter_calls=False)
        self.schedule = schedule
        self.callify = callify
        self._steps: dict[str, int] = {}
        for context in (callify, schedule):
            for row in trace.context_rows(context) if context is not None else ():
                name = trace.text("name", row) or ""
                self._steps.setdefault(name, trace.number("id", row))
        self._stages: dict[str, Stage | None] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._steps

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

    def became(self, node: int, passes: tuple[str, ...]) -> int:
        """What these passes, one after the other, made of a node."""
        for name in passes:
            stage = self.stage(name)
            if stage is not None:
                node = stage.became.get(node, node)
        return node

    @cached_property
    def origins(self) -> dict[int, list[int]]:
        """For a node of the graph before kernels are split: the nodes of the user's graph that became it."""
        root = self.root(TENSORS)
        found: dict[int, list[int]] = {}
        if root is not None:
            for node in self.pool.walk(root):
                made = self.became(node, CALLIFY_PASSES + SCHEDULE_PASSES)
                found.setdefault(made, []).append(node)
        return found

    @cached_property
    def tensor_origins(self) -> dict[int, list[int]]:
        """For a node of the graph before ranges are put in: the nodes of the user's graph that became it."""
        root = self.root(TENSORS)
        found: dict[int, list[int]] = {}
        if root is not None:
            for node in self.pool.walk(root):
                made = self.became(node, (*CALLIFY_PASSES, MULTI, EARLIEST, COPY))
                found.setdefault(made, []).append(node)
        return found
