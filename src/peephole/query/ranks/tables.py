"""The tables of a run, out of the summaries of its ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from peephole.query.ranks.clocks import Clock, align
from peephole.query.ranks.matching import MISSING, match
from peephole.query.ranks.summary import RankSummary
from peephole.query.ranks.waits import Arrivals, arrivals, step_rows

Problem = Callable[[str, int, str], None]
"""Takes a reason, how many, an example."""
Columns = Mapping[str, Any]


def run_tables(summaries: Sequence[RankSummary], problem: Problem) -> dict[str, Columns]:
    """The columns of each table of `model.run_tables`: collectives matched, clocks aligned."""
    matched = match(summaries, problem)
    clocks = align([summary.host for summary in summaries], matched, problem)
    found = arrivals(matched, clocks)
    if not len(matched) and len(summaries) > 1:
        problem("runs without a collective that ranks share: clocks are not aligned, nobody is seen to wait", 1, "")
    steps = step_rows(summaries, clocks, found, matched)
    slow: dict[int, list[int]] = {}
    for row in steps:
        if row.slow:
            slow.setdefault(row.rank, []).append(row.step)
    tables: dict[str, Columns] = {"ranks": _rank_columns(summaries, clocks, found, slow)}
    ranks = np.array([summary.rank for summary in summaries], np.int64)
    there = found.start != MISSING
    tables["collectives"] = {
        "index": np.arange(len(matched)),
        "group": matched.group,
        "name": matched.name,
        "step": matched.step,
        "last_rank": np.where(found.last < 0, -1, ranks[np.maximum(found.last, 0)]),
        "skew_ns": found.skew,
        "latency_ns": found.latency,
        "bytes": matched.bytes,
        "start_ns": np.where(there, found.start, np.iinfo(np.int64).max).min(axis=1) if len(matched) else found.skew,
        "end_ns": found.end.max(axis=1) if len(matched) else found.skew,
        "caused_ns": found.caused,
        "ranks": there.sum(axis=1),
    }
    which, column = np.nonzero(there)
    tables["arrivals"] = {
        "collective": which,
        "rank": ranks[column],
        "start_ns": found.start[which, column],
        "end_ns": found.end[which, column],
        "wait_ns": found.wait[which, column],
    }
    names = ("rank", "step", "start", "dur", "busy", "communication", "overlap", "wait", "own", "slow")
    tables["rank_steps"] = {
        name if name in ("rank", "step", "slow") else f"{name}_ns": [getattr(row, name) for row in steps]
        for name in names
    }
    totals = [(s.rank, *total) for s in summaries for total in sorted(s.totals)]
    tables["rank_totals"] = _columns(("rank", "name", "count", "total_ns"), totals)
    gaps = [(s.rank, cause, *figures) for s in summaries for cause, figures in sorted(s.gaps.items())]
    tables["rank_gaps"] = _columns(("rank", "cause", "count", "total_ns"), gaps)
    return tables


def _columns(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def _rank_columns(
    summaries: Sequence[RankSummary], clocks: Sequence[Clock], found: Arrivals, slow: dict[int, list[int]]
) -> dict[str, Any]:
    spans = [clock.to_run(np.array(s.span, np.int64)) for s, clock in zip(summaries, clocks, strict=True)]
    caused = [int(found.caused[found.last == i].sum()) for i in range(len(summaries))]
    return {
        "rank": [s.rank for s in summaries],
        "host": [s.host for s in summaries],
        "capture": [s.capture for s in summaries],
        "offset_ns": [clock.offset for clock in clocks],
        "bound_ns": [clock.bound for clock in clocks],
        "drift": [clock.drift for clock in clocks],
        "wait_ns": found.wait.sum(axis=0) if len(found.wait) else [0] * len(summaries),
        "last": [int((found.last == i).sum()) for i in range(len(summaries))],
        "caused_ns": caused,
        "busy_ns": [s.busy for s in summaries],
        "communication_ns": [s.communication for s in summaries],
        "overlap_ns": [s.overlap for s in summaries],
        "slow_steps": [slow.get(s.rank, []) for s in summaries],
        "start_ns": [int(span[0]) for span in spans],
        "end_ns": [int(span[1]) for span in spans],
        "slices": [s.slices for s in summaries],
        "computes_on": [s.computes_on for s in summaries],
    }
