"""Who made everybody wait: skew and latency of each collective, waits of each rank, its own time in each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

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


def arrivals(matched: Matched, clocks: Sequence[Clock], held: NDArray[np.bool_]) -> Arrivals:
    """What the collectives say once they are on one clock."""
    if not len(matched):
        none = np.zeros(0, np.int64)
        return Arrivals(matched.start, matched.end, none, none, none, matched.start, none)
    start, end = matched.start.copy(), matched.end.copy()
    for i, clock in enumerate(clocks):
        if clock.offset or clock.drift:
            start[:, i], end[:, i] = clock.to_run(start[:, i]), clock.to_run(end[:, i])
    there = start != MISSING
    latest = start.max(axis=1)
    first = np.where(there, start, _LATEST).min(axis=1)
    wait = np.where(there & matched.all_wait[:, None], latest[:, None] - start, 0)
    last = np.where(matched.all_wait, start.argmax(axis=1), -1)
    second = np.partition(start, -2, axis=1)[:, -2]
    others = there.sum(axis=1) - 1
    caused = np.where(matched.all_wait, (latest - np.maximum(second, first)) * others, 0)
    latency = np.where(there, end - start, _LATEST).min(axis=1)
    pair = np.flatnonzero(matched.receiver != -1)
    if len(pair):
        wait[pair] = _waits_of_two(matched.receiver[pair], start[pair], end[pair], there[pair] & held[pair])
        caused[pair] = wait[pair].sum(axis=1)
        last[pair] = np.where(caused[pair] > 0, start[pair].argmax(axis=1), -1)
    return Arrivals(start, end, last, latest - first, latency, wait, caused)


def _waits_of_two(receiver: Ints, start: Ints, end: Ints, held: NDArray[np.bool_]) -> Ints:
    """The waits of those who send and receive, where they held the rank up: a receive waits for its send. A send waits
    for its receive unless it was done before: a small one is taken by a buffer."""
    latest = start.max(axis=1)[:, None]
    receives = np.arange(start.shape[1]) == receiver[:, None]
    found: Ints = np.where(held & (receives | (end >= latest)), np.minimum(latest, end) - start, 0)
    return found


def step_columns(
    summaries: Sequence[RankSummary],
    clocks: Sequence[Clock],
    found: Arrivals,
    matched: Matched,
    held: NDArray[np.bool_],
) -> dict[str, NDArray[Any]]:
    """The columns of `rank_steps`: a row for each rank and step, and whether the rank was slow in it."""
    parts: dict[str, list[Ints]] = {}
    owner, free, kept = [], [], []
    usual = _usual_arrivals(found, matched, held)
    for column, (summary, clock) in enumerate(zip(summaries, clocks, strict=True)):
        began = found.start[:, column]
        waits = (began != MISSING) & (found.wait[:, column] > 0)
        begin, end = clock.to_run(summary.steps[:, 1]), clock.to_run(summary.steps[:, 2])
        # collectives in flight at once make the same moment wait twice: their union counts
        wait, blocked = (
            lengths_within(union(began[chosen], began[chosen] + found.wait[chosen, column]), begin, end)
            for chosen in (waits, waits & held[:, column])
        )
        busy, talk, together = summary.step_figures.T
        columns = {"rank": np.full(len(begin), summary.rank), "step": summary.steps[:, 0], "start_ns": begin,
                   "dur_ns": end - begin, "busy_ns": busy, "communication_ns": talk, "overlap_ns": together,
                   "wait_ns": wait, "own_ns": end - begin - wait, "raw_start_ns": summary.steps[:, 1],
                   "raw_end_ns": summary.steps[:, 2]}  # fmt: skip
        for name, values in columns.items():
            parts.setdefault(name, []).append(values)
        owner.append(np.full(len(begin), column))
        free.append(end - begin - blocked)
        kept.append(_kept_waiting(began, found.end[:, column], usual, begin, end))
    joined: dict[str, NDArray[Any]] = {name: np.concatenate(values) for name, values in parts.items()}
    joined["slow"] = _slow(joined, np.concatenate(owner), _lateness(found, matched, held))
    joined["slow"] |= _slow_by_and_by(joined, np.concatenate(free), np.concatenate(kept))
    return joined


def _slow(rows: dict[str, NDArray[Any]], owner: Ints, late: dict[int, Ints]) -> NDArray[np.bool_]:
    """A rank is slow in a step when it came late to a collective of it: after the median rank, by a fifth of the median
    step. Where no collective says so, its own time over the median has to be that large."""
    slow = np.zeros(len(owner), np.bool_)
    order = np.argsort(rows["step"], kind="stable")
    bounds = np.flatnonzero(np.diff(rows["step"][order])) + 1
    for members in np.split(order, bounds):
        if len(members) < 2:
            continue
        own, step = rows["own_ns"][members], int(rows["step"][members[0]])
        over = late[step][owner[members]] if step in late else own - np.median(own)
        slow[members] = over > _SLOW * float(np.median(rows["dur_ns"][members]))
    return slow


def _slow_by_and_by(rows: dict[str, NDArray[Any]], free: Ints, kept: Ints) -> NDArray[np.bool_]:
    """A rank is slow in a step of many collectives too when it loses as much little by little: `free`, the time in
    which nobody held it up, is over that of the median rank by a fifth of the median step, and it `kept` others waiting
    for as long."""
    slow = np.zeros(len(free), np.bool_)
    order = np.argsort(rows["step"], kind="stable")
    bounds = np.flatnonzero(np.diff(rows["step"][order])) + 1
    for members in np.split(order, bounds):
        if len(members) < 2:
            continue
        over = free[members] - _middle(free[members])
        if len(members) > 2:
            over = np.where(over > 3 * int(np.median(np.abs(over))), over, 0)
        slow[members] = np.minimum(over, kept[members]) > _SLOW * float(np.median(rows["dur_ns"][members]))
    return slow


def _usual_arrivals(found: Arrivals, matched: Matched, held: NDArray[np.bool_]) -> Ints:
    """By collective, when the median rank came, if those who were there by then did nothing else; else MISSING."""
    usual = np.full(len(matched), MISSING, np.int64)
    for i in np.flatnonzero(matched.all_wait).tolist():
        columns = np.flatnonzero(found.start[i] != MISSING)
        arrival = found.start[i, columns]
        middle = _middle(arrival)
        if 2 * int(held[i, columns[arrival <= middle]].sum()) > int((arrival <= middle).sum()):
            usual[i] = middle
    return usual


def _kept_waiting(came: Ints, done: Ints, usual: Ints, begin: Ints, end: Ints) -> Ints:
    """By step, how long after the median rank one came to collectives, added up. What it was late by in one that it did
    not wait for the end of counts once."""
    rows = np.flatnonzero((usual != MISSING) & (came != MISSING))
    rows = rows[np.argsort(came[rows], kind="stable")]
    lost = behind = np.maximum(came[rows] - usual[rows], 0)
    if len(rows) > 1:
        under_way = done[rows[:-1]] > came[rows[1:]]
        lost = np.append(behind[:1], np.maximum(behind[1:] - np.where(under_way, behind[:-1], 0), 0))
    until = np.append(0, np.cumsum(lost))
    first, past = np.searchsorted(came[rows], begin, "left"), np.searchsorted(came[rows], end, "right")
    kept: Ints = until[past] - until[first]
    return kept


def _middle(values: Ints) -> int:
    """The median; of two who wait for each other the first."""
    return int(values.min() if len(values) == 2 else np.median(values))


def _lateness(found: Arrivals, matched: Matched, held: NDArray[np.bool_]) -> dict[int, Ints]:
    """By step, for each rank: how long after the median rank it came to a collective, at most; as far as it lies beyond
    the usual spread of arrivals. Who came late because it was held up in another group has nothing to do with it."""
    late: dict[int, Ints] = {}
    pair = matched.receiver != -1
    waited = _Waited(found.start.shape[1]) if len(set(matched.group)) > 1 or pair.any() else None
    rows = np.flatnonzero((matched.all_wait | pair) & (matched.step >= 0))
    # by the last arrival: what held that rank up before is known then
    for i in rows[np.argsort(found.start[rows].max(axis=1), kind="stable")].tolist():
        columns = np.flatnonzero(found.start[i] != MISSING)
        if waited is not None and pair[i]:
            # who waits in a pipeline is not late; whoever waits for it elsewhere may be held up by that
            waited.add(int(matched.step[i]), None, columns, found.wait[i, columns])
            continue
        arrival = found.start[i, columns]
        behind = arrival - int(np.median(arrival))
        step = int(matched.step[i])
        if waited is not None:
            behind -= waited.elsewhere(step, matched.group[i], columns)
            waited.add(step, matched.group[i], columns, np.where(held[i, columns], found.wait[i, columns], 0))
        usual = 3 * int(np.median(np.abs(behind)))
        if len(columns) > 2:
            behind = np.where(behind > usual, behind, 0)
        most = late.setdefault(step, np.zeros(found.start.shape[1], np.int64))
        most[columns] = np.maximum(most[columns], behind)
    return late


class _Waited:
    """How long ranks were held up in each group, within a step, by those of its collectives that were added."""

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._all: dict[int, Ints] = {}
        self._own: dict[tuple[int, str], tuple[Ints, Ints]] = {}

    def elsewhere(self, step: int, group: str, columns: Ints) -> Ints:
        """By column, what it waited in other groups more than the median of these columns did."""
        if step not in self._all:
            return np.zeros(len(columns), np.int64)
        found = self._all[step][columns]
        known, sums = self._own.get((step, group), (columns[:0], columns[:0]))
        if len(known):
            at = np.minimum(np.searchsorted(known, columns), len(known) - 1)
            found = found - np.where(known[at] == columns, sums[at], 0)
        over: Ints = np.maximum(found - int(np.median(found)), 0)
        return over

    def add(self, step: int, group: str | None, columns: Ints, waits: Ints) -> None:
        """Takes how long each column was held up in a collective; of no group where it is between two."""
        if step not in self._all:
            self._all[step] = np.zeros(self._ranks, np.int64)
        self._all[step][columns] += waits
        if group is None:
            return
        known, sums = self._own.get((step, group), (columns, np.zeros(len(columns), np.int64)))
        if not np.array_equal(known, columns):
            every = np.union1d(known, columns)
            wider = np.zeros(len(every), np.int64)
            wider[np.searchsorted(every, known)] = sums
            known, sums = every, wider
        sums[np.searchsorted(known, columns)] += waits
        self._own[step, group] = known, sums
