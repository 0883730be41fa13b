"""Who made everybody wait: skew and latency of each collective, waits of each rank, its own time in each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.query.ranks.clocks import Clock
from peephole.query.ranks.intervals import Ints, lengths_within, union
from peephole.query.ranks.matching import Matched
from peephole.query.ranks.summary import RankSummary

_NEVER: Final = np.iinfo(np.int64).max
_AT_ONCE: Final = 1 << 20
"""Arrivals whose medians are sought at once."""
_SLOW: Final = 0.2
"""Own time over the median of the step, as a part of the median step, from which a rank is slow in it."""


@dataclass(slots=True)
class Arrivals:
    """The matched collectives on the run's clock, with what they say about ranks."""

    start: Ints
    """Of each arrival, as are `end` and `wait`."""
    end: Ints
    wait: Ints
    """0 where nobody waits."""
    first: Ints
    """Of each collective its first arrival, as are the others."""
    last: Ints
    """Column of the rank that came last; -1 where nobody waits for it."""
    skew: Ints
    latency: Ints
    caused: Ints
    """By the last rank: what the others waited beyond the second-last arrival."""


def arrivals(matched: Matched, clocks: Sequence[Clock]) -> Arrivals:
    """What the collectives say once they are on one clock."""
    if not len(matched):
        none = np.zeros(0, np.int64)
        return Arrivals(none, none, none, none, none, none, none, none)
    start, end = matched.start.copy(), matched.end.copy()
    for column, clock in enumerate(clocks):
        if clock.offset or clock.drift:
            rows = matched.arrivals_of(column)
            start[rows], end[rows] = clock.to_run(start[rows]), clock.to_run(end[rows])
    which, begins = matched.collective(), matched.bounds[:-1]
    first, latest = np.minimum.reduceat(start, begins), np.maximum.reduceat(start, begins)
    behind = latest[which] - start
    latecomers = np.flatnonzero(behind == 0)
    latecomers = latecomers[np.diff(which[latecomers], prepend=-1) != 0]  # the first of those that came as late
    last = matched.column[latecomers]
    behind[latecomers] = _NEVER
    second = latest - np.minimum.reduceat(behind, begins)
    behind[latecomers] = 0
    wait = np.where(matched.all_wait[which], behind, 0)
    caused = np.where(matched.all_wait, (latest - second) * (matched.counts() - 1), 0)
    latency = np.minimum.reduceat(end - start, begins)
    pair = matched.receiver != -1
    if pair.any():
        rows = np.flatnonzero(pair[which])
        wait[rows] = _waits_of_two(matched, start[rows], end[rows], latest[which[rows]], rows, which[rows])
        caused[pair] = np.add.reduceat(wait, begins)[pair]
    last = np.where(matched.all_wait | (pair & (caused > 0)), last, -1)
    return Arrivals(start, end, wait, first, last, latest - first, latency, caused)


def _waits_of_two(matched: Matched, start: Ints, end: Ints, latest: Ints, rows: Ints, which: Ints) -> Ints:
    """The waits of those who send and receive, where they held the rank up: a receive waits for its send. A send waits
    for its receive unless it was done before: a small one is taken by a buffer."""
    receives = matched.column[rows] == matched.receiver[which]
    waits = matched.held[rows] & (receives | (end >= latest))
    found: Ints = np.where(waits, np.minimum(latest, end) - start, 0)
    return found


def step_columns(
    summaries: Sequence[RankSummary],
    clocks: Sequence[Clock],
    found: Arrivals,
    matched: Matched,
) -> dict[str, NDArray[Any]]:
    """The columns of `rank_steps`: a row for each rank and step, and whether the rank was slow in it."""
    parts: dict[str, list[Ints]] = {}
    owner, free, kept = [], [], []
    typical = _Typical(found, matched)
    which = matched.collective()
    for column, (summary, clock) in enumerate(zip(summaries, clocks, strict=True)):
        rows = matched.arrivals_of(column)
        waits = rows[found.wait[rows] > 0]
        begin, end = clock.to_run(summary.steps[:, 1]), clock.to_run(summary.steps[:, 2])
        # collectives in flight at once make the same moment wait twice: their union counts
        wait, blocked = (
            lengths_within(union(found.start[chosen], found.start[chosen] + found.wait[chosen]), begin, end)
            for chosen in (waits, waits[matched.held[waits]])
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
        rows = rows[typical.alone[which[rows]]]
        kept.append(_kept_waiting(found.start[rows], found.end[rows], typical.came[which[rows]], begin, end))
    joined: dict[str, NDArray[Any]] = {name: np.concatenate(values) for name, values in parts.items()}
    joined["slow"] = _slow(joined, np.concatenate(owner), _lateness(found, matched, typical))
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


class _Typical:
    """When the median rank came to each collective, and what is the usual spread around it."""

    def __init__(self, found: Arrivals, matched: Matched) -> None:
        many = len(matched)
        self.came = np.zeros(many, np.int64)
        """The median arrival; of two the first."""
        self.middle, self.spread = np.zeros(many, np.int64), np.zeros(many, np.int64)
        """The median of all, and of how far they are from it."""
        self.alone = np.zeros(many, np.bool_)
        """Those who were there by then did nothing else."""
        counts = matched.counts()
        for count in np.unique(counts).tolist():
            chosen = np.flatnonzero(counts == count)
            for part in np.array_split(chosen, len(chosen) * count // _AT_ONCE + 1):
                rows = matched.bounds[part][:, None] + np.arange(count)
                behind = found.start[rows] - found.first[part][:, None]
                middle = _medians(behind)
                early = behind <= (middle if count > 2 else 0 * middle)[:, None]
                self.middle[part] = middle
                self.came[part] = found.first[part] + (middle if count > 2 else 0)
                self.spread[part] = _medians(np.abs(behind - middle[:, None]))
                self.alone[part] = 2 * (matched.held[rows] & early).sum(axis=1) > early.sum(axis=1)
        self.middle += found.first
        self.alone &= matched.all_wait


def _medians(values: Ints) -> Ints:
    """The median of each row, to the ns."""
    half = values.shape[1] // 2
    sorted_ = np.partition(values, (half - 1, half) if values.shape[1] % 2 == 0 else half, axis=1)
    high = sorted_[:, half]
    found: Ints = high if values.shape[1] % 2 else (sorted_[:, half - 1] + high) // 2
    return found


def _kept_waiting(came: Ints, done: Ints, usual: Ints, begin: Ints, end: Ints) -> Ints:
    """By step, how long after the median rank one came to collectives, added up. What it was late by in one that it did
    not wait for the end of counts once."""
    order = np.argsort(came, kind="stable")
    came, done = came[order], done[order]
    lost = behind = np.maximum(came - usual[order], 0)
    if len(came) > 1:
        under_way = done[:-1] > came[1:]
        lost = np.append(behind[:1], np.maximum(behind[1:] - np.where(under_way, behind[:-1], 0), 0))
    until = np.append(0, np.cumsum(lost))
    first, past = np.searchsorted(came, begin, "left"), np.searchsorted(came, end, "right")
    kept: Ints = until[past] - until[first]
    return kept


def _middle(values: Ints) -> int:
    """The median; of two who wait for each other the first."""
    return int(values.min() if len(values) == 2 else np.median(values))


def _lateness(found: Arrivals, matched: Matched, typical: _Typical) -> dict[int, Ints]:
    """By step, for each rank: how long after the median rank it came to a collective, at most; as far as it lies beyond
    the usual spread of arrivals. Who came late because it was held up in another group has nothing to do with it."""
    late: dict[int, Ints] = {}
    pair = matched.receiver != -1
    ranks = len(matched.own)
    waited = _Waited(ranks) if len(set(matched.group)) > 1 or pair.any() else None
    rows = np.flatnonzero((matched.all_wait | pair) & (matched.step >= 0))
    # by the last arrival: what held that rank up before is known then
    order = rows[np.argsort((found.first + found.skew)[rows], kind="stable")]
    blocked = np.where(matched.held, found.wait, 0)
    facts = zip(
        order.tolist(), matched.step[order].tolist(), pair[order].tolist(), matched.bounds[order].tolist(),
        matched.bounds[order + 1].tolist(), typical.middle[order].tolist(), typical.spread[order].tolist(), strict=True,
    )  # fmt: skip
    for i, step, two, begin, past, middle, spread in facts:
        here = slice(begin, past)
        columns = matched.column[here]
        if waited is not None and two:
            # who waits in a pipeline is not late; whoever waits for it elsewhere may be held up by that
            waited.add(step, None, columns, found.wait[here])
            continue
        behind = found.start[here] - middle
        if waited is not None:
            elsewhere = waited.elsewhere(step, matched.group[i], columns)
            waited.add(step, matched.group[i], columns, blocked[here])
            if elsewhere is not None:
                behind -= elsewhere
                spread = int(np.median(np.abs(behind)))
        if len(columns) > 2:
            behind[behind <= 3 * spread] = 0
        if step not in late:
            late[step] = np.zeros(ranks, np.int64)
        late[step][columns] = np.maximum(late[step][columns], behind)
    return late


class _Waited:
    """How long ranks were held up in each group, within a step, by those of its collectives that were added."""

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._all: dict[int, Ints] = {}
        self._own: dict[tuple[int, str], tuple[Ints, Ints]] = {}

    def elsewhere(self, step: int, group: str, columns: Ints) -> Ints | None:
        """By column, what it waited in other groups more than the median of these columns did; None for nothing."""
        if step not in self._all:
            return None
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
