"""A value over time (a counter, the memory of a device): smallest, largest and mean of any window, pixel by pixel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_FAN: Final = 16
LARGEST: Final = 1e270
"""A value, which multiplied by any time is still a number."""


@dataclass(frozen=True, slots=True)
class SeriesWindow:
    """One entry per pixel that has a value; `start` is the pixel's begin, ns."""

    width: float
    """ns of a pixel"""
    start: Ints
    low: Floats
    high: Floats
    mean: Floats
    """Weighted by time."""


class Series:
    """A step function: `value[i]` holds from `time[i]` to `time[i + 1]`, the last one until `end`."""

    def __init__(self, time: Ints, value: Floats, end: int) -> None:
        value = np.clip(value, -LARGEST, LARGEST)
        self.time = time
        self.value = value
        # a last value at the very end is a value all the same
        self.end = max(end, int(time[-1]) + 1) if len(time) else end
        lengths = np.diff(time, append=self.end).astype(np.float64)
        self._area = np.concatenate([[0.0], np.cumsum(value * lengths)])
        self._low = _levels(value, np.minimum)
        self._high = _levels(value, np.maximum)

    def __len__(self) -> int:
        return len(self.time)

    def peak(self) -> tuple[int, float]:
        """When the value was largest for the first time, and what it was; (0, 0) of none."""
        if not len(self.value):
            return 0, 0.0
        at = int(np.argmax(self.value))
        return int(self.time[at]), float(self.value[at])

    def least(self) -> float:
        """The smallest value; 0 of none."""
        return float(self.value.min()) if len(self.value) else 0.0

    def window(self, t0: int, t1: int, pixels: int) -> SeriesWindow:
        """The window [t0, t1) on that many pixels."""
        pixels = max(1, min(pixels, t1 - t0)) if t1 > t0 else 1
        edges = t0 + (np.arange(pixels + 1, dtype=np.int64) * max(1, t1 - t0)) // pixels
        begin, stop = edges[:-1], edges[1:]
        # steps that hold somewhere in a pixel: from the one that holds at its begin to the last before its end
        first = np.searchsorted(self.time, begin, "right") - 1
        last = np.searchsorted(self.time, stop, "left")
        ok = (last > np.maximum(first, 0)) & (begin < self.end) if len(self.time) else np.zeros(pixels, np.bool_)
        begin, stop = begin[ok], np.minimum(stop[ok], self.end)
        first, last = np.maximum(first[ok], 0), last[ok]
        low = _reduce(self._low, first, last, np.minimum)
        high = _reduce(self._high, first, last, np.maximum)
        from_first = np.maximum(begin, self.time[first])
        area = self._integral(stop) - self._integral(from_first)
        mean = area / np.maximum(1, stop - from_first)
        return SeriesWindow((t1 - t0) / pixels, begin, low, high, np.clip(mean, low, high))

    def _integral(self, time: Ints) -> Floats:
        place = np.maximum(np.searchsorted(self.time, time, "right") - 1, 0)
        result: Floats = self._area[place] + self.value[place] * (time - self.time[place])
        return result


def _levels(value: Floats, best: np.ufunc) -> list[Floats]:
    levels = [value]
    while len(levels[-1]) > _FAN:
        below = levels[-1]
        levels.append(best.reduceat(below, np.arange(0, len(below), _FAN)))
    return levels


def _reduce(levels: list[Floats], first: Ints, last: Ints, best: np.ufunc) -> Floats:
    """The best of value[first:last] of each pixel, from the coarsest level that fits into each."""
    found = levels[0][first] if len(first) else np.zeros(0)
    low, high = first.copy(), last.copy()
    for number, level in enumerate(levels):
        top = number == len(levels) - 1
        active = np.flatnonzero(low < high)
        if not len(active):
            break
        a, b = low[active], high[active]
        up_a, up_b = (a + _FAN - 1) // _FAN, b // _FAN
        if top:
            up_a, up_b = np.zeros_like(a), np.zeros_like(b)
        whole = up_a < up_b
        # what does not fill a unit of the next level is taken here: at most two times _FAN values
        found[active] = _ends(level, a, np.where(whole, up_a * _FAN, b), found[active], best)
        found[active] = _ends(level, np.where(whole, up_b * _FAN, b), b, found[active], best)
        low[active] = np.where(whole, up_a, 0)
        high[active] = np.where(whole, up_b, 0)
    return found


def _ends(level: Floats, a: Ints, b: Ints, found: Floats, best: np.ufunc) -> Floats:
    while len(some := np.flatnonzero(a < b)):
        found = found.copy()
        found[some] = best(found[some], level[a[some]])
        a = a.copy()
        a[some] += 1
    return found


def held(alloc: Ints, free: Ints, size: Ints, end: int) -> Series:
    """The bytes that buffers hold over time."""
    freed = free >= 0
    times = np.concatenate([alloc, free[freed]])
    change = np.concatenate([size, -size[freed]])
    order = np.argsort(times, kind="stable")
    times, total = times[order], np.cumsum(change[order])
    # of several changes at one moment the sum counts
    last = np.append(times[1:] != times[:-1], True) if len(times) else np.zeros(0, np.bool_)
    return Series(times[last], total[last].astype(np.float64), end)
