"""The time axis of a tape's picture: stretches of time with idle folded away between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

STRETCH_GAP: Final = 16.0
"""px between two stretches."""
SHORTEST_STRETCH: Final = 64.0
"""px of the shortest stretch."""
STRETCH_MARGIN: Final = 14.0
"""px between a stretch's edge and its first event."""
MOST_FOLDS: Final = 6
IDLE: Final = 0.6
WILD: Final = 0.97
"""Shares of the drawn time from which on a gap is folded: an idle one, and one that something runs through."""
CALM: Final = 1_000_000_000
"""ns below which a gap stays where nothing but it would be folded: two moments with nothing around them."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Times from `start` to `end` (ns) drawn from `x0` to `x1`."""

    start: int
    end: int
    x0: float
    x1: float

    def x(self, time: Ints) -> Floats:
        """Where times of this stretch are drawn."""
        inner0, inner1 = self.x0 + STRETCH_MARGIN, self.x1 - STRETCH_MARGIN
        if self.end == self.start:
            return np.full(len(time), (inner0 + inner1) / 2)
        share = (time - self.start) / (self.end - self.start)
        return np.asarray(inner0 + np.clip(share, 0, 1) * (inner1 - inner0))


@dataclass(frozen=True, slots=True)
class Axis:
    """All stretches from left to right."""

    stretches: tuple[Stretch, ...]

    def x(self, time: Ints) -> Floats:
        """Where times are drawn; a folded time falls on the nearest edge."""
        starts = np.array([stretch.start for stretch in self.stretches], np.int64)
        which = np.maximum(np.searchsorted(starts, time, side="right") - 1, 0)
        found = np.zeros(len(time))
        for i, stretch in enumerate(self.stretches):
            rows = which == i
            found[rows] = stretch.x(time[rows])
        return found

    def x_of(self, time: int) -> float:
        """The same for one time."""
        return float(self.x(np.array([time], np.int64))[0])

    @property
    def folded(self) -> int:
        """ns that are not drawn."""
        return sum(b.start - a.end for a, b in zip(self.stretches, self.stretches[1:], strict=False))


def fold(
    times: Ints, lead: int | None, fold_idle: bool, spans: tuple[Ints, Ints] | None = None
) -> list[tuple[int, int]]:
    """The stretches of time to draw. `lead` is when the work begins: what was before has a stretch of its own.

    Besides that, a gap that is most of the picture is folded when nothing is known to have run through it (`spans`);
    one that is all of it is folded in any case, for then a clock went wild. `spans` are begins and ends.
    """
    times = np.sort(times)
    # not np.unique, which loads numpy.ma: a tenth of what a page with a tape takes to open
    times = times[np.diff(times, prepend=times[0] - 1) > 0]
    first, last = int(times[0]), int(times[-1])
    if not fold_idle:
        return [(first, last)]
    parts = [(first, last)]
    main = 0
    if lead is not None and first < lead <= last and lead - first > 0.12 * (last - first):
        parts = [(first, int(times[np.searchsorted(times, lead) - 1])), (lead, last)]
        main = 1
    while len(parts) < MOST_FOLDS:
        total = sum(b - a for a, b in parts[main:])
        gaps = [(b - a, a, b) for start, end in parts[main:] for a, b in _largest_gap(times, start, end)]
        if not gaps:
            break
        gap, a, b = max(gaps)
        running = spans is not None and bool(((spans[0] <= a) & (spans[1] >= b)).any())
        if gap < (WILD if running else IDLE) * total or (gap == total and gap < CALM):
            break
        where = next(i for i, (start, end) in enumerate(parts) if i >= main and start <= a and b <= end)
        parts[where : where + 1] = [(parts[where][0], a), (b, parts[where][1])]
    return parts


def _largest_gap(times: Ints, start: int, end: int) -> list[tuple[int, int]]:
    inside = times[(times >= start) & (times <= end)]
    if len(inside) < 2:
        return []
    at = int(np.argmax(np.diff(inside)))
    return [(int(inside[at]), int(inside[at + 1]))]


def layout(parts: Sequence[tuple[int, int]], left: float, right: float, lead: bool) -> Axis:
    """Shares the width out: each stretch by its duration, none below a least width, a leading one kept small."""
    room = right - left - STRETCH_GAP * (len(parts) - 1)
    widths = [0.0] * len(parts)
    flexible = list(range(len(parts)))
    if lead and len(parts) > 1:
        widths[0] = SHORTEST_STRETCH + 16 if parts[0][0] == parts[0][1] else min(170.0, room * 0.2)
        flexible = flexible[1:]
        room -= widths[0]
    total = sum(parts[i][1] - parts[i][0] for i in flexible)
    small = [i for i in flexible if total == 0 or (parts[i][1] - parts[i][0]) / total * room < SHORTEST_STRETCH]
    large = [i for i in flexible if i not in small] or [max(flexible, key=lambda i: parts[i][1] - parts[i][0])]
    small = [i for i in small if i not in large]
    for i in small:
        widths[i] = SHORTEST_STRETCH
    rest = room - SHORTEST_STRETCH * len(small)
    of_large = sum(parts[i][1] - parts[i][0] for i in large)
    for i in large:
        widths[i] = rest * ((parts[i][1] - parts[i][0]) / of_large if of_large else 1 / len(large))
    stretches = []
    x = left
    for (a, b), w in zip(parts, widths, strict=True):
        stretches.append(Stretch(a, b, x, x + w))
        x += w + STRETCH_GAP
    return Axis(tuple(stretches))


def ticks(stretch: Stretch, spacing: float = 110.0) -> tuple[list[tuple[float, str]], list[float]]:
    """Labelled and small ticks of a stretch, as x and text."""
    inner = stretch.x1 - stretch.x0 - 2 * STRETCH_MARGIN
    seconds = (stretch.end - stretch.start) / 1e9
    if seconds <= 0 or inner <= 0:
        text = _seconds(stretch.start / 1e9, 3)
        return [((stretch.x0 + stretch.x1) / 2, text)], []
    step = _nice(seconds / max(1.0, inner / spacing))
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    labelled = [(stretch_x(stretch, t), _seconds(t, decimals)) for t in _multiples(stretch, step)]
    small = [stretch_x(stretch, t) for t in _multiples(stretch, step / 4)]
    if not labelled:
        # too short for a round number: its beginning is better than nothing
        labelled = [(stretch_x(stretch, stretch.start / 1e9), _seconds(stretch.start / 1e9, 3))]
    return labelled, small


def stretch_x(stretch: Stretch, seconds: float) -> float:
    """Where a moment in seconds is drawn."""
    return float(stretch.x(np.array([round(seconds * 1e9)], np.int64))[0])


def _multiples(stretch: Stretch, step: float) -> list[float]:
    first = math.ceil(stretch.start / 1e9 / step - 1e-9)
    last = math.floor(stretch.end / 1e9 / step + 1e-9)
    return [i * step for i in range(first, min(last, first + 1000) + 1)]


def _nice(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    for factor in (1, 2, 5, 10):
        if factor * power >= step * 0.999:
            return float(factor * power)
    return 10 * power


def _seconds(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}"
