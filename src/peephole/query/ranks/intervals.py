"""Sorted intervals that do not overlap: union, length, intersection. Columns of ns, no object per interval."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class Intervals(NamedTuple):
    """Begins and ends, in order; each begins after the one before has ended."""

    start: Ints
    end: Ints

    def length(self) -> int:
        """Their lengths together."""
        return int((self.end - self.start).sum())

    def within(self, start: int, end: int) -> Intervals:
        """Their parts between two moments."""
        first = int(np.searchsorted(self.end, start, "right"))
        past = int(np.searchsorted(self.start, end, "left"))
        return Intervals(np.maximum(self.start[first:past], start), np.minimum(self.end[first:past], end))


NOTHING = Intervals(np.zeros(0, np.int64), np.zeros(0, np.int64))


def union(start: Ints, end: Ints) -> Intervals:
    """The time in which at least one of these runs."""
    keep = end > start
    start, end = start[keep], end[keep]
    if not len(start):
        return NOTHING
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    new = np.append(True, start[1:] > end[:-1])
    last = np.append(np.flatnonzero(new)[1:] - 1, len(start) - 1)
    return Intervals(start[new], end[last])


def both(a: Intervals, b: Intervals) -> Intervals:
    """The time in which one of either runs."""
    if not len(a.start) or not len(b.start):
        return NOTHING
    # each of b against the stretch of a that it meets
    first = np.searchsorted(a.end, b.start, "right")
    past = np.searchsorted(a.start, b.end, "left")
    count = np.maximum(past - first, 0)
    of_b = np.repeat(np.arange(len(b.start)), count)
    of_a = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
    return Intervals(np.maximum(a.start[of_a], b.start[of_b]), np.minimum(a.end[of_a], b.end[of_b]))


def lengths_within(parts: Intervals, start: Ints, end: Ints) -> Ints:
    """For each stretch from `start` to `end`, how much of it these intervals cover."""
    if not len(parts.start):
        return np.zeros(len(start), np.int64)
    before = np.append(0, np.cumsum(parts.end - parts.start))

    def until(moment: Ints) -> Ints:
        at = np.searchsorted(parts.start, moment, "right") - 1
        inside = np.minimum(moment, parts.end[np.maximum(at, 0)]) - parts.start[np.maximum(at, 0)]
        covered: Ints = np.where(at < 0, 0, before[np.maximum(at, 0)] + inside)
        return covered

    return until(end) - until(start)
