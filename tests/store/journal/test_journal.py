"""Journals of dead processes: whole, cut anywhere, damaged anywhere."""

from __future__ import annotations

import json
import struct
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.store.journal import journals as j

from peephole.model.tables import TABLES
from peephole.store.capture import Capture, open_capture
from peephole.store.journal.thread_rows import LOST

FIRST = "p00000/t0000.000000.seg"


def body(count: int) -> tuple[bytes, list[tuple[int, int, str, str | None]]]:
    """Records of all shapes between slices, and the slices' (start, dur, name, args)."""
    out = j.text("track") + j.text("device") + j.row("tracks", id=0, name=1, kind=2)
    wanted: list[tuple[int, int, str, str | None]] = []
    texts = 2
    names: dict[str, int] = {}
    for i in range(count):
        name = f"kernel {'x' * (i % 4 * 20)}{i % 5}"
        if name not in names:
            texts += 1
            names[name] = texts
            out += j.text(name)
        facts = {"i": i, "pad": "y" * (i % 70)} if i % 3 == 0 else None
        if facts is not None:
            out += j.args(-1, facts)
        if i % 4 == 1:
            out += j.row("counters", track=0, time=i, value=i / 2)
        out += j.slot_slice(i * 10, 7, names[name])
        wanted.append((i * 10, 7, name, None if facts is None else json.dumps(facts)))
    return out, wanted


def slices(capture: Capture) -> list[tuple[int, int, str | None, str | None]]:
    frame = capture.read("slices", ["start", "dur", "name", "args"])
    columns = frame["start"].tolist(), frame["dur"].tolist(), frame.texts("name"), frame.texts("args")
    return list(zip(*columns, strict=True))


def reasons(capture: Capture) -> dict[str, int]:
    return {p["reason"]: p["count"] for p in capture.manifest.problems}


def opened(segments: dict[str, bytes], **process: Any) -> Capture:
    folder = tempfile.mkdtemp()
    return open_capture(j.capture_folder(Path(folder) / "t.peep", segments, process))


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 12), st.booleans(), st.floats(0, 1))
def test_any_prefix_holds_a_prefix(count: int, closed: bool, share: float) -> None:
    data, wanted = body(count)
    whole = j.segment(data, closed, spare=3)
    cut = whole[: int(len(whole) * share)]
    capture = opened({FIRST: cut})
    got = slices(capture)
    assert got == wanted[: len(got)]
    if len(cut) == len(whole):
        assert got == wanted
        assert not capture.manifest.problems


@settings(deadline=None, max_examples=80)
@given(st.integers(1, 12), st.booleans(), st.integers(0, 10**9), st.integers(0, 7))
def test_a_flipped_bit_is_no_crash(count: int, closed: bool, place: int, bit: int) -> None:
    data, wanted = body(count)
    whole = bytearray(j.segment(data, closed, spare=3))
    whole[place % len(whole)] ^= 1 << bit
    capture = opened({FIRST: bytes(whole)})
    got = slices(capture)
    assert len(got) <= len(wanted) + 3
    if closed and place % len(whole) >= 32:
        assert capture.manifest.problems, "a closed segment has a checksum"


@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=400), st.booleans())
def test_garbage_is_no_crash(data: bytes, with_header: bool) -> None:
    capture = opened({FIRST: j.segment(data[: len(data) // 32 * 32], False) if with_header else data})
    capture.read("slices")
    assert with_header or capture.manifest.problems


def test_a_missing_segment_is_counted_and_its_texts_are_not_guessed() -> None:
    one = j.segment(j.text("a") + j.slot_slice(0, 5, 1), True)
    three = j.segment(j.text("c") + j.slot_slice(20, 5, 1) + j.slot_slice(30, 5, 3), True, number=2)
    capture = opened({FIRST: one, "p00000/t0000.000002.seg": three})
    assert [(s, n) for s, _, n, _ in slices(capture)] == [(0, "a"), (20, "a"), (30, "(lost)")]
    found = reasons(capture)
    assert found["journal segments that are missing"] == 1
    assert found["names that were in a lost part of the journal"] == 1


def test_unknown_kinds_are_skipped_and_counted() -> None:
    data = j.record(200, b"?" * 90) + j.text("a") + j.slot_slice(0, 5, 1)
    capture = opened({FIRST: j.segment(data, True)})
    assert [n for _, _, n, _ in slices(capture)] == ["a"]
    assert reasons(capture)["journal records of an unknown kind"] == 1


def test_dropped_problems_and_facts_reach_the_manifest() -> None:
    data = j.record(5, struct.pack("<q", 4) + b"too odd") + j.record(6, b'{"frameworks": {"x": "1"}, "state": "evil"}')
    capture = opened({FIRST: j.segment(data, True, dropped=9)})
    assert capture.manifest.dropped == 9
    assert reasons(capture)["too odd"] == 4
    assert capture.manifest.frameworks == {"x": "1"}
    assert capture.manifest.state == "sealed"


def test_two_processes_share_tracks_ids_and_clock_safely() -> None:
    def own(name: str) -> bytes:
        return (
            j.text(name)
            + j.row("tracks", id=0, name=1, kind=1)
            + j.row("contexts", id=7, name=1)
            + j.args(7, None)
            + j.slot_slice(100, 5, 1, correlation=3)
            + j.row("buffers", id=5, device=1, alloc=100, bytes=8)
            + j.record(4, struct.pack("<qq", 5, 150))
            + j.row("uses", buffer=5, slice=3, mode=1)
        )

    capture = opened({FIRST: j.segment(own("a"), True), "p00001/t0000.000000.seg": j.segment(own("b"), True)})
    assert list(capture.read("tracks").texts("name")) == ["a", "b"]
    frame = capture.read("slices")
    assert frame["track"].tolist() == [0, 1]
    assert frame["correlation"].tolist() == [3, 3 + (1 << 40)]
    assert frame["context"].tolist() == capture.read("contexts")["id"].tolist() == [7, 7 + (1 << 40)]
    assert capture.read("buffers")["free"].tolist() == [150, 150]
    assert capture.read("uses")["buffer"].tolist() == capture.read("buffers")["id"].tolist()


def test_clocks_of_two_machines_are_aligned(tmp_path: Path) -> None:
    data = j.segment(j.text("a") + j.row("tracks", id=0, name=1, kind=1) + j.slot_slice(100, 5, 1), True)
    path = j.capture_folder(tmp_path / "t.peep", {FIRST: data, "p00001/t0000.000000.seg": data})
    for ordinal, boot, own in ((0, "x", 50), (1, "y", 1050)):
        facts = {"pid": 1, "boot": boot, "clean": True, "clock": {"perf_counter_ns": own, "time_ns": 10_000}}
        (path / "journal" / f"p0000{ordinal}" / "process.json").write_text(json.dumps(facts))
    assert open_capture(path).read("slices", ["start"])["start"].tolist() == [100, -900]


def test_open_slices_count_until_their_end_is_written() -> None:
    data = j.text("a") + j.text("b")
    data += j.args(-1, {"k": 1}) + j.slot_slice(0, 5, 1, flags=1) + j.slot_slice(100, 5, 2, flags=1)
    data += j.slot_slice(0, 9, 1, flags=1) + j.slot_slice(0, 50, 1)
    capture = opened({FIRST: j.segment(data, False, spare=2)})
    got = [(s, d, n, a and json.loads(a)) for s, d, n, a in slices(capture)]
    assert got == [(0, 50, "a", None), (100, 5, "b", {"open": True})]


def test_dangling_rows_go_and_are_counted() -> None:
    ids = struct.Struct("<2q").pack
    data = j.text("x") + j.row("nodes", id=1, op=1, src=b"") + j.row("nodes", id=2, op=1, src=ids(1, 1))
    data += j.row("nodes", id=3, op=1, src=ids(2, 77)) + j.row("nodes", id=4, op=1, src=ids(3, 1))
    data += j.row("steps", id=1, context=9, ordinal=0, root=2) + j.row("steps", id=2, context=9, ordinal=1, root=4)
    for ordinal, (before, after) in enumerate([(2, 1), (1, -1), (4, 1), (1, 2)]):
        data += j.row("matches", step=1, ordinal=ordinal, before=before, after=after)
    data += j.row("matches", step=8, ordinal=0, before=1, after=2) + j.row("uses", buffer=5, slice=1)
    data += j.record(4, struct.pack("<qq", 5, 1))
    capture = opened({FIRST: j.segment(data, True)})
    assert capture.read("nodes")["id"].tolist() == [1, 2]
    assert capture.read("matches")["ordinal"].tolist() == [0, 1]
    assert capture.read("steps")["root"].tolist() == [2, -1]
    assert capture.read("steps")["matches"].tolist() == [2, 0]
    assert capture.read("contexts")["id"].tolist() == [9]
    assert capture.count("uses") == 0
    found = reasons(capture)
    assert found["nodes whose sources were lost, removed"] == 2
    assert found["matches whose nodes or step were lost, removed with those after them"] == 3
    assert found["frees of buffers that were lost"] == 1


def test_the_last_row_of_a_context_and_a_lost_track() -> None:
    data = j.text("early") + j.text("late") + j.row("contexts", id=1, name=1) + j.row("contexts", id=1, name=2, dur=5)
    data += j.slot_slice(0, 1, 1, track=4)
    capture = opened({FIRST: j.segment(data, True)})
    assert list(capture.read("contexts").texts("name")) == ["late"]
    assert list(capture.read("tracks").texts("name")) == ["process 0 track 4"]
    assert reasons(capture) == {"tracks whose name was lost": 1}


def test_a_program_that_was_killed_before_its_first_event(tmp_path: Path) -> None:
    (tmp_path / "a.peep" / "journal").mkdir(parents=True)
    capture = open_capture(tmp_path / "a.peep")
    assert capture.manifest.state == "sealed"
    assert not capture.manifest.clean
    assert capture.span() == (0, 0)
    assert len(capture.buckets(0, 0, 0, 10, 5)) == 0
    (tmp_path / "b.peep" / "journal" / "p00000").mkdir(parents=True)
    (tmp_path / "b.peep" / "journal" / "p00000" / "t0000.000000.seg").write_bytes(b"")
    assert open_capture(tmp_path / "b.peep").count("slices") == 0


def test_windows_beyond_all_time() -> None:
    capture = opened({FIRST: j.segment(j.text("a") + j.slot_slice(-5, 9, 1) + j.slot_slice(1 << 62, 1 << 62, 1), True)})
    assert len(capture.slices(0, 0, -(1 << 70), 1 << 70)[0]) == 2
    assert len(capture.buckets(0, 0, -(1 << 70), 1 << 70, 100)) > 0
    assert len(capture.windows([(0, 0), (9, 9)], -(1 << 70), 1 << 70, 100)) == 2
    assert sum(reasons(capture).values()) == 3


def test_many_rows_of_one_kind_are_read_as_few_are() -> None:
    few: list[Any] = []
    many: list[Any] = []
    for count, out in ((10, few), (300, many)):
        data = j.text("GPU") + j.text("x" * 90)
        for i in range(1, count + 1):
            data += j.row("buffers", id=i, device=1 + i % 2, alloc=i, bytes=i * i) + j.slot_slice(i, 1, 1)
            data += j.record(4, struct.pack("<qq", i, i + 5)) + j.row("counters", track=0, time=i, value=i / 4)
            data += j.row("uses", buffer=i, slice=i, mode=2, position=i) + j.row("markers", time=i, name=2, args=b"{}")
        capture = opened({FIRST: j.segment(data, True)})
        for table in ("buffers", "counters", "uses", "markers"):
            frame = capture.read(table, None, slice(0, 10))
            declared = {c.name for c in TABLES[table].columns}
            names = declared & {"id", "alloc", "free", "bytes", "time", "value", "position"}
            out.append({name: frame[name].tolist() for name in names})
            assert capture.count(table) == count
        out.append(list(capture.read("buffers", ["device"], slice(0, 10)).texts("device")))
        out.append(list(capture.read("markers", ["args"], slice(0, 10)).texts("args")))
    assert few == many


def test_the_last_row_of_a_buffer_counts_however_many_come_together() -> None:
    first = j.row("buffers", id=5, alloc=1, bytes=10)
    later = b"".join(j.row("buffers", id=number, alloc=1, bytes=20) for number in range(100))
    capture = opened(
        {FIRST: j.segment(first, True), FIRST.replace(".000000", ".000001"): j.segment(later, True, number=1)}
    )
    assert set(capture.read("buffers")["bytes"].tolist()) == {20}


def test_behind_a_segment_that_lost_texts_a_name_is_missing_rather_than_wrong() -> None:
    first = j.segment(j.text("a") + j.slot_slice(0, 1, 1) + j.text("b"), True)
    second = j.segment(
        j.text("c") + j.slot_slice(5, 1, 1) + j.slot_slice(10, 1, 2) + j.slot_slice(20, 1, 3), True, number=1
    )
    later = FIRST.replace(".000000", ".000001")
    whole = opened({FIRST: first, later: second})
    assert [name for _, _, name, _ in slices(whole)] == ["a", "a", "b", "c"]
    cut = opened({FIRST: first[:-32], later: second})
    assert [name for _, _, name, _ in slices(cut)] == ["a", "a", LOST, LOST]
    assert reasons(cut)["journal segments that were cut short"] == 1
    folder = Path(tempfile.mkdtemp()) / "t.peep"
    j.capture_folder(folder, {later: second})
    (folder / "journal" / FIRST).mkdir()  # there, and not to be read
    gone = open_capture(folder)
    assert [name for _, _, name, _ in slices(gone)] == [LOST] * 3
    assert reasons(gone)["journal segments that cannot be read"] == 1


def test_whatever_stands_on_a_lost_node_goes_in_one_walk() -> None:
    deep = 20_000

    def node(number: int, *src: int) -> bytes:
        return j.row("nodes", id=number, src=struct.pack(f"<{len(src)}q", *src))

    # 0 was lost; 1 stands on it, 2 on 1, …; the last two stand on each other alone
    chain = b"".join(node(number, number - 1) for number in range(1, deep))
    whole = node(deep) + node(deep + 1, deep, deep)
    capture = opened({FIRST: j.segment(chain + node(deep + 2, deep, 7) + whole, True)})
    assert capture.read("nodes", ["id"])["id"].tolist() == [deep, deep + 1]
    assert reasons(capture) == {"nodes whose sources were lost, removed": deep}


def test_a_clock_that_cannot_be_moves_nothing(tmp_path: Path) -> None:
    later = FIRST.replace("p00000", "p00001")
    rows = j.segment(j.text("a") + j.slot_slice(5, 1, 1), True)
    path = j.capture_folder(tmp_path / "t.peep", {FIRST: rows, later: rows}, {"boot": None})
    for folder, moved in (("p00000", 0), ("p00001", 10**40)):
        facts = {"clean": True, "clock": {"time_ns": moved, "perf_counter_ns": 0}}
        (path / "journal" / folder / "process.json").write_text(json.dumps(facts))
    assert [start for start, *_ in slices(open_capture(path))] == [5, 5]
