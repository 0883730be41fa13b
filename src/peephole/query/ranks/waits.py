"""Who made everybody wait: skew and latency of each collective, waits of each rank, its own time in each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from peephole.query.ranks.clocks import Clock
from peephole.query.ranks.intervals import Ints, lengths_within, union
from peephole.query.ranks.matching import MISSING, Matched
from peephole.query.ranks.summary import RankSummary

_SLOW: Final = 0.2
"""Own time over the median of the step, as a part of the median step, from which a rank is slow in it."""
_LATEST: Final = np.iinfo(np.int64).max


@dataclass(slots=True)
class Arrivals:
    """The matched collectives on the run's clock, with what they say about ranks."""

    start: Ints
    end: Ints
    """A row per collective, a column per rank; MISSING where a rank did not take part."""
    last: Ints
    """Column of the rank that came last; -1 where nobody waits for it."""
    skew: Ints
    latency: Ints
    wait: Ints
    """A row per collective, a column per rank; 0 where nobody waits."""
    caused: Ints
    """By the last rank: what the others waited beyond the second-last arrival."""


def arrivals(matched: Matched, clocks: Sequence[Clock]) -> Arrivals:
    """What the collectives say once they are on one clock."""
    if not len(matched):
        none = np.zeros(0, np.int64)
        return Arrivals(matched.start, matched.end, none, none, none, matched.start, none)
    start = np.column_stack([clock.to_run(matched.start[:, i]) for i, clock in enumerate(clocks)])
    end = np.column_stack([clock.to_run(matched.end[:, i]) for i, clock in enumerate(clocks)])
    there = start != MISSING
    latest = start.max(axis=1)
    first = np.where(there, start, _LATEST).min(axis=1)
    wait = np.where(there & matched.all_wait[:, None], latest[:, None] - start, 0)
    last = np.where(matched.all_wait, start.argmax(axis=1), -1)
    second = np.sort(start, axis=1)[:, -2]
    others = there.sum(axis=1) - 1
    caused = np.where(matched.all_wait, (latest - np.maximum(second, first)) * others, 0)
    latency = np.where(there, end - start, _LATEST).min(axis=1)
    return Arrivals(start, end, last, latest - first, latency, wait, caused)


@dataclass(slots=True)
class StepRow:
    """A rank in a step, on the run's clock."""

    rank: int
    step: int
    start: int
    dur: int
    busy: int
    communication: int
    overlap: int
    wait: int
    own: int
    """What it took itself: its length without its waits."""
    slow: bool = False


def step_rows(
    summaries: Sequence[RankSummary], clocks: Sequence[Clock], found: Arrivals, matched: Matched
) -> list[StepRow]:
    """A row for each rank and step, and whether the rank was slow in it."""
    rows: list[StepRow] = []
    for column, (summary, clock) in enumerate(zip(summaries, clocks, strict=True)):
        began = found.start[:, column]
        waits = (began != MISSING) & (found.wait[:, column] > 0)
        # collectives in flight at once make the same moment wait twice: their union counts
        waiting = union(began[waits], began[waits] + found.wait[waits, column])
        begin, end = clock.to_run(summary.steps[:, 1]), clock.to_run(summary.steps[:, 2])
        wait = lengths_within(waiting, begin, end)
        for i in range(len(summary.steps)):
            busy, talk, together = (int(x) for x in summary.step_figures[i])
            length = int(end[i] - begin[i])
            figures = (length, busy, talk, together, int(wait[i]), length - int(wait[i]))
            rows.append(StepRow(summary.rank, int(summary.steps[i, 0]), int(begin[i]), *figures))
    _mark_slow(rows, _lateness(summaries, found, matched))
    return rows


def _mark_slow(rows: list[StepRow], late: dict[tuple[int, int], int]) -> None:
    """A rank is slow in a step when it came late to a collective of it: after the median rank, by a fifth of the median
    step. Where no collective says so, its own time over the median has to be that large."""
    by_step: dict[int, list[StepRow]] = {}
    for row in rows:
        by_step.setdefault(row.step, []).append(row)
    told = {step for _, step in late}
    for step, members in by_step.items():
        if len(members) < 2:
            continue
        floor = _SLOW * float(np.median([row.dur for row in members]))
        own = float(np.median([row.own for row in members]))
        for row in members:
            row.slow = (late.get((row.rank, step), 0) if step in told else row.own - own) > floor


def _lateness(summaries: Sequence[RankSummary], found: Arrivals, matched: Matched) -> dict[tuple[int, int], int]:
    """By rank and step, how long after the median rank it came to a collective, at most; as far as it lies beyond the
    usual spread of arrivals."""
    late: dict[tuple[int, int], int] = {}
    for i in np.flatnonzero(matched.all_wait & (matched.step >= 0)).tolist():
        columns = np.flatnonzero(found.start[i] != MISSING)
        arrival = found.start[i, columns]
        behind = arrival - int(np.median(arrival))
        usual = 3 * int(np.median(np.abs(behind)))
        step = int(matched.step[i])
        for column, by in zip(columns.tolist(), behind.tolist(), strict=True):
            key = (summaries[column].rank, step)
            late[key] = max(late.get(key, 0), by if by > usual or len(columns) == 2 else 0)
    return late
