"""Whether all kernels together took longer: small changes that none shows by itself, and what the sum is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from peephole.query.compare.statistics import Floats, mann_whitney, median_interval
from peephole.query.compare.times import FEWEST, Thing, TimeRow, judged_alone, of_captures

if TYPE_CHECKING:
    from peephole.query.compare.results import KernelRow

_MOST: Final = 60
_GROUPS: Final = ("kernels", "copies")
"""What is added up: phases of the host lie inside each other."""


def total_rows(things: Sequence[Thing], noise: dict[tuple[str, str], float] | None = None) -> list[TimeRow]:
    """A row for all kernels together and one for all copies, of those that ran six times or more on both sides.

    The runs of each are divided into as many stretches as the one with fewest has runs; the first stretch of all of
    them is the first sample, and so on: what the machine did at a time is in all of its stretches. Each counts as often
    on both sides, so that only the time of a run is compared.
    """
    general = float(np.quantile(list(noise.values()), 0.95)) if noise else 0.0
    rows = []
    # where kernels run inside what they were compiled in, they alone are added up
    kinds = {thing.kind for thing in things}
    counted = {"kernel"} if "kernel" in kinds else kinds
    for group in _GROUPS:
        own = [thing for thing in things if thing.group == group and thing.kind in counted and _runs(thing) >= FEWEST]
        if len(own) < 2:
            continue  # of one kernel there is a row already
        several = max(len(own[0].a), len(own[0].b)) > 1
        sides = [_captures(own, side) if several else _stretches(own, side) for side in ("a", "b")]
        if min(len(side) for side in sides) < (1 if several else FEWEST):
            continue
        p = of_captures(*sides) if several else mann_whitney(*sides)
        runs = [[run for thing in own for runs in getattr(thing, side) for run in runs] for side in ("a", "b")]
        count = [sum(run.count for run in side) for side in runs]
        total = [
            sum(run.warm for run in side) / captures
            for side, captures in zip(runs, (len(own[0].a), len(own[0].b)), strict=True)
        ]
        median_a, median_b = (float(np.median(side)) for side in sides)
        interval_a, interval_b = (median_interval(side) for side in sides)
        row = TimeRow(
            group, f"all {group}", f"all {group}", count[0], count[1], len(sides[0]), len(sides[1]), median_a, median_b,
            interval_a, interval_b, total[0], total[1], p, True, "unsure", several,
        )  # fmt: skip
        rows.append(judged_alone(row, general))
    return rows


def _runs(thing: Thing) -> int:
    """The runs of the side that has fewer of them."""
    return min(sum(len(run.dur) for runs in side for run in runs) for side in (thing.a, thing.b))


def _weight(thing: Thing) -> int:
    return max(sum(run.count for runs in side for run in runs) // len(side) for side in (thing.a, thing.b))


def _stretches(things: Sequence[Thing], side: str) -> Floats:
    """The time of all of them in each stretch of the one capture of a side."""
    parts = min(_MOST, *(_runs(thing) for thing in things))
    total = np.zeros(parts)
    for thing in things:
        dur = np.concatenate([run.dur for run in getattr(thing, side)[0]])
        edges = np.linspace(0, len(dur), parts + 1).astype(np.int64)
        total += _weight(thing) * np.array([np.median(dur[low:high]) for low, high in pairwise(edges.tolist())])
    return total


def _captures(things: Sequence[Thing], side: str) -> Floats:
    """The time of all of them in each capture of a side; none when a capture lacks one of them."""
    total = np.zeros(len(getattr(things[0], side)))
    for thing in things:
        for at, runs in enumerate(getattr(thing, side)):
            dur = np.concatenate([run.dur for run in runs]) if runs else np.zeros(0)
            if not len(dur):
                return np.zeros(0)
            total[at] += _weight(thing) * float(np.median(dur))
    return total


@dataclass(frozen=True, slots=True)
class Portion:
    """A part of the change of the time of all kernels."""

    name: str
    kernels: int
    ns: float


def portions(kernels: Sequence[KernelRow]) -> list[Portion]:
    """What the change of all kernels' time is made of: faster and slower ones, new ones, gone ones, the rest."""
    sums: dict[str, list[float]] = {}
    for row in kernels:
        if row.time is None or not row.is_kernel:
            continue
        claimed = row.time.verdict if row.time.verdict in ("slower", "faster") else ""
        name = {"added": "new", "removed": "gone"}.get(row.state, claimed or "not shown to differ")
        sums.setdefault(name, []).append(row.time.total_b - row.time.total_a)
    order = ("slower", "faster", "new", "gone", "not shown to differ")
    return [Portion(name, len(sums[name]), sum(sums[name])) for name in order if name in sums]
