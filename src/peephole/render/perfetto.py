"""A capture's profile as Perfetto's own format, which ui.perfetto.dev and every reader of Perfetto opens."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import groupby
from typing import Any, BinaryIO, Final

from peephole.query.capture.info import info, row_counts
from peephole.query.timeline.export_rows import counter_parts, marker_parts
from peephole.query.timeline.nested_slices import first_time, flows_by_slice, turns
from peephole.query.timeline.threads import Threads, ThreadTrack, lane_nesting
from peephole.render.protobuf import double, fixed, message, number, text
from peephole.store.capture import Capture

_BEGIN, _END, _INSTANT, _COUNTER = (number(9, kind) for kind in range(1, 5))
_BOOTTIME, _REALTIME = 6, 1
_SEQUENCE: Final = number(10, 1)
_NEEDS_STATE: Final = number(13, 2)
_LANES: Final = 1 << 40
"""From here on the uuids of lanes that are no nesting and so need a track of their own."""
_MOMENTS: Final = 1 << 39
"""The uuid of what belongs to no track."""
_UNITS: Final = {"ns": 1, "count": 2, "bytes": 3}
_DEEPEST: Final = 30


def write_perfetto(capture: Capture, out: BinaryIO) -> int:
    """Writes the trace and gives the number of slices; times are the capture's, from the first on if it is negative."""
    for packet in _packets(capture):
        out.write(message(1, *packet, _SEQUENCE))
    return row_counts(capture)["slices"]


def _packets(capture: Capture) -> Iterator[tuple[bytes, ...]]:
    shift = -first_time(capture)
    yield _clocks(info(capture).clocks, shift)
    threads = Threads(capture)
    yield from _described(threads, _counters_of(capture))
    names = _Interned()
    flows = flows_by_slice(capture)
    for track, uuid, lanes in _tracks(capture):
        if uuid >= _LANES:
            yield (_descriptor(uuid, f"{threads.names.get(track, '')} · {uuid & 0xFFFF}", track + 1),)
        for turn in turns(capture, lanes):
            time = number(8, turn.time + shift)
            if not turn.begins:
                yield time, message(11, _END, number(11, uuid)), _NEEDS_STATE
                continue
            arrows = [fixed(47, flow) for flow in flows.get(turn.correlation, ())] if turn.correlation else []
            iid, told = names(turn.name)
            event = message(11, _BEGIN, number(11, uuid), number(10, iid), *_facts(turn.args), *arrows)
            yield time, event, *told
    yield from _moments(capture, shift)
    for values in counter_parts(capture):
        for track, time, value in zip(values.track.tolist(), values.time.tolist(), values.value.tolist(), strict=True):
            if math.isfinite(value):
                yield number(8, time + shift), message(11, _COUNTER, number(11, track + 1), double(44, value))


class _Interned:
    """Names by number; the packet that uses one first tells it."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __call__(self, name: str) -> tuple[int, tuple[bytes, ...]]:
        """The number, and what the packet has to say besides."""
        found = self._numbers.get(name)
        if found is not None:
            return found, (_NEEDS_STATE,)
        found = self._numbers[name] = len(self._numbers) + 1
        flags = number(13, 1) if found == 1 else _NEEDS_STATE
        return found, (message(12, message(2, number(1, found), text(2, name))), flags)


def _clocks(known: dict[str, Any], shift: int) -> tuple[bytes, ...]:
    base = known.get("base_ns")
    clocks = [message(1, number(1, _BOOTTIME), number(2, shift))]
    if isinstance(base, int) and base > 0:
        clocks.append(message(1, number(1, _REALTIME), number(2, base)))
    return (message(6, *clocks, number(2, _BOOTTIME)),)


def _tracks(capture: Capture) -> Iterator[tuple[int, int, list[int]]]:
    """Track, uuid and lanes of what one track of Perfetto shows."""
    nesting = lane_nesting(capture)
    for track, lanes in groupby(range(len(nesting.track)), key=nesting.track.__getitem__):
        own = list(lanes)
        nested = [lane for lane in own if nesting.nested[lane]]
        if nested:
            yield track, track + 1, nested
        for lane in own:
            if not nesting.nested[lane]:
                yield track, _LANES + (track << 16) + nesting.depth[lane], [lane]


def _counters_of(capture: Capture) -> dict[int, str]:
    """The units of counters by track."""
    from peephole.query.timeline.tracks import timeline_tracks

    return {row.id: row.unit for row in timeline_tracks(capture) if row.kind == "counter"}


def _described(threads: Threads, counters: dict[int, str]) -> Iterator[tuple[bytes, ...]]:
    parents = {track.id: track for track in threads.tracks}
    for track in threads.tracks:
        above = parents.get(track.parent)
        if track.id in counters:
            unit = counters[track.id]
            facts = number(3, _UNITS[unit]) if unit in _UNITS else text(6, unit) if unit else b""
            yield (_descriptor(track.id + 1, track.name, _above(above), track.order, message(8, facts)),)
        elif track.parent < 0 and not track.has_thread:
            name = track.name.removesuffix(f" ({track.process})") if track.own_process else track.name
            process = message(3, number(1, track.process), text(6, name))
            yield (_descriptor(track.id + 1, "", 0, track.order, process),)
        elif above is not None and above.parent < 0 and not above.has_thread and track.kind == "thread":
            tid = threads.thread(track.id)
            thread = message(4, number(1, track.process), number(2, tid), text(5, track.name))
            yield (_descriptor(track.id + 1, "", _above(above), track.order, thread),)
        else:
            yield (_descriptor(track.id + 1, track.name, _above(above), track.order),)
    yield (_descriptor(_MOMENTS, "markers", 0),)


def _above(track: ThreadTrack | None) -> int:
    return 0 if track is None else track.id + 1


def _descriptor(uuid: int, name: str, parent: int, order: int = 0, *more: bytes) -> bytes:
    parts = [number(1, uuid), *more, number(12, order), number(11, 3)]
    if name:
        parts.append(text(2, name))
    if parent:
        parts.append(number(5, parent))
    return message(60, *parts)


def _moments(capture: Capture, shift: int) -> Iterator[tuple[bytes, ...]]:
    for marks in marker_parts(capture):
        columns = marks.time.tolist(), marks.name, marks.track.tolist(), marks.args
        for time, name, track, args in zip(*columns, strict=True):
            uuid = number(11, track + 1 if track >= 0 else _MOMENTS)
            yield number(8, time + shift), message(11, _INSTANT, uuid, text(23, name or ""), *_facts(args))


def _facts(args: str | None) -> list[bytes]:
    """Args as categories and annotations."""
    if not args:
        return []
    try:
        found = json.loads(args)
    except (ValueError, RecursionError):
        return [message(4, text(10, "args"), text(6, args))]
    if not isinstance(found, dict):
        return []
    facts = [text(22, part) for part in str(found.pop("cat")).split(",")] if "cat" in found else []
    return facts + [message(4, text(10, str(key)), *_value(value, 0)) for key, value in found.items()]


def _value(value: Any, depth: int) -> tuple[bytes, ...]:
    if isinstance(value, bool):
        return (number(2, value),)
    if isinstance(value, int):
        if -(1 << 63) <= value < 1 << 63:
            return (number(4, value),)
        return (number(3, value),) if 0 <= value < 1 << 64 else (text(6, str(value)),)
    if isinstance(value, float):
        return (double(5, value),)
    if isinstance(value, dict) and value and depth < _DEEPEST:
        return tuple(message(11, text(10, str(key)), *_value(item, depth + 1)) for key, item in value.items())
    if isinstance(value, list) and value and depth < _DEEPEST:
        return tuple(message(12, *_value(item, depth + 1)) for item in value)
    return (text(6, value if isinstance(value, str) else json.dumps(value)),)
