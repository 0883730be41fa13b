"""Counters and memory over time, pixel by pixel, against a count that looks at every nanosecond."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from peephole.store.capture import open_capture
from peephole.store.series import Series
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
    assert (memory.time.tolist(), memory.value.tolist()) == ([0, 10, 20, 90], [100, 150, 80, 50])
    assert memory.peak() == (10, 150)
    assert memory.at(89) == 80
    assert capture.memory("NPU").peak() == (0, 0)
    assert len(capture.memory("NPU").window(0, 100, 10).start) == 0
    window = capture.counter(1).window(0, 100, 10)
    assert window.start.tolist() == [10, 20, 30, 40, 50, 60, 70, 80, 90]
    assert window.high.tolist() == [1.0] + [3.0] * 8
