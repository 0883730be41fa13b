"""A snapshot to rows: buffers with stacks, segments, what was held over time, moments without memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from peephole.errors import CaptureError
from peephole.model.allocator_names import EVENTS, EXPANDABLE, FREE_REQUESTED, OUT_OF_MEMORY, SEGMENTS
from peephole.model.sink import Sink
from peephole.model.tables import NONE
from peephole.sources.cuda_memory.annotations import annotation_slices
from peephole.sources.cuda_memory.entries import Stacks, address, args_of, dictionaries, number, pool_of
from peephole.sources.cuda_memory.layout import layout_table
from peephole.sources.cuda_memory.older import ALLOC, FREED, LESS, MORE, older_blocks, older_segments, taken_blocks
from peephole.sources.cuda_memory.ranges import Ranges
from peephole.sources.track_rows import TrackRow, TrackRows

_NOTHING: Final[Mapping[str, int]] = {}
_RED: Final = "#d33682"
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")


class _Rows:
    """Rows that are appended at the end."""

    def __init__(self) -> None:
        self.buffers: list[list[Any]] = []
        self.uses: list[tuple[int, int, str]] = []
        self.slices: list[tuple[int, int, int, str, int, str]] = []
        self.counters: list[tuple[int, int, float]] = []
        self.markers: list[tuple[int, str, int, str, str]] = []

    def buffer(self, device: str, time: int, size: int, name: str) -> int:
        """A new buffer; gives its number."""
        self.buffers.append([len(self.buffers) + 1, device, time, NONE, max(size, 0), name])
        return len(self.buffers)

    def free(self, buffer: int, time: int) -> None:
        """A buffer ends."""
        self.buffers[buffer - 1][3] = time

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
        raise CaptureError(f"{where} is a pickle without segments or device_traces, so it is not a memory snapshot.")
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
        """When an event was; a nanosecond after the one in front of it at least, so that a moment names one event."""
        if not self.timed:
            return place * 1000
        time = number(entry, "time_us")
        return max(before + 1, time * 1000 - self.base) if time > 0 else before + 1


class _Device:
    """The memory of one device."""

    def __init__(self, device: int, tracks: TrackRows, rows: _Rows, stacks: Stacks, sink: Sink, clock: _Clock) -> None:
        self._rows, self._stacks, self._sink, self._clock = rows, stacks, sink, clock
        name = f"CUDA:{device}"
        host = tracks.get(("h", device), TrackRow(f"{name} allocator", "host", order=device))
        self._events = tracks.get(("e", device), TrackRow(name + EVENTS, "thread", host, 1))
        self._counters = [
            tracks.get((key, device), TrackRow(f"{name} {label}", "counter", host, 10 + at, unit=unit))
            for at, (key, label, unit) in enumerate(
                (("a", "allocated", "bytes"), ("r", "reserved", "bytes"), ("u", "reserved and unused", "bytes"),
                 ("f", "fragmentation", "%"))
            )
        ]  # fmt: skip
        self._name = name
        self._blocks: dict[int, int] = {}
        """The buffer at each address that is held."""
        self._taken: dict[int, tuple[int, dict[str, Any]]] = {}
        """What the block of an event takes with what was rounded up: known only of those that the snapshot has."""
        self._segments: Ranges[int] = Ranges()
        self._pools: dict[int, tuple[int, int] | None] = {}
        """The private pool of each segment of the snapshot, by address: older versions do not say it of events."""

    def read(self, trace: list[dict[str, Any]], segments: list[dict[str, Any]]) -> None:
        """Takes what is older than the events, then the events in their order."""
        allocated = reserved = 0
        self._pools = {address(segment, "address"): pool_of(segment) for segment in segments}
        for part in older_segments(trace, segments):
            reserved += part.end - part.start
            event = self._held(part.start, part.end, 0, part.holder)
            self._reserve(part.start, part.end, 0, _segment_name(part.holder, pool_of(part.holder)), event)
        self._taken = taken_blocks(trace, segments)
        for where, (size, entry) in older_blocks(trace, segments).items():
            allocated += size
            self._hold(
                where, size, 0, entry, self._held(where, where + size, 0, entry, self._block(entry, where, size))
            )
        self._count(0, allocated, reserved)
        time = -1
        for place, entry in enumerate(trace):
            time = self._clock.of(entry, place, time)
            action, size = str(entry.get("action", "")), number(entry, "size")
            allocated += size * ((action == ALLOC) - (action == FREED))
            reserved += size * ((action in MORE) - (action in LESS))
            self._event(entry, action, size, time)
            if action in (ALLOC, FREED, *MORE, *LESS):
                self._count(time, allocated, reserved)

    def _event(self, entry: dict[str, Any], action: str, size: int, time: int) -> None:
        rows, where = self._rows, address(entry, "addr")
        if action == "oom":
            free = number(entry, "device_free", where if where < 1 << 50 else 0)
            name = f"{OUT_OF_MEMORY}: {_size(size)} asked, {_size(free)} free"
            args = args_of(entry, self._stacks, None, bytes=size, free=free)
            rows.markers.append((time, name, self._events, _RED, args))
            return
        if action == "snapshot":
            rows.markers.append((time, "snapshot", self._events, "", "{}"))
            return
        args = args_of(entry, self._stacks, where, bytes=size, **(self._block(entry, where, size)))
        event = rows.slice(self._events, time, 0, f"{action} {_size(size)}", args)
        if action == ALLOC:
            self._hold(where, size, time, entry, event)
        elif action in (FREE_REQUESTED, FREED) and where in self._blocks:
            rows.uses.append((self._blocks[where], event, "read"))
            if action == FREED:
                rows.free(self._blocks.pop(where), time)
        elif action in MORE:
            self._release(where, where + size, time, None)
            pool = pool_of(entry) or self._pools.get(where)
            self._reserve(where, where + size, time, _segment_name(entry, pool), event)
        elif action in LESS:
            self._release(where, where + size, time, event)

    def _block(self, entry: dict[str, Any], where: int, size: int) -> dict[str, int]:
        taken, made_by = self._taken.get(where, (0, {}))
        return {"block": taken} if made_by is entry and taken > size else {}

    def _held(self, start: int, end: int, time: int, entry: dict[str, Any], more: Mapping[str, int] = _NOTHING) -> int:
        """An event for what no event of the history began, so that it has an address and a stack."""
        size = end - start
        args = args_of(entry, self._stacks, start, bytes=size, **more)
        return self._rows.slice(self._events, time, 0, f"held {_size(size)}", args)

    def _hold(self, where: int, size: int, time: int, entry: dict[str, Any], event: int) -> None:
        if where in self._blocks:  # that it was freed is not in the history
            self._rows.free(self._blocks[where], time)
        self._blocks[where] = self._rows.buffer(self._name, time, size, self._stacks.label(entry))
        self._rows.uses.append((self._blocks[where], event, "write"))

    def _reserve(self, start: int, end: int, time: int, name: str, event: int) -> None:
        buffer = self._rows.buffer(self._name + SEGMENTS, time, end - start, name)
        self._segments.add(start, end, buffer)
        self._rows.uses.append((buffer, event, "write"))

    def _release(self, start: int, end: int, time: int, event: int | None) -> None:
        """Ends what is reserved in a range; of a segment that is unmapped in part the rest goes on as another."""
        for part in self._segments.take(start, end):
            self._rows.free(part.holder, time)
            if event is not None:
                self._rows.uses.append((part.holder, event, "read"))
            name = self._rows.buffers[part.holder - 1][5]
            for first, past in ((part.start, min(part.end, start)), (max(part.start, end), part.end)):
                if first < past:
                    self._reserve(first, past, time, name, self._held(first, past, time, {}))

    def _count(self, time: int, allocated: int, reserved: int) -> None:
        unused = max(0, reserved - allocated)
        share = 100 * unused / reserved if reserved > 0 else 0.0
        for track, value in zip(self._counters, (allocated, reserved, unused, share), strict=True):
            self._rows.counters.append((track, time, float(value)))


def _segment_name(entry: dict[str, Any], pool: tuple[int, int] | None) -> str:
    expandable = entry.get("is_expandable") is True or str(entry.get("action", "")).endswith("map")
    private = f", private pool {pool[0]}.{pool[1]}" if pool else ""
    return f"{EXPANDABLE if expandable else ''}segment of stream {number(entry, 'stream')}{private}"


def _size(size: int) -> str:
    value, unit = float(size), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.1f} {_UNITS[unit]}" if unit else f"{size} B"
