"""Which slice a flow event points at, among slices of which only a chunk is in memory at a time.

The slices of a lane have an order: by start, the longest first, then by number. An event binds to the last that has
begun by its time and has not ended, or to the first that begins then or later.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
SLICE: Final = np.dtype([("start", "<i8"), ("dur", "<i8"), ("track", "<i4")])
"""A slice in the file; its number is its place, from 1 on."""
_ORDERED: Final = np.dtype([*SLICE.descr, ("number", "<i8")])
_CHUNK: Final = 1 << 19
_DEEPEST: Final = 256
"""Slices that have begun by a time among which the one around it is looked for; nesting is rarely deep."""


class _Lane(NamedTuple):
    """The slices of one track in a chunk, in their order."""

    start: Ints
    dur: Ints
    number: Ints


def bind(
    file: IO[bytes],
    time: Ints,
    track: Ints,
    around: NDArray[np.bool_],
    chunk: int = _CHUNK,
    folder: Path | None = None,
) -> Ints:
    """Numbers of the slices that events of those tracks point at, 0 for none: at the one around them or the next.

    What it needs twice waits in a file in that folder.
    """
    inner = _Around(track[around], time[around])
    after = _After(track[~around], time[~around])
    wanted = np.zeros(int(track.max(initial=0)) + 1, np.bool_)
    wanted[track] = True
    with tempfile.TemporaryFile(dir=folder) as ordered:
        sizes = []
        for records in _chunks(file, chunk, wanted):
            ordered.write(records.data)
            sizes.append(len(records))
            lanes = _lanes(records)
            inner.look(lanes)
            after.look(lanes)
        ordered.seek(0)
        for size in sizes if len(inner.time) else ():
            inner.measure(_lanes(np.frombuffer(ordered.read(size * _ORDERED.itemsize), _ORDERED)))
    found = np.zeros(len(time), np.int64)
    found[around] = np.where(inner.distance < _DEEPEST, inner.number, 0)
    found[~around] = after.number
    return found


def _chunks(file: IO[bytes], size: int, wanted: NDArray[np.bool_]) -> Iterator[NDArray[Any]]:
    """The slices of the wanted tracks, some after the others, each time in their order."""
    at = 0
    while data := os.pread(file.fileno(), size * SLICE.itemsize, at * SLICE.itemsize):
        records = np.frombuffer(data, SLICE)
        number = np.arange(at + 1, at + 1 + len(records))
        at += len(records)
        own = records["track"] < len(wanted)
        own[own] = wanted[records["track"][own]]
        track, start, dur, number = records["track"][own], records["start"][own], records["dur"][own], number[own]
        out = np.empty(len(track), _ORDERED)
        order = _order(track, start, dur)
        out["track"], out["start"], out["dur"], out["number"] = track[order], start[order], dur[order], number[order]
        yield out


def _order(track: Ints, start: Ints, dur: Ints) -> Ints:
    """The order by track, start, longest first and number: most lanes come in it already."""
    narrow = track.astype(np.uint16) if int(track.max(initial=0)) < 1 << 16 else track  # sorted by radix
    order = np.argsort(narrow, kind="stable")
    track, start, dur = track[order], start[order], dur[order]
    wrong = (start[1:] < start[:-1]) | ((start[1:] == start[:-1]) & (dur[1:] > dur[:-1]))
    wrong &= track[1:] == track[:-1]
    bounds = runs_of([track])
    for lane in np.unique(np.searchsorted(bounds, np.flatnonzero(wrong), "right") - 1).tolist():
        own = slice(int(bounds[lane]), int(bounds[lane + 1]))
        order[own] = order[own][np.lexsort((-dur[own], start[own]))]
    return order


def runs_of(keys: Sequence[NDArray[Any]]) -> Ints:
    """Where a run of equal keys begins, plus the length at the end."""
    change = np.ones(len(keys[0]), np.bool_)
    change[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    return np.append(np.flatnonzero(change), len(change))


def _lanes(records: NDArray[Any]) -> dict[int, _Lane]:
    """The lanes of ordered slices."""
    track, start, dur, number = (np.ascontiguousarray(records[n]) for n in ("track", "start", "dur", "number"))
    bounds = runs_of([track]).tolist()
    own = (slice(a, b) for a, b in itertools.pairwise(bounds))
    return {int(track[s.start]): _Lane(start[s], dur[s], number[s]) for s in own}


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
