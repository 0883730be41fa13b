"""Counters and memory over time, pixel by pixel, against a count that looks at every nanosecond."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peephole.store.capture import open_capture
from peephole.store.index import series_build, series_file
from peephole.store.index.series import Series
from peephole.store.index.series_file import SeriesFile, SeriesWriter, fold, of_steps
from peephole.store.writer import CaptureWriter

steps = st.lists(st.tuples(st.integers(1, 12), st.integers(-9, 9)), min_size=1, max_size=400)


@settings(deadline=None, max_examples=80)
@given(steps, st.integers(-30, 300), st.integers(1, 900), st.integers(1, 40), st.integers(0, 20))
def test_window_against_every_nanosecond(
    rows: list[tuple[int, int]], begin: int, width: int, pixels: int, rest: int
) -> None:
    time = np.cumsum([gap for gap, _ in rows]).astype(np.int64)
    value = np.array([v for _, v in rows], np.float64)
    end = int(time[-1]) + max(1, rest)
    dense = np.repeat(value, np.diff(np.append(time, end)))
    found = Series(time, value, int(time[-1]) + rest).window(begin, begin + width, pixels)
    pixels = min(pixels, width)
    edges = [begin + i * width // pixels for i in range(pixels + 1)]
    wanted = {}
    for a, b in itertools.pairwise(edges):
        held = dense[max(0, a - int(time[0])) : max(0, b - int(time[0]))]
        if len(held):
            wanted[a] = (held.min(), held.max(), held.mean())
    got = dict(zip(found.start.tolist(), zip(found.low, found.high, found.mean, strict=True), strict=True))
    assert set(got) == set(wanted)
    for at, (low, high, mean) in wanted.items():
        assert got[at][0] == low
        assert got[at][1] == high
        assert abs(got[at][2] - mean) < 1e-6


def test_memory_and_counter_of_a_capture(tmp_path: Path) -> None:
    with CaptureWriter(tmp_path / "a.peep") as writer:
        writer.append("slices", {"track": [0], "start": [0], "dur": [100]})
        writer.append("counters", {"track": [1, 1, 2], "time": [10, 20, 5], "value": [1.0, 3.0, 9.0]})
        writer.append(
            "buffers",
            {
                "id": [1, 2, 3, 4],
                "device": ["GPU", "GPU", "CPU", "GPU"],
                "alloc": [0, 10, 0, 20],
                "free": [20, -1, 50, 90],
                "bytes": [100, 50, 7, 30],
            },
        )
    capture = open_capture(tmp_path / "a.peep")
    memory = capture.memory("GPU")
    assert isinstance(memory, Series)
    assert (memory.time.tolist(), memory.value.tolist()) == ([0, 10, 20, 90], [100, 150, 80, 50])
    assert memory.peak() == (10, 150)
    assert capture.memory("NPU").peak() == (0, 0)
    assert len(capture.memory("NPU").window(0, 100, 10).start) == 0
    window = capture.counter(1).window(0, 100, 10)
    assert window.start.tolist() == [10, 20, 30, 40, 50, 60, 70, 80, 90]
    assert window.high.tolist() == [1.0] + [3.0] * 8


@settings(deadline=None, max_examples=80)
@given(steps, st.integers(-40, 200), st.integers(0, 20), st.integers(0, 3))
def test_buckets_of_every_level_against_every_nanosecond(
    rows: list[tuple[int, int]], begin: int, rest: int, finest: int
) -> None:
    time = begin + np.cumsum([gap for gap, _ in rows]).astype(np.int64)
    value = np.array([v for _, v in rows], np.float64)
    series = Series(time, value, int(time[-1]) + rest)
    dense = np.repeat(value, np.diff(np.append(time, series.end)))
    entries, level = of_steps(series.time, series.value, series.end, finest), finest
    for _ in range(4):
        changed = {int(t) >> level for t in time}
        assert entries.bucket.tolist() == sorted(changed)
        for i, bucket in enumerate(entries.bucket.tolist()):
            a, b = max(bucket << level, int(time[0])), min((bucket + 1) << level, series.end)
            held = dense[a - int(time[0]) : b - int(time[0])]
            assert (entries.low[i], entries.high[i], entries.last[i]) == (held.min(), held.max(), held[-1])
            assert entries.area[i] == held.sum()
        level += 2
        entries = fold(entries, level, series.end)


def test_a_stored_series_gives_what_the_table_gives(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    time = np.cumsum(rng.integers(1, 5000, 30_000))
    series = Series(time, rng.integers(0, 1000, len(time)).astype(np.float64), int(time[-1]) + 77)
    writer = SeriesWriter(tmp_path / "series.bin")
    writer.add(("memory", "GPU"), series)
    writer.add(("counter", "3"), Series(time[:10], series.value[:10], 0))
    writer.close()
    read: list[int] = []

    def whole() -> Series:
        read.append(1)
        return series

    file = SeriesFile(tmp_path / "series.bin")
    assert file.get(("counter", "3"), whole) is None, "a short one is read from its table"
    stored = file.get(("memory", "GPU"), whole)
    assert stored is not None
    assert (len(stored), stored.peak(), stored.least()) == (len(series), series.peak(), series.least())
    for t0, t1 in [(0, int(time[-1]) + 500), (int(time[5000]) + 3, int(time[9000]))]:
        window = stored.window(t0, t1, 500)
        assert not read
        assert 200 < len(window.start) <= 4 * 500
        ends = np.append(window.start[1:], int(window.start[-1] // window.width + 1) * int(window.width))
        for at in range(1, len(window.start) - 1, 37):
            one = series.window(int(window.start[at]), int(ends[at]), 1)
            assert (window.low[at], window.high[at]) == (one.low[0], one.high[0])
            assert abs(window.mean[at] - one.mean[0]) < 1e-6
    near = stored.window(int(time[100]), int(time[120]), 500)
    assert read, "nearer than the finest level the steps themselves are read"
    assert len(near.start) == 500


def test_a_value_that_rests_for_an_hour_after_a_burst(tmp_path: Path) -> None:
    hour = 3600 * 10**9
    with CaptureWriter(tmp_path / "burst.peep") as writer:
        writer.append("tracks", {"id": [0, 1], "name": ["heap", "GPU"], "kind": ["counter", "device"]})
        writer.append("slices", {"track": [1], "start": [0], "dur": [hour], "name": ["train"]})
        time, value = np.arange(5000) * 20, np.arange(5000.0) % 7
        writer.append("counters", {"track": [0] * 5000, "time": time, "value": value})
    series = open_capture(tmp_path / "burst.peep").counter(0)
    assert isinstance(series, series_file.StoredSeries)
    window = series.window(0, hour, 1000)
    assert 500 <= len(window.start) <= 2000
    assert (window.low[0], window.high[0]) == (0, 6)
    assert set(window.low[1:]) == set(window.high[1:]) == {value[-1]}


def test_series_are_made_when_a_capture_is_sealed_and_when_they_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "many.peep"
    n = 3 * series_file.SMALLEST
    time = np.arange(n, dtype=np.int64) * 1000
    with CaptureWriter(path) as writer:
        writer.append("tracks", {"id": [0, 1], "name": ["load", "few"], "kind": ["counter", "counter"]})
        writer.append("counters", {"track": [0] * n + [1], "time": [*time, 5], "value": [*(time % 77), 1.0]})
        writer.append(
            "buffers",
            {"id": np.arange(n), "device": ["GPU"] * n, "alloc": time, "free": time + 5500, "bytes": time % 91},
        )
    for _ in range(2):
        capture = open_capture(path)
        for series in (capture.counter(0), capture.memory("GPU")):
            assert isinstance(series, series_file.StoredSeries)
            assert len(series.window(0, n * 1000, 100).start) >= 50
        assert isinstance(capture.counter(1), Series)
        capture.close()
        (path / "index" / "series.bin").unlink()


def test_series_that_are_not_in_memory_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    count = 500
    alloc = rng.integers(0, 5000, count)
    buffers = {
        "id": np.arange(count), "device": [f"GPU {at % 3}" for at in range(count)], "alloc": alloc,
        "free": np.where(rng.random(count) < 0.8, alloc + rng.integers(1, 900, count), -1),
        "bytes": rng.integers(1, 1 << 40, count),
    }  # fmt: skip
    counters = {"track": np.sort(rng.integers(0, 3, count)), "time": rng.integers(0, 1 << 40, count),
                "value": rng.normal(size=count)}  # fmt: skip

    def index_of(name: str) -> SeriesFile:
        with CaptureWriter(tmp_path / name) as writer:
            writer.append("slices", {"track": [0], "start": [0], "dur": [1 << 41]})
            writer.append("counters", counters)
            writer.append("buffers", buffers)
        return SeriesFile(tmp_path / name / "index" / "series.bin")

    monkeypatch.setattr(series_file, "SMALLEST", 10)
    monkeypatch.setattr(series_build, "SMALLEST", 10)
    whole = index_of("whole.peep")
    monkeypatch.setattr(series_build, "_LONG", 20)
    monkeypatch.setattr(series_file, "_CHUNK", 7)
    parted = index_of("parted.peep")
    assert whole._facts.keys() == parted._facts.keys() and len(whole._facts) == 6
    for key, facts in whole._facts.items():
        other = parted._facts[key]
        assert [(one.level, one.entries) for one in facts.levels] == [(one.level, one.entries) for one in other.levels]
        assert (facts.steps, facts.first, facts.end, facts.peak_time) == (
            other.steps, other.first, other.end, other.peak_time
        )  # fmt: skip
        assert (facts.peak, facts.least) == (other.peak, other.least)
        for one, same in zip(facts.levels, other.levels, strict=True):
            a, b = whole.level(one), parted.level(same)
            assert a.bucket.tolist() == b.bucket.tolist()
            for column in ("low", "high", "area", "last"):
                np.testing.assert_allclose(getattr(a, column), getattr(b, column), rtol=1e-9)
