"""A window of the timeline as it is drawn: lanes as slices or buckets, values pixel by pixel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peephole.store.capture import Capture
from peephole.store.index.windows import Buckets

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LaneWindow:
    """What to draw of one lane, in order of time; between entries nothing ran."""

    width: int
    """ns of a bucket; 0 when the entries are slices."""
    start: Ints
    """ns on the capture's clock"""
    end: Ints
    busy: NDArray[np.floating]
    """Share of an entry's time that is taken, 0 … 1."""
    count: Ints
    """Slices that begin there."""
    row: Ints
    """Of the longest slice."""
    name: NDArray[np.int32]
    """Number of its name, -1 for none."""

    def __len__(self) -> int:
        return len(self.start)


def lane_windows(capture: Capture, lanes: Sequence[tuple[int, int]], t0: int, t1: int, pixels: int) -> list[LaneWindow]:
    """The lanes (track, depth) of [t0, t1) as they are drawn on that many pixels."""
    return [
        LaneWindow(lane.width, lane.start, lane.end, _busy_shares(lane), lane.count, lane.row, lane.name)
        for lane in capture.windows(lanes, t0, t1, pixels)
    ]


def _busy_shares(lane: Buckets) -> NDArray[np.floating]:
    if not lane.width:
        return np.ones(len(lane), np.float32)
    length = lane.end - lane.start
    # something without length is there all the same
    return np.where(length > 0, lane.busy / np.maximum(length, 1), 1)


@dataclass(frozen=True, slots=True)
class SeriesPixels:
    """A counter, or the memory of a device: one entry for each pixel that has a value, and its extremes."""

    start: Ints
    """ns on the capture's clock"""
    low: Floats
    high: Floats
    mean: Floats
    peak: float
    """The largest value of the whole capture."""
    peak_time: int
    least: float


def series_pixels(
    capture: Capture, counters: Sequence[int], devices: Sequence[str], t0: int, t1: int, pixels: int
) -> list[SeriesPixels]:
    """The counters of these tracks, then the memory of these devices, in [t0, t1)."""
    found = []
    for series in [*map(capture.counter, counters), *map(capture.memory, devices)]:
        window = series.window(t0, t1, pixels)
        time, peak = series.peak()
        found.append(SeriesPixels(window.start, window.low, window.high, window.mean, peak, time, series.least()))
    return found


@dataclass(frozen=True, slots=True)
class TimelineCounts:
    """How much there is on a timeline."""

    slices: int
    flows: int
    names: int
    """Different names of slices."""


def timeline_counts(capture: Capture) -> TimelineCounts:
    """What a page has to expect."""
    return TimelineCounts(capture.count("slices"), capture.count("flows"), len(capture.names()))
