"""Blocks that are parsed ahead give what one parser gives that goes through the file from its beginning."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sources.chrome.test_chrome import Rows, comparable, read, read_paths
from tests.sources.chrome.test_odd_traces import LAST, TRACES

from peephole.sources.chrome import args_bytes, blocks, json_scan, raw, reader
from peephole.sources.chrome.objects import DECODER, args_text
from peephole.sources.gunzip import Gunzip, ReadAhead

Patch = pytest.MonkeyPatch
NASTY = [
    '{"ph":"X","ts":1,"dur":2,"pid":1,"tid":2,"name":"}, {\\"ph\\":\\"X\\", ","args":{"a":"}, {\\"ph\\": 1"}}',
    '{"ph":"X","ts":2,"dur":2,"pid":1,"tid":2,"name":"list","args":{"l":[{"ph":"X"},{"ph":"X"},{"ph":"X"}]}}',
    '{"ts":3,"args":{"ph":"B"},"ph":"X","dur":1,"pid":"1","tid":2.5,"name":"late phase"}',
    '{"ph":"X","ts":4,"dur":2,"pid":1,"tid":2,"name":"torch said "quoted" here"}',
    '{"ph":"X","ts":5,"dur":2,"pid":1,"tid":2,"name":"lines","args":{\n  "a": 1,\n  "b": [1, 2.50, "\\u00e9"]\n}}',
    '{"ph":"B","ts":6,"pid":1,"tid":3,"name":"begin","cat":"c","args":{"x":1}}',
    '{"ph":"E","ts":7e0,"pid":1,"tid":3}',
    '{"ph":"C","ts":8,"pid":1,"name":"count","args":{"a":1,"b":-2.5}}',
    '{"ph":"C","ts":8,"pid":1,"name":"odd count","args":{"a":1e3,"a":7,"b":"no number"}}',
    '{"ph":"i","ts":9,"pid":1,"tid":9,"s":"t","name":"moment","cat":"k","args":{"q":1}}',
    '{"ph":"n","ts":9,"pid":1,"cat":"a","id":1,"name":"async moment"}',
    '{"ph":"s","ts":4,"pid":1,"tid":2,"cat":"f","id":1,"name":"flow"}',
    '{"ph":"f","bp":"e","ts":5,"pid":1,"tid":2,"cat":"f","id":1,"name":"flow"}',
    '{"ph":"b","ts":5,"pid":1,"cat":"a","id2":{"local":"0x1"},"name":"async"}',
    '{"ph":"e","ts":6,"pid":1,"cat":"a","id2":{"local":"0x1"},"name":"async"}',
    '{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"worker"}}',
    '{"ph":"X","ts":1,"ts":11,"dur":1,"pid":1,"tid":2,"name":"twice","name":"last wins","args":{"a":1},"args":{}}',
    '"stray text }, {"', "17", "null", "{broken", '{"ph":"X","ts":nope}', ", ,", "  ",
]  # fmt: skip
"""Events, and what stands where events should."""


def both(data: bytes, chunk: int, tmp_path: Path, monkeypatch: Patch) -> tuple[Rows, Rows]:
    """What comes of a file cut into chunks of that size: parsed ahead, and strictly one block after the other."""
    with monkeypatch.context() as patch:
        patch.setattr(reader, "CHUNK", chunk)
        ahead = read(data, tmp_path, 0, patch)
        patch.setattr(blocks.Blocks, "_guess", lambda _self, _data: -1)
        return ahead, read(data, tmp_path, 0, patch)


def assert_same(ahead: Rows, after: Rows) -> None:
    assert dict(ahead.rows) == dict(after.rows)
    assert (ahead.problems, ahead.examples, ahead.facts) == (after.problems, after.examples, after.facts)


def events_of(chunk: int) -> list[str]:
    every = [json.dumps(event) for trace in TRACES.values() for event in trace]
    return [LAST, *every, *NASTY[: len(NASTY) - chunk % 5], *every, *NASTY, LAST]


@pytest.mark.parametrize("end", ["]}", "", ',{"ph":"X","ts":5'])
@pytest.mark.parametrize("chunk", [61, 97, 256, 1000, 4096])
def test_ahead_or_after_is_the_same(chunk: int, end: str, tmp_path: Path, monkeypatch: Patch) -> None:
    data = ('{"displayTimeUnit":"ns","traceEvents":[' + ",\n".join(events_of(chunk)) + end).encode()
    ahead, after = both(data, chunk, tmp_path, monkeypatch)
    assert_same(ahead, after)
    assert len(ahead.rows["slices"]) > 30 and ahead.problems


@settings(max_examples=60)
@given(data=st.data())
def test_any_order_and_any_chunk(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    known = [json.dumps(event) for trace in TRACES.values() for event in trace]
    events = data.draw(st.lists(st.sampled_from([*NASTY, *known]), min_size=1, max_size=40))
    blank = data.draw(st.sampled_from([",", ", ", ",\n", "\n,\n  "]))
    chunk = data.draw(st.integers(8, 700))
    text = "[" + blank.join(events) + data.draw(st.sampled_from(["]", "", ",]"]))
    with pytest.MonkeyPatch.context() as patch:
        ahead, after = both(text.encode(), chunk, tmp_path_factory.mktemp("any"), patch)
    assert_same(ahead, after)


def regular(count: int) -> bytes:
    event = '{{"ph":"X","cat":"k","name":"n{0}","pid":{1},"tid":2,"ts":{2}.5,"dur":0.25,"args":{{"i":{2}}}}}'
    return ("[" + ",\n".join(event.format(i % 7, i % 3, i) for i in range(count)) + "]").encode()


def test_a_regular_file_is_parsed_ahead_and_nothing_twice(tmp_path: Path, monkeypatch: Patch) -> None:
    parsed, most, back = [], [0], []
    parse, look, take_back = raw.BlockParser.parse, blocks.Blocks._look_ahead, blocks.Blocks._take_back

    def counted(self: raw.BlockParser, data: bytes) -> raw.Block:
        parsed.append(len(data))
        return parse(self, data)

    def looked(self: blocks.Blocks) -> None:
        look(self)
        most[0] = max(most[0], len(self._pending))

    def taken(self: blocks.Blocks) -> None:
        back.append(1)
        take_back(self)

    data = regular(5000)
    with monkeypatch.context() as patch:
        patch.setattr(reader, "CHUNK", 16384)
        patch.setattr(raw.BlockParser, "parse", counted)
        patch.setattr(blocks.Blocks, "_look_ahead", looked)
        patch.setattr(blocks.Blocks, "_take_back", taken)
        rows = read(data, tmp_path, 0, patch)
    assert len(rows.rows["slices"]) == 5000 and not rows.problems
    assert most[0] == blocks.AHEAD
    # a guess fails only where a chunk ends with an event, and at the end of the array
    assert len(back) <= 2 and sum(parsed) < 1.3 * len(data)


def test_guesses_that_are_always_wrong_cost_little(tmp_path: Path, monkeypatch: Patch) -> None:
    """Objects in args that look like events: after some wrong guesses there are hardly any more."""
    inner = ",".join(['{"ph":"X","ts":1}'] * 40)
    args = '{"l":[' + inner + "]}"
    events = (f'{{"ph":"X","ts":{i},"dur":1,"pid":1,"tid":1,"name":"x","args":{args}}}' for i in range(400))
    data = ("[" + ",".join(events) + "]").encode()
    parsed = []
    parse = raw.BlockParser.parse

    def counted(self: raw.BlockParser, own: bytes) -> raw.Block:
        parsed.append(len(own))
        return parse(self, own)

    monkeypatch.setattr(raw.BlockParser, "parse", counted)
    ahead, after = both(data, 2000, tmp_path, monkeypatch)
    assert_same(ahead, after)
    assert len(ahead.rows["slices"]) == 400
    assert sum(parsed) < 2 * 1.8 * len(data)


def test_a_table_that_grew_too_large_is_begun_anew(tmp_path: Path, monkeypatch: Patch) -> None:
    names = [
        f'{{"ph":"X","name":"a name of its own {i:06}","pid":1,"tid":{i % 9},"ts":{i},"dur":1}}' for i in range(9000)
    ]
    data = ("[" + ",".join(names) + "]").encode()
    monkeypatch.setattr(reader, "CHUNK", 40_000)
    before = read(data, tmp_path, 0, monkeypatch)
    monkeypatch.setattr(raw, "_LARGEST", 1 << 17)
    assert_same(read(data, tmp_path, 0, monkeypatch), before)
    assert len({row["name"] for row in before.rows["slices"]}) == 9000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)
NUMBERS = st.sampled_from(
    ["0", "-0", "7", "-13", "1.5", "1.50", "0.0", "-0.0", "0.0001", "0.00001", "12345678901234.5", "123456789012345.6",
     "1e5", "01", "1.", ".5", "-", "+1", "1.0",
     "9" * 250, "123456789012345678", "true", "nul", "null", "[]", "[1,[2, 3],[]]", "[1,]", '"é"', '"\\n"', "NaN"]
)  # fmt: skip


@settings(max_examples=300)
@given(data=st.data())
def test_args_on_several_lines_are_those_of_the_plain_parser(data: st.DataObject) -> None:
    """Whatever the compiled loop takes it writes as Python would; the rest it leaves to Python."""
    if data.draw(st.booleans()):
        text = json.dumps(data.draw(st.dictionaries(st.text(max_size=5), JSON, min_size=1, max_size=4)), indent=1,
                          ensure_ascii=data.draw(st.booleans()))  # fmt: skip
    else:
        keys = data.draw(st.lists(st.sampled_from(["a", "b", "é", ""]), min_size=1, max_size=4))
        text = "{\n" + ", ".join(f'"{key}" :\t{data.draw(NUMBERS)}' for key in keys) + "\r\n}"
    own = text.encode("utf-8", "replace")
    array, out = np.frombuffer(own, np.uint8), np.empty(len(own), np.uint8)
    spans, states = np.array([[0], [len(own)]], np.int32), np.array([json_scan.ODD], np.uint8)
    used = args_bytes.compact(array, np.array([0]), spans, states, out)
    if states[0] == args_bytes.ELSEWHERE:
        assert out[:used].tobytes().decode() == args_text(DECODER.decode(own.decode()))


def test_simple_args_on_several_lines_never_reach_python(monkeypatch: Patch) -> None:
    def fail(_raw: str) -> None:
        raise AssertionError("a Python object per event")

    monkeypatch.setattr(raw, "_reworded", fail)
    args = '{\n  "External id": 7, "dims": [[1, 2], []],\n  "type": ["float", ""], "x": 0.25, "on": true\n}'
    block = raw.BlockParser().parse(f'{{"ph":"X","ts":1,"cat":"op","args":{args}}}]'.encode())
    (text,) = block.batches[0].packed
    assert text == '{"cat":"op","External id":7,"dims":[[1,2],[]],"type":["float",""],"x":0.25,"on":true}'


COUNTS = st.sampled_from(
    ["0", "-0", "-0.0", "12", "-7.25", "0.1", "1e3", "123456789012345", "1234567890123456", "0.30000000000000004",
     "3.14159265358979", "true", '"x"', "null", "9" * 400]
)  # fmt: skip


@settings(max_examples=100)
@given(numbers=st.lists(COUNTS, min_size=1, max_size=5), twice=st.booleans())
def test_counters_say_the_same_to_both_parsers(
    numbers: list[str], twice: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pairs = [f'"s{0 if twice else i}": {number}' for i, number in enumerate(numbers)]
    text = f'[{{"ph":"C","ts":1,"pid":1,"name":"c","args":{{{", ".join(pairs)}}}}},{LAST}]'
    folder = tmp_path_factory.mktemp("counters")
    with pytest.MonkeyPatch.context() as patch:
        plain, scanned = (read(text, folder, small, patch) for small in (1 << 40, 0))
    assert comparable(plain) == comparable(scanned) and plain.problems == scanned.problems
    values = [[row["value"] for row in rows.rows["counters"]] for rows in (plain, scanned)]
    assert [repr(value) for value in values[0]] == [repr(value) for value in values[1]]


def test_a_viztracer_file_in_small_chunks(tmp_path: Path, monkeypatch: Patch) -> None:
    program, out = tmp_path / "p.py", tmp_path / "v.json"
    program.write_text("def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\nprint(f(14))\n")
    subprocess.run([sys.executable, "-m", "viztracer", "-o", str(out), str(program)], check=True, capture_output=True)
    ahead, after = both(out.read_bytes(), 5000, tmp_path, monkeypatch)
    assert_same(ahead, after)
    plain = read_paths([out], 1 << 40, monkeypatch)
    assert comparable(plain) == comparable(ahead) and len(plain.rows["slices"]) > 500


NAMES = ["torch_ddp_rank0.json", "torch_ddp_rank1.json.gz", "torch_invalid_quote_in_name.json",
         "webpack_profiling.json", "onnxruntime_cpu.json", "node_v8_node.log",
         "jax_perfetto_trace.json.gz"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_real_files_in_small_chunks(
    name: str, shared: Callable[[str], Path], tmp_path: Path, monkeypatch: Patch
) -> None:
    path = shared(f"fixtures/chrome/{name}")
    ahead, after = both(path.read_bytes(), 9000, tmp_path, monkeypatch)
    assert_same(ahead, after)


@pytest.mark.parametrize("cut", [0, 5, 400])
def test_what_is_unpacked_ahead_is_what_was_packed(cut: int) -> None:
    content = np.random.default_rng(1).integers(0, 99, 50_000).astype(np.uint8).tobytes()
    packed = gzip.compress(content)
    packed = packed[: len(packed) - cut]
    direct = Gunzip(io.BytesIO(packed))
    expected = direct.read(1 << 20)
    ahead = ReadAhead(Gunzip(io.BytesIO(packed)), 1000)
    parts: list[Any] = []
    while part := ahead.read(777):
        parts.append(part)
    ahead.close()
    assert b"".join(parts) == expected
    assert ahead.damage == direct.damage and bool(cut) == bool(ahead.damage)
