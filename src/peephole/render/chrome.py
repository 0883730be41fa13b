"""A capture's profile as Chrome trace JSON, which Perfetto and chrome://tracing open."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from peephole.model.tables import NONE
from peephole.store.capture import Capture
from peephole.store.tables.lanes import Ints, Lanes


def write_chrome(capture: Capture, out: BinaryIO) -> int:
    """Writes the trace and gives the number of slices; nothing is held but a part at a time."""
    out.write(b'{"displayTimeUnit":"ns","otherData":')
    out.write(json.dumps({"name": capture.name, "writer": "peephole"}).encode())
    out.write(b',"traceEvents":[\n')
    first = True
    for batch in _events(capture):
        if not batch:
            continue
        out.write(b"" if first else b",\n")
        out.write(",\n".join(batch).encode("utf-8", "replace"))
        first = False
    out.write(b"\n]}\n")
    return capture.count("slices")


def micro(time: int) -> str:
    """Nanoseconds as decimal microseconds, exactly."""
    sign, time = ("-", -time) if time < 0 else ("", time)
    return f"{sign}{time // 1000}.{time % 1000:03d}"


class _Lanes:
    """Process and thread numbers of tracks; a sub-lane that is no nesting gets a thread of its own."""

    def __init__(self, capture: Capture) -> None:
        tracks = capture.read("tracks", ["id", "name", "kind", "parent", "order", "process"])
        self.ids = tracks["id"].tolist()
        self.names = {i: name or "" for i, name in zip(self.ids, tracks.texts("name"), strict=True)}
        self.parents = dict(zip(self.ids, tracks["parent"].tolist(), strict=True))
        self.orders = dict(zip(self.ids, tracks["order"].tolist(), strict=True))
        self.counters = {i for i, kind in zip(self.ids, tracks.texts("kind"), strict=True) if kind == "counter"}
        told = dict(zip(self.ids, tracks["process"].tolist(), strict=True))
        roots = [track for track in self.ids if self.parents[track] < 0]
        shared = Counter(told[track] for track in roots)
        self.told = {track: told[track] for track in roots if told[track] >= 0 and shared[told[track]] == 1}
        """Tracks of processes whose numbers are theirs alone."""
        taken = set(self.told.values())
        free = (number for number in itertools.count(1) if number not in taken)
        self.group = next(free)
        """Process number of what belongs to no process."""
        self._processes = {track: self.told[track] if track in self.told else next(free) for track in roots}
        self._threads: dict[tuple[int, int], int] = {}

    def process(self, track: int) -> int:
        """Number of the process that a track is shown in."""
        seen = set()
        while self.parents.get(track, NONE) >= 0 and track not in seen:
            seen.add(track)
            track = self.parents[track]
        return self._processes.get(track, self.group)

    def thread(self, track: int, depth: int = 0) -> int:
        """Number of the thread of a track; of a sub-lane when depth is not 0."""
        return self._threads.setdefault((track, depth), len(self._threads) + 1)


def _events(capture: Capture) -> Iterator[list[str]]:
    lanes, index = _Lanes(capture), capture.lanes()
    shown = set(index.track.tolist()).union(*(f["track"].tolist() for f in capture.scan("markers", ["track"])))
    yield list(_names(lanes, shown))
    nested, moments = _survey(capture, index)
    tracks, depths = index.track.tolist(), index.depth.tolist()
    where: list[tuple[int, int]] = []
    for track, depth, inside in zip(tracks, depths, nested, strict=True):
        pid, tid = lanes.process(track), lanes.thread(track, 0 if inside else depth)
        where.append((pid, tid))
        if not inside:
            yield [_meta("thread_name", pid, tid, {"name": f"{lanes.names.get(track, '')} · {depth}"})]
    heads = [f'{{"ph":"X","pid":{pid},"tid":{tid},"ts":' for pid, tid in where]
    row = 0
    for frame in capture.scan("slices", ["start", "dur", "name", "args"], size=1 << 17):
        lane = (np.searchsorted(index.first, np.arange(row, row + len(frame)), "right") - 1).tolist()
        row += len(frame)
        names = [json.dumps(value) for value in frame.texts("name").values]
        columns = frame["start"].tolist(), frame["dur"].tolist(), frame.texts("name").codes.tolist()
        yield [
            f'{heads[at]}{micro(start)},"dur":{micro(dur)},"name":{names[code] if code >= 0 else "null"}{_args(args)}}}'
            for at, start, dur, code, args in zip(lane, *columns, frame.texts("args"), strict=True)
        ]
    yield from _points(capture, lanes)
    yield from _arrows(capture, {number: (*where[at], time) for number, (at, time) in moments.items()})


def _survey(capture: Capture, index: Lanes) -> tuple[list[bool], dict[int, tuple[int, int]]]:
    """Which lanes one thread can show together with the lane above; where and when arrows bind to a slice.

    Lanes come in their order, so that only one and the one above it are held.
    """
    anchors = np.array(sorted(_flow_ends(capture)), np.int64)
    nested: list[bool] = []
    moments: dict[int, tuple[int, int]] = {}
    above = _Rows(*(np.empty(0, np.int64),) * 3)
    for lane, rows in enumerate(_lane_rows(capture, index, anchors)):
        deeper = (
            lane > 0 and index.track[lane] == index.track[lane - 1] and index.depth[lane] == index.depth[lane - 1] + 1
        )
        nested.append(bool(index.depth[lane] == 0 or (deeper and nested[-1] and _inside(above, rows))))
        for number, start, end in _anchored(above):
            moments[number] = (lane - 1, _own_moment(start, end, rows) if deeper else start)
        above = rows
    for number, start, _ in _anchored(above):
        moments[number] = (len(nested) - 1, start)
    return nested, moments


class _Rows(NamedTuple):
    """Times of a lane's slices, and of those that arrows bind to the number, of others 0."""

    start: Ints
    end: Ints
    anchor: Ints


def _lane_rows(capture: Capture, index: Lanes, anchors: Ints) -> Iterator[_Rows]:
    """Lane after lane, read in large parts: there may be a hundred thousand of one slice each."""
    parts: list[_Rows] = []
    lane = have = 0
    for frame in capture.scan("slices", ["start", "dur", "correlation"], size=1 << 18):
        anchor = np.where(np.isin(frame["correlation"], anchors), frame["correlation"], 0)
        rows, at = _Rows(frame["start"], frame["start"] + frame["dur"], anchor), 0
        while at < len(frame):
            take = min(len(frame) - at, int(index.count[lane]) - have)
            parts.append(_Rows(*(column[at : at + take] for column in rows)))
            at, have = at + take, have + take
            if have == index.count[lane]:
                yield parts[0] if len(parts) == 1 else _Rows(*map(np.concatenate, zip(*parts, strict=True)))
                parts, lane, have = [], lane + 1, 0


def _anchored(rows: _Rows) -> Iterator[tuple[int, int, int]]:
    at = np.flatnonzero(rows.anchor)
    return zip(rows.anchor[at].tolist(), rows.start[at].tolist(), rows.end[at].tolist(), strict=True)


def _own_moment(start: int, end: int, inner: _Rows) -> int:
    """A time at which a slice is the innermost one, since an arrow binds to that: its start unless another has it."""
    at = int(np.searchsorted(inner.start, start, "left"))
    moment = start
    while at < len(inner.start) and inner.start[at] <= moment:
        moment, at = int(inner.end[at]) + 1, at + 1
    return moment if moment < end else start


def _inside(outer: _Rows, inner: _Rows) -> bool:
    """Whether each slice of a row lies within one of the row above, so that one thread can show both."""
    around = np.searchsorted(outer.start, inner.start, "right") - 1
    return bool(((around >= 0) & (inner.end <= outer.end[np.maximum(around, 0)])).all())


def _args(text: str | None) -> str:
    return f',"args":{text}' if text and text.startswith("{") else ""


def _meta(kind: str, pid: int, tid: int, args: dict[str, Any]) -> str:
    return json.dumps({"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": args})


def _names(lanes: _Lanes, shown: set[int]) -> Iterator[str]:
    """Names of processes and threads, not of what has no thread: counters, and processes that are nothing else."""
    for track in lanes.ids:
        pid, name = lanes.process(track), lanes.names[track]
        if lanes.parents[track] < 0:
            if track in lanes.told:  # whoever shows a process says its number
                name = name.removesuffix(f" ({pid})")
            if track not in lanes.told or name != f"process {pid}":
                yield _meta("process_name", pid, 0, {"name": name})
            yield _meta("process_sort_index", pid, 0, {"sort_index": lanes.orders[track]})
        if track in shown or (lanes.parents[track] >= 0 and track not in lanes.counters):
            yield _meta("thread_name", pid, lanes.thread(track), {"name": lanes.names[track]})
            yield _meta("thread_sort_index", pid, lanes.thread(track), {"sort_index": lanes.orders[track]})


def _flow_ends(capture: Capture) -> set[int]:
    ends: set[int] = set()
    for frame in capture.scan("flows", ["from", "to"]):
        ends.update(frame["from"].tolist())
        ends.update(frame["to"].tolist())
    return ends


def _points(capture: Capture, lanes: _Lanes) -> Iterator[list[str]]:
    for frame in capture.scan("markers", ["time", "name", "track", "args"], size=1 << 17):
        batch = []
        columns = frame["time"].tolist(), frame.texts("name"), frame["track"].tolist(), frame.texts("args")
        for time, name, track, args in zip(*columns, strict=True):
            where = (lanes.process(track), lanes.thread(track)) if track >= 0 else (lanes.group, 0)
            batch.append(
                f'{{"ph":"i","s":"{"t" if track >= 0 else "g"}","pid":{where[0]},"tid":{where[1]},'
                f'"ts":{micro(time)},"name":{json.dumps(name)}{_args(args)}}}'
            )
        yield batch
    for frame in capture.scan("counters", size=1 << 17):
        batch = []
        for track, time, value in zip(
            frame["track"].tolist(), frame["time"].tolist(), frame["value"].tolist(), strict=True
        ):
            if math.isfinite(value):
                name, args = json.dumps(lanes.names.get(track, "")), json.dumps({"value": value})
                pid = lanes.process(track)
                batch.append(f'{{"ph":"C","pid":{pid},"ts":{micro(time)},"name":{name},"args":{args}}}')
        yield batch


def _arrows(capture: Capture, flows: dict[int, tuple[int, int, int]]) -> Iterator[list[str]]:
    number = 0
    for frame in capture.scan("flows", size=1 << 17):
        batch = []
        for source, target, kind in zip(frame["from"].tolist(), frame["to"].tolist(), frame.texts("kind"), strict=True):
            number += 1
            if source not in flows or target not in flows:
                continue
            name = json.dumps(kind or "flow")
            for phase, (pid, tid, time) in (("s", flows[source]), ("f", flows[target])):
                batch.append(
                    f'{{"ph":"{phase}","id":{number},"cat":{name},"name":{name},"bp":"e","pid":{pid},"tid":{tid},'
                    f'"ts":{micro(time)}}}'
                )
        yield batch
