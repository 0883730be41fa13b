"""Kernels of a symbolic size: a schedule numbers its variables, a compilation has them by name.

A schedule is kept for every call of an equal graph, so in it a variable is a parameter (`p3`). With each call the
kernels get the variables that it was called with, in passes of their own, and are compiled like that.
"""

from __future__ import annotations

from peephole.compilers.tinygrad import passes
from peephole.compilers.tinygrad.lineage import Stage
from peephole.replay.pool import Pool
from peephole.replay.trace import RewriteTrace

Sources = tuple[int, ...]


def bound_kernels(trace: RewriteTrace, pool: Pool, schedule: int) -> dict[Sources, Sources]:
    """What a schedule's kernels are compiled as, where it is another graph: by the sources of their ASTs, in a pool."""
    found: dict[Sources, Sources] = {}
    for row in trace.context_rows(schedule):
        if trace.text("name", row) == passes.BIND and trace.number("matches", row):
            stage = Stage(trace, pool, trace.number("id", row))
            if pool.op(stage.root) == "SINK":
                found[pool.src[stage.root]] = pool.src[stage.value.get(stage.root, stage.root)]
    return found
