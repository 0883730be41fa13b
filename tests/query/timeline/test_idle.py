"""Gaps against a brute-force picture of every nanosecond."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from peephole.query.timeline.idle import idle
from peephole.store.capture import Capture, open_capture
from peephole.store.writer import CaptureWriter

Rows = list[tuple[int, int]]


def write(folder: Path, rows: Rows, kind: str = "device") -> Capture:
    with CaptureWriter(folder / "x.peep") as writer:
        writer.append("tracks", {"id": [3], "name": ["GPU"], "kind": [kind]})
        start, dur = zip(*rows, strict=True)
        names = [f"k{i}" for i in range(len(rows))]
        writer.append("slices", {"track": [3] * len(rows), "start": start, "dur": dur, "name": names})
    return open_capture(folder / "x.peep")


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 120), st.integers(1, 15)), min_size=1, max_size=25),
    window=st.none() | st.tuples(st.integers(0, 60), st.integers(60, 130)),
)
def test_gaps_are_what_no_slice_covers(rows: Rows, window: tuple[int, int] | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = idle(write(Path(folder), rows), interval=window, limit=1000)
    first, last = min(start for start, _ in rows), max(start + dur for start, dur in rows)
    low, high = (max(first, window[0]), min(last, window[1])) if window else (first, last)
    covered = {ns for start, dur in rows for ns in range(start, start + dur)}
    silent = [ns for ns in range(low, high) if ns not in covered]
    assert sorted(ns for gap in found.gaps for ns in range(gap.start, gap.start + gap.dur)) == silent
    (busy,) = found.tracks
    assert (busy.idle, busy.busy) == (len(silent), max(high - low, 0) - len(silent))
    for gap in found.gaps:
        if window is None:
            start, dur = rows[int(gap.before[1:])]
            assert start + dur == gap.start
            assert rows[int(gap.after[1:])][0] == gap.start + gap.dur
    assert [gap.dur for gap in found.gaps] == sorted((gap.dur for gap in found.gaps), reverse=True)


def test_the_longest_are_kept_and_devices_come_before_threads(tmp_path: Path) -> None:
    rows = [(0, 1), (10, 1), (100, 1), (103, 1)]
    capture = write(tmp_path, rows)
    assert [(gap.dur, gap.before, gap.after) for gap in idle(capture, limit=2).gaps] == [
        (89, "k1", "k2"),
        (9, "k0", "k1"),
    ]
    assert idle(capture, limit=1).tracks[0].gaps == 3
    assert idle(capture, {99}).tracks == ()
    assert idle(write(tmp_path / "t", rows, "thread")).tracks[0].track.name == "GPU"


def test_no_gap_at_all_may_be_wanted(tmp_path: Path) -> None:
    found = idle(write(tmp_path, [(0, 1), (10, 1), (100, 1)]), limit=0)
    assert (found.gaps, found.tracks[0].gaps) == ((), 2)
