"""A capture's profile as Chrome trace JSON, which Perfetto and chrome://tracing open."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, BinaryIO

from peephole.query.capture.info import row_counts
from peephole.query.timeline.export_rows import counter_parts, flow_parts, marker_parts, slice_parts
from peephole.query.timeline.threads import Threads, lane_nesting
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
    return row_counts(capture)["slices"]


def micro(time: int) -> str:
    """Nanoseconds as decimal microseconds, exactly."""
    sign, time = ("-", -time) if time < 0 else ("", time)
    return f"{sign}{time // 1000}.{time % 1000:03d}"


def _events(capture: Capture) -> Iterator[list[str]]:
    threads = Threads(capture)
    yield list(_names(threads))
    lanes = lane_nesting(capture)
    where: list[tuple[int, int]] = []
    for track, depth, nested in zip(lanes.track, lanes.depth, lanes.nested, strict=True):
        pid, tid = threads.process(track), threads.thread(track, 0 if nested else depth)
        where.append((pid, tid))
        if not nested:
            yield [_meta("thread_name", pid, tid, {"name": f"{threads.names.get(track, '')} · {depth}"})]
    heads = [f'{{"ph":"X","pid":{pid},"tid":{tid},"ts":' for pid, tid in where]
    for part in slice_parts(capture):
        names = [json.dumps(value) for value in part.name.values]
        columns = part.lane.tolist(), part.start.tolist(), part.dur.tolist(), part.name.codes.tolist()
        yield [
            f'{heads[at]}{micro(start)},"dur":{micro(dur)},"name":{names[code] if code >= 0 else "null"}{_args(args)}}}'
            for at, start, dur, code, args in zip(*columns, part.args, strict=True)
        ]
    yield from _points(capture, threads)
    yield from _arrows(capture, {number: (*where[at], time) for number, (at, time) in lanes.bound.items()})


def _args(text: str | None) -> str:
    return f',"args":{text}' if text and text.startswith("{") else ""


def _meta(kind: str, pid: int, tid: int, args: dict[str, Any]) -> str:
    return json.dumps({"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": args})


def _names(threads: Threads) -> Iterator[str]:
    """Names of processes and threads, not of what has no thread: counters, and processes that are nothing else."""
    for track in threads.tracks:
        pid, name = track.process, track.name
        if track.parent < 0:
            if track.own_process:  # whoever shows a process says its number
                name = name.removesuffix(f" ({pid})")
            if not track.own_process or name != f"process {pid}":
                yield _meta("process_name", pid, 0, {"name": name})
            yield _meta("process_sort_index", pid, 0, {"sort_index": track.order})
        if track.has_thread:
            tid = threads.thread(track.id)
            yield _meta("thread_name", pid, tid, {"name": track.name})
            yield _meta("thread_sort_index", pid, tid, {"sort_index": track.order})


def _points(capture: Capture, threads: Threads) -> Iterator[list[str]]:
    for marks in marker_parts(capture):
        batch = []
        columns = marks.time.tolist(), marks.name, marks.track.tolist(), marks.args
        for time, name, track, args in zip(*columns, strict=True):
            where = (threads.process(track), threads.thread(track)) if track >= 0 else (threads.group, 0)
            batch.append(
                f'{{"ph":"i","s":"{"t" if track >= 0 else "g"}","pid":{where[0]},"tid":{where[1]},'
                f'"ts":{micro(time)},"name":{json.dumps(name)}{_args(args)}}}'
            )
        yield batch
    for values in counter_parts(capture):
        batch = []
        for track, time, value in zip(values.track.tolist(), values.time.tolist(), values.value.tolist(), strict=True):
            if math.isfinite(value):
                name, args = json.dumps(threads.names.get(track, "")), json.dumps({"value": value})
                pid = threads.process(track)
                batch.append(f'{{"ph":"C","pid":{pid},"ts":{micro(time)},"name":{name},"args":{args}}}')
        yield batch


def _arrows(capture: Capture, bound: dict[int, tuple[int, int, int]]) -> Iterator[list[str]]:
    """Flows between slices whose process, thread and moment are known by correlation."""
    number = 0
    for part in flow_parts(capture):
        batch = []
        for source, target, kind in zip(part.source.tolist(), part.target.tolist(), part.kind, strict=True):
            number += 1
            if source not in bound or target not in bound:
                continue
            name = json.dumps(kind or "flow")
            for phase, (pid, tid, time) in (("s", bound[source]), ("f", bound[target])):
                batch.append(
                    f'{{"ph":"{phase}","id":{number},"cat":{name},"name":{name},"bp":"e","pid":{pid},"tid":{tid},'
                    f'"ts":{micro(time)}}}'
                )
        yield batch
