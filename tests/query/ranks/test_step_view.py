"""A step of a run in depth: which ranks are shown on one clock, what a late one ran longer, what it cost."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from tests.rank_traces import write_ranks

from peephole.fleet.run import make_run
from peephole.query.ranks.run import Run, open_run
from peephole.query.ranks.step_view import step_view
from peephole.store.capture import open_capture


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, list[Path]]:
    folder = tmp_path_factory.mktemp("steps")
    known = write_ranks(folder, 9, slow={2: (1, 3), 6: (3,)}, hosts=3, seed=4)
    return open_run(open_capture(make_run(known.files, folder / "run.peep"))), known.files


def kernel_times(file: Path, step: int) -> dict[str, int]:
    """ns by kernel within a step, read off the file."""
    with gzip.open(file, "rt") as text:
        events = json.load(text)["traceEvents"]
    mark = next(event for event in events if event["name"] == f"ProfilerStep#{step}")
    found: dict[str, int] = defaultdict(int)
    for event in events:
        if event["name"].startswith("gemm") and mark["ts"] <= event["ts"] < mark["ts"] + mark["dur"]:
            found[event["name"]] += round(event["dur"] * 1000)
    return found


def test_what_a_late_rank_ran_longer_is_what_the_files_say(made: tuple[Run, list[Path]]) -> None:
    run, files = made
    found = step_view(run, 1)
    assert found.ranks[0].rank == found.why.rank == 2
    slow, median = (kernel_times(files[rank], 1) for rank in (2, found.why.median))
    assert dict(found.why.over) == {name: ns - median[name] for name, ns in slow.items()}
    over = [ns for _, ns in found.why.over]
    assert len(over) == 3 and over == sorted(over, reverse=True)


def test_what_a_step_lost_is_what_the_slowest_is_over_the_median(made: tuple[Run, list[Path]]) -> None:
    run, _ = made
    found = step_view(run, 3)  # two ranks are slow in it: nobody waits for one alone
    own = [row.own_ns for row in found.ranks]
    assert found.lost_ns == max(own) - int(np.median(own)) > 5_000_000


def test_the_path_leads_through_ranks_that_are_shown(made: tuple[Run, list[Path]]) -> None:
    run, _ = made
    for step in range(6):
        found = step_view(run, step, [8])
        shown = {lane.rank: lane for lane in found.lanes}
        assert {leg.rank for leg in found.path} <= set(shown), "no leg of the path is missing"
        assert found.lanes[0].role == "slowest" and 8 in shown
        roles = [lane.role for lane in found.lanes]
        assert roles.count("on the path") <= 2 and "median" in roles and "neighbour" in roles
        assert all(lane.host == f"node{lane.rank % 3}" for lane in found.lanes)
