"""Traces of every feature read as Perfetto's own messages say, found by content, damaged anywhere, and written back."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.capture_rows import rows
from tests.sources.perfetto import traces
from tests.sources.perfetto.traces import T0, Made

from peephole import sources
from peephole.errors import PeepholeError
from peephole.ingest import import_files
from peephole.render.perfetto import write_perfetto
from peephole.store.capture import Capture, open_capture


def imported(data: bytes, path: Path) -> Capture:
    path.write_bytes(data)
    return open_capture(import_files([path], path.with_suffix(".peep")))


def profile(capture: Capture) -> dict[str, Any]:
    """What the independent reading gives, of a capture; tracks by name."""
    names = {track["id"]: track["name"] for track in rows(capture, "tracks")}
    slices = rows(capture, "slices")
    by_number = {row["correlation"]: row["name"] for row in slices}
    return {
        "slices": Counter(
            (names[s["track"]], s["start"], s["dur"], s["name"], s["depth"], _text(json.loads(s["args"] or "{}")))
            for s in slices
        ),
        "instants": Counter((names[m["track"]], m["time"], m["name"]) for m in rows(capture, "markers")),
        "counters": Counter((names[c["track"]], c["time"], c["value"]) for c in rows(capture, "counters")),
        "arrows": Counter((by_number[f["from"]], by_number[f["to"]]) for f in rows(capture, "flows")),
    }


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


NAMES = {
    traces.MAIN: "main", traces.WORKER: "worker", traces.STREAM: "stream 7", traces.QUEUE: "queue",
    traces.SIZE: "memory", traces.DELTAS: "instructions", traces.SCALED: "power", traces.DECIMAL: "load",
    traces.UNDESCRIBED: "nobody told",
}  # fmt: skip


def expected(data: bytes) -> dict[str, Any]:
    found = traces.reading(data)
    return {
        "slices": Counter(
            (NAMES[s["track"]], s["start"], s["dur"], s["name"], s["depth"], _text(s["args"])) for s in found["slices"]
        ),
        "instants": Counter((NAMES[track], time, name) for track, time, name in found["instants"]),
        "counters": Counter((NAMES[track], time, value) for track, time, value in found["counters"]),
        "arrows": Counter(found["arrows"]),
    }


@pytest.mark.parametrize("name", ["trace.pftrace", "x", "trace.json"])
def test_every_feature_is_what_the_messages_say(name: str, tmp_path: Path) -> None:
    data = traces.features()
    capture = imported(data, tmp_path / name)
    truth = expected(data)
    found = profile(capture)
    for kind, rows_of in truth.items():
        assert found[kind] == rows_of, kind
    assert sum(truth["slices"].values()) == 18 and sum(truth["arrows"].values()) == 4
    problems = {p["reason"]: p["count"] for p in capture.manifest.problems}
    assert problems == {"packet that is not shown: ftrace_events": 2, "packet that is not shown: android_log": 1}
    assert capture.manifest.clocks == {
        "unit": "trace", "base_ns": 1_790_000_000_000_000_000 - T0, "clock": "boottime"
    }  # fmt: skip


def test_tracks_have_their_hierarchy_and_units(tmp_path: Path) -> None:
    capture = imported(traces.features(), tmp_path / "t")
    tracks = {row["name"]: row for row in rows(capture, "tracks")}
    above = {name: next((n for n, r in tracks.items() if r["id"] == row["parent"]), "") for name, row in tracks.items()}
    assert above["queue"] == "stream 7" and above["stream 7"] == above["main"] == above["memory"] == "trainer (40)"
    assert {name: tracks[name]["unit"] for name in ("memory", "instructions", "power", "load")} == {
        "memory": "bytes", "instructions": "count", "power": "mW", "load": None
    }  # fmt: skip
    assert tracks["stream 7"]["kind"] == tracks["queue"]["kind"] == "device"
    assert tracks["main"]["kind"] == "thread" and tracks["main"]["process"] == 40
    assert tracks["trainer (40)"]["kind"] == "host" and tracks["memory"]["kind"] == "counter"


def test_states_and_stacks(tmp_path: Path) -> None:
    capture = imported(traces.beyond(), tmp_path / "t")
    found = {row["name"]: row for row in rows(capture, "slices")}
    assert [(found[n]["start"] - T0, found[n]["dur"]) for n in ("idle", "busy")] == [(100, 200), (300, 600)]
    inline, interned = (json.loads(found[name]["args"]) for name in ("inline stack", "interned stack"))
    assert inline == {"callstack": ["main (a.py:3)", "step"]}
    assert interned == {"callstack": ["forward (model.py:9)", "0x1234 (libtorch.so)"], "correlation": 12}
    assert len(found) == 4


def test_a_trace_is_found_by_content_and_not_taken_for_another(tmp_path: Path, shared: Any) -> None:
    path = tmp_path / "what.ever"
    path.write_bytes(traces.features())
    assert sources.find(path).name == "perfetto"
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(traces.features()))
    assert sources.find(packed).name == "perfetto"
    assert not sources.load("perfetto").sniff(sources.head_of(shared("fixtures/formats/jax_cpu.xplane.pb")), path)


def test_a_space_of_xla_is_not_taken(tmp_path: Path) -> None:
    from bench.perfetto_trace import message, number

    plane = message(2, b"/host:CPU"), message(3, number(1, 1), message(2, b"main"), message(4, number(1, 3)))
    for first in ((), (number(1, 2),)):
        head = message(1, *first, *plane) + message(1, *first, *plane) + message(4, b"host")
        assert not sources.load("perfetto").sniff(head, tmp_path)


def test_the_real_sample(shared: Any, tmp_path: Path) -> None:
    data = shared("fixtures/formats/track_events.pftrace").read_bytes()
    truth = traces.reading(data)
    capture = imported(data, tmp_path / "no name at all")
    found = rows(capture, "slices")
    assert Counter((s["start"], s["dur"], s["name"]) for s in found) == Counter(
        (s["start"], s["dur"], s["name"]) for s in truth["slices"]
    )
    assert Counter((m["time"], m["name"]) for m in rows(capture, "markers")) == Counter(
        (time, name) for _, time, name in truth["instants"]
    )
    assert Counter((c["time"], c["value"]) for c in rows(capture, "counters")) == Counter(
        (time, value) for _, time, value in truth["counters"]
    )
    assert len(rows(capture, "flows")) == len(truth["arrows"]) == 200


def test_what_was_lost_is_counted_and_open_slices_say_so(tmp_path: Path) -> None:
    made = Made()
    needs = made.packet(3, timestamp=T0, sequence_flags=2).track_event
    needs.type, needs.name_iid = 1, 4
    made.event(T0, 2, 5)
    made.event(T0 + 10, 1, 5, "open")
    made.event(T0 + 90, 1, 5, "inner")
    made.event(T0 + 100, 2, 5)
    made.packet().track_event.type = 1
    made.event(T0, 0, 5)
    named = made.event(T0 + 300, 1, 6)
    named.name_iid = 44
    made.event(T0 + 301, 2, 6)
    made.packet(timestamp=T0, timestamp_clock_id=99).track_event.type = 3
    capture = imported(made.bytes(), tmp_path / "t")
    problems = {p["reason"]: p["count"] for p in capture.manifest.problems}
    assert problems == {
        "event that needs what was lost before it": 1,
        "end without a begin": 1,
        "event without a usable time": 1,
        "event of an unknown type": 1,
        "event whose name was never told": 1,
        "slice that was still open at the end": 1,
    }
    slices = {row["name"]: row for row in rows(capture, "slices")}
    assert slices["open"]["dur"] == 291 and json.loads(slices["open"]["args"]) == {"open": True}
    assert slices["inner"]["depth"] == 1


def test_legacy_events(tmp_path: Path) -> None:
    made = Made()
    told = made.packet(9).thread_descriptor
    told.pid, told.tid, told.thread_name, told.reference_timestamp_us = 7, 8, "old thread", 5000
    for delta, phase in ((10, "B"), (5, "X"), (20, "E"), (1, "I")):
        event = made.packet(9).track_event
        event.timestamp_delta_us = delta
        event.legacy_event.phase = ord(phase)
        event.name = "" if phase == "E" else f"old {phase}"
        if phase == "X":
            event.legacy_event.duration_us = 4
    for time, phase in ((100, "b"), (200, "e")):
        event = made.packet(9, timestamp=time).track_event
        event.legacy_event.phase, event.legacy_event.unscoped_id, event.name = ord(phase), 3, "async"
    made.packet(9, timestamp=3).track_event.legacy_event.phase = ord("?")
    capture = imported(made.bytes(), tmp_path / "t")
    names = {track["id"]: track["name"] for track in rows(capture, "tracks")}
    found = {s["name"]: (names[s["track"]], s["start"], s["dur"]) for s in rows(capture, "slices")}
    assert found == {
        "old B": ("old thread", 5_010_000, 25_000),
        "old X": ("old thread", 5_015_000, 4_000),
        "async": ("async", 100, 100),
    }
    assert [m["name"] for m in rows(capture, "markers")] == ["old I"]
    assert [p["reason"] for p in capture.manifest.problems] == ["event of a legacy phase that has no picture"]


def test_blocks_and_windows_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from peephole.sources import parted_rows
    from peephole.sources.perfetto import interned, reader, slices
    from peephole.store.tables import row_spool

    data = traces.features()
    whole = profile(imported(data, tmp_path / "whole"))
    monkeypatch.setattr(reader, "CHUNK", 61)
    monkeypatch.setattr(reader, "ROOM", 3)
    assert profile(imported(data, tmp_path / "cut")) == whole
    monkeypatch.setattr(slices.Slices.__init__, "__defaults__", (20,))
    assert profile(imported(data, tmp_path / "windows")) == whole
    monkeypatch.setattr(interned, "_MUCH", 1)
    assert profile(imported(data, tmp_path / "forgotten")) == whole
    monkeypatch.setattr(parted_rows, "IN_MEMORY", 1)
    monkeypatch.setattr(row_spool, "RUN", 100)
    monkeypatch.setattr(row_spool, "_BATCH", 2)
    assert profile(imported(data, tmp_path / "on the disk")) == whole


def test_several_files_keep_their_tracks_apart(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(traces.features())
    capture = open_capture(import_files([tmp_path / "a", tmp_path / "b"], tmp_path / "c.peep"))
    once = imported(traces.features(), tmp_path / "one")
    assert len(rows(capture, "slices")) == 2 * len(rows(once, "slices"))
    assert len(rows(capture, "tracks")) == 2 * len(rows(once, "tracks"))
    numbers = [row["correlation"] for row in rows(capture, "slices")]
    assert len(set(numbers)) == len(numbers)
    assert len({row["id"] for row in rows(capture, "tracks")}) == len(rows(capture, "tracks"))


def test_cut_anywhere_and_damaged_anywhere(tmp_path: Path) -> None:
    data = traces.features()
    rng = random.Random(3)
    whole = len(rows(imported(data, tmp_path / "whole"), "slices"))
    for trial in range(60):
        path = tmp_path / f"d{trial}"
        if trial % 2:
            damaged = data[: rng.randrange(1, len(data))]
        else:
            broken = bytearray(data)
            for _ in range(rng.randrange(1, 6)):
                broken[rng.randrange(len(broken))] = rng.randrange(256)
            damaged = bytes(broken)
        path.write_bytes(damaged)
        try:
            capture = open_capture(import_files([path], tmp_path / f"d{trial}.peep"))
        except PeepholeError:
            continue
        assert capture.count("slices") <= whole + 5
        if trial % 2:
            assert any("cut off" in p["reason"] for p in capture.manifest.problems) or capture.count("slices") <= whole


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        (b"\x0a\xff\xff\xff\xff\x7f", "the file is damaged: a length that cannot be; the rest of it is lost"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "the file is damaged: something that is no packet"),
        (b"\x00\x00", "the file is damaged: something that is no packet; the rest of it is lost"),
        (b"\x0a\x10abc", "the file was cut off"),
        (b"\x12\x02ab", "record that is no packet"),
        (b"\x0a\x03\x5a\x09\x01", "packet that cannot be read"),
    ],
)
def test_absurd_lengths(tail: bytes, reason: str, tmp_path: Path) -> None:
    capture = imported(traces.features() + tail, tmp_path / "t")
    assert capture.count("slices") == 18
    assert any(p["reason"].startswith(reason) for p in capture.manifest.problems), capture.manifest.problems


def test_packets_compressed_with_zstd(tmp_path: Path) -> None:
    import pyarrow as pa
    from bench.perfetto_trace import message

    inner = traces.beyond()
    packed = pa.compress(inner, "zstd", asbytes=True)
    capture = imported(message(1, message(133, packed)), tmp_path / "t")
    assert profile(capture) == profile(imported(inner, tmp_path / "plain"))
    assert capture.count("slices") == 4 and not capture.manifest.problems
    bomb = pa.compress(bytes(1 << 28), "zstd", asbytes=True)
    for at, damaged in enumerate((packed[: len(packed) // 2], b"no zstd", bomb)):
        capture = imported(message(1, message(133, damaged)), tmp_path / f"{at}")
        (problem,) = capture.manifest.problems
        assert "damaged" in problem["reason"]


def test_deep_annotations_and_bombs(tmp_path: Path) -> None:
    import zlib

    from bench.perfetto_trace import message, number

    note = message(10, b"leaf") + number(4, 1)
    for _ in range(3000):
        note = message(10, b"n") + message(11, note)
    made = Made()
    made.event(T0, 1, 5, "s")
    event = number(9, 2) + number(11, 5) + message(4, note)
    data = made.bytes() + message(1, number(8, T0 + 5), message(11, event))
    data += message(1, message(50, zlib.compress(bytes(10_000_000), 9)))
    capture = imported(data, tmp_path / "t")
    assert capture.count("slices") == 1
    packed = Made()
    packed.packet().compressed_packets = zlib.compress(packed.bytes() + traces.features())
    again = Made()
    again.packet().compressed_packets = zlib.compress(packed.bytes())
    again.event(T0, 3, 5, "mark")
    capture = imported(again.bytes(), tmp_path / "again")
    assert [p["reason"] for p in capture.manifest.problems] == [
        "compressed packets within compressed packets, which are not read"
    ]


def test_export_and_import_are_one_another(tmp_path: Path) -> None:
    capture = imported(traces.features(), tmp_path / "t")
    with (tmp_path / "out.pftrace").open("wb") as file:
        assert write_perfetto(capture, file) == 18
    again = imported((tmp_path / "out.pftrace").read_bytes(), tmp_path / "again")
    assert profile(again) == profile(capture)
    assert not again.manifest.problems
    kept = ("name", "kind", "unit", "process")
    ours, theirs = (Counter(tuple(row[key] for key in kept) for row in rows(one, "tracks")) for one in (capture, again))
    assert ours == theirs


def test_old_events_of_chrome_have_their_ids_arrows_and_threads(tmp_path: Path) -> None:
    capture = imported(traces.old_events(), tmp_path / "t")
    assert not capture.manifest.problems
    found = profile(capture)
    slices = Counter((track, start - T0, dur, name, depth) for track, start, dur, name, depth, _ in found["slices"])
    assert slices == Counter(
        [
            ("asked", 100, 30, "asked", 0), ("asked", 110, 10, "within", 1), ("all", 100, 50, "all", 0),
            ("scoped", 140, 30, "scoped", 0), ("first", 200, 20, "first", 0), ("second", 210, 20, "second", 0),
            ("thread 55", 300, 1000, "elsewhere", 0), ("one", 10_000, 1000, "out", 0),
            ("two", 20_000, 1000, "through", 0), ("one", 30_000, 1000, "in", 0), ("one", 40_000, 2000, "start", 0),
            ("two", 50_000, 3000, "enclosing", 0),
            ("one", 61_000, 3000, "next", 0),
        ]
    )  # fmt: skip
    assert found["instants"] == Counter([("asked", T0 + 125, "now")])
    assert found["arrows"] == Counter(
        [("out", "through"), ("through", "in"), ("start", "enclosing"), ("enclosing", "next")]
    )


def test_a_time_without_a_clock_is_of_the_traces_own(tmp_path: Path) -> None:
    made = Made()
    snapshot = made.packet().clock_snapshot
    snapshot.primary_trace_clock = 3
    for clock, time in ((6, T0), (3, T0 - 1000)):
        snapshot.clocks.add(clock_id=clock, timestamp=time)
    made.event(T0 + 5, 3, 5, "unsaid")
    packet = made.packet(timestamp=T0 + 5, timestamp_clock_id=6)
    packet.track_event.type, packet.track_event.track_uuid, packet.track_event.name = 3, 5, "boottime"
    capture = imported(made.bytes(), tmp_path / "t")
    assert {m["name"]: m["time"] for m in rows(capture, "markers")} == {"unsaid": T0 + 5, "boottime": T0 - 995}


def test_tracks_without_a_name_have_that_of_their_first_event_and_built_in_counters_their_own(tmp_path: Path) -> None:
    made = Made()
    made.track(1).process.pid = 7
    for uuid, kind in ((30, 1), (31, 2)):
        made.track(uuid, parent=1).counter.type = kind
        made.event(T0, 4, uuid).counter_value = 5
    made.track(12, parent=1)
    for uuid in (12, 77):
        made.event(T0, 1, uuid, f"first on {uuid}")
        made.event(T0 + 1, 2, uuid)
        made.event(T0 + 2, 3, uuid, "later")
    tracks = {track["name"]: track["unit"] for track in rows(imported(made.bytes(), tmp_path / "t"), "tracks")}
    assert tracks == {
        "thread_time": "ns", "thread_instruction_count": "count", "first on 12": None, "first on 77": None,
        "process 7": None,
    }  # fmt: skip


@pytest.mark.parametrize("window", [None, 1])
def test_an_old_arrow_waits_for_its_slice_through_any_number_of_windows(
    window: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from peephole.sources.perfetto import reader, slices

    if window:
        monkeypatch.setattr(reader, "CHUNK", 61)
        monkeypatch.setattr(slices.Slices.__init__, "__defaults__", (window,))
    made = Made()
    for sequence, tid, name in ((5, 20, "one"), (6, 21, "two"), (7, 22, "three")):
        thread = made.packet(sequence, sequence_flags=1).thread_descriptor
        thread.pid, thread.tid, thread.thread_name = 7, tid, name
    for at, arrow in enumerate((77, 78)):
        traces.legacy(made, 100 * at, "X", f"start {arrow}", duration_us=2)
        traces.legacy(made, 100 * at + 1, "s", "arrow", unscoped_id=arrow)
    traces.legacy(made, 1000, "f", "arrow", 6, unscoped_id=77)
    traces.legacy(made, 1001, "f", "arrow", 6, unscoped_id=78)
    traces.legacy(made, 1002, "f", "arrow", 7, unscoped_id=77)  # nothing follows it there
    for at in range(40):
        traces.legacy(made, 2000 + 10_000 * at, "X", "between", duration_us=1)
    for time in (500_000, 600_000):
        traces.legacy(made, time, "X", f"at {time}", 6, duration_us=1)
    capture = imported(made.bytes(), tmp_path / "t")
    assert profile(capture)["arrows"] == Counter([("start 77", "at 500000"), ("start 78", "at 500000")])
    assert not capture.manifest.problems


def test_a_number_told_twice_keeps_what_it_meant(tmp_path: Path) -> None:
    made = Made()
    made.track(5, "here")
    for time, told in ((1, "first"), (2, "later")):
        packet = made.packet(3, timestamp=T0 + time, sequence_flags=time)
        for kind in ("event_names", "event_categories", "debug_annotation_names"):
            getattr(packet.interned_data, kind).add(iid=1, name=told)
        packet.interned_data.function_names.add(iid=1, str=told.encode())
        packet.interned_data.frames.add(iid=1, function_name_id=1)
        packet.interned_data.callstacks.add(iid=time, frame_ids=[1])
        event = packet.track_event
        event.type, event.track_uuid, event.name_iid, event.callstack_iid = 1, 5, 1, time
        event.category_iids.append(1)
        event.debug_annotations.add(name_iid=1, int_value=time)
        made.event(T0 + time, 2, 5)
    found = rows(imported(made.bytes(), tmp_path / "t"), "slices")
    assert [row["name"] for row in found] == ["first", "first"]
    assert [json.loads(row["args"]) for row in found] == [
        {"cat": "first", "first": time, "callstack": ["first"]} for time in (1, 2)
    ]


def test_thread_times_of_events_are_counted(tmp_path: Path) -> None:
    made = Made()
    for at, field in enumerate(
        ("thread_time_delta_us", "thread_time_absolute_us", "thread_instruction_count_delta", "")
    ):
        event = made.event(T0 + at, 3, 5, "event")
        if field:
            setattr(event, field, 9)
    traces.legacy(made, 100, "X", "old", duration_us=2, thread_duration_us=1)
    problems = imported(made.bytes(), tmp_path / "t").manifest.problems
    assert [(problem["reason"], problem["count"]) for problem in problems] == [
        ("thread time or instruction count of an event, which is not shown", 4)
    ]
