"""Buckets, bucket by bucket, against a count that looks at every slice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peephole.store.capture import Capture, open_capture
from peephole.store.index import buckets, pyramid
from peephole.store.index.buckets import Entries, fold, join, of_slices
from peephole.store.index.pyramid import Pyramid, PyramidWriter, pack_entries, unpack_entries
from peephole.store.tables import compiled_loops
from peephole.store.writer import CaptureWriter

Bucket = tuple[int, int, int]


def brute(start: list[int], dur: list[int], first: int, level: int) -> dict[int, Bucket]:
    """Bucket -> (busy, count, row of the longest slice that touches it, the first of equals)."""
    width = 1 << level
    found: dict[int, list[int]] = {}
    longest: dict[int, int] = {}
    for i, (s, d) in enumerate(zip(start, dur, strict=True)):
        last = (s + d - 1) >> level if d else s >> level
        for b in range(s >> level, last + 1):
            entry = found.setdefault(b, [0, 0, -1])
            entry[0] += max(0, min(s + d, (b + 1) * width) - max(s, b * width))
            entry[1] += b == s >> level
            if d > longest.get(b, -1):
                longest[b] = d
                entry[2] = first + i
    return {b: (e[0], e[1], e[2]) for b, e in found.items()}


def spread(entries: Entries, level: int) -> dict[int, Bucket]:
    """Entries as one value per bucket; a run fills every one of its buckets."""
    found = {}
    columns = (entries.low, entries.high, entries.busy, entries.count, entries.row)
    for low, high, busy, count, row in zip(*(c.tolist() for c in columns), strict=True):
        for b in range(low, high):
            assert b not in found
            found[b] = (busy if high == low + 1 else 1 << level, count, row)
    return found


lanes = st.lists(
    st.tuples(st.integers(0, 40) | st.integers(0, 3000), st.integers(0, 40) | st.integers(0, 5000)),
    min_size=1,
    max_size=60,
)


def make(lane: list[tuple[int, int]], origin: int) -> tuple[list[int], list[int]]:
    start, dur, at = [], [], origin
    for gap, length in lane:
        start.append(at + gap)
        dur.append(length)
        at += gap + length
    return start, dur


def arrays(start: list[int], dur: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    s, d = np.array(start, np.int64), np.array(dur, np.int64)
    return s, d, np.arange(len(start), dtype=np.int32)


@settings(deadline=None, max_examples=150)
@given(lanes, st.integers(-5000, 5000), st.integers(0, 9), st.integers(1, 3))
def test_buckets_of_slices_and_of_buckets(lane: list[tuple[int, int]], origin: int, level: int, shift: int) -> None:
    start, dur = make(lane, origin)
    fine = of_slices(*arrays(start, dur), 100, level)
    assert spread(fine, level) == brute(start, dur, 100, level)
    coarse = fold(fine, shift, 1 << level)
    assert spread(coarse, level + shift) == brute(start, dur, 100, level + shift)


@settings(deadline=None, max_examples=60)
@given(lanes, st.integers(-5000, 5000), st.integers(0, 9), st.integers(0, 60))
def test_a_seam_does_not_show(lane: list[tuple[int, int]], origin: int, level: int, cut: int) -> None:
    start, dur = make(lane, origin)
    cut = min(cut, len(start))
    s, d, n = arrays(start, dur)
    parts = [of_slices(s[:cut], d[:cut], n[:cut], 0, level), of_slices(s[cut:], d[cut:], n[cut:], cut, level)]
    assert spread(join(parts), level) == brute(start, dur, 0, level)


@settings(deadline=None, max_examples=60)
@given(lanes, st.integers(-5000, 5000), st.integers(0, 9))
def test_compiled_and_numpy_agree_and_bytes_hold_all(lane: list[tuple[int, int]], origin: int, level: int) -> None:
    start, dur = make(lane, origin)
    s, d, n = arrays(start, dur)
    items = Entries(s, s + d, d, np.ones(len(s), np.int64), np.arange(len(s)) + 7, d, n)
    slow = buckets._numpy_fold(items, level, 1)
    fast = buckets._compiled_fold(items, level, 1)
    for name in ("low", "high", "busy", "count", "row", "dur", "name"):
        assert getattr(slow, name).tolist() == getattr(fast, name).tolist()
    data = pack_entries(slow, 7)
    again = unpack_entries(data, len(slow), level, int(slow.low[0]), int(slow.high[-1]), 7)
    for name in ("low", "high", "busy", "count", "row", "name"):
        assert getattr(slow, name).tolist() == getattr(again, name).tolist()


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Capture:
    """Two dense lanes with bursts, pauses, long and empty slices, and a small one."""
    path = tmp_path_factory.mktemp("pyramid") / "p.peep"
    rng = np.random.default_rng(3)
    with CaptureWriter(path) as writer:
        for track, count in ((0, 60_000), (1, 9_000), (2, 40)):
            dur = rng.integers(0, 50, count) * rng.choice([1, 1, 1, 40, 3000], count)
            gap = rng.integers(0, 30, count) * rng.choice([1, 1, 1, 10, 5000], count)
            start = np.cumsum(dur + gap) - dur
            name = [f"k{i}" for i in rng.integers(0, 50, count)]
            writer.append("slices", {"track": [track] * count, "start": start, "dur": dur, "name": name})
        writer.append("tracks", {"id": [0, 1, 2], "name": ["a", "b", "c"], "kind": ["device"] * 3})
    return open_capture(path)


@pytest.mark.parametrize("track", [0, 1, 2])
def test_window_at_every_zoom(capture: Capture, track: int) -> None:
    frame, first = capture.slices(track, 0, -(1 << 60), 1 << 60)
    start, dur = frame["start"].tolist(), frame["dur"].tolist()
    names = list(frame.texts("name"))
    a, b = capture.span()
    rng = np.random.default_rng(track)
    seen = set()
    for zoom in range(0, 26, 2):
        width = max(1, (b - a) >> zoom)
        t0 = a + int(rng.integers(0, max(1, b - a - width)))
        t1 = t0 + width
        found = capture.buckets(track, 0, t0, t1, 300)
        assert len(found) <= 4 * 300 + 2
        seen.add(found.width > 0)
        if found.width == 0:
            touching = [i for i, (s, d) in enumerate(zip(start, dur, strict=True)) if s < t1 and s + max(d, 1) > t0]
            assert {first + i for i in touching} <= set(found.row.tolist())
            assert [start[r - first] for r in found.row.tolist()] == found.start.tolist()
        else:
            level = found.width.bit_length() - 1
            assert found.width <= 2 * max(1, width // 300)
            low, high = found.start >> level, found.end >> level
            entries = Entries(low, high, found.busy, found.count, found.row, found.row, found.name)
            inside = {k: v for k, v in brute(start, dur, first, level).items() if t0 >> level <= k <= (t1 - 1) >> level}
            got = {k: v for k, v in spread(entries, level).items() if t0 >> level <= k <= (t1 - 1) >> level}
            assert got == inside
        assert [capture.names()[n] for n in found.name.tolist()] == [names[r - first] for r in found.row.tolist()]
    assert True in seen or track == 2


def test_missing_and_damaged_index_is_made_anew(capture: Capture, tmp_path: Path) -> None:
    import shutil

    a, b = capture.span()
    wanted = capture.buckets(0, 0, a, b, 200)
    for damage in ("missing", "garbage", "other"):
        path = tmp_path / f"{damage}.peep"
        shutil.copytree(capture.path, path)
        index = path / "index"
        if damage == "missing":
            shutil.rmtree(index)
        elif damage == "garbage":
            (index / "pyramid.bin").write_bytes(b"\0" * 100)
        else:
            (index / "lanes.parquet").unlink()
        again = open_capture(path)
        assert again.lanes().first.tolist() == capture.lanes().first.tolist()
        found = again.buckets(0, 0, a, b, 200)
        assert (found.width, found.busy.tolist()) == (wanted.width, wanted.busy.tolist())
        assert [again.names()[n] for n in found.name] == [capture.names()[n] for n in wanted.name]
        assert (index / "pyramid.bin").stat().st_size > 1000


def test_pyramid_is_small(capture: Capture) -> None:
    size = (capture.path / "index" / "pyramid.bin").stat().st_size
    assert size / capture.count("slices") < 2.5
    assert len(Pyramid(capture.path / "index" / "pyramid.bin").levels(0, 0)) > 3


def test_a_large_lane_in_pieces_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from peephole.store.sealing import spool

    monkeypatch.setattr(spool, "CHUNK", 1 << 11)
    monkeypatch.setattr(spool, "PART", 1 << 11)
    rng = np.random.default_rng(5)
    count = 20_000
    dur = rng.integers(1, 400, count)
    start = np.cumsum(dur + rng.integers(0, 90, count)) - dur
    order = rng.permutation(count)
    paths = []
    for name, rows in (("sorted", np.arange(count)), ("mixed", order)):
        paths.append(tmp_path / f"{name}.peep")
        with CaptureWriter(paths[-1]) as writer:
            for part in np.array_split(rows, 7):
                writer.append("slices", {"track": np.zeros(len(part)), "start": start[part], "dur": dur[part]})
    for path in paths:
        capture = open_capture(path)
        assert capture.read("slices", ["start"])["start"].tolist() == start.tolist()
        a, b = capture.span()
        found = capture.buckets(0, 0, a, b, 500)
        level = found.width.bit_length() - 1
        entries = Entries(
            found.start >> level, found.end >> level, found.busy, found.count, found.row, found.row, found.name
        )
        assert spread(entries, level) == brute(start.tolist(), dur.tolist(), 0, level)


def test_kernels_are_plain_python() -> None:
    assert compiled_loops.first_fit([0, 1, 2, 10], [5, 3, 4, 11]) == [0, 1, 2, 0]


def test_a_lane_that_is_written_bit_by_bit_has_the_same_pyramid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    lanes = []
    for count in (9000, 30, 20_000):
        edges = np.cumsum(rng.choice([0, 1, 3, 40, 900, 70_000], 2 * count, p=[0.1, 0.3, 0.3, 0.2, 0.09, 0.01]))
        lanes.append((edges[::2], edges[1::2] - edges[::2], rng.integers(0, 50, count).astype(np.int32)))

    def written(name: str, group: int) -> Pyramid:
        writer, row = PyramidWriter(tmp_path / name), 0
        for depth, (start, dur, names) in enumerate(lanes):
            for at in range(0, len(start), group):
                own = slice(at, at + group)
                writer.add(0, depth, row + at, start[own], dur[own], names[own])
            row += len(start)
        writer.close(row)
        return Pyramid(tmp_path / name)

    monkeypatch.setattr(pyramid, "_SAMPLE", 500)  # the first slices choose the level, however many come at once
    monkeypatch.setattr(pyramid, "CHUNK", 64)
    whole = written("whole", 1 << 20)
    monkeypatch.setattr(pyramid, "_WAITING", 200)
    parted = written("parted", 700)
    for depth, (start, dur, _) in enumerate(lanes):
        assert parted.levels(0, depth) == whole.levels(0, depth) and bool(whole.levels(0, depth)) == (len(start) > 2000)
        for level in whole.levels(0, depth):
            a, b = (one.window(0, depth, level, 0, int(start[-1] + dur[-1]) + 1) for one in (whole, parted))
            for column in ("low", "high", "busy", "count", "row", "name"):
                assert getattr(a, column).tolist() == getattr(b, column).tolist(), (level, column)
