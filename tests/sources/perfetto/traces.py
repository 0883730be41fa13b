"""Traces of every feature, made with the perfetto package's own builder, and an independent reading of them."""

from __future__ import annotations

import zlib
from typing import Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import ClockSnapshot, Trace, TracePacket, TrackEvent
from perfetto.trace_builder.proto_builder import TraceProtoBuilder

BEGIN, END, INSTANT, COUNTER, STATE = range(1, 6)
T0 = 5_000_000_000
MONOTONIC_BEHIND = 700_000_000
PROCESS, MAIN, WORKER, STREAM, QUEUE, SIZE, DELTAS, SCALED, DECIMAL, PLAIN = range(101, 111)
UNDESCRIBED = 0xFFFF_FFFF_FFFF_FF01


class Made:
    """A trace in the making."""

    def __init__(self) -> None:
        self.builder = TraceProtoBuilder()

    def packet(self, sequence: int = 1, **fields: Any) -> TracePacket:
        packet = self.builder.add_packet()
        packet.trusted_packet_sequence_id = sequence
        for name, value in fields.items():
            setattr(packet, name, value)
        return packet

    def event(self, time: int, kind: int, track: int | None = None, name: str = "", sequence: int = 1) -> TrackEvent:
        """An event, to be added to."""
        packet = self.packet(sequence, timestamp=time)
        packet.track_event.type = kind
        if track is not None:
            packet.track_event.track_uuid = track
        if name:
            packet.track_event.name = name
        return packet.track_event

    def track(self, uuid: int, name: str = "", parent: int = 0) -> Any:
        told = self.packet().track_descriptor
        told.uuid = uuid
        if name:
            told.name = name
        if parent:
            told.parent_uuid = parent
        return told

    def bytes(self) -> bytes:
        return bytes(self.builder.serialize())


def _tracks(made: Made) -> None:
    process = made.track(PROCESS).process
    process.pid, process.process_name = 40, "trainer"
    for uuid, tid, name in ((MAIN, 41, "main"), (WORKER, 42, "worker")):
        thread = made.track(uuid, parent=PROCESS).thread
        thread.pid, thread.tid, thread.thread_name = 40, tid, name
    made.track(STREAM, "stream 7", PROCESS)
    made.track(QUEUE, "queue", STREAM)
    made.track(SIZE, "memory", PROCESS).counter.unit = 3
    deltas = made.track(DELTAS, "instructions", PROCESS).counter
    deltas.is_incremental, deltas.unit = True, 2
    scaled = made.track(SCALED, "power", PROCESS).counter
    scaled.unit_multiplier, scaled.unit_name = 1000, "mW"
    made.track(DECIMAL, "load", PROCESS).counter.SetInParent()


def features() -> bytes:
    """A trace of nearly everything that Perfetto's own engine reads as well."""
    made = Made()
    snapshot = made.packet().clock_snapshot
    for clock, time in ((6, T0), (1, 1_790_000_000_000_000_000), (3, T0 - MONOTONIC_BEHIND)):
        snapshot.clocks.add(clock_id=clock, timestamp=time)
    _tracks(made)
    # nesting, names in place, categories, the end's annotations, an event on a track that nobody described
    made.event(T0 + 100, BEGIN, MAIN, "outer").categories.extend(["a", "b"])
    made.event(T0 + 150, BEGIN, MAIN, "inner")
    made.event(T0 + 150, INSTANT, MAIN, "mark").categories.append("m")
    end = made.event(T0 + 190, END, MAIN)
    end.debug_annotations.add(name="result", int_value=-3)
    made.event(T0 + 190, BEGIN, MAIN, "next at the same time")
    made.event(T0 + 200, END, MAIN)
    made.event(T0 + 300, END, MAIN)
    made.event(T0 + 310, BEGIN, UNDESCRIBED, "nobody told")
    made.event(T0 + 320, END, UNDESCRIBED)
    # on a track within a track; begun by one sequence and ended by another; out of order in the file
    made.event(T0 + 900, END, QUEUE, sequence=3)
    made.event(T0 + 400, BEGIN, QUEUE, "kernel ⚙")
    # interned data: names, categories, annotations' names and texts, places; defaults of track
    packet = made.packet(2, timestamp=T0 + 1000, sequence_flags=1)
    packet.trace_packet_defaults.track_event_defaults.track_uuid = WORKER
    data = packet.interned_data
    data.event_names.add(iid=1, name="interned")
    data.event_names.add(iid=2, name='say "hi"\n')
    data.event_categories.add(iid=1, name="cat one")
    data.event_categories.add(iid=2, name="two")
    data.debug_annotation_names.add(iid=1, name="key")
    data.debug_annotation_names.add(iid=2, name='odd "key"')
    data.debug_annotation_string_values.add(iid=1, str=b"interned text")
    data.source_locations.add(iid=1, file_name="model.py", function_name="forward", line_number=12)
    event = packet.track_event
    event.type, event.name_iid, event.source_location_iid = BEGIN, 1, 1
    event.category_iids.extend([1, 2])
    notes = event.debug_annotations
    notes.add(name_iid=1, uint_value=2**64 - 1)
    notes.add(name_iid=2, string_value_iid=1)
    notes.add(name="bool", bool_value=True)
    notes.add(name="double", double_value=0.1)
    notes.add(name="text", string_value='tab\tquote" ü')
    notes.add(name="pointer", pointer_value=0xDEADBEEF)
    notes.add(name="json", legacy_json_value='{"a": [1, 2]}')
    tree = notes.add(name="dict")
    tree.dict_entries.add(name="x", int_value=1)
    tree.dict_entries.add(name="list").array_values.add(string_value="deep")
    old = notes.add(name="nested").nested_value
    old.nested_type = 1
    old.dict_keys.append("k")
    old.dict_values.add(int_value=5)
    for time, name in ((1100, 2), (1150, 0)):
        inner = made.packet(2, timestamp=T0 + time, sequence_flags=2).track_event
        inner.type = BEGIN if name else END
        if name:
            inner.name_iid = name
    made.packet(2, timestamp=T0 + 1200, sequence_flags=2).track_event.type = END
    # cleared: the same numbers mean something else
    packet = made.packet(2, timestamp=T0 + 1300, sequence_flags=1)
    packet.trace_packet_defaults.track_event_defaults.track_uuid = WORKER
    packet.interned_data.event_names.add(iid=1, name="interned anew")
    packet.track_event.type, packet.track_event.name_iid = BEGIN, 1
    made.packet(2, timestamp=T0 + 1400, sequence_flags=2).track_event.type = END
    _clocks(made)
    _counters(made)
    _flows(made)
    _compressed(made)
    made.packet(timestamp=T0).ftrace_events.cpu = 1
    made.packet(timestamp=T0).ftrace_events.cpu = 2
    made.packet(timestamp=T0).android_log.SetInParent()
    return made.bytes()


def _clocks(made: Made) -> None:
    """Times of the monotonic clock, by packet and by default; differences in units of microseconds."""
    packet = made.packet(timestamp=T0 + 2000 - MONOTONIC_BEHIND, timestamp_clock_id=3)
    packet.track_event.type, packet.track_event.track_uuid, packet.track_event.name = BEGIN, MAIN, "monotonic"
    made.event(T0 + 2100, END, MAIN)
    packet = made.packet(4, sequence_flags=1)
    packet.trace_packet_defaults.timestamp_clock_id = 64
    packet.trace_packet_defaults.track_event_defaults.track_uuid = WORKER
    clocks = packet.clock_snapshot.clocks
    clocks.add(clock_id=64, timestamp=777, is_incremental=True, unit_multiplier_ns=1000)
    clocks.add(clock_id=6, timestamp=T0 + 3000)
    for delta, kind in ((1, BEGIN), (2, BEGIN), (3, END), (0, END)):
        event = made.packet(4, timestamp=delta, sequence_flags=2).track_event
        event.type = kind
        if kind == BEGIN:
            event.name = f"after {delta} µs"


def _counters(made: Made) -> None:
    for at, value in enumerate((5, 7, 2**40)):
        made.event(T0 + 100 * at, COUNTER, SIZE).counter_value = value
        made.event(T0 + 100 * at, COUNTER, SCALED).counter_value = value
        made.event(T0 + 100 * at, COUNTER, DECIMAL).double_counter_value = value / 3
    packet = made.packet(5, timestamp=T0 + 4000, sequence_flags=1)
    packet.trace_packet_defaults.track_event_defaults.track_uuid = MAIN
    packet.trace_packet_defaults.track_event_defaults.extra_counter_track_uuids.append(DELTAS)
    packet.track_event.type, packet.track_event.name = BEGIN, "with a counter"
    packet.track_event.extra_counter_values.append(10)
    event = made.packet(5, timestamp=T0 + 4100, sequence_flags=2).track_event
    event.type = END
    event.extra_counter_values.append(32)


def _flows(made: Made) -> None:
    for at, (track, ids, ends) in enumerate(
        ((MAIN, [9], []), (STREAM, [9, 2**63 + 5], []), (WORKER, [2**63 + 5], [9]))
    ):
        event = made.event(T0 + 5000 + 100 * at, BEGIN, track, f"flow {at}")
        event.flow_ids.extend(ids)
        event.terminating_flow_ids.extend(ends)
        made.event(T0 + 5050 + 100 * at, END, track)
    event = made.event(T0 + 5400, BEGIN, MAIN, "old flow")
    event.flow_ids_old.append(77)
    made.event(T0 + 5410, END, MAIN)
    event = made.event(T0 + 5420, BEGIN, STREAM, "old flow's end")
    event.terminating_flow_ids_old.append(77)
    made.event(T0 + 5430, END, STREAM)


def _compressed(made: Made) -> None:
    inner = Made()
    inner.event(T0 + 6000, BEGIN, MAIN, "packed")
    inner.event(T0 + 6100, END, MAIN)
    made.packet().compressed_packets = zlib.compress(inner.bytes())


def beyond() -> bytes:
    """What Perfetto's engine of the bundled version does not read: states, and stacks with what they are made of."""
    made = Made()
    _tracks(made)
    for time, name in ((100, "idle"), (300, "busy"), (900, "")):
        made.event(T0 + time, STATE, STREAM, name)
    event = made.event(T0 + 1000, BEGIN, MAIN, "inline stack")
    event.callstack.frames.add(function_name="main", source_file="a.py", line_number=3)
    event.callstack.frames.add(function_name="step")
    made.event(T0 + 1100, END, MAIN)
    packet = made.packet(7, timestamp=T0 + 1200, sequence_flags=1)
    data = packet.interned_data
    data.function_names.add(iid=1, str=b"forward")
    data.source_paths.add(iid=1, str=b"model.py")
    data.mapping_paths.add(iid=1, str=b"libtorch.so")
    data.mappings.add(iid=1, path_string_ids=[1])
    data.callstacks.add(iid=5, frame_ids=[1, 2])
    data.frames.add(iid=1, function_name_id=1, source_path_iid=1, line_number=9)
    data.frames.add(iid=2, mapping_id=1, rel_pc=0x1234)
    packet.track_event.type, packet.track_event.track_uuid, packet.track_event.name = BEGIN, MAIN, "interned stack"
    packet.track_event.callstack_iid = 5
    packet.track_event.correlation_id = 12
    made.event(T0 + 1300, END, MAIN)
    return made.bytes()


def reading(data: bytes) -> dict[Any, Any]:
    """Slices, instants, counters and flows of a trace, read with the package's own messages, event after event."""
    trace = Trace()
    trace.ParseFromString(data)
    events: list[tuple[int, int, Any, dict[Any, Any]]] = []
    state: dict[int, dict[Any, Any]] = {}
    counted: dict[str, int] = {}
    described: dict[int, Any] = {}
    behind: dict[tuple[int, int], int] = {(0, 6): 0}
    deltas: dict[tuple[int, int], list[int]] = {}
    packets = list(trace.packet)
    while packets:
        packet = packets.pop(0)
        own = packet.trusted_packet_sequence_id
        if packet.sequence_flags & 1:
            state[own] = {"defaults": None}
        here = state.setdefault(own, {"defaults": None})
        if packet.HasField("compressed_packets"):
            more = Trace()
            more.ParseFromString(zlib.decompress(packet.compressed_packets))
            packets = list(more.packet) + packets
            continue
        if packet.HasField("trace_packet_defaults"):
            here["defaults"] = packet.trace_packet_defaults
        for kind in ("event_names", "event_categories", "debug_annotation_names", "debug_annotation_string_values",
                     "source_locations"):  # fmt: skip
            for entry in getattr(packet.interned_data, kind):
                here[kind, entry.iid] = entry
        if packet.HasField("clock_snapshot"):
            _relate(packet.clock_snapshot, own, behind, deltas)
        if packet.HasField("track_descriptor"):
            described[packet.track_descriptor.uuid] = packet.track_descriptor
        if packet.HasField("track_event"):
            default = here["defaults"]
            clock = packet.timestamp_clock_id or (default.timestamp_clock_id if default else 0) or 6
            time, place = packet.timestamp, (own if 64 <= clock < 128 else 0, clock)
            if place in deltas:
                deltas[place][0] += time
                time = deltas[place][0] * deltas[place][1]
            track = packet.track_event.track_uuid
            if not packet.track_event.HasField("track_uuid"):
                track = default.track_event_defaults.track_uuid
            # what was interned is looked up now: later it may be another
            events.append((time + behind[place], track, packet.track_event, dict(here)))
        which = packet.WhichOneof("data")
        if which not in (None, "track_event", "track_descriptor", "clock_snapshot"):
            counted[which] = counted.get(which, 0) + 1
    events.sort(key=lambda event: event[0])
    return {**_played(events, described), "packets": counted}


def _relate(snapshot: ClockSnapshot, own: int, behind: dict[Any, int], deltas: dict[Any, list[int]]) -> None:
    boot = next(clock.timestamp for clock in snapshot.clocks if clock.clock_id == 6)
    for clock in snapshot.clocks:
        place = (own if 64 <= clock.clock_id < 128 else 0, clock.clock_id)
        unit = clock.unit_multiplier_ns or 1
        behind[place] = boot - clock.timestamp * unit
        if clock.is_incremental:
            deltas[place] = [clock.timestamp, unit]


def _played(events: list[tuple[int, int, Any, dict[Any, Any]]], described: dict[int, Any]) -> dict[Any, Any]:
    stacks: dict[int, list[dict[Any, Any]]] = {}
    slices: list[dict[Any, Any]] = []
    instants: list[tuple[Any, ...]] = []
    counters: list[tuple[int, int, float]] = []
    sums: dict[int, float] = {}
    flows: dict[int, list[str]] = {}
    arrows: list[tuple[str, str]] = []

    def count(track: int, time: int, value: float) -> None:
        told = described[track].counter
        value *= told.unit_multiplier or 1
        if told.is_incremental:
            value = sums[track] = sums.get(track, 0) + value
        counters.append((track, time, value))

    for time, track, event, here in events:
        name = event.name or (here["event_names", event.name_iid].name if event.name_iid else "")
        extra = event.extra_counter_track_uuids or (
            here["defaults"].track_event_defaults.extra_counter_track_uuids if here["defaults"] else ()
        )
        for uuid, value in zip(extra, event.extra_counter_values, strict=False):
            count(uuid, time, value)
        if event.type == BEGIN:
            stack = stacks.setdefault(track, [])
            stack.append({"track": track, "start": time, "name": name, "depth": len(stack), "args": _args(event, here)})
            for ids, ends in ((event.flow_ids, 0), (event.flow_ids_old, 0), (event.terminating_flow_ids, 1),
                              (event.terminating_flow_ids_old, 1)):  # fmt: skip
                for flow in ids:
                    if flows.get(flow):
                        arrows.append((flows[flow][-1], name))
                    flows.setdefault(flow, []).append(name)
                    if ends:
                        flows.pop(flow)
        elif event.type == END:
            done = stacks[track].pop()
            done["dur"] = time - done["start"]
            done["args"] |= _args(event, here)
            slices.append(done)
        elif event.type == INSTANT:
            instants.append((track, time, name))
        elif event.type == COUNTER:
            double = event.HasField("double_counter_value")
            count(track, time, event.double_counter_value if double else event.counter_value)
    return {"slices": slices, "instants": instants, "counters": counters, "arrows": arrows}


def _args(event: TrackEvent, here: dict[Any, Any]) -> dict[Any, Any]:
    import json

    def value(note: Any) -> Any:
        if note.dict_entries:
            return {entry.name: value(entry) for entry in note.dict_entries}
        if note.array_values:
            return [value(entry) for entry in note.array_values]
        kind = note.WhichOneof("value")
        if kind == "string_value_iid":
            return here["debug_annotation_string_values", note.string_value_iid].str.decode()
        if kind == "pointer_value":
            return hex(note.pointer_value)
        if kind == "legacy_json_value":
            return json.loads(note.legacy_json_value)
        if kind == "nested_value":
            nested = note.nested_value
            return {k: v.int_value for k, v in zip(nested.dict_keys, nested.dict_values, strict=True)}
        return getattr(note, str(kind))

    found: dict[Any, Any] = {}
    names = [*event.categories, *(here["event_categories", iid].name for iid in event.category_iids)]
    if names:
        found["cat"] = ",".join(names)
    for note in event.debug_annotations:
        name = note.name or here["debug_annotation_names", note.name_iid].name
        found[name] = value(note)
    if event.source_location_iid:
        place = here["source_locations", event.source_location_iid]
        found |= {"file": place.file_name, "function": place.function_name, "line": place.line_number}
    return found


def legacy(made: Made, time: int, phase: str, name: str, sequence: int = 5, **fields: Any) -> TrackEvent:
    """An event as Chrome wrote them before there were tracks, to be added to."""
    event = made.packet(sequence, timestamp=T0 + time).track_event
    if name:
        event.name = name
    event.categories.append("c")
    event.legacy_event.phase = ord(phase)
    for field, value in fields.items():
        setattr(event.legacy_event, field, value)
    return event


def old_events() -> bytes:
    """Chrome's older events: ids within their scopes, arrows of both kinds, other threads' events."""
    made = Made()
    for sequence, tid, name in ((5, 20, "one"), (6, 21, "two")):
        thread = made.packet(sequence, sequence_flags=1).thread_descriptor
        thread.pid, thread.tid, thread.thread_name = 7, tid, name
    for time, phase, name, more in (
        (100, "b", "asked", {"local_id": 4}), (110, "b", "within", {"local_id": 4}),
        (120, "e", "within", {"local_id": 4}), (125, "n", "now", {"local_id": 4}), (130, "e", "asked", {"local_id": 4}),
        (100, "b", "all", {"global_id": 4}), (140, "b", "scoped", {"global_id": 4, "id_scope": "other"}),
        (150, "e", "all", {"global_id": 4}), (170, "e", "scoped", {"global_id": 4, "id_scope": "other"}),
        (200, "S", "first", {"unscoped_id": 9}), (210, "S", "second", {"unscoped_id": 9}),
        (220, "F", "first", {"unscoped_id": 9}), (230, "F", "second", {"unscoped_id": 9}),
        (300, "X", "elsewhere", {"duration_us": 1, "tid_override": 55}),
    ):  # fmt: skip
        legacy(made, time, phase, name, **more)
    for time, sequence, direction, name in ((10_000, 5, 2, "out"), (20_000, 6, 3, "through"), (30_000, 5, 1, "in")):
        legacy(made, time, "X", name, sequence, duration_us=1, bind_id=99, flow_direction=direction)
    legacy(made, 40_000, "X", "start", duration_us=2)
    legacy(made, 41_000, "s", "arrow", unscoped_id=77)
    legacy(made, 50_000, "X", "enclosing", 6, duration_us=3)
    legacy(made, 51_000, "t", "arrow", 6, unscoped_id=77)
    legacy(made, 60_000, "f", "arrow", unscoped_id=77)
    legacy(made, 61_000, "X", "next", duration_us=3)
    return made.bytes()
