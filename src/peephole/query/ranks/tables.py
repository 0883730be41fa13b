"""The tables of a run, out of the summaries of its ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from peephole.model.sink import Strings
from peephole.query.ranks.clocks import Clock, align
from peephole.query.ranks.intervals import Ints
from peephole.query.ranks.matching import Matched, match
from peephole.query.ranks.summary import RankSummary
from peephole.query.ranks.waits import Arrivals, arrivals, step_columns

Problem = Callable[[str, int, str], None]
"""Takes a reason, how many, an example."""
Columns = Mapping[str, Any]


def run_tables(summaries: Sequence[RankSummary], problem: Problem) -> dict[str, Columns]:
    """The columns of each table of `model.run_tables`: collectives matched, clocks aligned."""
    matched = match(summaries, problem)
    clocks = align(summaries, matched, problem)
    found = arrivals(matched, clocks)
    if not len(matched) and len(summaries) > 1:
        apart = len({summary.host for summary in summaries}) > 1
        clocks_are = "clocks are not aligned, " if apart else ""
        problem(f"runs without a collective that ranks share: {clocks_are}nobody is seen to wait", 1, "")
    steps = step_columns(summaries, clocks, found, matched)
    _say_what_is_missing([summary.rank for summary in summaries], steps, problem)
    slow: dict[int, list[int]] = {}
    for rank, step in zip(steps["rank"][steps["slow"]].tolist(), steps["step"][steps["slow"]].tolist(), strict=True):
        slow.setdefault(rank, []).append(step)
    tables: dict[str, Columns] = {"ranks": _rank_columns(summaries, clocks, matched, found, slow)}
    ranks = np.array([summary.rank for summary in summaries], np.int64)
    tables["collectives"] = {
        "index": np.arange(len(matched)),
        "group": matched.group,
        "name": matched.name,
        "step": matched.step,
        "last_rank": np.where(found.last < 0, -1, ranks[np.maximum(found.last, 0)]),
        "skew_ns": found.skew,
        "latency_ns": found.latency,
        "bytes": matched.bytes,
        "start_ns": found.first,
        "end_ns": np.maximum.reduceat(found.end, matched.bounds[:-1]) if len(matched) else found.first,
        "caused_ns": found.caused,
        "ranks": matched.counts(),
    }
    tables["arrivals"] = {
        "collective": matched.collective(),
        "rank": ranks[matched.column],
        "start_ns": found.start,
        "end_ns": found.end,
        "wait_ns": found.wait,
        "held": matched.held,
    }
    tables["rank_steps"] = steps
    tables["rank_collectives"] = _seen(summaries, matched)
    totals = [(s.rank, *total) for s in summaries for total in sorted(s.totals)]
    tables["rank_totals"] = _columns(("rank", "name", "count", "total_ns"), totals)
    gaps = [(s.rank, *gap) for s in summaries for gap in s.gaps]
    tables["rank_gaps"] = _columns(("rank", "step", "cause", "count", "total_ns"), gaps)
    return tables


def _seen(summaries: Sequence[RankSummary], matched: Matched) -> Columns:
    """The collectives as each rank saw them, on its own clock: matched or not, nothing is lost."""
    parts = [s.collectives for s in summaries]
    texts: dict[str, int] = {}
    codes = [np.array([texts.setdefault(text, len(texts)) for text in part.texts], np.int64) for part in parts]

    which = matched.collective()

    def joined(columns: Iterable[Ints]) -> Ints:
        return np.concatenate([np.zeros(0, np.int64), *columns])

    return {
        "rank": np.repeat([s.rank for s in summaries], [len(part) for part in parts]),
        "collective": joined(np.where(own < 0, -1, which[own]) if len(which) else own for own in matched.own),
        "group": Strings(joined(code[part.group] for code, part in zip(codes, parts, strict=True)), list(texts)),
        "place": joined(part.places() for part in parts),
        "name": Strings(joined(code[part.name] for code, part in zip(codes, parts, strict=True)), list(texts)),
        "bytes": joined(part.bytes for part in parts),
        "raw_start_ns": joined(part.start for part in parts),
        "raw_end_ns": joined(part.end for part in parts),
        "held": joined(part.held.astype(np.int64) for part in parts) > 0,
        "peer": joined(part.peer for part in parts),
    }


def _say_what_is_missing(numbers: Sequence[int], steps: Columns, problem: Problem) -> None:
    """Ranks that lack steps which most others have: they began later, or died."""
    if not len(steps["step"]):
        return
    every, counts = np.unique(steps["step"], return_counts=True)
    ranks = np.array(sorted(numbers), np.int64)
    usual = every[2 * counts > len(ranks)]
    common = np.isin(steps["step"], usual)
    lacks = len(usual) - np.bincount(np.searchsorted(ranks, steps["rank"][common]), minlength=len(ranks))
    for rank, number in zip(ranks[lacks > 0].tolist(), lacks[lacks > 0].tolist(), strict=True):
        problem("steps without data: the rank began later, or died", number, f"rank {rank}: {number} steps")


def _columns(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def _rank_columns(
    summaries: Sequence[RankSummary],
    clocks: Sequence[Clock],
    matched: Matched,
    found: Arrivals,
    slow: dict[int, list[int]],
) -> dict[str, Any]:
    spans = [clock.to_run(np.array(s.span, np.int64)) for s, clock in zip(summaries, clocks, strict=True)]
    waited_for = found.last >= 0
    wait, caused, last = (np.zeros(len(summaries), np.int64) for _ in range(3))
    np.add.at(wait, matched.column, found.wait)
    np.add.at(caused, found.last[waited_for], found.caused[waited_for])
    np.add.at(last, found.last[waited_for], 1)
    return {
        "rank": [s.rank for s in summaries],
        "host": [s.host for s in summaries],
        "capture": [s.capture for s in summaries],
        "offset_ns": [clock.offset for clock in clocks],
        "bound_ns": [clock.bound for clock in clocks],
        "clock_ns": [clock.at for clock in clocks],
        "drift": [clock.drift for clock in clocks],
        "wait_ns": wait,
        "last": last,
        "caused_ns": caused,
        "busy_ns": [s.busy for s in summaries],
        "communication_ns": [s.communication for s in summaries],
        "overlap_ns": [s.overlap for s in summaries],
        "slow_steps": [slow.get(s.rank, []) for s in summaries],
        "start_ns": [int(span[0]) for span in spans],
        "end_ns": [int(span[1]) for span in spans],
        "raw_start_ns": [s.span[0] for s in summaries],
        "raw_end_ns": [s.span[1] for s in summaries],
        "slices": [s.slices for s in summaries],
        "computes_on": [s.computes_on for s in summaries],
    }
