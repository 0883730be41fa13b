"""The critical path over ranks through a step: back from its end, in a collective to the rank that came last."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from peephole.errors import PeepholeError
from peephole.query.ranks.run import Run


@dataclass(frozen=True, slots=True)
class Leg:
    """A stretch of the path: what one rank did, on the run's clock."""

    rank: int
    kind: str
    """`compute`, or `collective`: the transfer, from the last arrival on."""
    name: str
    """Of a collective."""
    start_ns: int
    end_ns: int
    waited_for_ns: int
    """Of a collective: how long the rank whose end lies on the path had waited in it."""


def critical_path(run: Run, step: int) -> list[Leg]:
    """The legs of the path through a step, first to last; PeepholeError for a step that is not there."""
    steps = run.tables["rank_steps"]
    mine = steps.ints("step") == step
    if not mine.any():
        known = sorted(set(steps.ints("step").tolist()))
        where = f"steps {known[0]} to {known[-1]} are there" if known else "no step was recorded"
        raise PeepholeError(f"There is no step {step}; {where}.")
    begin, rank_of = steps.ints("start_ns")[mine], steps.ints("rank")[mine]
    end = begin + steps.ints("dur_ns")[mine]
    first = {int(rank): int(moment) for rank, moment in zip(rank_of, begin, strict=True)}
    at = int(np.argmax(end))
    rank, moment = int(rank_of[at]), int(end[at])
    return _walk(run, first, rank, moment)


def _walk(run: Run, first: dict[int, int], rank: int, moment: int) -> list[Leg]:
    collectives, arrivals = run.tables["collectives"], run.tables["arrivals"]
    last_of, names = collectives.ints("last_rank"), collectives["name"]
    which, who = arrivals.ints("collective"), arrivals.ints("rank")
    start, done, wait = arrivals.ints("start_ns"), arrivals.ints("end_ns"), arrivals.ints("wait_ns")
    waits = last_of[which] >= 0
    legs: list[Leg] = []
    for _ in range(len(last_of) + 1):
        floor = first.get(rank, moment)
        rows = np.flatnonzero(waits & (who == rank) & (done <= moment) & (start >= floor))
        if not len(rows):
            legs.append(Leg(rank, "compute", "", min(floor, moment), moment, 0))
            break
        row = int(rows[np.argmax(done[rows])])
        came = int(start[row] + wait[row])
        if moment > done[row]:
            legs.append(Leg(rank, "compute", "", int(done[row]), moment, 0))
        legs.append(Leg(rank, "collective", str(names[int(which[row])]), came, int(done[row]), int(wait[row])))
        if came >= moment:  # a clock that is off: no way back
            break
        rank, moment = int(last_of[int(which[row])]), came
    return legs[::-1]
