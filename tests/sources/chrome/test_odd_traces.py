"""Odd but legal traces: figures against a small reference, and the same profile after export and import."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.sources.chrome.test_chrome import PARSERS, read

from peephole.ingest import import_files
from peephole.render.chrome import write_chrome
from peephole.sources import find
from peephole.store.capture import Capture, open_capture

DIGITS = "9" * 5000
"""More than Python turns into a number."""
LAST = '{"ph":"X","ts":9,"dur":1,"pid":1,"tid":2,"name":"last"}'


@pytest.mark.parametrize("small", PARSERS)
@pytest.mark.parametrize("key", ["ts", "dur", "pid", "tid", "name", "id", "a"])
@pytest.mark.parametrize("form", ["{}", "-{}", "{}.5", '"{}"'])
def test_a_number_of_many_digits_costs_nothing_else(
    key: str, form: str, small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"ts": "1", "dur": "2", "pid": "1", "tid": "2", "name": '"n"', "id": "3", "a": "4"}
    values[key] = form.format(DIGITS)
    own = '{{"ph":"X","ts":{ts},"dur":{dur},"pid":{pid},"tid":{tid},"name":{name},"id":{id},"args":{{"a":{a},"b":5}}}}'
    rows = read(f"[{own.format(**values)},{LAST}]", tmp_path, small, monkeypatch)
    assert rows.problems == {
        "ts": {"event without a usable time": 1},
        "dur": {"X event without a duration, shown with none": 1},
    }.get(key, {})
    found = {row["start"]: row for row in rows.rows["slices"]}
    assert found[9000]["name"] == "last" and len(found) == (1 if key == "ts" else 2)
    if key != "ts":
        args = json.loads(found[1000]["args"])
        assert args["b"] == 5
        assert args["a"] == (4 if key != "a" else DIGITS if form[0] == '"' else None)
        assert key != "name" or found[1000]["name"] == form.format(DIGITS).strip('"')


@pytest.mark.parametrize("small", PARSERS)
def test_facts_and_metadata_of_many_digits(small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [
        f'{{"ph":"M","name":"thread_sort_index","pid":1,"tid":2,"args":{{"sort_index":{DIGITS}}}}}',
        f'{{"ph":"i","name":"[memory]","ts":1,"pid":1,"tid":2,"args":{{"Bytes":{DIGITS},"Addr":{DIGITS}}}}}',
        f'{{"ph":"b","cat":"q","id2":{{"local":{DIGITS}}},"ts":1,"pid":1,"tid":2,"name":"async"}}',
        f'{{"ph":"e","cat":"q","id2":{{"local":{DIGITS}}},"ts":3,"pid":1,"tid":2,"name":"async"}}',
        f'{{"ph":"C","name":"c","ts":3,"pid":1,"args":{{"v":{DIGITS},"w":2}}}}',
        LAST,
    ]
    text = f'{{"baseTimeNanoseconds":{DIGITS},"other":[{DIGITS}],"traceEvents":[{",".join(events)}]}}'
    rows = read(text, tmp_path, small, monkeypatch)
    assert rows.slices() == [("async", 1000, 2000), ("last", 9000, 1000)]
    assert [row["value"] for row in rows.rows["counters"]] == [2.0]
    assert rows.problems == {"metadata that is not used": 1}


@pytest.mark.parametrize("small", PARSERS)
@pytest.mark.parametrize("stray", ["null", "17", '"text, \\" with }, { in it"', "-1.5e3", "true", DIGITS])
def test_what_is_no_event_costs_no_event(
    stray: str, small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in (f"[{stray}, {LAST}]", f"[{LAST}, {stray}\n]", f"[{LAST},{stray},{LAST},{stray},{LAST}]"):
        rows = read(text, tmp_path, small, monkeypatch)
        assert len(rows.slices()) == text.count("last")
        assert rows.problems == {"not an event object": text.count(stray)}


@pytest.mark.parametrize("small", PARSERS)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_two_bytes_a_letter(encoding: str, small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\ufeff"[encoding == "utf-16" :] + f'[{LAST},{{"ph":"X","ts":1,"dur":2,"pid":1,"tid":2,"name":"né 😀"}}]'
    data = text.encode(encoding)
    for packed in (data, gzip.compress(data)):
        rows = read(packed, tmp_path, small, monkeypatch)
        assert rows.slices() == [("last", 9000, 1000), ("né 😀", 1000, 2000)] and not rows.problems
        assert find(tmp_path / "anything").name == "chrome"
    assert read(gzip.compress(data)[:-12], tmp_path, small, monkeypatch).problems


Event = dict[str, Any]


def event(phase: str, name: str, time: Any, pid: Any = 1, tid: Any = 1, **more: Any) -> Event:
    return {"ph": phase, "name": name, "pid": pid, "tid": tid, "ts": time, **more}


def capture_of(path: Path, data: bytes) -> Capture:
    path.write_bytes(data)
    return open_capture(import_files([path], path.with_suffix(".peep")))


def exported(capture: Capture) -> bytes:
    out = io.BytesIO()
    write_chrome(capture, out)
    return out.getvalue()


def profile(capture: Capture) -> dict[str, Any]:
    """What a capture shows, by names instead of numbers."""
    tracks, slices, markers = capture.read("tracks"), capture.read("slices"), capture.read("markers")
    counters, flows = capture.read("counters"), capture.read("flows")
    name = dict(zip(tracks["id"].tolist(), tracks.texts("name"), strict=True))
    parent = dict(zip(tracks["id"].tolist(), tracks["parent"].tolist(), strict=True))
    place = {track: (name.get(parent[track]), name[track]) for track in name}
    of = dict(
        zip(
            slices["correlation"].tolist(),
            zip(slices.texts("name"), slices["start"].tolist(), strict=True),
            strict=True,
        )
    )
    return {
        "tracks": Counter(zip(place.values(), tracks.texts("kind"), strict=True)),
        "slices": Counter(
            (place[track], start, dur, title, json.dumps(json.loads(args or "{}"), sort_keys=True))
            for track, start, dur, title, args in zip(
                slices["track"].tolist(), slices["start"].tolist(), slices["dur"].tolist(), slices.texts("name"),
                slices.texts("args"), strict=True,
            )
        ),
        "markers": Counter(
            (place.get(track), time, title, args)
            for track, time, title, args in zip(
                markers["track"].tolist(), markers["time"].tolist(), markers.texts("name"), markers.texts("args"),
                strict=True,
            )
        ),
        "counters": Counter(
            (place[track], time, value)
            for track, time, value in zip(
                counters["track"].tolist(), counters["time"].tolist(), counters["value"].tolist(), strict=True
            )
        ),
        "flows": Counter(
            (of[a], of[b], kind)
            for a, b, kind in zip(flows["from"].tolist(), flows["to"].tolist(), flows.texts("kind"), strict=True)
        ),
    }  # fmt: skip


TRACES: dict[str, list[Event]] = {
    "ends that are missing": [event("B", "a", 0), event("B", "b", 1), event("E", "", 5), event("B", "c", 6)],
    "negative and fractional times": [
        event("X", "before", -5.5, dur=2), event("X", "fine", 1.2345, dur=0.0015), event("X", "none", 3, dur=0),
    ],
    "one id in two categories": [
        event("b", "r", 0, cat="x", id=1), event("b", "r", 1, cat="y", id=1), event("n", "half", 2, cat="x", id=1),
        event("e", "r", 3, cat="y", id=1), event("e", "r", 9, cat="x", id=1),
    ],
    "arrows to what is around and to what comes": [
        event("X", "a", 0, dur=10), event("X", "b", 20, tid=2, dur=10), event("X", "in b", 20, tid=2, dur=4),
        event("X", "in b too", 24, tid=2, dur=4), event("X", "c", 40, 2, 2, dur=10),
        event("s", "f", 5, cat="f", id=1), event("t", "f", 29, tid=2, cat="f", id=1),
        event("f", "f", 35, 2, 2, cat="f", id=1), event("s", "f", 9, cat="f", id=2),
        event("f", "f", 21, tid=2, cat="f", id=2, bp="e"),
    ],
    "counters of several series": [
        *(event("C", "mem", time, args={"a": time, "b": time / 4, "value": 3}) for time in range(3)),
        event("C", "mem", 2, 2, args={"a": 5}),
    ],
    "moments": [
        event("i", "all", 1, s="g", args={"q": 1}), event("i", "process", 2, s="p"), event("I", "thread", 3, cat="k"),
    ],
    "metadata after events": [
        event("X", "a", 1, 7, "worker", dur=1, args={"deep": [1, {"x": None}]}),
        {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "late"}},
        {"ph": "M", "name": "thread_name", "pid": 7, "tid": "worker", "args": {"name": "né"}},
    ],
    "one name for several threads": [
        *({"ph": "M", "name": "thread_name", "pid": 1, "tid": i, "args": {"name": "same"}} for i in range(3)),
        *(event("X", "x", i, tid=i, dur=1, args=[i]) for i in range(3)),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", TRACES)
def test_export_and_import_are_one_another(name: str, tmp_path: Path) -> None:
    first = capture_of(tmp_path / "first.json", json.dumps(TRACES[name]).encode())
    again = capture_of(tmp_path / "again.json", exported(first))
    assert profile(again) == profile(first)
    assert again.manifest.problems == []


def test_names_do_not_grow_with_every_export(tmp_path: Path) -> None:
    """A process that has no number gets one, once; slices that cross get threads of their own, once."""
    events = [event("X", "a", 1, "text", "", dur=5), event("X", "b", 2, "text", "", dur=8), event("X", "c", 2, "", "")]
    capture = capture_of(tmp_path / "0.json", json.dumps(events).encode())
    captures = [capture := capture_of(tmp_path / f"{i}.json", exported(capture)) for i in (1, 2, 3)]
    first, second, third = map(profile, captures)
    assert first == second == third
    assert sum(first["slices"].values()) == 3


def reference(events: list[Event]) -> dict[str, int]:
    """ns per name: X by its duration, B and E as a stack per thread, b and e by category and id."""
    total: dict[str, int] = defaultdict(int)
    stacks: dict[tuple[Any, ...], list[tuple[str, int]]] = defaultdict(list)
    for one in sorted(events, key=lambda one: Decimal(str(one["ts"]))):
        time = round(Decimal(str(one["ts"])) * 1000)
        thread = (one["pid"], one["tid"]) if one["ph"] in "BE" else (one.get("cat"), one.get("id"))
        if one["ph"] == "X":
            total[one["name"]] += round(Decimal(str(one["dur"])) * 1000)
        elif one["ph"] in "Bb":
            stacks[thread].append((one["name"], time))
        else:
            name, begun = stacks[thread].pop()
            total[name] += time - begun
    return dict(total)


@pytest.mark.parametrize("seed", range(4))
def test_sums_of_durations(seed: int, tmp_path: Path) -> None:
    pick = random.Random(seed)
    events: list[Event] = []
    for number in range(400):
        time = pick.choice([1, 10**15]) + number * 1000 + pick.randrange(1000) / 8
        pid, tid = pick.choice([1, "one", ""]), pick.choice([1, 2, "two"])
        kind = pick.choice(["X", "B", "b"])
        if kind == "X":
            events.append(event("X", f"x{number % 7}", time, pid, tid, dur=pick.choice([0, 1, 2.5, 0.125, 10**6])))
        elif kind == "B":
            inner = [event("B", "in", time + 1, pid, tid), event("E", "", time + pick.randrange(2, 400), pid, tid)]
            events += [event("B", f"b{number % 5}", time, pid, tid), *inner, event("E", "", time + 500, pid, tid)]
        else:
            own = {"cat": pick.choice("pq"), "id": number}
            events += [event("b", "async", time, pid, tid, **own), event("e", "async", time + 7e5, pid, tid, **own)]
    pick.shuffle(events)
    text = json.dumps({"displayTimeUnit": "ns", "traceEvents": events})[:-2]  # nobody closed it
    capture = capture_of(tmp_path / "t.json", gzip.compress(text.encode()))
    for one in (capture, capture_of(tmp_path / "again.json", exported(capture))):
        slices = one.read("slices", ["name", "dur"])
        found: dict[str, int] = defaultdict(int)
        for name, dur in zip(slices.texts("name"), slices["dur"].tolist(), strict=True):
            found[str(name)] += dur
        assert dict(found) == reference(events)
    assert [p["reason"] for p in capture.manifest.problems] == ["the file was cut off"]


def test_what_export_reads_does_not_grow_with_lanes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [event("X", "x", i // 2, i % 7, i, dur=3) for i in range(2000)]
    events += [event("X", "row", i, 1, "deep", dur=1000 - i) for i in range(200)]
    capture = capture_of(tmp_path / "many.json", json.dumps(events).encode())
    reads: list[str] = []
    read_table = Capture.read

    def counted(self: Capture, table: str, *more: Any) -> Any:
        reads.append(table)
        return read_table(self, table, *more)

    monkeypatch.setattr(Capture, "read", counted)
    data = exported(capture)
    assert len(reads) < 20
    assert Counter(one["ph"] for one in json.loads(data)["traceEvents"])["X"] == 2200
    assert profile(capture_of(tmp_path / "again.json", data)) == profile(capture)
