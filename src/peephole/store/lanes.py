"""Lanes: the rows of the timeline. Slices of one lane (track, depth) never overlap and lie together in the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


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
        low, high = np.searchsorted(self.track, track, "left"), np.searchsorted(self.track, track, "right")
        at = int(low + np.searchsorted(self.depth[low:high], depth))
        return at if at < high and self.depth[at] == depth else -1

    def of_track(self, track: int) -> slice:
        """The entries of a track."""
        return slice(int(np.searchsorted(self.track, track, "left")), int(np.searchsorted(self.track, track, "right")))


def empty_lanes() -> Lanes:
    """Lanes of a capture without slices."""
    zero = np.zeros(0, np.int64)
    return Lanes(np.zeros(0, np.int32), np.zeros(0, np.int16), zero, zero, zero, zero)


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


def overlaps(start: Ints, dur: Ints) -> bool:
    """Whether slices of one lane, sorted by start, overlap."""
    return len(start) > 1 and bool(np.any(start[1:] < start[:-1] + dur[:-1]))


def sublanes(start: Ints, dur: Ints) -> NDArray[np.int32]:
    """First-fit rows for slices sorted by (start, longest first): each gets the first row that is free by then."""
    return _first_fit(start, dur)


def _first_fit(start: Ints, dur: Ints) -> NDArray[np.int32]:
    rows = np.zeros(len(start), np.int32)
    ends: list[int] = []
    for i, (begin, length) in enumerate(zip(start.tolist(), dur.tolist(), strict=True)):
        for row, end in enumerate(ends):
            if end <= begin:
                ends[row] = begin + length
                rows[i] = row
                break
        else:
            rows[i] = len(ends)
            ends.append(begin + length)
    return rows
