"""How evenly the work lies on ranks: kernels that some run longer, hosts that stand out, idle time, longest steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from peephole.query.ranks.intervals import Ints
from peephole.query.ranks.names import is_call, is_communication
from peephole.query.ranks.run import Rank, Run, step_rows

_OUT: Final = 3.0
"""How many times the usual spread a host lies beyond the others when it stands out."""
_FELT: Final = 0.02
"""And by which part of a step, since the spread of equal hosts is nothing."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel or operator over all ranks that ran it; ns of a rank's whole time in it."""

    name: str
    ranks: int
    count: int
    median_ns: int
    most_ns: int
    most_rank: int
    least_ns: int
    over_ns: int
    """What the rank with most is over the median."""


def kernels(run: Run) -> list[Kernel]:
    """The kernels, those first in which one rank is furthest over the median. Collectives are none of them: the rank
    that is longest in one is the one that waits, and not the one with more to do."""
    table = run.tables["rank_totals"]
    names: list[str] = list(table["name"])
    codes: dict[str, int] = {}
    code = np.array([codes.setdefault(name, len(codes)) for name in names], np.int64)
    rank, total, count = table.ints("rank"), table.ints("total_ns"), table.ints("count")
    found = []
    for name, rows in zip(codes, _groups(code), strict=True):
        own = total[rows]
        median, most = int(np.median(own)), int(own.argmax())
        found.append(
            Kernel(name, len(rows), int(count[rows].sum()), median, int(own[most]), int(rank[rows][most]),
                   int(own.min()), int(own[most]) - median)
        )  # fmt: skip
    found = [one for one in found if not is_communication(one.name) and not is_call(one.name)]
    return sorted(found, key=lambda one: (-one.over_ns, one.name))


@dataclass(frozen=True, slots=True)
class Host:
    """A machine: its ranks against those of the others."""

    host: str
    ranks: int
    over_ns: int
    """Own time of its ranks over the median of the step: the median over its ranks and steps."""
    slow_steps: int
    """Ranks times steps in which one of its ranks made the others wait."""
    caused_ns: int
    wait_ns: int
    outlier: bool


def hosts(run: Run) -> list[Host]:
    """The hosts, the slowest first; one stands out when it is over the others by three times their usual spread."""
    table = run.tables["rank_steps"]
    ranks = run.ranks()
    names = list(dict.fromkeys(row.host for row in sorted(ranks, key=lambda row: row.rank)))
    number = {name: at for at, name in enumerate(names)}
    host_of = {row.rank: number[row.host] for row in ranks}
    step, own, dur = table.ints("step"), table.ints("own_ns"), table.ints("dur_ns")
    over = own.astype(np.float64)
    for rows in _groups(step):
        over[rows] -= np.median(own[rows])
    numbers, at_rank = np.unique(table.ints("rank"), return_inverse=True)
    which = np.array([host_of[rank] for rank in numbers.tolist()], np.int64)[at_rank] if len(numbers) else numbers
    typical = np.zeros(len(names))
    for rows in _groups(which):
        typical[which[rows[0]]] = np.median(over[rows])
    middle = float(np.median(typical)) if names else 0.0
    spread = float(np.median(np.abs(typical - middle))) if names else 0.0
    floor = _FELT * float(np.median(dur)) if len(dur) else 0.0
    by_host: dict[str, list[Rank]] = {name: [] for name in names}
    for row in ranks:
        by_host[row.host].append(row)
    found = []
    for name, at in number.items():
        members = by_host[name]
        found.append(
            Host(
                name,
                len(members),
                round(typical[at]),
                sum(len(row.slow_steps) for row in members),
                sum(row.caused_ns for row in members),
                sum(row.wait_ns for row in members) // max(len(members), 1),
                len(names) > 2 and typical[at] - middle > max(_OUT * spread, floor, 1.0),
            )
        )
    return sorted(found, key=lambda one: (-one.over_ns, one.host))


@dataclass(frozen=True, slots=True)
class Idle:
    """A rank's idle time, by what it waited for."""

    rank: int
    idle_ns: int
    causes: dict[str, int]


def idle(run: Run, step: int | None = None) -> tuple[list[Idle], list[str]]:
    """The ranks, the most idle first, and the causes, the largest first; of the whole run, or of one step."""
    table = run.tables["rank_gaps"]
    members = [row.rank for row in run.ranks()] if step is None else _ranks_of(run, step)
    rows: dict[int, dict[str, int]] = {rank: {} for rank in members}
    sums: dict[str, int] = {}
    for rank, at, cause, total in zip(
        table.ints("rank").tolist(), table.ints("step").tolist(), table["cause"], table.ints("total_ns").tolist(),
        strict=True,
    ):  # fmt: skip
        if step in (None, at):
            rows[rank][cause] = rows[rank].get(cause, 0) + total
            sums[cause] = sums.get(cause, 0) + total
    found = [Idle(rank, sum(causes.values()), causes) for rank, causes in rows.items()]
    return sorted(found, key=lambda one: (-one.idle_ns, one.rank)), sorted(sums, key=lambda cause: -sums[cause])


@dataclass(frozen=True, slots=True)
class Step:
    """A training step over all ranks."""

    step: int
    ranks: int
    dur_ns: int
    """From the first begin to the last end."""
    own_ns: int
    """Own time of the median rank."""
    slowest_rank: int
    slowest_ns: int
    wait_ns: int
    """Mean over ranks."""
    exposed_ns: int
    """Communication beside which nothing was computed, mean over ranks."""
    slow_ranks: tuple[int, ...]


def steps(run: Run) -> list[Step]:
    """The steps, the longest first."""
    table = run.tables["rank_steps"]
    step, rank, start = table.ints("step"), table.ints("rank"), table.ints("start_ns")
    end, own, wait = start + table.ints("dur_ns"), table.ints("own_ns"), table.ints("wait_ns")
    exposed = table.ints("communication_ns") - table.ints("overlap_ns")
    slow = np.asarray(table["slow"], np.bool_)
    found = []
    for rows in _groups(step):
        most = rows[int(own[rows].argmax())]
        found.append(
            Step(
                int(step[rows[0]]), len(rows), int(end[rows].max() - start[rows].min()), int(np.median(own[rows])),
                int(rank[most]), int(own[most]), int(wait[rows].mean()), int(exposed[rows].mean()),
                tuple(rank[rows][slow[rows]].tolist()),
            )
        )  # fmt: skip
    return sorted(found, key=lambda one: (-one.dur_ns, one.step))


def _ranks_of(run: Run, step: int) -> list[int]:
    """The ranks that have a step; PeepholeError for one that is not there."""
    return [int(rank) for rank in run.tables["rank_steps"].ints("rank")[step_rows(run, step)]]


def _groups(codes: Ints) -> list[Ints]:
    """The rows of each value, by value."""
    if not len(codes):
        return []
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
