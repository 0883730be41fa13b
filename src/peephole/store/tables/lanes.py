"""Lanes: the rows of the timeline. Slices of one lane (track, depth) never overlap and lie together in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.store.tables.compiled_loops import compiled, first_fit, numba_loaded

Ints = NDArray[np.int64]
MAX_DEPTH: Final = 32_000
"""Rows of one track; the depth is an i16."""
CUT_SHORT: Final = f"slices that overlap more than {MAX_DEPTH:,} others of their track, cut short"
"""The problem that a capture counts when what is deeper ended up in its last row."""
_COMPILE_FROM: Final = 300_000
"""Slices from which compiled code is worth loading numba for."""
_LOOP_FROM: Final = 2_000
"""Slices from which compiled code is quicker where numba is there already."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """One entry per lane, sorted by track and depth: its rows are `first … first + count - 1` of `slices`."""

    track: NDArray[np.int32]
    depth: NDArray[np.int16]
    first: Ints
    count: Ints
    start: Ints
    """Begin of the lane's first slice, ns."""
    end: Ints
    """End of the lane's last slice, ns."""

    def __len__(self) -> int:
        return len(self.track)

    def find(self, track: int, depth: int) -> int:
        """The entry's number, or -1."""
        own = self.of_track(track)
        at = own.start + int(np.searchsorted(self.depth[own], depth))
        return at if at < own.stop and self.depth[at] == depth else -1

    def of_track(self, track: int) -> slice:
        """The entries of a track."""
        return slice(int(np.searchsorted(self.track, track, "left")), int(np.searchsorted(self.track, track, "right")))


def runs(*keys: NDArray[Any]) -> Ints:
    """Where a run of equal keys begins, plus the length at the end."""
    rows = len(keys[0])
    if rows == 0:
        return np.zeros(1, np.int64)
    change = np.zeros(rows, np.bool_)
    change[0] = True
    for key in keys:
        change[1:] |= key[1:] != key[:-1]
    return np.append(np.flatnonzero(change), rows).astype(np.int64)


def lanes_of(segments: Mapping[str, NDArray[Any]]) -> Lanes:
    """The lanes that these segments, stretches of rows within one row group each, make up."""
    bounds = runs(segments["track"], segments["depth"])
    first, last = bounds[:-1], bounds[1:] - 1
    count = np.add.reduceat(segments["count"], first) if len(first) else np.zeros(0, np.int64)
    track, depth, row = (segments[name][first] for name in ("track", "depth", "first"))
    return Lanes(track, depth, row, count, segments["start"][first], segments["end"][last])


def overlapping(start: Ints, dur: Ints) -> NDArray[np.bool_]:
    """For each slice but the first of rows sorted by start: whether it begins before its predecessor ends."""
    return start[1:] < start[:-1] + dur[:-1]


def sublanes(start: Ints, dur: Ints) -> NDArray[np.int32]:
    """First-fit rows for slices sorted by (start, longest first): each gets the lowest row that is free by then.

    Nested slices come out as their nesting, others beside each other.
    """
    return _fitted(start, start + dur)


def _fitted(start: Ints, end: Ints) -> NDArray[np.int32]:
    if len(start) >= _COMPILE_FROM or (numba_loaded() and len(start) > _LOOP_FROM):
        return np.array(compiled(first_fit)(start, end), np.int32)
    return np.array(first_fit(start.tolist(), end.tolist()), np.int32)


def more_sublanes(start: Ints, dur: Ints, ends: Ints) -> tuple[NDArray[np.int32], Ints]:
    """The same for slices that follow others, which fill row i until ends[i]; their rows, and the ends by then."""
    # what is there already stands for one slice a row, all of them before the first
    before = np.full(len(ends), np.iinfo(np.int64).min)
    until = np.concatenate([ends, start + dur])
    begin = np.concatenate([before, start])
    rows = _fitted(begin, until)
    after = np.full(int(rows.max(initial=-1)) + 1, np.iinfo(np.int64).min)
    np.maximum.at(after, rows, until)
    return rows[len(ends) :], after
