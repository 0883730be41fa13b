"""Chrome traces in every dialect that was met, read by both parsers, which must agree."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kept_rows import KeptRows

from peephole.errors import CaptureError
from peephole.sources import find, head_of
from peephole.sources.chrome import SOURCE, reader
from peephole.sources.chrome.batch import NO_TIME, Interner
from peephole.sources.chrome.mapper import Mapper
from peephole.sources.chrome.pairs import Pairs
from peephole.sources.chrome.times import nanoseconds

PARSERS = [1 << 40, 0]
"""Sizes up to which the plain parser is taken: always, never."""


class Rows(KeptRows):
    """What a trace became."""

    def slices(self) -> list[tuple[Any, ...]]:
        return sorted((r["name"], r["start"], r["dur"]) for r in self.rows["slices"])


def read(data: bytes | str, tmp_path: Path, small: int, monkeypatch: pytest.MonkeyPatch) -> Rows:
    path = tmp_path / "anything"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_paths([path], small, monkeypatch)


def read_paths(paths: list[Path], small: int, monkeypatch: pytest.MonkeyPatch) -> Rows:
    original = reader.TraceReader

    def made(*args: Any) -> Any:
        found = original(*args)
        found.small = small
        return found

    rows = Rows()
    with monkeypatch.context() as patch:
        patch.setattr(reader, "TraceReader", made)
        SOURCE.read(paths, rows, lambda _done, _total: None)
    return rows


def comparable(rows: Rows) -> dict[str, Counter[str]]:
    out = {}
    for table, found in rows.rows.items():
        texts = []
        for row in found:
            row = {k: v for k, v in row.items() if k != "correlation" and not (table == "flows" and k != "kind")}
            if row.get("args"):
                row["args"] = json.loads(row["args"])
            texts.append(json.dumps(row, sort_keys=True))
        out[table] = Counter(texts)
    return out


@pytest.mark.parametrize("small", PARSERS)
def test_every_phase(small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "prog"}},
        {"ph": "X", "name": "a", "pid": 1, "tid": 2, "ts": 10, "dur": 5.5, "cat": "k", "args": {"n": 1}},
        {"ph": "B", "name": "outer", "pid": 1, "tid": 2, "ts": 20},
        {"ph": "B", "name": "inner", "pid": 1, "tid": 2, "ts": 21.001},
        {"ph": "E", "pid": 1, "tid": 2, "ts": 22},
        {"ph": "E", "pid": 1, "tid": 2, "ts": 30, "args": {"late": True}},
        {"ph": "b", "cat": "net", "id": 7, "name": "req", "pid": 1, "tid": 2, "ts": 1},
        {"ph": "n", "cat": "net", "id": 7, "name": "half", "pid": 1, "tid": 2, "ts": 2},
        {"ph": "e", "cat": "net", "id": 7, "name": "req", "pid": 1, "tid": 2, "ts": 3},
        {"ph": "i", "name": "now", "s": "g", "pid": 1, "tid": 2, "ts": 11},
        {"ph": "C", "name": "heap", "pid": 1, "ts": 12, "args": {"used": 4, "free": 2.5}},
        {"ph": "s", "name": "f", "cat": "flow", "id": 3, "pid": 1, "tid": 2, "ts": 12},
        {"ph": "f", "name": "f", "cat": "flow", "id": 3, "pid": 1, "tid": 2, "ts": 25, "bp": "e"},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "main"}},
        {"ph": "B", "name": "left open", "pid": 1, "tid": 3, "ts": 29},
        {"ph": "E", "pid": 1, "tid": 4, "ts": 29},
        {},
    ]
    rows = read(json.dumps({"traceEvents": events}), tmp_path, small, monkeypatch)
    assert rows.slices() == [
        ("a", 10000, 5500),
        ("inner", 21001, 999),
        ("left open", 29000, 1000),
        ("outer", 20000, 10000),
        ("req", 1000, 2000),
    ]
    by_name = {row["name"]: row for row in rows.rows["slices"]}
    assert json.loads(by_name["a"]["args"]) == {"cat": "k", "n": 1}
    assert json.loads(by_name["left open"]["args"]) == {"open": True}
    assert json.loads(by_name["outer"]["args"]) == {"late": True}
    assert [(r["from"], r["to"]) for r in rows.rows["flows"]] == [
        (by_name["a"]["correlation"], by_name["outer"]["correlation"])
    ]
    assert {(row["name"], row["track"]) for row in rows.rows["markers"]} >= {("now", -1)}
    assert sorted(row["value"] for row in rows.rows["counters"]) == [2.5, 4.0]
    names = {row["name"] for row in rows.rows["tracks"]}
    assert {"prog (1)", "main", "net", "heap · used", "heap · free"} <= names
    assert rows.problems == {"slice that was still open at the end": 1, "end without a begin": 1}


@pytest.mark.parametrize("small", PARSERS)
@pytest.mark.parametrize(
    "text",
    [
        '[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1}]',
        '[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1},',
        '[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1},\n{"ph":"X","na',
        '\ufeff {"a":{"b":[1,{}]},"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1}],"z":3}',
        '{"traceEvents":[{"ph":"X","name":"a","ts":1.000,"dur":2e0,"pid":"1","tid":""},{}]}',
    ],
)
def test_shapes_of_a_file(text: str, small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = read(text, tmp_path, small, monkeypatch)
    assert rows.slices() == [("a", 1000, 2000)]
    assert bool(rows.problems) == (text[-1] not in "]}")


def test_a_quote_in_a_name_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """{"traceEvents": [
  {"ph": "X", "name": "first", "ts": 1, "dur": 1, "pid": 1, "tid": 1, "args": {"x": {"y": 1}}},
  {"ph": "X", "name": "say "hello", you", "ts": 2, "dur": 1, "pid": 1, "tid": 1},
  {"ph": "X", "name": "last", "ts": 3, "dur": 1, "pid": 1, "tid": 1}
]}"""
    for small in PARSERS:
        rows = read(text, tmp_path, small, monkeypatch)
        assert [row[0] for row in rows.slices()] == ["first", "last", 'say "hello", you']
        assert rows.problems == {"event with a stray quote, mended": 1}


@pytest.mark.parametrize("small", PARSERS)
def test_a_cut_event_is_not_completed(small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2},{"ph":"X","name":"b","pid":1,"tid":1,"ts":34'
    rows = read(text, tmp_path, small, monkeypatch)
    assert rows.slices() == [("a", 1000, 2000)]
    assert rows.problems == {"the file was cut off": 1}


@pytest.mark.parametrize("small", PARSERS)
def test_times_are_exact(small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = [
        "1790857026123456.789",
        "0.0015",
        "1e-06",
        "-3.5",
        "NaN",
        "1e400",
        "99999999999999999999",
        '"12.5"',
        "null",
    ]
    events = ",".join(f'{{"ph":"X","name":"{i}","ts":{t},"dur":1,"pid":1,"tid":1}}' for i, t in enumerate(times))
    rows = read(f"[{events}]", tmp_path, small, monkeypatch)
    assert {(n, s) for n, s, _ in rows.slices()} == {
        ("0", 1790857026123456789), ("1", 2), ("2", 0), ("3", -3500), ("7", 12500)
    }  # fmt: skip
    assert rows.problems["event without a usable time"] == 4


def test_nanoseconds_of_text() -> None:
    assert nanoseconds("0.001") == 1
    assert nanoseconds("1E3") == 1_000_000
    assert nanoseconds("nonsense") == NO_TIME
    assert nanoseconds("1e999999999") == NO_TIME


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_parsers_agree(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    text = st.text(max_size=8)
    number = st.one_of(st.integers(-5, 10**12), st.floats(0, 1e9, width=32), st.text("0123456789.e-", max_size=4))
    event = st.fixed_dictionaries(
        {"ph": st.sampled_from("XBEbenisftCMRq")},
        optional={
            "ts": number, "dur": number, "pid": st.one_of(st.integers(0, 3), text), "tid": st.integers(0, 3),
            "name": text, "cat": st.sampled_from(["a", "b,c"]), "id": st.one_of(st.integers(0, 2), text),
            "id2": st.fixed_dictionaries({"local": text}), "s": st.sampled_from("gpt"), "bp": st.just("e"),
            "scope": text, "args": st.dictionaries(text, st.recursive(number | st.none() | text, st.lists), max_size=3),
        },
    )  # fmt: skip
    events = data.draw(st.lists(event, max_size=12))
    raw = json.dumps(events, ensure_ascii=data.draw(st.booleans()), indent=data.draw(st.sampled_from([None, 1])))
    folder = tmp_path_factory.mktemp("agree")
    with pytest.MonkeyPatch.context() as patch:
        plain, scanned = (read(raw.encode("utf-8", "replace"), folder, small, patch) for small in PARSERS)
    assert comparable(plain) == comparable(scanned)
    assert plain.problems == scanned.problems


@settings(max_examples=80, deadline=None)
@given(noise=st.binary(max_size=120), where=st.integers(0, 3))
def test_noise_never_crashes(noise: bytes, where: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    good = b'{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1}'
    raw = [b"[" + noise, b"[" + good + b"," + noise, b'{"traceEvents":[' + good + noise + b"]}", noise][where]
    folder = tmp_path_factory.mktemp("noise")
    with pytest.MonkeyPatch.context() as patch:
        for small in PARSERS:
            try:
                read(raw, folder, small, patch)
            except CaptureError as error:
                assert str(error)


def test_unsorted_begins_and_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = []
    for i in range(500):
        events += [
            {"ph": "B", "name": f"n{i}", "pid": 1, "tid": 1, "ts": 10 * i},
            {"ph": "E", "name": f"n{i}", "pid": 1, "tid": 1, "ts": 10 * i + 4},
        ]
    random.Random(0).shuffle(events)
    rows = read(json.dumps(events), tmp_path, PARSERS[1], monkeypatch)
    assert rows.slices() == sorted((f"n{i}", 10000 * i, 4000) for i in range(500))
    assert not rows.problems


def test_pairs_keep_a_bounded_window() -> None:
    found: list[Any] = []
    rows = Rows()
    pairs = Pairs(rows, found.append, str, window=4)
    for i in range(100):
        pairs.take(i * 2, True, (0,), 0, i, None)
        pairs.take(i * 2 + 1, False, (0,), 0, i, None)
    assert len(pairs._waiting) < 8
    pairs.finish(1000)
    assert len(found) == 100
    assert {dur for _, _, dur, _, _ in found} == {1}


def test_ranks_stay_apart_on_one_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = []
    for rank in range(2):
        path = tmp_path / f"r{rank}"
        path.write_text(
            json.dumps(
                {
                    "schemaVersion": 1,
                    "trace_id": "x",
                    "distributedInfo": {"rank": rank},
                    "baseTimeNanoseconds": 1000 + rank * 500,
                    "traceEvents": [{"ph": "X", "name": "all_reduce", "pid": 5, "tid": 5, "ts": 1, "dur": 1}],
                }
            )
        )
        paths.append(path)
    rows = read_paths(paths, PARSERS[0], monkeypatch)
    assert rows.slices() == [("all_reduce", 1000, 1000), ("all_reduce", 1500, 1000)]
    assert {row["rank"] for row in rows.rows["tracks"]} == {0, 1}
    assert len(rows.rows["tracks"]) == 4


def test_torch_memory_becomes_buffers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def event(ts: int, size: int, total: int) -> dict[str, Any]:
        args = {"Bytes": size, "Addr": 64, "Device Type": 1, "Device Id": 0, "Total Allocated": total}
        return {"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts, "s": "t", "args": args}

    rows = read(json.dumps([event(1, -8, 0), event(2, 100, 100), event(5, -100, 0)]), tmp_path, 0, monkeypatch)
    assert [(b["device"], b["alloc"], b["free"], b["bytes"]) for b in rows.rows["buffers"]] == [
        ("CUDA:0", 2000, 5000, 100)
    ]
    assert [c["value"] for c in rows.rows["counters"]] == [0.0, 100.0, 0.0]
    assert rows.problems == {"memory freed that was allocated before the trace began": 1}


def test_an_address_is_another_one_in_every_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = []
    for rank in range(2):
        events = [
            {"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts, "s": "t", "args": {"Bytes": size, "Addr": 64}}
            for ts, size in ((1 + rank, 100), (10 + rank, -100))
        ]
        path = tmp_path / f"r{rank}"
        path.write_text(json.dumps({"distributedInfo": {"rank": rank}, "traceEvents": events}))
        paths.append(path)
    rows = read_paths(paths, PARSERS[0], monkeypatch)
    assert [(b["alloc"], b["free"]) for b in rows.rows["buffers"]] == [(1000, 10000), (2000, 11000)]
    assert not rows.problems


@pytest.mark.parametrize("small", PARSERS)
def test_a_local_id_is_another_one_in_every_process(
    small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [
        {"ph": ph, "cat": "net", "name": "req", "id2": {"local": "0x1"}, "pid": pid, "tid": 1, "ts": ts}
        for ph, pid, ts in (("b", 1, 1), ("b", 2, 2), ("e", 1, 5), ("e", 2, 9))
    ]
    rows = read(json.dumps(events), tmp_path, small, monkeypatch)
    assert rows.slices() == [("req", 1000, 4000), ("req", 2000, 7000)]
    shared = [event | {"id2": {"global": "0x1"}, "pid": event["ts"]} for event in events[:1] + events[2:3]]
    assert read(json.dumps(shared), tmp_path, small, monkeypatch).slices() == [("req", 1000, 4000)]


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize("small", PARSERS)
@pytest.mark.parametrize(
    "odd",
    [
        '{"ph":"C","name":"c","pid":1,"ts":1,"args":{"a":bogus}}',
        '{"ph":"C","name":"c","pid":1,"ts":1,"args":{"a":' + "9" * 400 + "}}",
        '{"ph":"C","name":"c","pid":1,"ts":1,"args":{"a":' + DEEP + "}}",
        '{"ph":"b","name":"c","cat":"k","pid":1,"ts":1,"id2":' + DEEP + "}",
        '{"ph":"i","name":"[memory]","pid":1,"ts":1,"args":{"Bytes":1' + "0" * 30 + ',"Addr":1}}',
        '{"ph":"M","name":"process_sort_index","pid":1,"args":{"sort_index":1e999}}',
        '{"ph":"M","name":"process_name","pid":1,"args":{"name":bogus}}',
    ],
    ids=["no JSON", "large number", "deep args", "deep id", "large buffer", "endless order", "no name"],
)
def test_an_odd_event_costs_nothing_else(odd: str, small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = '{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1}'
    rows = read(f"[{good},{odd},{good}]", tmp_path, small, monkeypatch)
    assert [row for row in rows.slices() if row[0] == "a"] == [("a", 1000, 2000)] * 2
    assert not rows.rows["counters"] and not rows.rows["buffers"]


@pytest.mark.parametrize("small", PARSERS)
def test_numbers_that_no_reader_can_hold_are_null(small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    args = f'{{"a":1e400,"b":[-2E+999],"c":"1e400","d":1e10,"e":{"9" * 400}.5,"f":1e-400,"g":true}}'
    text = f'[{{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1,"args":{args}}}]'
    (row,) = read(text, tmp_path, small, monkeypatch).rows["slices"]
    found = json.loads(row["args"])
    assert found == {"a": None, "b": [None], "c": "1e400", "d": 1e10, "e": None, "f": 0.0, "g": True}


@pytest.mark.parametrize("small", PARSERS)
def test_empty_args_with_a_category_are_json(small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '[{"ph":"X","name":"a","cat":"k","ts":1,"dur":2,"pid":1,"tid":1,"args":{ }}]'
    (row,) = read(text, tmp_path, small, monkeypatch).rows["slices"]
    assert json.loads(row["args"]) == {"cat": "k"}


def test_a_base_that_is_no_time_moves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = []
    for number, base in enumerate((1000, 3000, 10**30, None)):
        path = tmp_path / f"{number}"
        event = {"ph": "X", "name": f"{number}", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
        path.write_text(json.dumps({"baseTimeNanoseconds": base, "traceEvents": [event]}))
        paths.append(path)
    starts = [start for _, start, _ in read_paths(paths, PARSERS[0], monkeypatch).slices()]
    assert starts == [1000, 3000, 1000, 1000]


def test_cut_gzip_keeps_what_came_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [{"ph": "X", "name": f"k{i}", "ts": i, "dur": 1, "pid": 1, "tid": 1} for i in range(5000)]
    path = tmp_path / "t.gz"
    packed = gzip.compress(json.dumps(events).encode())
    path.write_bytes(packed[: len(packed) // 2])
    rows = read_paths([path], PARSERS[0], monkeypatch)
    assert 100 < len(rows.rows["slices"]) < 5000
    assert rows.problems["the file was cut off"] >= 1


def test_not_a_trace(tmp_path: Path) -> None:
    for text in ('{"hello": 1}', "[1, 2]", "word", '{"ph": 1}'):
        path = tmp_path / "x"
        path.write_text(text)
        with pytest.raises(CaptureError, match="neither a capture nor a file of a known source"):
            find(path)


def test_found_by_content(tmp_path: Path) -> None:
    preface = {"stackFrames": {str(i): {"name": "f" * 50} for i in range(3000)}, "traceEvents": []}
    path = tmp_path / "meaningless.bin"
    path.write_text(json.dumps(preface))
    assert find(path).name == "chrome"
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert find(path).name == "chrome"


def test_viztracer_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "p.py"
    program.write_text("def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\nf(12)\n")
    out = tmp_path / "viz.json"
    command = [sys.executable, "-m", "viztracer", "-o", str(out), "--quiet", str(program)]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path, timeout=120)
    reference = json.loads(out.read_text())["traceEvents"]
    expected = sum(1 for event in reference if event["ph"] == "X")
    for small in PARSERS:
        rows = read_paths([out], small, monkeypatch)
        assert len(rows.rows["slices"]) == expected > 400
    assert rows.facts["frameworks"]["viztracer"]


@pytest.mark.parametrize(
    "name",
    ["jax_perfetto_trace.json.gz", "node_v8_node.log", "onnxruntime_cpu.json", "torch_ddp_rank0.json",
     "torch_ddp_rank1.json.gz", "torch_invalid_quote_in_name.json", "webpack_profiling.json"],
)  # fmt: skip
def test_real_files(name: str, shared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = shared(f"fixtures/chrome/{name}")
    assert SOURCE.sniff(head_of(path), path)
    plain, scanned = (read_paths([path], small, monkeypatch) for small in PARSERS)
    assert comparable(plain) == comparable(scanned)
    assert plain.problems == scanned.problems
    raw = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
    try:
        parsed = json.loads(raw)
    except ValueError:
        assert plain.problems["event with a stray quote, mended"] == 1
        return
    events = parsed if isinstance(parsed, list) else parsed["traceEvents"]
    phases = Counter(event.get("ph") for event in events)
    ends = plain.problems["end without a begin"]
    assert len(plain.rows["slices"]) == phases["X"] + phases["E"] + phases["e"] - ends
    assert len(plain.rows["flows"]) == phases["f"]


def test_interner_numbers_texts_once() -> None:
    intern = Interner()
    assert [intern("a"), intern("b"), intern("a"), intern("")] == [1, 2, 1, 0]
    assert Mapper(Rows(), intern)._text(-1) == ""
