"""Ranks that nobody numbered: processes with devices of their own in one capture."""

from __future__ import annotations

from pathlib import Path

import pytest

from peephole.errors import PeepholeError
from peephole.query.capture.kinds import kind_counts
from peephole.query.ranks.rank_slices import longest, own_window
from peephole.query.ranks.run import open_run, rank_count
from peephole.store.capture import open_capture
from peephole.store.writer import CaptureWriter

MS = 1_000_000


def write_processes(path: Path, steps: bool = True) -> Path:
    """Two processes, each with a thread and a device, and one that only compiles; the second is slow in step 1."""
    with CaptureWriter(path) as writer:
        tracks = {"id": [0, 1, 2, 3, 4], "name": ["USER", "CPU", "USER", "CPU", "compile worker"]}
        kinds = {"kind": ["user", "device", "user", "device", "host"], "process": [7, 7, 9, 9, 11]}
        writer.append("tracks", {**tracks, **kinds})
        rows = []
        for step in range(3):
            for rank in (0, 1):
                took = (50 if (rank, step) == (1, 1) else 5) * MS
                start = step * 100 * MS
                rows += [(2 * rank, start, took, f"step {step}")] * steps
                rows += [(2 * rank + 1, start + MS, took - 2 * MS, f"kernel of {rank}")]
        rows.append((4, 0, 300 * MS, "compiling"))
        writer.append(
            "slices", dict(zip(("track", "start", "dur", "name"), map(list, zip(*rows, strict=True)), strict=True))
        )
    return path


def test_steps_are_spans_of_any_thread_of_the_process(tmp_path: Path) -> None:
    run = open_run(open_capture(write_processes(tmp_path / "it.peep")))
    ranks = sorted(run.ranks(), key=lambda one: one.rank)
    assert [(one.rank, one.busy_ns, one.slow_steps) for one in ranks] == [(0, 9 * MS, ()), (1, 54 * MS, (1,))]
    assert set(run.tables["rank_steps"].ints("step")) == {0, 1, 2}


def test_each_has_its_own_slices_also_where_the_path_is_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_processes(tmp_path / "it.peep")
    monkeypatch.chdir(tmp_path)
    run = open_run(open_capture(Path("it.peep")))
    begin = int(run.tables["rank_steps"].ints("start_ns").min())
    for rank in (0, 1):
        assert {name for _, _, name in longest(run, rank, begin, begin + 300 * MS)} == {f"kernel of {rank}"}
        path, first, last = own_window(run, rank, begin, begin + MS)
        assert (path, last - first) == (tmp_path / "it.peep", MS)


def test_as_many_are_counted_as_there_are(tmp_path: Path) -> None:
    capture = open_capture(write_processes(tmp_path / "two.peep"))
    assert rank_count(capture) == len(open_run(capture).ranks()) == kind_counts(capture)["ranks"] == 2
    with CaptureWriter(tmp_path / "one.peep") as writer:
        writer.append("tracks", {"id": [0], "name": ["CPU"], "kind": ["device"], "process": [3]})
        writer.append("slices", {"track": [0], "start": [0], "dur": [1], "name": ["k"]})
    one = open_capture(tmp_path / "one.peep")
    assert rank_count(one) == 1 and "ranks" not in kind_counts(one)
    with pytest.raises(PeepholeError, match="one rank"):
        open_run(one)
