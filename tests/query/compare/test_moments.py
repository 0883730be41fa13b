"""Where two timelines can be aligned: markers and training steps of both, with the times of either."""

from __future__ import annotations

from pathlib import Path

from peephole.query.compare.moments import first_run, moments
from peephole.store.capture import Capture, open_capture
from peephole.store.writer import CaptureWriter


def capture(path: Path, begin: int, steps: list[int], marker: int) -> Capture:
    """A host's steps at these times and a marker, on a clock that begins at `begin`."""
    with CaptureWriter(path) as writer:
        writer.describe(name=path.stem, source="chrome")
        writer.append("tracks", {"id": [0, 1], "name": ["main", "GPU"], "kind": ["thread", "device"]})
        names = ["setup", *(f"ProfilerStep#{number + 3}" for number in range(len(steps))), "gemm"]
        starts = [begin, *(begin + time for time in steps), begin + 77]
        tracks = [*[0] * (len(names) - 1), 1]
        writer.append("slices", {"track": tracks, "start": starts, "dur": [5] * len(names), "name": names})
        writer.append("markers", {"time": [begin + marker, begin + marker + 10], "name": ["warm", "warm"]})
    return open_capture(path)


def test_markers_steps_and_first_runs_of_both(tmp_path: Path) -> None:
    a = capture(tmp_path / "a.peep", 1_000_000, [10, 30, 50], 4)
    b = capture(tmp_path / "b.peep", 7, [12, 40], 6)
    found = {(moment.kind, moment.name): (moment.a, moment.b) for moment in moments(a, b)}
    assert found == {
        ("marker", "warm"): (4, 6),
        ("marker", "warm#2"): (14, 16),
        ("step", "step 3"): (10, 12),
        ("step", "step 4"): (30, 40),
    }
    assert (first_run(a, ["gemm"]), first_run(b, ["gemm"]), first_run(a, ["none"])) == (77, 77, -1)
