"""Who waited: the gaps of each track, with what ran before and after."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from peephole.model.plain_names import plain
from peephole.query.capture.names import Track, tracks
from peephole.store.capture import Capture
from peephole.store.tables.frame import Frame

_PART: Final = 1 << 20
"""Slices of short tracks that are read at once."""
DEVICES: Final = ("device", "worker")
"""Kinds of tracks whose gaps matter when nobody names a track."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch in which a track did nothing."""

    track: Track
    start: int
    dur: int
    before: str
    """Name of what ended last before it."""
    after: str
    """Name of what ended it."""


@dataclass(frozen=True, slots=True)
class Busy:
    """How a track spent its time from its first slice to its last, as far as that lies in the interval."""

    track: Track
    busy: int
    idle: int
    gaps: int

    @property
    def share(self) -> float:
        """Busy part, 0 … 1."""
        whole = self.busy + self.idle
        return self.busy / whole if whole else 0.0


@dataclass(frozen=True, slots=True)
class Idle:
    """The longest gaps of all tracks, longest first, and the sums of each track."""

    gaps: tuple[Gap, ...]
    tracks: tuple[Busy, ...]


def idle(
    capture: Capture,
    chosen: Collection[int] | None = None,
    interval: tuple[int, int] | None = None,
    limit: int = 20,
) -> Idle:
    """The gaps of the chosen tracks; without a choice of the devices, or of every track where there are none."""
    known = [track for track in tracks(capture) if track.slices]
    if chosen is None:
        known = [track for track in known if track.kind in DEVICES] or known
    else:
        known = [track for track in known if track.id in chosen]
    gaps: list[Gap] = []
    sums: dict[int, Busy] = {}
    for frame, parts in _frames(capture, known):
        for track, rows in parts:
            found, sums[track.id] = _of_track(frame, rows, track, interval, limit)
            gaps += found
    gaps.sort(key=lambda gap: (-gap.dur, gap.start))
    return Idle(tuple(gaps[:limit]), tuple(sums[track.id] for track in known))


def _frames(capture: Capture, known: list[Track]) -> Iterator[tuple[Frame, list[tuple[Track, slice]]]]:
    """The slices of the tracks, those of many short tracks at once, and where in the frame each track lies."""
    lanes = capture.lanes()
    places = []
    for track in known:
        own = lanes.of_track(track.id)
        # the lanes of a track lie next to each other
        places.append((int(lanes.first[own.start]), int(lanes.first[own.stop - 1] + lanes.count[own.stop - 1]), track))
    places.sort(key=lambda place: place[0])
    while places:
        begin = places[0][0]
        some = 1
        while some < len(places) and places[some][1] - begin <= _PART:
            some += 1
        frame = capture.read("slices", ["start", "dur", "name"], slice(begin, places[some - 1][1]))
        yield frame, [(track, slice(first - begin, last - begin)) for first, last, track in places[:some]]
        del places[:some]


def _of_track(
    frame: Frame, rows: slice, track: Track, interval: tuple[int, int] | None, limit: int
) -> tuple[list[Gap], Busy]:
    order = np.argsort(frame["start"][rows], kind="stable") + rows.start
    start = frame["start"][order]
    end = start + frame["dur"][order]
    reach = np.maximum.accumulate(end)
    low, high = (int(start[0]), int(reach[-1])) if interval is None else interval
    begins, ends = np.maximum(reach[:-1], low), np.minimum(start[1:], high)
    lengths = ends - begins
    where = np.flatnonzero(lengths > 0)
    whole = max(min(high, int(reach[-1])) - max(low, int(start[0])), 0)
    waited, count = int(lengths[where].sum()), len(where)
    if len(where) > limit:
        where = where[np.argpartition(-lengths[where], limit)[:limit]]
    names = frame.texts("name")
    # whose end it is that the gap begins with: the last slice that raised the mark
    raised = np.maximum.accumulate(np.where(end >= reach, np.arange(len(end)), 0))
    gaps = [
        Gap(
            track,
            int(begins[i]),
            int(lengths[i]),
            plain(names[int(order[raised[i]])]),
            plain(names[int(order[i + 1])]),
        )
        for i in where.tolist()
    ]
    return gaps, Busy(track, whole - waited, waited, count)
