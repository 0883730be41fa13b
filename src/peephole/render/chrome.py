"""A capture's profile as Chrome trace JSON, which Perfetto and chrome://tracing open."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from peephole.model.tables import NONE
from peephole.store.capture import Capture


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
    lanes = _Lanes(capture)
    index = capture.lanes()
    shown = set(index.track.tolist()).union(*(f["track"].tolist() for f in capture.scan("markers", ["track"])))
    yield list(_names(lanes, shown))
    anchors = _flow_ends(capture)
    flows: dict[int, tuple[int, int, int]] = {}
    nested = True
    for lane in range(len(index.track)):
        track, depth = int(index.track[lane]), int(index.depth[lane])
        rows = slice(int(index.first[lane]), int(index.first[lane] + index.count[lane]))
        nested = depth == 0 or (nested and _inside(capture, track, depth))
        pid, tid = lanes.process(track), lanes.thread(track, 0 if nested else depth)
        if not nested:
            name = f"{lanes.names.get(track, '')} · {depth}"
            yield [_meta("thread_name", pid, tid, {"name": name})]
        columns = ["start", "dur", "name", "correlation", "args"]
        for frame in capture.scan("slices", columns, rows=rows, size=1 << 17):
            names = [json.dumps(value) for value in frame.texts("name").values]
            codes, args = frame.texts("name").codes.tolist(), list(frame.texts("args"))
            starts, durs = frame["start"].tolist(), frame["dur"].tolist()
            yield [
                f'{{"ph":"X","pid":{pid},"tid":{tid},"ts":{micro(starts[i])},"dur":{micro(durs[i])},'
                f'"name":{names[codes[i]] if codes[i] >= 0 else "null"}{_args(args[i])}}}'
                for i in range(len(frame))
            ]
            bound = [i for i, number in enumerate(frame["correlation"].tolist()) if number and number in anchors]
            if bound:
                last = max(starts[i] + durs[i] for i in bound)
                inner, _ = capture.slices(track, depth + 1, starts[bound[0]], last + 1, ["start", "dur"])
                begins, ends = inner["start"], inner["start"] + inner["dur"]
                for i in bound:
                    moment = _own_moment(starts[i], starts[i] + durs[i], begins, ends)
                    flows[int(frame["correlation"][i])] = (pid, tid, moment)
    yield from _points(capture, lanes)
    yield from _arrows(capture, flows)


def _own_moment(start: int, end: int, begins: Any, ends: Any) -> int:
    """A time at which a slice is the innermost one, since an arrow binds to that: its start unless another has it."""
    at = int(np.searchsorted(begins, start, "left"))
    moment = start
    while at < len(begins) and begins[at] <= moment:
        moment, at = int(ends[at]) + 1, at + 1
    return moment if moment < end else start


def _inside(capture: Capture, track: int, depth: int) -> bool:
    """Whether each slice of a row lies within one of the row above, so that one thread can show both."""
    far = 2**62
    outer, _ = capture.slices(track, depth - 1, -far, far, ["start", "dur"])
    inner, _ = capture.slices(track, depth, -far, far, ["start", "dur"])
    if not len(outer):
        return False
    around = np.searchsorted(outer["start"], inner["start"], "right") - 1
    ends = (outer["start"] + outer["dur"])[np.maximum(around, 0)]
    return bool(((around >= 0) & (inner["start"] + inner["dur"] <= ends)).all())


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
