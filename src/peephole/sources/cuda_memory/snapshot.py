"""A snapshot to rows: buffers with stacks, segments, what was held over time, moments without memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from peephole.errors import CaptureError
from peephole.model.sink import Sink
from peephole.model.tables import NONE
from peephole.sources.cuda_memory.annotations import annotation_slices
from peephole.sources.cuda_memory.entries import Stacks, address, args_of, dictionaries, number
from peephole.sources.cuda_memory.layout import layout_table
from peephole.sources.track_rows import TrackRow, TrackRows

_ALLOC, _FREED, _REQUESTED = "alloc", "free_completed", "free_requested"
_MORE: Final = ("segment_alloc", "segment_map")
_LESS: Final = ("segment_free", "segment_unmap")
_MOST_PARTS: Final = 20_000
"""Segments among which those in a range are looked for."""
_RED: Final = "#d33682"
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")


@dataclass
class _Held:
    """Buffers of one kind that are there, by address."""

    device: str
    live: dict[int, int] = field(default_factory=dict)


class _Rows:
    """Rows that are appended at the end."""

    def __init__(self) -> None:
        self.buffers: list[list[Any]] = []
        self.uses: list[tuple[int, int, str]] = []
        self.slices: list[tuple[int, int, int, str, int, str]] = []
        self.counters: list[tuple[int, int, float]] = []
        self.markers: list[tuple[int, str, int, str, str]] = []

    def buffer(self, held: _Held, where: int, time: int, size: int, name: str) -> int:
        """A new buffer; what was at its address before is gone."""
        self.free(held, where, time)
        held.live[where] = len(self.buffers)
        self.buffers.append([len(self.buffers) + 1, held.device, time, NONE, max(size, 0), name])
        return len(self.buffers)

    def free(self, held: _Held, where: int, time: int) -> int:
        """The buffer at an address ends; 0 when there is none."""
        at = held.live.pop(where, None)
        if at is None:
            return 0
        self.buffers[at][3] = time
        return at + 1

    def slice(self, track: int, time: int, dur: int, name: str, args: str) -> int:
        """A slice; gives its number."""
        self.slices.append((track, time, dur, name, len(self.slices) + 1, args))
        return len(self.slices)

    def append_to(self, sink: Sink) -> None:
        """Appends all of them."""
        for table, rows, names in (
            ("buffers", self.buffers, ("id", "device", "alloc", "free", "bytes", "name")),
            ("uses", self.uses, ("buffer", "slice", "mode")),
            ("slices", self.slices, ("track", "start", "dur", "name", "correlation", "args")),
            ("counters", self.counters, ("track", "time", "value")),
            ("markers", self.markers, ("time", "name", "track", "colour", "args")),
        ):
            if rows:
                columns: dict[str, Any] = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
                if table == "markers":
                    columns["kind"] = ["signal"] * len(rows)
                sink.append(table, columns)


def read_snapshot(value: Any, sink: Sink, where: str) -> None:
    """Reads a snapshot that was loaded."""
    if not isinstance(value, dict) or not {"segments", "device_traces"} & set(value):
        raise CaptureError(f"{where} is a pickle without segments or device_traces, so it is no memory snapshot.")
    segments = dictionaries(value.get("segments"))
    traces = value.get("device_traces")
    traces = [dictionaries(trace) for trace in traces] if isinstance(traces, list) else []
    tracks, rows, stacks = TrackRows(), _Rows(), Stacks()
    clock = _Clock(traces, sink)
    known = {number(segment, "device") for segment in segments}
    for device in sorted({*range(len(traces)), *known}):
        trace = traces[device] if 0 <= device < len(traces) else []
        own = [segment for segment in segments if number(segment, "device") == device]
        if trace or own:
            _Device(device, tracks, rows, stacks, sink, clock).read(trace, own)
    annotation_slices(dictionaries(value.get("external_annotations")), clock.base, tracks, rows)
    rows.append_to(sink)
    tracks.finish(sink)
    table = layout_table(segments, stacks)
    if table:
        sink.append("contexts", {"id": [1], "name": ["CUDA memory at the snapshot"], "kind": ["other"]})
        columns = {"context": [1], "kind": ["source"], "language": ["text"], "name": ["segments and blocks"]}
        sink.append("artifacts", {**columns, "content": [table.encode("utf-8", "replace")]})
    settings = value.get("allocator_settings")
    held = settings.items() if isinstance(settings, dict) else ()
    plain = {f"allocator_{key}": own for key, own in held if isinstance(own, str | int | float)}
    sink.describe(
        clocks={"unit": "epoch" if clock.timed else "order", "base_ns": clock.base if clock.timed else None},
        frameworks={"torch.cuda": ""},
        extra=plain,
    )


class _Clock:
    """Times of events: nanoseconds since the first, or their order when the file has no times."""

    def __init__(self, traces: list[list[dict[str, Any]]], sink: Sink) -> None:
        times = [number(entry, "time_us") for trace in traces for entry in trace if number(entry, "time_us") > 0]
        self.timed = bool(times)
        self.base = min(times) * 1000 if times else 0
        if not times and any(traces):
            sink.problem("events without times, shown a microsecond apart in their order", sum(map(len, traces)))

    def of(self, entry: Mapping[str, Any], place: int, before: int) -> int:
        """When an event was; never before the one in front of it."""
        if not self.timed:
            return place * 1000
        time = number(entry, "time_us")
        return max(before, time * 1000 - self.base) if time > 0 else before


class _Device:
    """The memory of one device."""

    def __init__(self, device: int, tracks: TrackRows, rows: _Rows, stacks: Stacks, sink: Sink, clock: _Clock) -> None:
        self._rows, self._stacks, self._sink, self._clock = rows, stacks, sink, clock
        name = f"CUDA:{device}"
        host = tracks.get(("h", device), TrackRow(f"{name} allocator", "host", order=device))
        self._events = tracks.get(("e", device), TrackRow(f"{name} events", "thread", host, 1))
        self._counters = [
            tracks.get((key, device), TrackRow(f"{name} {label}", "counter", host, 10 + at, unit=unit))
            for at, (key, label, unit) in enumerate(
                (("a", "allocated", "bytes"), ("r", "reserved", "bytes"), ("u", "reserved and unused", "bytes"),
                 ("f", "fragmentation", "%"))
            )
        ]  # fmt: skip
        self._blocks, self._segments = _Held(name), _Held(f"{name} segments")
        self._sizes: dict[int, int] = {}

    def read(self, trace: list[dict[str, Any]], segments: list[dict[str, Any]]) -> None:
        """Takes the events in their order, and what the segments say was there before or is there still."""
        allocated, reserved = self._before(trace, segments)
        self._count(0, allocated, reserved)
        time = 0
        for place, entry in enumerate(trace):
            time = self._clock.of(entry, place, time)
            action, size = str(entry.get("action", "")), number(entry, "size")
            if action == _ALLOC:
                allocated += size
            elif action == _FREED:
                allocated -= size
            elif action in _MORE:
                reserved += size
            elif action in _LESS:
                reserved -= size
            self._event(entry, action, size, time)
            if action in (_ALLOC, _FREED, *_MORE, *_LESS):
                self._count(time, allocated, reserved)

    def _before(self, trace: list[dict[str, Any]], segments: list[dict[str, Any]]) -> tuple[int, int]:
        """Adds what was there when the history began; gives bytes allocated and reserved then."""
        born = {address(e, "addr") for e in trace if e.get("action") == _ALLOC}
        made = {address(e, "addr") for e in trace if e.get("action") in _MORE}
        allocated = reserved = 0
        for segment in segments:
            start, total = address(segment, "address"), number(segment, "total_size")
            reserved += total
            if start not in made:
                self._rows.buffer(self._segments, start, 0, total, f"segment of stream {number(segment, 'stream')}")
                self._sizes[start] = total
            at = start
            for block in dictionaries(segment.get("blocks")):
                where, size = address(block, "address") or at, number(block, "size")
                at = where + size
                if str(block.get("state", "")).startswith("active"):
                    allocated += size
                    if where not in born:
                        self._rows.buffer(self._blocks, where, 0, size, self._label(block))
        for entry in trace:  # the end is known, and what changed until then
            action, size = entry.get("action"), number(entry, "size")
            allocated += size * ((action == _FREED) - (action == _ALLOC))
            reserved += size * ((action in _LESS) - (action in _MORE))
        return max(0, allocated), max(0, reserved)

    def _label(self, block: dict[str, Any]) -> str:
        history = dictionaries(block.get("history"))
        return self._stacks.label(block) or (self._stacks.label(history[-1]) if history else "")

    def _event(self, entry: dict[str, Any], action: str, size: int, time: int) -> None:
        rows, where = self._rows, address(entry, "addr")
        if action == "oom":
            free = number(entry, "device_free", where if where < 1 << 50 else 0)
            name = f"out of memory: {_size(size)} asked, {_size(free)} free"
            rows.markers.append(
                (time, name, self._events, _RED, args_of({**entry, "addr": 0}, self._stacks, free=free))
            )
            return
        if action == "snapshot":
            rows.markers.append((time, "snapshot", self._events, "", "{}"))
            return
        args = args_of(entry, self._stacks, bytes=size)
        event = rows.slice(self._events, time, 0, f"{action} {_size(size)}", args)
        if action == _ALLOC:
            rows.uses.append((rows.buffer(self._blocks, where, time, size, self._stacks.label(entry)), event, "write"))
        elif action == _FREED:
            buffer = rows.free(self._blocks, where, time)
            if not buffer:  # it is older than the history
                rows.buffer(self._blocks, where, 0, size, self._stacks.label(entry))
                buffer = rows.free(self._blocks, where, time)
            rows.uses.append((buffer, event, "read"))
        elif action in _MORE:
            label = f"segment of stream {number(entry, 'stream')}"
            rows.uses.append((rows.buffer(self._segments, where, time, size, label), event, "write"))
            self._sizes[where] = size
        elif action in _LESS:
            self._unmap(where, size, time, event)

    def _unmap(self, where: int, size: int, time: int, event: int) -> None:
        """Ends the segments, or the parts of an expandable one, that begin in a range."""
        if self._sizes.get(where) == size or len(self._sizes) > _MOST_PARTS:
            starts = [where] if where in self._sizes else []
        else:
            starts = [start for start in self._sizes if where <= start < where + size]
        for start in starts:
            del self._sizes[start]
            if buffer := self._rows.free(self._segments, start, time):
                self._rows.uses.append((buffer, event, "read"))

    def _count(self, time: int, allocated: int, reserved: int) -> None:
        unused = max(0, reserved - allocated)
        share = 100 * unused / reserved if reserved > 0 else 0.0
        for track, value in zip(self._counters, (allocated, reserved, unused, share), strict=True):
            self._rows.counters.append((track, time, float(value)))


def _size(size: int) -> str:
    value, unit = float(size), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.1f} {_UNITS[unit]}" if unit else f"{size} B"
