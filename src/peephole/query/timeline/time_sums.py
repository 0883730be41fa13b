"""What slices took, summed by any key: the one computation behind `show -t`, the Top page and the runs of a name."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.query.timeline.interval import part_in
from peephole.store.capture import Capture
from peephole.store.tables.lanes import Lanes

Ints = NDArray[np.int64]
_NEAR: Final = 1 << 16
"""Rows between two chosen tracks up to which they are read together."""
_KEYS: Final = 1 << 22
"""Keys of parts that are held before those that are alike become one."""


@dataclass(frozen=True, slots=True)
class SliceTimes:
    """Some slices, in no special order."""

    track: NDArray[np.int32]
    name: Ints
    """Number in `Capture.names()`; how many there are for a slice without a name."""
    dur: Ints
    """ns; of an interval the part that lies in it."""
    context: Ints
    """-1 for none."""


def slice_times(
    capture: Capture, tracks: Collection[int] | None = None, interval: tuple[int, int] | None = None
) -> Iterator[SliceTimes]:
    """The slices of these tracks, or of all, that overlap the interval, a part at a time."""
    names, lanes = capture.names(), capture.lanes()
    numbers = {name: number for number, name in enumerate(names)}
    linked = capture.count("contexts") > 0
    columns = ["dur", "name", *(["context"] if linked else []), *(["start"] if interval else [])]
    own = np.ones(len(lanes), np.bool_) if tracks is None else np.isin(lanes.track, np.fromiter(tracks, np.int64))
    for row, past in _row_ranges(lanes, own):
        for frame in capture.scan("slices", columns, slice(row, past)):
            texts = frame.texts("name")
            # the last place is for slices without a name, whose code is -1
            number = np.array([*(numbers.get(text, len(names)) for text in texts.values), len(names)], np.int64)
            name, dur = number[texts.codes], frame["dur"]
            context = frame["context"] if linked else np.full(len(frame), -1, np.int64)
            low, count = _lanes_of(lanes, row, row + len(frame))
            row += len(frame)
            track, chosen = lanes.track[low : low + len(count)], own[low : low + len(count)]
            track, keep = np.repeat(track, count), None if chosen.all() else np.repeat(chosen, count)
            if interval is not None:
                inside, dur = part_in(frame["start"], dur, interval)
                keep = inside if keep is None else keep & inside
            if keep is not None:
                track, name, dur, context = track[keep], name[keep], dur[keep], context[keep]
            if len(dur):
                yield SliceTimes(track, name, dur, context)


def _row_ranges(lanes: Lanes, own: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Rows of `slices` that hold these lanes; neighbours are read at once, with what little lies between."""
    first, past = lanes.first[own], (lanes.first + lanes.count)[own]
    if not len(first):
        return []
    apart = np.flatnonzero(first[1:] - past[:-1] > _NEAR)
    begins, ends = np.append(first[0], first[1:][apart]), np.append(past[:-1][apart], past[-1])
    return list(zip(begins.tolist(), ends.tolist(), strict=True))


def _lanes_of(lanes: Lanes, row: int, past: int) -> tuple[int, Ints]:
    """The first lane that has one of these rows, and how many it and those behind it have."""
    low = int(np.searchsorted(lanes.first, row, "right")) - 1
    high = int(np.searchsorted(lanes.first, past, "left"))
    return low, np.diff(np.maximum(lanes.first[low:high], row), append=past)


@dataclass(frozen=True, slots=True)
class SumColumns:
    """One entry per key, by key."""

    key: Ints
    count: Ints
    total: Ints
    """ns"""
    shortest: Ints
    longest: Ints
    context: Ints
    """The last compilation that produced one, -1 for none."""

    def __len__(self) -> int:
        return len(self.key)


class TimeSums:
    """Adds up durations by key, a part at a time."""

    def __init__(self) -> None:
        self._parts: list[SumColumns] = []
        self._held = 0

    def add(self, key: Ints, dur: Ints, context: Ints) -> None:
        """Adds slices."""
        if len(key):
            self._keep(_summed(key, None, dur, dur, dur, context))

    def _keep(self, part: SumColumns) -> None:
        self._parts.append(part)
        self._held += len(part)
        if self._held > _KEYS and len(self._parts) > 1:
            self._parts = [self.result()]
            self._held = len(self._parts[0])

    def result(self) -> SumColumns:
        """The sums of everything that was added."""
        if len(self._parts) == 1:
            return self._parts[0]
        names = ("key", "count", "total", "shortest", "longest", "context")
        columns = [[getattr(part, name) for part in self._parts] or [np.zeros(0, np.int64)] for name in names]
        key, count, total, shortest, longest, context = map(np.concatenate, columns)
        return _summed(key, count, total, shortest, longest, context)


def _summed(key: Ints, count: Ints | None, total: Ints, shortest: Ints, longest: Ints, context: Ints) -> SumColumns:
    keys, place = _places(key)
    size = len(keys)
    counts, totals = np.bincount(place, minlength=size), np.zeros(size, np.int64)
    if count is not None:
        counts = np.zeros(size, np.int64)
        np.add.at(counts, place, count)
    least, most = np.full(size, np.iinfo(np.int64).max), np.full(size, np.iinfo(np.int64).min)
    linked = np.full(size, -1, np.int64)
    np.add.at(totals, place, total)
    np.minimum.at(least, place, shortest)
    np.maximum.at(most, place, longest)
    if len(context) and context.max() >= 0:
        np.maximum.at(linked, place, context)
    there = np.flatnonzero(counts)
    return SumColumns(keys[there], counts[there], totals[there], least[there], most[there], linked[there])


def _places(keys: Ints) -> tuple[Ints, Ints]:
    """Keys that may occur, ascending, and for each row the place of its own among them."""
    if not len(keys):
        return keys, keys
    low, high = int(keys.min()), int(keys.max())
    if high - low > 4 * len(keys) + 1024:
        return np.unique(keys, return_inverse=True)
    # dense: a key is its own place, which costs a tenth of sorting
    return np.arange(low, high + 1), keys - low
