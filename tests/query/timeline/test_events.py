"""Events in time order against a plain sort, and sums against a plain loop, however the lanes lie in the file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import peephole.query.timeline.events as module
from peephole.query.capture.info import span
from peephole.query.timeline.events import events, slices
from peephole.query.timeline.top import top
from peephole.store.capture import Capture, open_capture
from peephole.store.writer import CaptureWriter

Rows = list[tuple[int, int, int, str | None]]

ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(-50, 300), st.integers(0, 20), st.sampled_from(["a", "b", "c", None])),
    max_size=80,
)


def write(folder: Path, rows: Rows) -> Capture:
    with CaptureWriter(folder / "x.peep") as writer:
        writer.append("tracks", {"id": [0, 1, 2, 3, 4], "name": ["t0", "t1", "t2", "same", "same"]})
        if rows:
            track, start, dur, name = zip(*rows, strict=True)
            writer.append("slices", {"track": track, "start": start, "dur": dur, "name": name})
        writer.append("markers", {"time": [0, 100], "name": ["zero", "hundred"], "kind": ["marker"] * 2})
    return open_capture(folder / "x.peep")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, part=st.integers(1, 40), tracks=st.none() | st.sets(st.integers(0, 6)), cut=st.booleans())
def test_slices_are_merged_as_if_sorted(
    monkeypatch: pytest.MonkeyPatch, rows: Rows, part: int, tracks: set[int] | None, cut: bool
) -> None:
    # small parts, so that lanes are read in several
    monkeypatch.setattr(module, "PART", part)
    interval = (0, 100) if cut else None
    with tempfile.TemporaryDirectory() as folder:
        capture = write(Path(folder), rows)
        found = list(slices(capture, tracks, interval))
        expected = [row for row in rows if (tracks is None or row[0] in tracks) and (not cut or 0 <= row[1] <= 100)]
        assert sorted((e.track, e.start, e.dur, e.name) for e in found) == sorted(
            (track, start, dur, name or "") for track, start, dur, name in expected
        )
        assert [e.start for e in found] == sorted(e.start for e in found)
        table = capture.read("slices", ["start", "dur"])
        assert all(table["start"][e.row] == e.start and table["dur"][e.row] == e.dur for e in found)


@settings(max_examples=40, deadline=None)
@given(rows=ROWS)
def test_top_is_a_plain_sum(rows: Rows) -> None:
    with tempfile.TemporaryDirectory() as folder:
        capture = write(Path(folder), rows)
        names = {0: "t0", 1: "t1", 2: "t2", 3: "same", 4: "same", 5: "track 5"}
        sums: dict[tuple[str, str], list[int]] = {}
        for track, _, dur, name in rows:
            sums.setdefault((names[track], name or ""), []).append(dur)
        result = top(capture)
        assert {(r.track, r.name): (round(r.mean * r.count), r.count, r.shortest, r.longest) for r in result.rows} == {
            key: (sum(values), len(values), min(values), max(values)) for key, values in sums.items()
        }
        assert [r.total for r in result.rows] == sorted((r.total for r in result.rows), reverse=True)
        # how much of it is nested, tests/query/calls has the whole truth about
        assert all(r.self <= r.total <= round(r.mean * r.count) for r in result.rows)
        assert result.total == sum(r.self for r in result.rows)
        cut = top(capture, limit=2)
        assert sum(r.self for r in cut.rows) + cut.other_self == result.total
        assert len(cut.rows) + cut.other_names == len(result.rows)


def test_markers_stand_among_the_slices(tmp_path: Path) -> None:
    capture = write(tmp_path, [(0, 0, 5, "a"), (0, 100, 5, "b"), (1, 50, 1, "c")])
    assert [event.name for event in events(capture)] == ["zero", "a", "c", "hundred", "b"]
    assert [event.name for event in events(capture, {1})] == ["zero", "c", "hundred"]
    assert span(capture) == (0, 105)


def test_a_capture_without_times_has_no_span(tmp_path: Path) -> None:
    with CaptureWriter(tmp_path / "e.peep"):
        pass
    capture = open_capture(tmp_path / "e.peep")
    assert span(capture) is None
    assert list(events(capture)) == []
    assert top(capture).rows == ()


def test_the_whole_trace_is_never_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PART", 10)
    capture = write(tmp_path, [(track, 10 * i, 5, "a") for track in range(5) for i in range(1000)])
    read = 0
    real = Capture.read

    def counting(self: Capture, table: str, columns: list[str], rows: slice) -> object:
        nonlocal read
        read += rows.stop - rows.start if table == "slices" else 0
        return real(self, table, columns, rows)

    monkeypatch.setattr(Capture, "read", counting)
    first = slices(capture)
    assert [next(first).start for _ in range(5)] == [0] * 5
    assert read <= 5 * 10
