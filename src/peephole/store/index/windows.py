"""A window of one lane as it is drawn: slices themselves where they are wide enough, else buckets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.store.index.buckets import Entries, of_slices
from peephole.store.index.pyramid import Pyramid

Ints = NDArray[np.int64]
_RAW: Final = 2
"""Slices a pixel up to which they are given as they are."""

RawSlices = Callable[[int, int, int, int], tuple[Ints, Ints, NDArray[np.int32], int]]
"""(track, depth, t0, t1) to starts, durations, names' numbers and first row of the slices that overlap the window."""


@dataclass(frozen=True, slots=True)
class Buckets:
    """What to draw in a window of a lane, in order of time; nothing between entries is idle time.

    An entry is a slice (`width` is 0: exact times), a bucket of `width` ns, or several buckets that one slice fills.
    """

    width: int
    start: Ints
    """ns"""
    end: Ints
    """ns, exclusive"""
    busy: Ints
    """How many of these ns are taken."""
    count: NDArray[np.int64]
    """Slices that begin here; 0 where one that began earlier goes on."""
    row: Ints
    """Row of the longest slice that touches the entry."""
    name: NDArray[np.int32]
    """Number of its name in `Capture.names()`, -1 for none."""

    def __len__(self) -> int:
        return len(self.start)


def stored_level(pyramid: Pyramid, track: int, depth: int, t0: int, t1: int, pixels: int) -> int | None:
    """The level of the pyramid whose buckets are between half a pixel and two pixels wide; None: read the slices."""
    finest = _pixel(t0, t1, pixels).bit_length()
    chosen = None
    for level in pyramid.levels(track, depth):
        if level <= finest:
            chosen = level
    return chosen


def _pixel(t0: int, t1: int, pixels: int) -> int:
    return max(1, (t1 - t0) // max(1, pixels))


def lane_window(pyramid: Pyramid, raw: RawSlices, track: int, depth: int, t0: int, t1: int, pixels: int) -> Buckets:
    """The window [t0, t1) of a lane for that many pixels: about as many entries as pixels, at most four times."""
    chosen = stored_level(pyramid, track, depth, t0, t1, pixels)
    if chosen is not None:
        return _given(pyramid.window(track, depth, chosen, t0, t1), chosen)
    level = _pixel(t0, t1, pixels).bit_length() - 1
    low, high = t0 >> level, ((t1 - 1) >> level) + 1
    # whole buckets, so that those at the edges are as truthful as the others
    start, dur, name, first = raw(track, depth, low << level, high << level)
    if len(start) <= _RAW * pixels:
        ones = np.ones(len(start), np.int64)
        return Buckets(0, start, start + dur, dur, ones, np.arange(first, first + len(start)), name)
    entries = of_slices(start, dur, name, first, level)
    i = int(np.searchsorted(entries.high, low, "right"))
    j = int(np.searchsorted(entries.low, high, "left"))
    return _given(entries.part(i, max(i, j)), level)


def _given(entries: Entries, level: int) -> Buckets:
    return Buckets(
        1 << level,
        entries.low << level,
        entries.high << level,
        entries.busy,
        entries.count,
        entries.row,
        entries.name,
    )
