"""What a CALL or PROGRAM of any graph was compiled in: the step from a call to the passes of its kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peephole.compilers.tinygrad import passes
from peephole.compilers.tinygrad.ops import CALLS
from peephole.compilers.tinygrad.variables import Sources, bound_kernels
from peephole.compilers.traces import trace_of
from peephole.errors import PeepholeError
from peephole.model.tables import NONE
from peephole.replay.pool import Pool
from peephole.replay.trace import RewriteTrace

if TYPE_CHECKING:
    from peephole.store.capture import Capture


def called_context(capture: Capture, step: int, node: int) -> int:
    """The context that a node of a step's graphs, by its id, was compiled in: a kernel, or a schedule for the call of
    a whole graph. -1 when the node is no call, or what it calls was compiled in no context of this capture."""
    trace = trace_of(capture)
    with trace.lock:
        try:
            pool = trace.replay(step).pool
            found = len(pool.ids) - 1 - pool.ids[::-1].index(node)
        except (PeepholeError, ValueError):
            return NONE
        own = trace.number("context", trace.step_row(step))
        kept = trace.derived.setdefault("calls", {})
        known = kept.get(0)
        if known is None:
            known = kept[0] = _Compiled(trace, own)
        assert isinstance(known, _Compiled)
        return known.of(pool, found, own)


class _Compiled:
    """Every compilation of a capture by what went into it, in one pool, so that equal graphs are one node."""

    def __init__(self, trace: RewriteTrace, asking: int) -> None:
        self._trace = trace
        self._pool = Pool(trace.table_of(asking))
        self._bound: dict[int, dict[Sources, Sources]] = {}
        self._kernels: dict[Sources, int] = {}
        """By the sources of the AST: name and options are no part of what a kernel is."""
        self._programs: dict[int, int] = {}
        """By the body of the finished program."""
        self._graphs: dict[int, int] = {}
        """By the root of the first pass."""
        for context, root in self._roots(trace, passes.AST):
            self._kernels.setdefault(self._pool.src[root], context)
        for context, root in self._roots(trace, passes.PROGRAM):
            self._programs.setdefault(self._pool.src[root][0] if self._pool.src[root] else root, context)
        for context, root in self._roots(trace, passes.LINEAR):
            self._graphs.setdefault(root, context)

    def _roots(self, trace: RewriteTrace, name: str) -> list[tuple[int, int]]:
        """The graphs that went into all passes of a name, with their contexts."""
        rows = [(context, trace.root(row)) for context, row in trace.steps_named(name)]
        self._pool.load(row for _, row in rows)
        return [(context, self._pool.of_row(row)) for context, row in rows if row >= 0]

    def of(self, pool: Pool, node: int, own: int) -> int:
        """The context that this node of another pool was compiled in; one that is looked at already is none."""
        here = self._translate(pool, node)
        op = self._pool.op(here)
        if op not in CALLS and op != "PROGRAM":
            return NONE
        body = self._pool.src[here][0] if op in CALLS and self._pool.src[here] else here
        sources = self._pool.src[body]
        wanted = (
            self._graphs.get(here, NONE),
            self._programs.get(sources[0], NONE) if self._pool.op(body) == "PROGRAM" and sources else NONE,
            self._kernels.get(sources, NONE) if sources else NONE,
            self._kernels.get(self._bound_in(own).get(sources, ()), NONE),
        )
        return next((context for context in wanted if context not in (NONE, own)), NONE)

    def _bound_in(self, context: int) -> dict[Sources, Sources]:
        """What the kernels of a schedule are compiled as, where that has other variables."""
        if context not in self._bound:
            self._bound[context] = bound_kernels(self._trace, self._pool, context)
        return self._bound[context]

    def _translate(self, pool: Pool, node: int) -> int:
        """That node in the pool of this table."""
        if pool.ids[node] <= pool.table.largest:
            row = int(pool.table.rows([pool.ids[node]])[0])
            self._pool.load([row])
            return self._pool.of_row(row)
        made: dict[int, int] = {}
        for one in pool.walk(node):
            op, dtype, arg, tag = pool.texts(one)
            made[one] = self._pool.add(op, dtype, tuple(made[source] for source in pool.src[one]), arg, tag)
        return made[node]
