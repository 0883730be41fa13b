"""The map of ranks by steps: one figure a cell, sorted, merged to as many rows and columns as a screen has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.query.ranks.run import Run

Floats = NDArray[np.float32]
METRICS: Final = ("own", "wait", "duration", "busy", "communication")
ORDERS: Final = ("slow", "rank", "host")


@dataclass(frozen=True, slots=True)
class Heat:
    """Rows of the map, top to bottom. A row stands for one rank, or for several with the worst of them in each cell."""

    ranks: list[int]
    """The rank of each row; of several the one whose mean is worst."""
    counts: list[int]
    """How many ranks a row stands for."""
    steps: list[int]
    """The step of each column; of several the first."""
    lasts: list[int]
    """The last step of each column: another one only where a column stands for several."""
    all_steps: int
    values: Floats
    """Row by row: own time and length over the median of the step, others as a share of the step; NaN is none."""
    means: list[float]
    """ns, of each row over its steps: own time over the median, or the figure itself."""


def heat(run: Run, metric: str = "own", order: str = "slow", rows: int = 128, columns: int = 2000) -> Heat:
    """The map for a metric of METRICS in an order of ORDERS."""
    table = run.tables["rank_steps"]
    rank, step = table.ints("rank"), table.ints("step")
    ranks = np.array(sorted({row.rank for row in run.ranks()}), np.int64)
    steps = np.unique(step)
    figure, dur = (np.full((len(ranks), len(steps)), np.nan) for _ in range(2))
    at = (np.searchsorted(ranks, rank), np.searchsorted(steps, step))
    name = {"own": "own_ns", "wait": "wait_ns", "duration": "dur_ns"}.get(metric, f"{metric}_ns")
    figure[at] = table.ints(name)
    dur[at] = table.ints("dur_ns")
    over = metric in ("own", "duration")
    with np.errstate(all="ignore"):
        median = _quietly(lambda: np.nanmedian(figure, axis=0)) if figure.size else figure.sum(axis=0)
        shown = figure / median - 1 if over else figure / dur
        mean = (
            _quietly(lambda: np.nanmean(figure - median if over else figure, axis=1))
            if figure.size
            else figure.sum(axis=1)
        )
    mean = np.nan_to_num(mean)
    hosts = {row.rank: row.host for row in run.ranks()}
    if order == "slow":
        # a rank that waits is one that others are slow for
        sorted_ = np.lexsort((ranks, mean if metric == "wait" else -mean))
    elif order == "host":
        sorted_ = np.array(sorted(range(len(ranks)), key=lambda i: (hosts[int(ranks[i])], ranks[i])), np.int64)
    else:
        sorted_ = np.arange(len(ranks))
    bounds = _parts(len(ranks), rows)
    groups = [sorted_[a:b] for a, b in pairwise(bounds)]
    worst = [group[np.argmax(mean[group])] for group in groups]
    cells = _merged(shown[sorted_], bounds, axis=0) if len(ranks) > rows else shown[sorted_]
    cuts = _parts(len(steps), columns)
    if len(steps) > columns:
        cells = _merged(cells, cuts, axis=1)
    return Heat(
        [int(ranks[i]) for i in worst],
        [len(group) for group in groups],
        [int(steps[i]) for i in cuts[:-1]],
        [int(steps[i - 1]) for i in cuts[1:]],
        len(steps),
        cells.astype(np.float32).ravel(),
        [float(mean[i]) for i in worst],
    )


def _parts(count: int, most: int) -> list[int]:
    """Where each of at most `most` parts begins, and the end."""
    parts = min(count, most)
    return [count * i // parts for i in range(parts)] + [count] if parts else [0]


def _merged(values: NDArray[np.float64], bounds: list[int], axis: int) -> NDArray[np.float64]:
    """The largest of each part; nothing where all of it is nothing."""
    least = np.where(np.isnan(values), -np.inf, values)
    merged = np.maximum.reduceat(least, bounds[:-1], axis=axis)
    found: NDArray[np.float64] = np.where(np.isinf(merged), np.nan, merged)
    return found


def _quietly(work: Callable[[], NDArray[np.float64]]) -> NDArray[np.float64]:
    """A mean or median over what is there; a column of nothing is no warning."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return work()
