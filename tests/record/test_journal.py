"""What is written can be read: by a reader that shares no code with the writer."""

from __future__ import annotations

import math
import os
import struct
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peephole.model.journal import KIND_ARGS, KIND_SLICE, SLICE
from peephole.model.tables import TABLES
from peephole.record import process
from peephole.record.recorder import Recorder
from peephole.record.writer import CONTEXT, Writer, slots

TEXT = st.text(st.characters(), max_size=80)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "i16": st.integers(-(2**15), 2**15 - 1),
    "i32": st.integers(-(2**31), 2**31 - 1),
    "i64": st.integers(-(2**63), 2**63 - 1),
    "f64": st.floats(allow_nan=False),
    "str": st.none() | TEXT,
    "text": st.none() | TEXT,
    "bytes": st.none() | st.binary(max_size=300),
    "ids": st.lists(st.integers(-(2**63), 2**63 - 1), max_size=12),
}
ROWS = st.one_of(
    [
        st.tuples(
            st.just(table.name), st.fixed_dictionaries({column.name: VALUES[column.type] for column in table.columns})
        )
        for table in TABLES.values()
        if table.name != "slices"
    ]
)
SLICES = st.tuples(
    st.just("slice"),
    st.fixed_dictionaries(
        {
            "track": st.integers(0, 2**31 - 1),
            "start_ns": VALUES["i64"],
            "dur_ns": VALUES["i64"],
            "name": TEXT,
            "depth": st.integers(0, 2**15 - 1),
            "context": st.integers(-1, 2**40),
            "correlation": st.integers(0, 2**40),
            "args": st.none() | st.dictionaries(TEXT, st.integers() | TEXT, max_size=3),
        }
    ),
)


@settings(max_examples=60, deadline=None)
@given(calls=st.lists(ROWS | SLICES, max_size=40))
def test_any_sequence_of_rows_comes_back(calls: list[tuple[str, dict[str, Any]]], read_journal: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder, "x.peep")
        process.start_capture(str(capture), "x", [])
        recorder = Recorder(capture)
        recorder.open_process()
        for table, columns in calls:
            if table == "slice":
                recorder.slice(**columns)
            else:
                recorder.row(table, **columns)
        recorder.close()
        journal = read_journal(capture)
    slices = [columns for table, columns in calls if table == "slice"]
    assert sorted(
        (row["start"], row["dur"], row["name"], row["track"], row["depth"], row["correlation"], row["context"])
        for row in journal.slices
    ) == sorted(
        (c["start_ns"], c["dur_ns"], c["name"], c["track"], c["depth"], c["correlation"], c["context"]) for c in slices
    )
    for name in TABLES:
        if name != "slices":
            assert journal.rows[name] == [columns for table, columns in calls if table == name]


def test_every_prefix_of_a_segment_holds_a_prefix_of_the_events(recorder: Any, finish: Any, capture: Path) -> None:
    for number in range(60):
        recorder.slice(0, number, 1, f"name {number % 7}", args={"n": number} if number % 5 == 0 else None)
        recorder.row("nodes", id=number, op="ADD" * (number % 20), src=list(range(number % 9)))
    whole = finish()
    path = next((capture / "journal").glob("*/*.seg"))
    data = path.read_bytes()
    header = bytearray(data[:32])
    struct.pack_into("<II", header, 20, 0, 0)
    counts = []
    for end in [32, *whole.record_ends]:
        # as after a kill: the next record is there but for its kind, behind it all is zero
        begun = bytearray(data[end : end + 96].ljust(96, b"\0"))
        begun[31] = 0
        path.write_bytes(bytes(header) + data[32:end] + bytes(begun[:32]) + bytes(4096))
        part = type(whole)(capture)
        assert part.slices == whole.slices[: len(part.slices)]
        assert part.rows["nodes"] == whole.rows["nodes"][: len(part.rows["nodes"])]
        counts.append(len(part.slices) + len(part.rows["nodes"]))
    assert counts == sorted(counts)
    assert set(counts) == set(range(121))


def test_segments_grow_and_are_closed_with_a_checksum(recorder: Any, finish: Any, capture: Path) -> None:
    for number in range(20_000):
        recorder.slice(0, number, 1, "kernel")
    sizes = [path.stat().st_size for path in sorted((capture / "journal").glob("*/*.seg"))]
    assert len(sizes) == 4 and sizes == sorted(sizes) and sizes[-1] == 524288
    journal = finish()
    assert journal.closed_segments == len(sizes)
    assert len(journal.slices) == 20_000
    total = sum(path.stat().st_size for path in (capture / "journal").glob("*/*.seg"))
    assert total <= 20_000 * 32 + 64 * (len(sizes) + 1)


def test_a_large_record_gets_a_segment_of_its_size(recorder: Any, finish: Any) -> None:
    content = os.urandom(9_000_000)
    recorder.row("artifacts", kind="binary", name="code", content=content)
    recorder.row("artifacts", kind="binary", name="small", content=b"x")
    assert [row["content"] for row in finish().rows["artifacts"]] == [content, b"x"]


def together(writer: Writer, begin: int, count: int) -> list[bytes]:
    """Whole records: every second slice has args, of lengths around those that fit into a slot."""
    name = writer.intern("kernel")
    records = []
    for number in range(begin, begin + count):
        if number % 2:
            records.append(slots(CONTEXT.pack(-1) + b'{"a":"%s"}' % (b"x" * (number % 90)), KIND_ARGS))
        records.append(SLICE.pack(number, 1, name, 0, 3, 0, 0, KIND_SLICE))
    return records


def test_records_written_together_come_back_one_by_one(recorder: Any, finish: Any) -> None:
    writer: Writer = recorder.slot().writer
    assert writer.records([])
    for begin in range(0, 30_000, 1000):
        assert writer.records(together(writer, begin, 1000))
        recorder.slice(4, begin, 1, "between")
    slices = [row for row in finish().slices if row["track"] == 3]
    assert [row["start"] for row in slices] == list(range(30_000))
    assert all(row["args"] == (f'{{"a":"{"x" * (i % 90)}"}}' if i % 2 else None) for i, row in enumerate(slices))


def test_each_of_the_records_written_together_is_counted_when_there_is_no_room() -> None:
    def full(*_: int) -> Any:
        raise OSError(28, "No space left on device")

    writer = Writer(0, full)
    assert writer.intern("kernel") == -1
    assert not writer.records([SLICE.pack(0, 1, 1, 0, 3, 0, 0, KIND_SLICE)] * 7)
    assert writer.dropped == 7, "a text is no event"
    assert not writer.records([slots(CONTEXT.pack(-1), KIND_ARGS), SLICE.pack(0, 1, 1, 0, 3, 0, 0, KIND_SLICE)])
    assert writer.dropped == 8, "a slice and its args are one event"
    writer.end()
    assert not writer.records([SLICE.pack(0, 1, 1, 0, 3, 0, 0, KIND_SLICE)] * 7)
    assert writer.dropped == 8, "what comes after the end is not lost"


def test_a_name_per_event_costs_no_memory(recorder: Any, finish: Any) -> None:
    for number in range(100_000):
        recorder.slice(0, number, 1, f"step {number}")
    writer: Writer = recorder.slot().writer
    assert len(writer.texts) <= 1 << 16
    journal = finish()
    assert journal.names() == [f"step {number}" for number in range(100_000)]


def test_values_out_of_range_are_counted_and_never_raised(recorder: Any, finish: Any) -> None:
    recorder.row("buffers", id=1, alloc=2**70, bytes=1)
    recorder.slice(0, 1, 1, "deep", depth=100_000)
    recorder.slice(0, 2**70, 1, "late")
    journal = finish()
    assert journal.problems == {"a value of buffers was out of range": 1, "a value of slices was out of range": 1}
    assert [(row["name"], row["depth"]) for row in journal.slices] == [("deep", 32767)]


def test_a_wrong_column_is_the_callers_error(recorder: Any) -> None:
    with pytest.raises(TypeError, match="colour"):
        recorder.row("nodes", id=1, colour="red")
    with pytest.raises(TypeError, match="id"):
        recorder.row("nodes", op="ADD")


def test_args_are_json_whatever_they_hold(recorder: Any, finish: Any) -> None:
    class Bad:
        def __str__(self) -> str:
            raise RuntimeError

    loop: dict[str, Any] = {}
    loop["me"] = loop
    recorder.slice(0, 1, 1, "a", args={"nan": math.nan, "path": Path("x"), "bad": Bad(), (1, 2): 3})
    recorder.slice(0, 2, 1, "b", args=loop)
    import json

    first, second = (json.loads(row["args"]) for row in finish().slices)
    assert first == {"nan": "nan", "path": "x", "bad": "<Bad: RuntimeError>", "(1, 2)": 3}
    assert "me" in second


def test_facts_problems_and_frees(recorder: Any, finish: Any) -> None:
    recorder.facts(frameworks={"tinygrad": "0.14.0"})
    recorder.problem("lost", 3)
    recorder.problem("lost", 4)
    recorder.free(7, 99)
    journal = finish()
    assert journal.facts == {"frameworks": {"tinygrad": "0.14.0"}}
    assert journal.problems == {"lost": 7}
    assert journal.frees == [(7, 99)]


def test_exit_callbacks_run_before_the_journal_closes_last_first(recorder: Any, finish: Any) -> None:
    recorder.on_exit(lambda: recorder.row("markers", time=1, name="first", kind="marker"))
    recorder.on_exit(lambda: 1 / 0)
    recorder.on_exit(lambda: recorder.row("markers", time=1, name="last", kind="marker"))
    journal = finish()
    assert [row["name"] for row in journal.rows["markers"]] == ["last", "first"]
    assert any("ZeroDivisionError" in reason for reason in journal.problems)


def test_a_closed_recorder_takes_nothing_and_leaves_a_clean_process(recorder: Any, finish: Any) -> None:
    recorder.slice(0, 1, 1, "a")
    journal = finish()
    recorder.slice(0, 2, 1, "b")
    recorder.row("markers", time=1, name="x")
    (facts,) = journal.processes
    assert facts["clean"] and facts["ended"] > facts["started"] and facts["pid"] == os.getpid()
    assert journal.names() == ["a"]
