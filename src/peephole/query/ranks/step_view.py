"""A step of a run in depth: its figures, stragglers, arrivals at each collective, and some ranks on one clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from peephole.query.ranks.critical_path import Leg, critical_path
from peephole.query.ranks.intervals import Ints
from peephole.query.ranks.rank_slices import longer
from peephole.query.ranks.run import Run, step_rows

_OF_PATH: Final = 2
"""Ranks that are shown because the path leads over them, beside those that are shown anyway."""
_NAMED: Final = 3
"""What a late rank ran longer: so many names are told."""
_STRIPS: Final = 24
"""Collectives whose arrivals are told: of thousands, as with many groups, those that ranks came to furthest apart."""
_SHOWN: Final = 512
"""Arrivals of a collective that are drawn; the last one always is."""


@dataclass(frozen=True, slots=True)
class StepRank:
    """A rank in the step."""

    rank: int
    own_ns: int
    wait_ns: int
    dur_ns: int
    slow: bool


@dataclass(frozen=True, slots=True)
class StepCollective:
    """A collective of the step; arrivals are ns after the first, none where others were further apart."""

    index: int
    name: str
    last_rank: int
    skew_ns: int
    start_ns: int
    arrivals: list[tuple[int, int]]
    """Rank, ns."""


@dataclass(frozen=True, slots=True)
class StepLane:
    """A rank on the run's clock: its step, and what it did in collectives."""

    rank: int
    role: str
    """slowest, median, neighbour, on the path or chosen."""
    host: str
    start_ns: int
    end_ns: int
    talks: list[tuple[int, int, int, int]]
    """Collective, when it came, how long it waited, when it was done."""


@dataclass(frozen=True, slots=True)
class Why:
    """What may have made a rank late."""

    rank: int
    work: float
    """What it computed in all, against the median rank: 1.19 is 19% more."""
    runs: float
    """How many kernels it ran, against the median rank."""
    first_slow_step: int
    """-1 where it made nobody wait in any."""
    slow_steps: int
    median: int
    """The median rank of the step, which it is compared with."""
    over: list[tuple[str, int]]
    """What it ran longer than the median rank in this step: name, ns; most first."""


@dataclass(frozen=True, slots=True)
class StepView:
    """What the page shows of a step."""

    step: int
    start_ns: int
    dur_ns: int
    ranks: list[StepRank]
    """Most own time first."""
    median_own_ns: int
    mean_wait_ns: int
    lost_ns: int
    """What the slowest rank is over the median one: the step would be shorter by that were they alike."""
    held: int
    """Ranks that waited for the slowest one."""
    collectives: list[StepCollective]
    """Those that are furthest apart, and those that the lanes took part in; by time."""
    of_collectives: int
    """How many the step has."""
    lanes: list[StepLane]
    path: list[Leg]
    why: Why
    """Of the rank with most own time."""


def step_view(run: Run, step: int, chosen: Sequence[int] = ()) -> StepView:
    """The step; besides the ranks that matter most the lanes of those that are chosen."""
    path = critical_path(run, step)
    table = run.tables["rank_steps"]
    mine = np.flatnonzero(table.ints("step") == step)
    rank, start, dur = (table.ints(name)[mine] for name in ("rank", "start_ns", "dur_ns"))
    own, wait, slow = table.ints("own_ns")[mine], table.ints("wait_ns")[mine], np.asarray(table["slow"])[mine]
    order = np.lexsort((rank, -own))
    rows = [StepRank(int(rank[i]), int(own[i]), int(wait[i]), int(dur[i]), bool(slow[i])) for i in order]
    begin = int(start.min())
    seen = _Seen(run, step)
    spans = {int(r): (int(a), int(a + d)) for r, a, d in zip(rank, start, dur, strict=True)}
    wanted = [(one, role) for one, role in _lanes(rows, path, chosen) if one in spans]
    talks = seen.talks([one for one, _ in wanted])
    collectives = seen.collectives({talk[0] for own_talks in talks.values() for talk in own_talks})
    host = {one: row.host for one, _ in wanted if (row := run.rank(one))}
    lanes = [StepLane(one, role, host.get(one, ""), *spans[one], talks[one]) for one, role in wanted]
    whole, median = int((start + dur).max()) - begin, int(np.median(own))
    return StepView(
        step, begin, whole, rows, median, int(wait.mean()), int(own.max()) - median, seen.waited_for(rows[0].rank),
        collectives, len(seen.own), lanes, path, why_late(run, rows[0].rank, rows[len(rows) // 2].rank, spans),
    )  # fmt: skip


def step_span(run: Run, step: int) -> tuple[int, int]:
    """When a step began on the run's clock, and how long it took over all ranks; PeepholeError for one not there."""
    table = run.tables["rank_steps"]
    mine = step_rows(run, step)
    start = table.ints("start_ns")[mine]
    begin = int(start.min())
    return begin, int((start + table.ints("dur_ns")[mine]).max()) - begin


def why_late(run: Run, rank: int, median: int, spans: Mapping[int, tuple[int, int]]) -> Why:
    """What speaks for or against a rank's own work as the cause of its being late; ranks had the step at `spans`."""
    totals = run.tables["rank_totals"]
    of, row = totals.ints("rank"), run.rank(rank)
    steps = row.slow_steps if row else ()
    work, runs = (_against_median(of, totals.ints(name), rank) for name in ("total_ns", "count"))
    over = longer(run, (rank, *spans[rank]), (median, *spans[median]), _NAMED) if steps else []
    return Why(rank, work, runs, steps[0] if steps else -1, len(steps), median, over)


def _against_median(of: Ints, values: Ints, rank: int) -> float:
    ranks, at = np.unique(of, return_inverse=True)
    sums = np.zeros(len(ranks), np.int64)
    np.add.at(sums, at, values)
    median = float(np.median(sums)) if len(sums) else 0.0
    own = sums[ranks == rank]
    return float(own[0]) / median if len(own) and median else 1.0


def _lanes(rows: list[StepRank], path: Sequence[Leg], chosen: Sequence[int]) -> list[tuple[int, str]]:
    """The ranks that matter: the slowest, a median one, the slowest one's neighbours, those that most of the path leads
    over, then those that were chosen."""
    known = [row.rank for row in rows]
    found: dict[int, str] = {known[0]: "slowest"}
    near = [rank for rank in (known[0] + 1, known[0] - 1) if rank in set(known)]
    for rank, role in ((known[len(known) // 2], "median"), *((rank, "neighbour") for rank in near)):
        found.setdefault(rank, role)
    times: Counter[int] = Counter()
    for leg in path:
        times[leg.rank] += leg.end_ns - leg.start_ns
    for rank, _ in [one for one in times.most_common() if one[0] not in found][:_OF_PATH]:
        found[rank] = "on the path"
    for rank in chosen:
        found.setdefault(rank, "chosen")
    return list(found.items())


class _Seen:
    """The collectives of a step, and the arrivals at them."""

    def __init__(self, run: Run, step: int) -> None:
        self._table = run.tables["collectives"]
        self.own = np.flatnonzero(self._table.ints("step") == step)
        names = ("collective", "rank", "start_ns", "wait_ns", "end_ns")
        low, high = (int(self.own.min()), int(self.own.max())) if len(self.own) else (0, -1)
        part = run.tables["arrivals"].between("collective", low, high, names)
        kept = np.isin(part["collective"], self.own)
        self._which, self._who, self._came, self._wait, self._done = (part[name][kept] for name in names)

    def talks(self, ranks: Sequence[int]) -> dict[int, list[tuple[int, int, int, int]]]:
        """By rank, its collectives: which, when it came, how long it waited, when it was done."""
        found: dict[int, list[tuple[int, int, int, int]]] = {rank: [] for rank in ranks}
        rows = np.flatnonzero(np.isin(self._who, ranks))
        columns = (self._who, self._which, self._came, self._wait, self._done)
        for rank, *talk in zip(*(column[rows].tolist() for column in columns), strict=True):
            found[rank].append((talk[0], talk[1], talk[2], talk[3]))
        return {rank: sorted(talks, key=lambda talk: talk[1]) for rank, talks in found.items()}

    def waited_for(self, rank: int) -> int:
        """How many others waited for a rank."""
        last = self._table.ints("last_rank")[self._which]
        return len(np.unique(self._who[(last == rank) & (self._wait > 0) & (self._who != rank)]))

    def collectives(self, wanted: Collection[int]) -> list[StepCollective]:
        """Those that ranks came to furthest apart, with the arrivals, and those that are wanted; by time."""
        skew, last = self._table.ints("skew_ns"), self._table.ints("last_rank")
        apart = set(self.own[np.argsort(-skew[self.own], kind="stable")[:_STRIPS]].tolist())
        found = []
        for index in sorted(apart.union(wanted)):
            rows = np.flatnonzero(self._which == index)
            first = int(self._came[rows].min())
            late = self._came[rows] - first
            if len(rows) > _SHOWN:
                rows = np.union1d(rows[:: len(rows) // _SHOWN + 1], rows[[int(late.argmax())]])
            told = rows if index in apart else rows[:0]
            arrivals = list(zip(self._who[told].tolist(), (self._came[told] - first).tolist(), strict=True))
            name = str(self._table["name"][index])
            found.append(StepCollective(index, name, int(last[index]), int(skew[index]), first, arrivals))
        return found
