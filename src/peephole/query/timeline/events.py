"""The events of a capture in time order, a part at a time: never the whole trace in memory."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peephole.model.tables import NONE
from peephole.query.timeline.interval import part_in
from peephole.store.capture import Capture
from peephole.store.tables.frame import Frame, Texts

Ints = NDArray[np.int64]

_NUMBERS: Final = ("track", "depth", "start", "dur", "context", "correlation")
_COLUMNS: Final = (*_NUMBERS, "name", "args")
PART: Final = 1 << 16
"""Rows of a lane that are held at once."""
_BATCH: Final = 1 << 12


@dataclass(frozen=True, slots=True)
class Event:
    """A slice or, with a duration of -1, a marker."""

    start: int
    dur: int
    track: int
    depth: int
    name: str
    context: int = NONE
    correlation: int = 0
    args: str | None = None
    kind: str = "slice"
    row: int = NONE
    """Row number in `slices`."""


def events(
    capture: Capture,
    tracks: Collection[int] | None = None,
    interval: tuple[int, int] | None = None,
    overlapping: bool = False,
) -> Iterator[Event]:
    """Slices and markers by the time at which they start; outer slices before inner ones.

    `tracks` chooses tracks (markers of the whole capture are shown with every choice), `interval` what starts in it,
    or all that overlaps it: what a sum over the interval counts.
    """
    return heapq.merge(
        slices(capture, tracks, interval, overlapping),
        markers(capture, tracks, interval),
        key=lambda event: (event.start, event.kind == "slice"),
    )


def markers(
    capture: Capture, tracks: Collection[int] | None = None, interval: tuple[int, int] | None = None
) -> Iterator[Event]:
    """The markers by time."""
    for frame in capture.scan("markers", ["time", "name", "kind", "track", "args"]):
        columns = zip(
            frame["time"].tolist(),
            frame["track"].tolist(),
            frame.texts("name"),
            frame.texts("kind"),
            frame.texts("args"),
            strict=True,
        )
        for time, track, name, kind, args in columns:
            inside = interval is None or interval[0] <= time <= interval[1]
            if inside and (tracks is None or track == NONE or track in tracks):
                yield Event(time, NONE, track, 0, name or "", args=args, kind=kind or "marker")


def slices(
    capture: Capture,
    tracks: Collection[int] | None = None,
    interval: tuple[int, int] | None = None,
    overlapping: bool = False,
) -> Iterator[Event]:
    """The slices by start; of an interval those that start in it, both ends included, or all that overlap it.

    A lane is sorted in the file, so the lanes are merged: everything up to the earliest end of what has been read of
    any lane can be given out.
    """
    streams = [_Stream(capture, first, last) for first, last in _ranges(capture, tracks, interval)]
    streams = [stream for stream in streams if stream.fill()]
    while streams:
        frontier = min((stream.reach for stream in streams if stream.more), default=None)
        yield from _in_order([stream.take(frontier) for stream in streams], interval, overlapping)
        streams = [stream for stream in streams if stream.fill()]


class _Rows(NamedTuple):
    """Some rows of a frame, sorted by start; the frame's first row has the number `base`."""

    frame: Frame
    base: int
    at: Ints


class _Stream:
    """Rows of `slices` that come sorted by start: one long lane, read in parts, or short lanes, sorted at once."""

    def __init__(self, capture: Capture, first: int, last: int) -> None:
        self._parts = capture.scan("slices", _COLUMNS, slice(first, last), PART)
        self._next, self._last = first, last
        self._held: _Rows | None = None

    @property
    def more(self) -> bool:
        """Whether rows are left in the file."""
        return self._next < self._last

    @property
    def reach(self) -> int:
        """The latest start that was read."""
        assert self._held is not None
        return int(self._held.frame["start"][self._held.at[-1]])

    def fill(self) -> bool:
        """Reads on when nothing is held; False at the end."""
        if self._held is None and self.more:
            frame = next(self._parts)
            self._held = _Rows(frame, self._next, np.argsort(frame["start"], kind="stable"))
            self._next += len(frame)
        return self._held is not None

    def take(self, frontier: int | None) -> _Rows:
        """The rows that start no later than the frontier; all that are held without one."""
        assert self._held is not None
        frame, base, at = self._held
        stop = len(at) if frontier is None else int(np.searchsorted(frame["start"][at], frontier, "right"))
        self._held = _Rows(frame, base, at[stop:]) if stop < len(at) else None
        return _Rows(frame, base, at[:stop])


def _ranges(
    capture: Capture, tracks: Collection[int] | None, interval: tuple[int, int] | None
) -> Iterator[tuple[int, int]]:
    """Row ranges that a stream can give out sorted: a long lane by itself, neighbouring short lanes together."""
    lanes = capture.lanes()
    chosen = np.ones(len(lanes), np.bool_) if tracks is None else np.isin(lanes.track, list(tracks))
    if interval is not None:
        chosen &= (lanes.start <= interval[1]) & (lanes.end >= interval[0])
    begin = end = 0
    for first, count in zip(lanes.first[chosen].tolist(), lanes.count[chosen].tolist(), strict=True):
        if first == end and first + count - begin <= PART:
            end = first + count
            continue
        if end > begin:
            yield begin, end
        begin, end = first, first + count
    if end > begin:
        yield begin, end


def _in_order(parts: list[_Rows], interval: tuple[int, int] | None, overlapping: bool) -> Iterator[Event]:
    parts = [part for part in parts if len(part.at)]
    if not parts:
        return
    columns = {name: np.concatenate([part.frame[name][part.at] for part in parts]) for name in _NUMBERS}
    columns["row"] = np.concatenate([part.base + part.at for part in parts])
    order = np.lexsort((columns["depth"], columns["track"], columns["start"]))
    if interval is not None and overlapping:
        order = order[part_in(columns["start"][order], columns["dur"][order], interval)[0]]
    elif interval is not None:
        start = columns["start"][order]
        order = order[np.searchsorted(start, interval[0], "left") : np.searchsorted(start, interval[1], "right")]
    names, args = _texts(parts, "name"), _texts(parts, "args")
    for some in range(0, len(order), _BATCH):
        rows = order[some : some + _BATCH]
        numbers = {name: column[rows].tolist() for name, column in columns.items()}
        yield from map(
            Event,
            numbers["start"],
            numbers["dur"],
            numbers["track"],
            numbers["depth"],
            [name or "" for name in Texts(names.codes[rows], names.values)],
            numbers["context"],
            numbers["correlation"],
            Texts(args.codes[rows], args.values),
            repeat("slice"),
            numbers["row"],
        )


def _texts(parts: list[_Rows], name: str) -> Texts:
    """A text column of several parts as one; each part numbers its texts by itself."""
    values: list[str] = []
    codes = []
    for part in parts:
        texts = part.frame.texts(name)
        own = texts.codes[part.at]
        codes.append(np.where(own < 0, own, own + len(values)))
        values += texts.values
    return Texts(np.concatenate(codes), values)
