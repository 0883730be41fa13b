"""Slices of a lane never overlap, and none is lost."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peephole.store.capture import open_capture
from peephole.store.sealing import build, long_lanes, slice_table
from peephole.store.writer import CaptureWriter

slices = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 200), st.integers(0, 60)), min_size=1, max_size=60
)


@settings(deadline=None, max_examples=60)
@given(slices, st.integers(1, 30))
def test_no_overlap_no_loss(rows: list[tuple[int, int, int, int]], batch: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.peep"
        with CaptureWriter(path) as writer:
            for at in range(0, len(rows), batch):
                part = rows[at : at + batch]
                columns = dict(zip(("track", "depth", "start", "dur"), map(list, zip(*part, strict=True)), strict=True))
                writer.append("slices", {**columns, "correlation": list(range(at + 1, at + 1 + len(part)))})
        capture = open_capture(path)
        frame = capture.read("slices")
        track, depth, start, dur = (frame[c] for c in ("track", "depth", "start", "dur"))
        got = sorted(zip(frame["correlation"].tolist(), track.tolist(), start.tolist(), dur.tolist(), strict=True))
        assert got == [(i + 1, t, s, d) for i, (t, _, s, d) in enumerate(rows)]
        key = np.stack([track, depth, start])
        assert np.all(np.lexsort(key[::-1]) == np.arange(len(rows)))
        same = (track[1:] == track[:-1]) & (depth[1:] == depth[:-1])
        assert not np.any(same & (start[1:] < (start + dur)[:-1]))
        # lanes without an overlap keep the depth that was recorded
        if all(_free(rows, lane) for lane in {(t, d) for t, d, _, _ in rows}):
            wanted = {i + 1: d for i, (_, d, _, _) in enumerate(rows)}
            assert dict(zip(frame["correlation"].tolist(), depth.tolist(), strict=True)) == wanted
        lanes = capture.lanes()
        assert int(lanes.count.sum()) == len(rows)
        for t, d, first, count in zip(lanes.track, lanes.depth, lanes.first, lanes.count, strict=True):
            lane = range(int(first), int(first + count))
            assert set(track[lane]) == {t}
            assert set(depth[lane]) == {d}
            found, at = capture.slices(int(t), int(d), 50, 90)
            own = [i for i in lane if start[i] < 90 and start[i] + max(dur[i], 1) > 50]
            assert (list(range(at, at + len(found))) if len(found) else []) == own


def _free(rows: list[tuple[int, int, int, int]], lane: tuple[int, int]) -> bool:
    own = sorted((s, d) for t, depth, s, d in rows if (t, depth) == lane)
    return all(b[0] >= a[0] + a[1] for a, b in itertools.pairwise(own))


def test_nested_slices_without_depth_become_a_flame(tmp_path: Path) -> None:
    with CaptureWriter(tmp_path / "a.peep") as writer:
        writer.append("slices", {"track": [0] * 4, "start": [0, 0, 2, 20], "dur": [10, 8, 3, 5], "name": list("abcd")})
    frame = open_capture(tmp_path / "a.peep").read("slices", ["depth", "name"])
    assert dict(zip(frame.texts("name"), frame["depth"].tolist(), strict=True)) == {"a": 0, "b": 1, "c": 2, "d": 0}


def test_more_overlaps_than_rows(tmp_path: Path) -> None:
    count = 33_000
    with CaptureWriter(tmp_path / "a.peep") as writer:
        writer.append("slices", {"track": np.zeros(count), "start": np.arange(count), "dur": np.full(count, 10**6)})
    capture = open_capture(tmp_path / "a.peep")
    assert capture.count("slices") == count
    assert capture.manifest.problems[0]["count"] > 900
    frame = capture.read("slices", ["depth", "start", "dur"])
    same = frame["depth"][1:] == frame["depth"][:-1]
    assert not np.any(same & (frame["start"][1:] < (frame["start"] + frame["dur"])[:-1]))


def check_order(path: Path, count: int) -> None:
    """Every slice is there once, and each lane is sorted and free of overlaps."""
    capture = open_capture(path)
    frame = capture.read("slices")
    track, depth, start, dur = (frame[c].astype(np.int64) for c in ("track", "depth", "start", "dur"))
    assert sorted(frame["correlation"].tolist()) == list(range(1, count + 1))
    assert np.array_equal(np.lexsort((start, depth, track)), np.arange(count))
    same = (track[1:] == track[:-1]) & (depth[1:] == depth[:-1])
    assert not np.any(same & (start[1:] < (start + dur)[:-1]))
    capture.close()


def test_lanes_that_are_pushed_below_the_last_row_share_it(tmp_path: Path) -> None:
    """The first lane takes nearly all rows that there are; those below it come in parts of their own or together."""
    many, below = 31_995, 20
    track, depth, start, dur = [0] * many, [0] * many, list(range(many)), [1 << 40] * many
    for own in range(1, below):
        track += [0, 0]
        depth += [own, own]
        start += [(below - own) * 100, (below - own) * 100 + (50 if own % 3 else 10)]
        dur += [40, 40]
    track += [1, 1]
    depth += [0, 0]
    start += [0, 7]
    dur += [5, 5]
    with CaptureWriter(tmp_path / "a.peep") as writer:
        columns = {"track": track, "depth": depth, "start": start, "dur": dur}
        writer.append("slices", {**columns, "correlation": list(range(1, len(track) + 1))})
    check_order(tmp_path / "a.peep", len(track))


def test_deeper_than_a_depth_can_be(tmp_path: Path) -> None:
    """Rows that their producer has put below the last one, in any order."""
    depth = [0, 32_500, 32_500, 32_100, 32_767, 32_000, 32_001]
    start = [0, 50, 60, 70, 0, 55, 200]
    with CaptureWriter(tmp_path / "a.peep") as writer:
        columns = {"track": [0] * 7, "depth": depth, "start": start, "dur": [100] * 7}
        writer.append("slices", {**columns, "correlation": list(range(1, 8))})
    check_order(tmp_path / "a.peep", 7)


@settings(deadline=None, max_examples=100)
@given(slices, st.integers(1, 4))
def test_few_rows_for_many_lanes(rows: list[tuple[int, int, int, int]], last: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        for module in (build, slice_table, long_lanes):
            patch.setattr(module, "MAX_DEPTH", last)
        with CaptureWriter(Path(folder) / "a.peep") as writer:
            columns = dict(zip(("track", "depth", "start", "dur"), map(list, zip(*rows, strict=True)), strict=True))
            writer.append("slices", {**columns, "correlation": list(range(1, 1 + len(rows)))})
        check_order(Path(folder) / "a.peep", len(rows))
