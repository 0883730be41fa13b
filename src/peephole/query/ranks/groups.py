"""A run seen through one process group: who waited in its collectives alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from peephole.errors import PeepholeError
from peephole.query.ranks.run import Rank, Run


def group_names(run: Run) -> list[str]:
    """The process groups, by name."""
    return sorted(set(run.tables["collectives"]["group"]))


def ranks_in_group(run: Run, group: str) -> list[Rank]:
    """The ranks that took part in a group's collectives, with their waits there, least first; PeepholeError for a group
    that is not there. Busy time and slow steps stay those of the whole run."""
    table = run.tables["collectives"]
    chosen = np.flatnonzero(np.array([name == group for name in table["group"]], np.bool_))
    if not len(chosen):
        known = ", ".join(repr(name) for name in group_names(run)[:8]) or "none"
        raise PeepholeError(f"There is no process group {group!r}; there are {known}.")
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
