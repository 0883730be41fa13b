"""The critical path over ranks through a step: back from its end, in a collective to the rank that came last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from peephole.query.ranks.intervals import Ints
from peephole.query.ranks.run import Run, step_rows

_CLOCKS_APART: Final = 1_000_000
"""ns by which a collective may seem to end behind its step: steps and collectives are timed by different clocks."""


@dataclass(frozen=True, slots=True)
class Leg:
    """A stretch of the path: what one rank did, on the run's clock."""

    rank: int
    kind: str
    """`compute`, or `collective`: the transfer, from the last arrival on."""
    name: str
    """Of a collective; of computing the slice that took longest in it, where the rank's capture is there."""
    start_ns: int
    end_ns: int
    waited_for_ns: int
    """Of a collective: how long the rank whose end lies on the path had waited in it."""
    waited_for: int = -1
    """Of a collective: the rank that came last to it, which the path goes on with."""


def critical_path(run: Run, step: int) -> list[Leg]:
    """The legs of the path through a step, first to last; PeepholeError for a step that is not there."""
    steps = run.tables["rank_steps"]
    mine = step_rows(run, step)
    begin, rank_of = steps.ints("start_ns")[mine], steps.ints("rank")[mine]
    end = begin + steps.ints("dur_ns")[mine]
    first = {int(rank): int(moment) for rank, moment in zip(rank_of, begin, strict=True)}
    at = int(np.argmax(end))
    return _walk(run, first, int(rank_of[at]), int(end[at]))


def named_path(run: Run, step: int, longest: Callable[[Run, int, int, int], str]) -> list[Leg]:
    """The path with what was computed in each leg: `longest` says the name of the slice that took most of it."""
    return [
        replace(leg, name=longest(run, leg.rank, leg.start_ns, leg.end_ns)) if leg.kind == "compute" else leg
        for leg in critical_path(run, step)
    ]


def _walk(run: Run, first: dict[int, int], rank: int, moment: int) -> list[Leg]:
    collectives = run.tables["collectives"]
    last_of, names = collectives.ints("last_rank"), collectives["name"]
    # only what can lie within the step is read: 30 million arrivals are not
    near = np.flatnonzero(
        (last_of >= 0) & (collectives.ints("end_ns") >= min(first.values())) & (collectives.ints("start_ns") <= moment)
    )
    wanted = ("collective", "rank", "start_ns", "end_ns", "wait_ns", "held")
    table: dict[str, Ints] = {name: np.zeros(0, np.int64) for name in wanted}
    if len(near):
        table = run.tables["arrivals"].between("collective", int(near.min()), int(near.max()), wanted)
    which, who, start, done, wait, held = (table[name] for name in wanted)
    # one that ran beside computing held nobody up
    waits = (last_of[which] >= 0) & (held > 0)
    legs: list[Leg] = []
    late = (who == rank) & (start < moment) & (done > moment) & (done <= moment + _CLOCKS_APART)
    done = np.where(late, moment, done)
    for _ in range(len(last_of) + 1):
        floor = first.get(rank, moment)
        rows = np.flatnonzero(waits & (who == rank) & (done <= moment) & (start >= floor))
        if not len(rows):
            legs.append(Leg(rank, "compute", "", min(floor, moment), moment, 0))
            break
        row = int(rows[np.argmax(done[rows])])
        came, index = int(start[row] + wait[row]), int(which[row])
        if moment > done[row]:
            legs.append(Leg(rank, "compute", "", int(done[row]), moment, 0))
        facts = (str(names[index]), came, int(done[row]), int(wait[row]))
        legs.append(Leg(rank, "collective", *facts, int(last_of[index])))
        if came >= moment:  # a clock that is off: no way back
            break
        rank, moment = int(last_of[index]), came
    return legs[::-1]
