"""A run seen through one process group: who waited in its collectives alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from peephole.errors import PeepholeError
from peephole.query.ranks.intervals import Ints, union
from peephole.query.ranks.run import Rank, Run


def group_names(run: Run) -> list[str]:
    """The process groups, by name."""
    return sorted(set(run.tables["collectives"]["group"]))


def _of_group(run: Run, group: str) -> Ints:
    """The collectives of a group; PeepholeError where it has none."""
    chosen = np.flatnonzero(np.array([name == group for name in run.tables["collectives"]["group"]], np.bool_))
    if not len(chosen):
        known = [repr(name) for name in group_names(run) if name]
        more = f" and {len(known) - 8} more" if len(known) > 8 else ""
        there = f"there are {', '.join(known[:8])}{more}" if known else "no collective of this run names one"
        raise PeepholeError(f"There is no process group {group!r}; {there}.")
    return chosen


def waits_in_step(run: Run, step: int, group: str) -> dict[int, int]:
    """By rank that took part, how long it waited in a group's collectives of one step; collectives in flight at once
    count once. PeepholeError for a group that is not there."""
    table = run.tables["collectives"]
    chosen = _of_group(run, group)
    chosen = chosen[table.ints("step")[chosen] == step]
    if not len(chosen):
        return {}
    names = ("collective", "rank", "start_ns", "wait_ns")
    part = run.tables["arrivals"].between("collective", int(chosen.min()), int(chosen.max()), names)
    mine = np.isin(part["collective"], chosen)
    rank, start, wait = (part[name][mine] for name in names[1:])
    order = np.argsort(rank, kind="stable")
    found = {}
    for rows in np.split(order, np.flatnonzero(np.diff(rank[order])) + 1):
        found[int(rank[rows[0]])] = union(start[rows], start[rows] + wait[rows]).length()
    return found


def ranks_in_group(run: Run, group: str) -> list[Rank]:
    """The ranks that took part in a group's collectives, with their waits there, least first; PeepholeError for a group
    that is not there. Busy time and slow steps stay those of the whole run."""
    table = run.tables["collectives"]
    chosen = _of_group(run, group)
    last, caused = table.ints("last_rank")[chosen], table.ints("caused_ns")[chosen]
    part = run.tables["arrivals"].between(
        "collective", int(chosen.min()), int(chosen.max()), ("collective", "rank", "wait_ns")
    )
    wanted = np.zeros(len(table), np.bool_)
    wanted[chosen] = True
    mine = wanted[part["collective"]]
    every = np.sort(run.tables["ranks"].ints("rank"))
    at = np.searchsorted(every, part["rank"][mine])
    waits, seen = np.zeros(len(every), np.int64), np.bincount(at, minlength=len(every)) > 0
    np.add.at(waits, at, part["wait_ns"][mine])
    ranks, waits = every[seen], waits[seen]
    found = []
    for number, wait in zip(ranks.tolist(), waits.tolist(), strict=True):
        row, here = run.rank(number), last == number
        if row is not None:
            found.append(replace(row, wait_ns=wait, last=int(here.sum()), caused_ns=int(caused[here].sum())))
    return sorted(found, key=lambda row: (row.wait_ns, row.rank))
