"""Which slice a flow event points at, among slices of which only a chunk is in memory at a time.

The slices of a lane have an order: by start, the longest first, then by number. An event binds to the last that has
begun by its time and has not ended, or to the first that begins then or later.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from typing import IO, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
SLICE: Final = np.dtype([("start", "<i8"), ("dur", "<i8"), ("track", "<i4")])
"""A slice in the file; its number is its place, from 1 on."""
_CHUNK: Final = 1 << 19
_DEEPEST: Final = 256
"""Slices that have begun by a time among which the one around it is looked for; nesting is rarely deep."""


class _Lane(NamedTuple):
    """The slices of one track in a chunk, in their order."""

    start: Ints
    dur: Ints
    number: Ints


def bind(file: IO[bytes], events: Sequence[tuple[int, str, int, bool]], chunk: int = _CHUNK) -> list[int]:
    """Numbers of the slices that events (time, phase, track, whether it binds to what is around) point at, 0: none."""
    time = np.array([event[0] for event in events], np.int64)
    track = np.array([event[2] for event in events], np.int64)
    around = np.array([event[1] != "f" or event[3] for event in events], np.bool_)
    inner = _Around(track[around], time[around])
    after = _After(track[~around], time[~around])
    for lanes in _chunks(file, chunk):
        inner.look(lanes)
        after.look(lanes)
    for lanes in _chunks(file, chunk):
        inner.measure(lanes)
    found = np.zeros(len(events), np.int64)
    found[around] = np.where(inner.distance < _DEEPEST, inner.number, 0)
    found[~around] = after.number
    return [int(number) for number in found]


def _chunks(file: IO[bytes], size: int) -> Iterator[dict[int, _Lane]]:
    """The lanes of some slices after the others."""
    at = 0
    while data := os.pread(file.fileno(), size * SLICE.itemsize, at * SLICE.itemsize):
        records = np.frombuffer(data, SLICE)
        order = np.lexsort((-records["dur"], records["start"], records["track"]))
        track, start, dur = (records[name][order] for name in ("track", "start", "dur"))
        number = order + at + 1
        bounds = [0, *(np.flatnonzero(np.diff(track)) + 1).tolist(), len(track)]
        own = (slice(a, b) for a, b in itertools.pairwise(bounds))
        yield {int(track[s.start]): _Lane(start[s], dur[s], number[s]) for s in own}
        at += len(records)


class _Bound:
    """Events of one kind and the best slice of each so far."""

    def __init__(self, track: Ints, time: Ints) -> None:
        self.time = time
        self.number = np.zeros(len(time), np.int64)
        self.start = np.zeros(len(time), np.int64)
        self.dur = np.zeros(len(time), np.int64)
        order = np.argsort(track, kind="stable")
        bounds = np.flatnonzero(np.diff(track[order])) + 1
        self._events: dict[int, Ints] = {
            int(track[own[0]]): own for own in np.split(order, bounds) if len(own)
        }  # by track

    def _each(self, lanes: dict[int, _Lane]) -> Iterator[tuple[Ints, _Lane]]:
        """Events beside the slices of their track."""
        for track, events in self._events.items():
            if track in lanes:
                yield events, lanes[track]

    def _keep(self, events: Ints, lane: _Lane, at: Ints) -> None:
        self.number[events], self.start[events], self.dur[events] = lane.number[at], lane.start[at], lane.dur[at]


class _After(_Bound):
    """Events that point at the next slice."""

    def look(self, lanes: dict[int, _Lane]) -> None:
        """Chunks come in the order of numbers: of equals the one that was there stays."""
        for events, lane in self._each(lanes):
            at = np.searchsorted(lane.start, self.time[events], "left")
            events, at = events[at < len(lane.start)], at[at < len(lane.start)]
            start, best = lane.start[at], self.start[events]
            better = (self.number[events] == 0) | (start < best)
            better |= (start == best) & (lane.dur[at] > self.dur[events])
            self._keep(events[better], lane, at[better])


class _Around(_Bound):
    """Events that point at the innermost slice around them."""

    def __init__(self, track: Ints, time: Ints) -> None:
        super().__init__(track, time)
        self.distance = np.zeros(len(time), np.int64)
        """Slices that have begun by then and come after the one that was found."""

    def look(self, lanes: dict[int, _Lane]) -> None:
        """Chunks come in the order of numbers: of equals the later one counts."""
        for events, lane in self._each(lanes):
            end = lane.start + lane.dur
            latest = np.maximum.accumulate(end)
            at = np.searchsorted(lane.start, self.time[events], "right") - 1
            for _ in range(_DEEPEST):
                going = at >= 0
                going[going] = latest[at[going]] >= self.time[events[going]]
                events, at = events[going], at[going]
                if not len(events):
                    break
                hit = end[at] >= self.time[events]
                self._take(events[hit], lane, at[hit])
                events, at = events[~hit], at[~hit] - 1

    def _take(self, events: Ints, lane: _Lane, at: Ints) -> None:
        start, best = lane.start[at], self.start[events]
        better = (self.number[events] == 0) | (start > best)
        better |= (start == best) & (lane.dur[at] <= self.dur[events])
        self._keep(events[better], lane, at[better])

    def measure(self, lanes: dict[int, _Lane]) -> None:
        """Adds to the distance what a chunk has of it."""
        for all_events, lane in self._each(lanes):
            events = all_events[self.number[all_events] > 0]
            begun = np.searchsorted(lane.start, self.time[events], "right")
            later = np.searchsorted(lane.start, self.start[events], "right")
            self.distance[events] += begun - later
            at = later - 1
            for _ in range(_DEEPEST):  # those that begin together with it
                going = at >= 0
                going[going] = lane.start[at[going]] == self.start[events[going]]
                events, at = events[going], at[going]
                dur, best = lane.dur[at], self.dur[events]
                after = (dur < best) | ((dur == best) & (lane.number[at] > self.number[events]))
                events, at = events[after], at[after]
                if not len(events):
                    break
                self.distance[events] += 1
                at = at - 1
