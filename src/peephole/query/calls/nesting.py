"""Which slice lies in which: a lane of a track against the lanes above it, many tracks at once.

The caller of a slice is the slice of the row above that it lies within, or else the nearest one further up; one that
lies in none, as slices that merely overlap do, stands beside them.

Time belongs to the lowest slice that runs: what a slice takes is taken away from those above it, and so the self times
of a track add up to the time in which anything ran on it, however its slices lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
ROWS_UP: Final = 32
"""How far up a caller is looked for when the slice does not lie within the one above it."""


@dataclass(frozen=True, slots=True)
class Level:
    """Slices of one depth, sorted by time and disjoint; those of several tracks follow each other."""

    start: Ints
    end: Ints
    node: NDArray[np.int32]
    above: Level | None

    def ancestors(self) -> Iterator[Level]:
        """This one and those above it."""
        level: Level | None = self
        while level is not None:
            yield level
            level = level.above


def callers(above: Level, start: Ints, end: Ints) -> Ints:
    """For each slice the place of the one of the level above that it lies within, -1 for none."""
    place = np.searchsorted(above.start, start, "right") - 1
    return np.where((place >= 0) & (above.end[place] >= end), place, -1)


def far_callers(above: Level, start: Ints, end: Ints) -> NDArray[np.int32]:
    """Nodes of the callers further up than the level above, -1 where there is none."""
    node = np.full(len(start), -1, np.int32)
    left = np.arange(len(start))
    for up, level in enumerate(above.ancestors()):
        if not len(left) or up >= ROWS_UP:
            break
        place = callers(level, start[left], end[left])
        found = place >= 0
        node[left[found]] = level.node[place[found]]
        left = left[~found]
    return node


def taken(above: Level, start: Ints, end: Ints) -> Iterator[tuple[NDArray[np.int32], Ints]]:
    """Nodes, and the time that these slices take from them: of each moment from the lowest slice that ran until now."""
    for level in above.ancestors():
        some = end > start
        start, end = start[some], end[some]
        if not len(start):
            return
        first = np.searchsorted(level.end, start, "right")
        count = np.maximum(np.searchsorted(level.start, end, "left") - first, 0)
        at = np.cumsum(count) - count
        piece = np.repeat(np.arange(len(start)), count)
        other = first[piece] + np.arange(len(piece)) - at[piece]
        begin, past = np.maximum(start[piece], level.start[other]), np.minimum(end[piece], level.end[other])
        yield level.node[other], past - begin
        # what is left: before, between and behind what was taken
        place = np.arange(len(piece)) + piece
        starts, ends = np.empty(len(piece) + len(start), np.int64), np.empty(len(piece) + len(start), np.int64)
        heads = at + np.arange(len(start))
        starts[heads], ends[heads + count] = start, end
        starts[place + 1], ends[place] = past, begin
        start, end = starts, ends
