"""The times of both sides next to each other, with a verdict that chance and a noisy machine do not give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median_low
from typing import Final, Literal

import numpy as np

from peephole.query.compare.runs import WARMING, Runs
from peephole.query.compare.statistics import (
    Floats,
    benjamini_hochberg,
    mann_whitney,
    median_interval,
    t_test,
)

Verdict = Literal["slower", "faster", "same", "unsure"]
ALPHA: Final = 0.05
FEWEST: Final = 6
"""Runs a side below which nothing is claimed."""
FLOOR: Final = 0.03
FLOOR_NS: Final = 1000
"""Changes of the median below either are none, whatever p says."""
SHARE: Final = 0.005
"""Of the group's time that a change of the total has to make up."""
Sets = Sequence[Sequence[Runs]]
"""The runs of one thing in each capture of a side."""


@dataclass(frozen=True, slots=True)
class TimeRow:
    """One kernel, copy, host phase or message on both sides; times in ns."""

    group: str
    name: str
    name_b: str
    count_a: int
    """All runs, its first run too, of the capture in the middle of those that have any."""
    count_b: int
    n_a: int
    """Runs that are compared."""
    n_b: int
    median_a: float
    median_b: float
    interval_a: tuple[float, float] | None
    interval_b: tuple[float, float] | None
    total_a: float
    """Of one capture: the mean over those of the side. The first run of a kernel or copy is left out of it too."""
    total_b: float
    p: float
    """Corrected for the number of tests; 1 where none was made."""
    tested: bool
    verdict: Verdict
    captures: bool = False
    """Whether medians of captures were compared."""

    @property
    def change(self) -> float:
        """Of the median, as a share; 0 when it is not known."""
        return self.median_b / self.median_a - 1 if self.median_a > 0 and self.n_b else 0.0


@dataclass(frozen=True, slots=True)
class Thing:
    """What is to be timed: the runs of every capture of either side that are this thing's."""

    group: str
    name: str
    name_b: str
    a: list[list[Runs]]
    b: list[list[Runs]]
    kind: str = "kernel"
    """Of kernels: kernel, or what else was compiled and ran with kernels inside it."""


def time_rows(
    things: Sequence[Thing], whole: dict[str, tuple[float, float]], noise: dict[tuple[str, str], float] | None = None
) -> list[TimeRow]:
    """A row for each, those whose total changed most first. `whole` is the time of each group on either side.

    `noise` has what the medians of two recordings of one program differ by, as a share, by group and name.
    """
    rows = [_row(thing) for thing in things]
    tested = [at for at, row in enumerate(rows) if row.tested]
    general = float(np.quantile(list(noise.values()), 0.95)) if noise else 0.0
    for at, p in zip(tested, benjamini_hochberg([rows[at].p for at in tested]), strict=True):
        own = noise.get((rows[at].group, rows[at].name), general) if noise else 0.0
        rows[at] = _judged(rows[at], p, whole.get(rows[at].group, (0.0, 0.0)), max(FLOOR, general, own))
    return sorted(rows, key=lambda row: (-abs(row.total_b - row.total_a), row.group, row.name))


def noise_of(rows: Sequence[TimeRow]) -> dict[tuple[str, str], float]:
    """By how much medians of two recordings of one program differ."""
    return {(row.group, row.name): abs(row.change) for row in rows if min(row.n_a, row.n_b) >= FEWEST}


def _row(thing: Thing) -> TimeRow:
    joined, middle, count, total = [], [], [], []
    warming = thing.group in WARMING
    for side in (thing.a, thing.b):
        per_capture = [np.concatenate([run.dur for run in runs]) for runs in side if runs]
        joined.append(np.concatenate(per_capture) if per_capture else np.zeros(0))
        middle.append(np.array([float(np.median(own)) for own in per_capture if len(own)]))
        count.append(_launches(side))
        times = [run.warm if warming else float(run.total) for runs in side for run in runs]
        total.append(sum(times) / max(len(side), 1))
    a, b = joined
    several = max(len(thing.a), len(thing.b)) > 1
    tested = min(len(a), len(b)) >= FEWEST and min(len(middle[0]), len(middle[1])) >= 1
    p = 1.0
    if tested and several:
        p = of_captures(*middle)
    elif tested:
        p = mann_whitney(a, b)
    medians = [float(np.median(own)) if len(own) else 0.0 for own in (middle if several else joined)]
    return TimeRow(
        thing.group, thing.name, thing.name_b, count[0], count[1], len(a), len(b), medians[0], medians[1],
        median_interval(a), median_interval(b), total[0], total[1], p, tested, "unsure", several,
    )  # fmt: skip


def _launches(side: Sets) -> int:
    """How often it ran in one capture: the one in the middle of those in which it ran."""
    return median_low([sum(run.count for run in runs) for runs in side if runs] or [0])


def of_captures(a: Floats, b: Floats) -> float:
    """The p of medians of captures: of few of them by Student's test, since ranks of few say nothing."""
    return mann_whitney(a, b) if min(len(a), len(b)) >= FEWEST else t_test(a, b)


def judged_alone(row: TimeRow, noise: float) -> TimeRow:
    """A row that is one test by itself, with its verdict."""
    return _judged(row, row.p, (0.0, 0.0), max(FLOOR, noise))


def _judged(row: TimeRow, p: float, whole: tuple[float, float], floor: float) -> TimeRow:
    away = row.median_b - row.median_a
    large = abs(away) >= max(floor * row.median_a, FLOOR_NS)
    # what the same number of runs would take more or less: how often it ran is another question
    matters = abs(away) * max(row.count_a, row.count_b) >= SHARE * max(*whole, 1.0)
    if p < ALPHA and large and matters:
        return replace(row, p=p, verdict="slower" if away > 0 else "faster")
    # too short to be claimed is not the same either
    return replace(row, p=p, verdict="unsure" if away and abs(away) >= floor * row.median_a else "same")


def ratio_interval(row: TimeRow) -> tuple[float, float] | None:
    """Between which two the change of the median lies, as shares; None when that is not known."""
    if row.interval_a is None or row.interval_b is None or min(*row.interval_a, *row.interval_b) <= 0:
        return None
    low, high = row.interval_b[0] / row.interval_a[1] - 1, row.interval_b[1] / row.interval_a[0] - 1
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


__all__ = ["Floats", "Thing", "TimeRow", "Verdict", "noise_of", "ratio_interval", "time_rows"]
