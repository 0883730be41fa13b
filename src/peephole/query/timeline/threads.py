"""The tracks of a capture as processes and threads: what a format that knows no lanes shows them as."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from peephole.model.tables import NONE
from peephole.store.capture import Capture
from peephole.store.tables.lanes import Ints, Lanes

_PART: Final = 1 << 18
"""Slices that are surveyed at once."""


@dataclass(frozen=True, slots=True)
class ThreadTrack:
    """A track as it is named in such a format."""

    id: int
    name: str
    kind: str
    parent: int
    order: int
    process: int
    """Number of the process that it is shown in."""
    own_process: bool
    """Whether that is the number of its real process, which it shares with no other track without a parent."""
    has_thread: bool
    """Whether it is a thread: something happens on it, or it belongs to another track and is no counter."""


class Threads:
    """Process and thread numbers of tracks; a sub-lane that is no nesting gets a thread of its own."""

    def __init__(self, capture: Capture) -> None:
        tracks = capture.read("tracks", ["id", "name", "kind", "parent", "order", "process"])
        ids = tracks["id"].tolist()
        self.names = {id: name or "" for id, name in zip(ids, tracks.texts("name"), strict=True)}
        self._parents = dict(zip(ids, tracks["parent"].tolist(), strict=True))
        real = dict(zip(ids, tracks["process"].tolist(), strict=True))
        roots = [track for track in ids if self._parents[track] < 0]
        shared = Counter(real[track] for track in roots)
        alone = {track: real[track] for track in roots if real[track] >= 0 and shared[real[track]] == 1}
        taken = set(alone.values())
        free = (number for number in itertools.count(1) if number not in taken)
        self.group = next(free)
        """Process number of what belongs to no process."""
        self._processes = {track: alone[track] if track in alone else next(free) for track in roots}
        self._threads: dict[tuple[int, int], int] = {}
        self.tracks = self._tracks(capture, ids, tracks["order"].tolist(), list(tracks.texts("kind")), set(alone))

    def _tracks(
        self, capture: Capture, ids: list[int], orders: list[int], kinds: list[str | None], alone: set[int]
    ) -> tuple[ThreadTrack, ...]:
        used = set(capture.lanes().track.tolist())
        used.update(*(frame["track"].tolist() for frame in capture.scan("markers", ["track"])))
        found = []
        for id, order, kind in zip(ids, orders, kinds, strict=True):
            parent = self._parents[id]
            thread = id in used or (parent >= 0 and kind != "counter")
            own = self.process(id), id in alone
            found.append(ThreadTrack(id, self.names[id], kind or "", parent, order, *own, thread))
        return tuple(found)

    def process(self, track: int) -> int:
        """Number of the process that a track is shown in."""
        seen = set()
        while self._parents.get(track, NONE) >= 0 and track not in seen:
            seen.add(track)
            track = self._parents[track]
        return self._processes.get(track, self.group)

    def thread(self, track: int, depth: int = 0) -> int:
        """Number of the thread of a track; of a sub-lane when depth is not 0."""
        return self._threads.setdefault((track, depth), len(self._threads) + 1)


@dataclass(frozen=True, slots=True)
class LaneNesting:
    """How the lanes of a capture can be shown as threads, lane by lane."""

    track: list[int]
    depth: list[int]
    nested: list[bool]
    """Whether the thread of the track can show it together with the lanes above it."""
    bound: dict[int, tuple[int, int]]
    """Of the slices that flows name, by correlation: the lane, and a time at which an arrow finds it."""


def lane_nesting(capture: Capture) -> LaneNesting:
    """Which lanes one thread can show together with the lane above; where and when arrows bind to a slice.

    Lanes come in their order, so that only one and the one above it are held.
    """
    lanes = capture.lanes()
    anchors = np.array(sorted(_flow_ends(capture)), np.int64)
    nested: list[bool] = []
    bound: dict[int, tuple[int, int]] = {}
    above = _LaneTimes(*(np.empty(0, np.int64),) * 3)
    for lane, times in enumerate(_lane_times(capture, lanes, anchors)):
        deeper = (
            lane > 0 and lanes.track[lane] == lanes.track[lane - 1] and lanes.depth[lane] == lanes.depth[lane - 1] + 1
        )
        nested.append(bool(lanes.depth[lane] == 0 or (deeper and nested[-1] and _inside(above, times))))
        for number, start, end in _anchored(above):
            bound[number] = (lane - 1, _own_moment(start, end, times) if deeper else start)
        above = times
    for number, start, _ in _anchored(above):
        bound[number] = (len(nested) - 1, start)
    return LaneNesting(lanes.track.tolist(), lanes.depth.tolist(), nested, bound)


class _LaneTimes(NamedTuple):
    """Times of a lane's slices, and of those that arrows bind to the correlation, of others 0."""

    start: Ints
    end: Ints
    anchor: Ints


def _lane_times(capture: Capture, lanes: Lanes, anchors: Ints) -> Iterator[_LaneTimes]:
    """Lane after lane, read in large parts: there may be a hundred thousand of one slice each."""
    parts: list[_LaneTimes] = []
    lane = have = 0
    for frame in capture.scan("slices", ["start", "dur", "correlation"], size=_PART):
        anchor = np.where(np.isin(frame["correlation"], anchors), frame["correlation"], 0)
        times, at = _LaneTimes(frame["start"], frame["start"] + frame["dur"], anchor), 0
        while at < len(frame):
            take = min(len(frame) - at, int(lanes.count[lane]) - have)
            parts.append(_LaneTimes(*(column[at : at + take] for column in times)))
            at, have = at + take, have + take
            if have == lanes.count[lane]:
                yield parts[0] if len(parts) == 1 else _LaneTimes(*map(np.concatenate, zip(*parts, strict=True)))
                parts, lane, have = [], lane + 1, 0


def _anchored(times: _LaneTimes) -> Iterator[tuple[int, int, int]]:
    at = np.flatnonzero(times.anchor)
    return zip(times.anchor[at].tolist(), times.start[at].tolist(), times.end[at].tolist(), strict=True)


def _own_moment(start: int, end: int, inner: _LaneTimes) -> int:
    """A time at which a slice is the innermost one, since an arrow binds to that: its start unless another has it."""
    at = int(np.searchsorted(inner.start, start, "left"))
    moment = start
    while at < len(inner.start) and inner.start[at] <= moment:
        moment, at = int(inner.end[at]) + 1, at + 1
    return moment if moment < end else start


def _inside(outer: _LaneTimes, inner: _LaneTimes) -> bool:
    """Whether each slice of a lane lies within one of the lane above, so that one thread can show both."""
    around = np.searchsorted(outer.start, inner.start, "right") - 1
    return bool(((around >= 0) & (inner.end <= outer.end[np.maximum(around, 0)])).all())


def _flow_ends(capture: Capture) -> set[int]:
    ends: set[int] = set()
    for frame in capture.scan("flows", ["from", "to"]):
        ends.update(frame["from"].tolist())
        ends.update(frame["to"].tolist())
    return ends
