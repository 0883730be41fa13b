"""Several steps of a run together: what was lost in them, in which, and by whom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peephole.query.ranks.run import Run, step_rows


@dataclass(frozen=True, slots=True)
class RangeRank:
    """A rank in the range; ns in all of its steps."""

    rank: int
    own_ns: int
    over_ns: int
    """Own time over the median of each step."""
    wait_ns: int
    slow: int
    """Steps in which it made others wait."""


@dataclass(frozen=True, slots=True)
class RangeStep:
    """A step of the range."""

    step: int
    dur_ns: int
    lost_ns: int
    """What the slowest rank is over the median one; 0 where nobody was slow."""
    slowest: int
    """The rank with most own time."""


@dataclass(frozen=True, slots=True)
class StepRange:
    """What several steps were together."""

    first: int
    last: int
    steps: int
    dur_ns: int
    """From the begin of the first to the end of the last."""
    lost_ns: int
    median_own_ns: int
    """Of a rank in all of the steps."""
    mean_wait_ns: int
    """Of a rank in all of the steps."""
    ranks: list[RangeRank]
    """Most over the median first."""
    worst: list[RangeStep]
    """Most lost first."""


def step_range(run: Run, first: int, last: int) -> StepRange:
    """The steps from one to another, both included; PeepholeError where none lies there."""
    table = run.tables["rank_steps"]
    rows = step_rows(run, first, last)
    rank, step = table.ints("rank")[rows], table.ints("step")[rows]
    ranks, steps = _known(rank), _known(step)
    at = (np.searchsorted(steps, step), np.searchsorted(ranks, rank))
    begin = table.ints("start_ns")[rows]
    end = begin + table.ints("dur_ns")[rows]
    wait, slow = table.ints("wait_ns")[rows], np.asarray(table["slow"], np.bool_)[rows]
    own = np.full((len(steps), len(ranks)), np.nan)
    own[at] = table.ints("own_ns")[rows]
    median = np.floor(np.nanmedian(own, axis=1) if np.isnan(own).any() else np.median(own, axis=1))
    over = np.nansum(own - median[:, None], axis=0)
    lost = np.where(np.bincount(at[0], slow, len(steps)) > 0, np.nanmax(own, axis=1) - median, 0)
    starts, ends = np.full(len(steps), np.iinfo(np.int64).max), np.full(len(steps), np.iinfo(np.int64).min)
    np.minimum.at(starts, at[0], begin)
    np.maximum.at(ends, at[0], end)
    owns, slows = np.nansum(own, axis=0), np.bincount(at[1], slow, len(ranks))
    waits = np.zeros(len(ranks), np.int64)
    np.add.at(waits, at[1], wait)
    slowest = ranks[np.nanargmax(own, axis=1)]
    return StepRange(
        int(steps[0]),
        int(steps[-1]),
        len(steps),
        int(ends.max() - starts.min()),
        int(lost.sum()),
        int(np.median(owns)),
        int(waits.mean()),
        [
            RangeRank(int(ranks[i]), int(owns[i]), int(over[i]), int(waits[i]), int(slows[i]))
            for i in np.lexsort((ranks, -over))
        ],
        [
            RangeStep(int(steps[i]), int(ends[i] - starts[i]), int(lost[i]), int(slowest[i]))
            for i in np.lexsort((steps, -lost))
        ],
    )


def _known(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each value once, sorted: numbers of ranks and steps lie close, so that none has to be sorted."""
    low = int(values.min())
    if int(values.max()) - low > 4 * len(values) + 1000:
        return np.unique(values)
    found: NDArray[np.int64] = np.flatnonzero(np.bincount(values - low)) + low
    return found
