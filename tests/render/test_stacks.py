"""Call trees for other tools: each file decoded by code that shares nothing with what wrote it."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from peephole.cli.main import main
from peephole.store.writer import CaptureWriter

NASTY = "a;b\n\x1b[31mc\x1b[0m"
EXPECTED = {
    ("main", "f"): (1, 20),
    ("main", "f", "g"): (2, 25),
    ("main", "f", "g", "f"): (1, 55),
    ("main", NASTY): (1, 0),
    ("GPU", "k (kernel.py:12)"): (2, 30),
}
"""Count and self by stack."""


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "calls.peep"
    with CaptureWriter(path) as writer:
        writer.append("tracks", {"id": [0, 1], "name": ["main", "GPU"], "kind": ["thread", "device"], "order": [0, 1]})
        rows = [
            (0, 0, 100, "f"), (0, 5, 20, "g"), (0, 30, 60, "g"), (0, 32, 55, "f"), (0, 200, 0, NASTY),
            (1, 0, 10, "k (kernel.py:12)"), (1, 40, 20, "k (kernel.py:12)"),
        ]  # fmt: skip
        track, start, dur, name = zip(*rows, strict=True)
        writer.append("slices", {"track": track, "start": start, "dur": dur, "name": name})
    return path


def export(capture: Path, form: str) -> Path:
    out = capture.with_name(f"out.{form}")
    assert main(["export", str(capture), "--format", form, "-o", str(out)]) == 0
    return out


def test_collapsed_has_a_line_for_each_stack_with_time(capture: Path) -> None:
    lines = export(capture, "collapsed").read_text("utf-8").splitlines()
    found = {tuple(line.rpartition(" ")[0].split(";")): int(line.rpartition(" ")[2]) for line in lines}
    assert found == {stack: own for stack, (_, own) in EXPECTED.items() if own}


def test_speedscope_is_what_its_schema_asks_for(capture: Path) -> None:
    data = json.loads(export(capture, "speedscope").read_text("utf-8"))
    assert data["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert set(data) == {"$schema", "name", "exporter", "activeProfileIndex", "shared", "profiles"}
    frames = data["shared"]["frames"]
    assert all(set(frame) <= {"name", "file", "line", "col"} and isinstance(frame["name"], str) for frame in frames)
    assert {"name": "k (kernel.py:12)", "file": "kernel.py", "line": 12} in frames
    found = {}
    for profile in data["profiles"]:
        assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
        assert profile["type"] == "sampled" and profile["unit"] == "nanoseconds"
        assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
        for sample, weight in zip(profile["samples"], profile["weights"], strict=True):
            found[profile["name"], *(frames[number]["name"] for number in sample)] = weight
    assert found == {stack: own for stack, (_, own) in EXPECTED.items() if own}


def fields_of(data: bytes) -> dict[int, list[Any]]:
    """A protobuf message by its wire format alone: numbers and bytes by field."""
    found: dict[int, list[Any]] = defaultdict(list)
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            found[key >> 3].append(varint())
        else:
            assert key & 7 == 2
            size = varint()
            found[key >> 3].append(data[at : at + size])
            at += size
    return found


def packed(data: bytes) -> list[int]:
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(value)
            value = shift = 0
    return values


def test_pprof_says_calls_and_time_of_each_stack(capture: Path) -> None:
    profile = fields_of(gzip.decompress(export(capture, "pprof").read_bytes()))
    texts = [text.decode() for text in profile[6]]
    assert texts[0] == ""
    kinds = [{field: texts[value[0]] for field, value in fields_of(kind).items()} for kind in profile[1]]
    assert kinds == [{1: "calls", 2: "count"}, {1: "time", 2: "nanoseconds"}]
    functions = {message[1][0]: message for message in map(fields_of, profile[5])}
    lines = {}
    for location in map(fields_of, profile[4]):
        line = fields_of(location[4][0])
        function = functions[line[1][0]]
        lines[location[1][0]] = texts[function[2][0]]
        if texts[function[2][0]].startswith("k "):
            assert (texts[function[4][0]], line[2][0]) == ("kernel.py", 12)
    assert 0 not in lines and 0 not in functions
    found = {}
    for sample in map(fields_of, profile[2]):
        label = fields_of(sample[3][0])
        assert texts[label[1][0]] == "track"
        stack = [lines[number] for number in reversed(packed(sample[1][0]))]
        found[texts[label[2][0]], *stack] = tuple(packed(sample[2][0]))
    assert found == {
        tuple(" ".join(frame.replace("\x1b[31m", "").replace("\x1b[0m", "").split()) for frame in stack): figures
        for stack, figures in EXPECTED.items()
    }
    assert texts[profile[14][0]] == "time" and profile[10] == [200]


def test_tracks_of_one_name_are_kept_apart(tmp_path: Path) -> None:
    names = ["rank 0", "rank 1", "MainThread", "MainThread", "worker", "worker"]
    path = tmp_path / "ranks.peep"
    with CaptureWriter(path) as writer:
        kinds, parents = ["process"] * 2 + ["thread"] * 4, [-1, -1, 0, 1, 1, 1]
        writer.append("tracks", {"id": [*range(6)], "name": names, "kind": kinds, "parent": parents,
                                 "process": [10, 20, 10, 20, 20, 20]})  # fmt: skip
        for track in (2, 3, 4, 5):
            writer.append("slices", {"track": [track], "start": [0], "dur": [track], "name": ["f"]})
    expected = {"MainThread · rank 0": 2, "MainThread · rank 1": 3, "worker · #1": 4, "worker · #2": 5}
    folded = [line.rpartition(" ") for line in export(path, "collapsed").read_text("utf-8").splitlines()]
    assert {stack.partition(";")[0]: int(own) for stack, _, own in folded} == expected
    profiles = json.loads(export(path, "speedscope").read_text("utf-8"))["profiles"]
    assert {profile["name"]: sum(profile["weights"]) for profile in profiles} == expected
    profile = fields_of(gzip.decompress(export(path, "pprof").read_bytes()))
    texts = [text.decode() for text in profile[6]]
    samples = [fields_of(sample) for sample in profile[2]]
    assert {texts[fields_of(one[3][0])[2][0]]: packed(one[2][0])[1] for one in samples} == expected


def test_a_capture_without_slices_has_no_stacks(tmp_path: Path) -> None:
    with CaptureWriter(tmp_path / "e.peep"):
        pass
    assert export(tmp_path / "e.peep", "collapsed").read_bytes() == b""
    assert json.loads(export(tmp_path / "e.peep", "speedscope").read_text())["profiles"] == []
    assert fields_of(gzip.decompress(export(tmp_path / "e.peep", "pprof").read_bytes()))[2] == []


@pytest.mark.parametrize("form", ["collapsed", "speedscope", "pprof"])
def test_a_deep_recursion_is_written_stack_by_stack(tmp_path: Path, form: str) -> None:
    """Its stacks together are thousands of times larger than its slices."""
    depth = 2_000
    with CaptureWriter(tmp_path / "deep.peep") as writer:
        writer.append("tracks", {"id": [0], "name": ["main"], "kind": ["thread"], "order": [0]})
        start = [*range(depth)]
        dur = [2 * (depth - at) for at in start]
        writer.append("slices", {"track": [0] * depth, "start": start, "dur": dur, "name": ["f"] * depth})
    export(tmp_path / "deep.peep", form)  # what is loaded and cached once does not count
    tracemalloc.start()
    try:
        export(tmp_path / "deep.peep", form)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6 << 20
