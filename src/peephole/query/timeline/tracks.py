"""The timeline as it is looked at: tracks in their groups, the colour of a name, the figures of a range."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.json_text import json_object
from peephole.model.plain_names import plain
from peephole.query.capture.info import span
from peephole.query.capture.names import Track, titled, told_apart, tracks
from peephole.query.memory.buffers import devices
from peephole.query.timeline.interval import part_in
from peephole.query.timeline.track_groups import COUNTERS, DEVICES, HOST, MEMORY, MESSAGES, group_of
from peephole.store.capture import Capture
from peephole.store.index.windows import Buckets

_ORDER: Final = (HOST, MESSAGES, DEVICES, COUNTERS, MEMORY)
_HOST_ORDER: Final = {"gc": 0, "user": 1, "tiny": 2}
COLOURS: Final = 11
"""Names with a colour of their own; the others share the twelve by hash."""
_SAMPLE: Final = 400_000
"""Slices from which the cost of names is estimated; up to so many it is exact."""
_SAMPLED_LANES: Final = 256
_OVERVIEW: Final = 64
"""Lanes that make the picture of the whole trace."""


@dataclass(frozen=True, slots=True)
class TimelineTrack:
    """A row of the timeline: a track with its lanes, a counter, or the memory of a device."""

    id: int
    """Number of the track; for memory -1."""
    name: str
    kind: str
    group: str
    depths: tuple[int, ...]
    """Its lanes."""
    slices: int
    parent: int
    under: int
    """The device whose copies these are, drawn thin below it; -1 for none."""
    unit: str
    where: str = ""
    """What tells it from another track of its name; empty for one that has its name to itself."""

    @property
    def title(self) -> str:
        """The name, and what it takes to tell it from others."""
        return titled(self.name, self.where)


def timeline_tracks(capture: Capture) -> list[TimelineTrack]:
    """All rows in the order of the groups, and within a group as the capture says."""
    lanes = capture.lanes()
    depths: dict[int, list[int]] = {}
    for track, depth in zip(lanes.track.tolist(), lanes.depth.tolist(), strict=True):
        depths.setdefault(track, []).append(depth)
    known = tracks(capture)
    by_name = {plain(track.name): track.id for track in known if track.kind == "device"}
    units = _units(capture)
    where = told_apart(known)
    rows = [
        TimelineTrack(
            track.id,
            plain(track.name),
            track.kind,
            group_of(track.kind),
            tuple(depths.get(track.id, ())),
            track.slices,
            track.parent,
            _under(track, by_name),
            units.get(track.id, ""),
            where.get(track.id, ""),
        )
        for track in known
        if track.slices or track.kind == "counter"
    ]
    process = {track.id: track.process for track in known}
    places = {row.name: place for place, row in enumerate(rows)}
    held = sorted(devices(capture), key=lambda name: places.get(name, len(rows)))
    rows += [TimelineTrack(-1, name, "memory", MEMORY, (), 0, -1, -1, "bytes") for name in held]

    def place(row: TimelineTrack) -> tuple[int, int, int]:
        # the threads of a process stand together; everything else stays as the capture orders it
        return (
            _ORDER.index(row.group),
            _HOST_ORDER.get(row.kind, 9),
            process.get(row.id, -1) if row.kind == "thread" else -1,
        )

    return sorted(rows, key=place)


def _under(track: Track, devices_by_name: dict[str, int]) -> int:
    if track.kind != "copy":
        return -1
    if track.parent in devices_by_name.values():
        return track.parent
    name = plain(track.name)
    while ":" in name:
        name = name.rpartition(":")[0]
        if name in devices_by_name:
            return devices_by_name[name]
    return -1


def _units(capture: Capture) -> dict[int, str]:
    frame = capture.read("tracks", ["id", "unit"])
    return {int(track): unit for track, unit in zip(frame["id"], frame.texts("unit"), strict=True) if unit}


def timeline_span(capture: Capture) -> tuple[int, int]:
    """First and last moment of anything on the timeline, ns; (0, 0) when it is empty."""
    return span(capture, contexts=False) or (0, 0)


@dataclass(frozen=True, slots=True)
class Overview:
    """The whole trace on a few pixels: shares of 0 … 1 of each pixel in which devices and the host were busy."""

    devices: NDArray[np.float32]
    host: NDArray[np.float32]


def overview(
    capture: Capture, t0: int, t1: int, pixels: int, tracks: Sequence[TimelineTrack] | None = None
) -> Overview:
    """Mean over all devices (or workers), and the outermost ranges of the busiest host track, pixel by pixel."""
    rows = [row for row in tracks or timeline_tracks(capture) if row.depths]
    device = [(row.id, row.depths[0]) for row in rows if row.kind in ("device", "worker")]
    others = [row for row in rows if row.group in (HOST, MESSAGES) and row.kind != "worker"]
    host = [(row.id, row.depths[0]) for row in others[:_OVERVIEW]]
    edges = t0 + (np.arange(pixels + 1, dtype=np.int64) * max(1, t1 - t0)) // max(1, pixels)
    width = np.maximum(np.diff(edges), 1)
    shares = [_shares(window, edges) / width for window in capture.windows(device[:_OVERVIEW], t0, t1, pixels)]
    hosts = [_shares(window, edges) / width for window in capture.windows(host, t0, t1, pixels)]
    nothing = np.zeros(pixels, np.float32)
    most = np.max(hosts, axis=0) if hosts else nothing
    mean = np.mean(shares, axis=0) if shares else nothing
    return Overview(np.minimum(mean, 1).astype(np.float32), np.minimum(most, 1).astype(np.float32))


def _shares(window: Buckets, edges: NDArray[np.int64]) -> NDArray[np.float64]:
    """Busy ns between each two edges: busy time as a function of time is made of straight lines."""
    if not len(window):
        return np.zeros(len(edges) - 1)
    after = np.cumsum(window.busy)
    # from the first edge: the ns of a clock that counts from 1970 are more than a float tells apart
    knots = (np.stack([window.start, window.end], axis=1).ravel() - edges[0]).astype(np.float64)
    values = np.stack([after - window.busy, after], axis=1).ravel().astype(np.float64)
    return np.diff(np.interp((edges - edges[0]).astype(np.float64), knots, values))


@dataclass(frozen=True, slots=True)
class Markers:
    """Moments in time order."""

    time: list[int]
    name: list[str]
    kind: list[str]
    track: list[int]
    colour: list[str]
    total: int
    """How many there are in all: more than given when there are very many."""


def markers(capture: Capture, most: int = 5000) -> Markers:
    """The first moments of the capture; those of the whole capture before those of a track."""
    frame = capture.read("markers", ["time", "name", "kind", "track", "colour"])
    order = np.lexsort((frame["time"], frame["track"] >= 0))[:most]
    order = np.sort(order)
    name, kind, colour = frame.texts("name"), frame.texts("kind"), frame.texts("colour")
    rows = order.tolist()
    return Markers(
        frame["time"][order].tolist(),
        [name[i] or "" for i in rows],
        [kind[i] or "" for i in rows],
        frame["track"][order].tolist(),
        [colour[i] or "" for i in rows],
        len(frame),
    )


def name_colours(capture: Capture) -> NDArray[np.uint8]:
    """The data colour (1 … 12) of each name of `Capture.names()`.

    The eleven kernels that cost most take one each; in a large capture their cost is estimated from parts of every
    device's lanes, so that it is quick at any size. The rest share the colours by a hash of the name, which holds in
    every view.
    """
    names = capture.names()
    colours = np.array([1 + _hash(name) % 12 for name in names] or [12], np.uint8)
    kinds = {track.id: track.kind for track in tracks(capture)}
    lanes = capture.lanes()
    wanted = [lane for lane in range(len(lanes)) if kinds.get(int(lanes.track[lane])) in ("device", "worker")]
    wanted = wanted or list(range(len(lanes)))
    cost = np.zeros(len(names) + 1)
    for lane in wanted[:_SAMPLED_LANES]:
        track, depth, count = int(lanes.track[lane]), int(lanes.depth[lane]), int(lanes.count[lane])
        length, share = int(lanes.end[lane] - lanes.start[lane]), _SAMPLE / len(wanted[:_SAMPLED_LANES]) / count
        for place in (0.0,) if share >= 1 else (0.1, 0.6):
            t0 = int(lanes.start[lane] + place * length)
            frame, _ = capture.slices(track, depth, t0, t0 + int(length * min(1.0, share / 2 if share < 1 else 1)) + 1)
            np.add.at(cost, frame.texts("name").codes, frame["dur"] / min(share, 1.0))
    cost = cost[:-1]
    for place, name in enumerate(np.argsort(-cost, kind="stable")[:COLOURS].tolist()):
        if cost[name] > 0:
            colours[name] = _PALETTE[place]
    return colours


_PALETTE: Final = (5, 6, 2, 1, 8, 3, 4, 7, 11, 10, 12)
"""Data colours by rank: the costliest first; 9 (sky) is kept for copies."""


def _hash(name: str) -> int:
    return zlib.crc32(name.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class NameSum:
    """What one name took in a range."""

    name: str
    number: int
    total: int
    count: int
    context: int = -1
    """Of kernels of which several have one name: the context that made it."""
    serial: int = 1
    """2 for the second context of its name."""


@dataclass(frozen=True, slots=True)
class TrackSum:
    """How a track spent a range."""

    track: int
    name: str
    busy: int
    """ns in which at least its outermost lane was taken"""
    count: int


@dataclass(frozen=True, slots=True)
class RangeFigures:
    """The figures of a range of time."""

    t0: int
    t1: int
    tracks: tuple[TrackSum, ...]
    top: tuple[NameSum, ...]
    names: int
    kernels: int
    copies: int
    copied: int
    """bytes moved by copies, of those over an edge in proportion; 0 when unknown"""
    exact: bool
    """False when there are so many tracks that only the fullest are summed up."""


_TRACKS: Final = 5000
"""Tracks that a range is summed over."""
_ARGS: Final = 300_000
"""Copies of a track up to which their bytes are read."""


def range_figures(
    capture: Capture, t0: int, t1: int, most: int = 12, rows: Sequence[TimelineTrack] | None = None
) -> RangeFigures:
    """Busy time and counts per track, and the names that took most, of the slices that overlap the range.

    `rows` are those of `timeline_tracks`, when the caller has them.
    """
    every = [row for row in rows or timeline_tracks(capture) if row.depths]
    # each lane has sums of its own: of a million tracks the busiest are summed up
    rows = sorted(every, key=lambda row: -row.slices)[:_TRACKS] if len(every) > _TRACKS else every
    names = capture.names()
    lanes = [(row.id, depth) for row in rows for depth in row.depths]
    kinds = [of for row, of in zip(rows, kinds_of(rows), strict=True) for _ in row.depths]
    found = capture.sums(lanes, [*kinds, 2], t0, t1)
    sums: list[TrackSum] = []
    kernels = copies = copied = lane = 0
    for row in rows:
        busy = int(found.time[lane])
        own = int(found.count[lane : lane + len(row.depths)].sum())
        lane += len(row.depths)
        if row.kind == "copy":
            copies += own
            copied += _bytes(capture, row, t0, t1) if own <= _ARGS else 0
        elif row.group == DEVICES:
            kernels += own
        sums.append(TrackSum(row.id, row.title, busy, own))
    # without a device: where the program itself spent its time
    kind = 0 if found.name_time[0].any() else 1
    total, count = found.name_time[kind, :-1], found.name_count[kind, :-1]
    order = np.argsort(-total, kind="stable")[:most]
    top = tuple(NameSum(plain(names[i]), i, int(total[i]), int(count[i])) for i in order.tolist() if total[i] > 0)
    named = int((count > 0).sum())
    if kind == 0 and capture.count("contexts"):
        from peephole.query.timeline.kernel_sums import kernel_sums, kernels_apart

        own_tracks = [row.id for row, of in zip(rows, kinds_of(rows), strict=True) if of == 0]
        if kernels_apart(capture):
            apart = kernel_sums(capture, own_tracks, (t0, t1))
            named = len(apart)
            top = tuple(
                NameSum(plain(names[one.name]), one.name, one.total, one.count, one.context, one.serial)
                for one in apart[:most]
            )
    whole = rows is every
    return RangeFigures(t0, t1, tuple(sums), top, named, kernels, copies, copied, whole)


def kinds_of(rows: Sequence[TimelineTrack]) -> list[int]:
    """What is summed up together: 0 for kernels, 2 for copies, 1 for everything else."""
    return [2 if row.kind == "copy" else 0 if row.group == DEVICES else 1 for row in rows]


def _bytes(capture: Capture, row: TimelineTrack, t0: int, t1: int) -> int:
    moved = 0
    for depth in row.depths:
        frame, _ = capture.slices(row.id, depth, t0, t1, ["start", "dur", "args"])
        _, inside = part_in(frame["start"], frame["dur"], (t0, t1))
        for text, dur, part in zip(frame.texts("args"), frame["dur"].tolist(), inside.tolist(), strict=True):
            value = (json_object(text) or {}).get("bytes")
            if isinstance(value, int):
                moved += value if part == dur else round(value * part / dur)
    return moved
