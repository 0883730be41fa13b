"""The row of a slice, from what a row of SQL tells about it."""

from __future__ import annotations

import numpy as np

from peephole.store.capture import Capture

NOT_THERE = -1


def row_by_correlation(capture: Capture, correlation: int) -> int:
    """The row of the slice that flows and uses name by that number, -1 when there is none."""
    first = 0
    for frame in capture.scan("slices", ["correlation"]) if correlation else ():
        hits = np.flatnonzero(frame["correlation"] == correlation)
        if len(hits):
            return first + int(hits[0])
        first += len(frame)
    return NOT_THERE


def row_by_start(capture: Capture, track: int, start: int, depth: int | None = None) -> int:
    """The row of the slice of a track that begins at that moment, the outermost where several do; -1 when none does."""
    lanes = capture.lanes()
    for lane in np.flatnonzero(lanes.track == track).tolist():
        own = int(lanes.depth[lane])
        if depth is not None and own != depth:
            continue
        frame, first = capture.slices(track, own, start, start + 1, ("start",))
        hits = np.flatnonzero(frame["start"] == start)
        if len(hits):
            return first + int(hits[0])
    return NOT_THERE
