"""Several steps of a run together: figures equal to what each of them says alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.rank_traces import write_ranks

from peephole.errors import PeepholeError
from peephole.fleet.run import make_run
from peephole.query.ranks.run import Run, open_run
from peephole.query.ranks.step_range import step_range
from peephole.query.ranks.step_view import step_view
from peephole.store.capture import open_capture


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder: Path = tmp_path_factory.mktemp("range")
    known = write_ranks(folder, 6, slow={2: (1, 3), 4: (4,)}, hosts=3, seed=4)
    return open_run(open_capture(make_run(known.files, folder / "run.peep")))


def test_a_range_is_the_sum_of_its_steps(run: Run) -> None:
    found = step_range(run, 1, 4)
    steps = [step_view(run, step) for step in range(1, 5)]
    assert (found.first, found.last, found.steps) == (1, 4, 4)
    assert found.dur_ns == steps[-1].start_ns + steps[-1].dur_ns - steps[0].start_ns
    assert found.lost_ns == sum(one.lost_ns for one in steps if any(row.slow for row in one.ranks)) > 0
    for row in found.ranks:
        mine = [(next(r for r in one.ranks if r.rank == row.rank), one) for one in steps]
        assert row.own_ns == sum(one.own_ns for one, _ in mine)
        assert row.wait_ns == sum(one.wait_ns for one, _ in mine)
        assert row.slow == sum(one.slow for one, _ in mine)
        medians = [step.median_own_ns for _, step in mine]
        assert row.over_ns == sum(one.own_ns - m for (one, _), m in zip(mine, medians, strict=True))
    assert found.median_own_ns == int(np.median([row.own_ns for row in found.ranks]))
    assert found.mean_wait_ns == int(np.mean([row.wait_ns for row in found.ranks]))


def test_the_slow_rank_and_the_steps_that_lost_most_come_first(run: Run) -> None:
    found = step_range(run, 0, 4)
    assert [(row.rank, row.slow) for row in found.ranks[:2]] == [(2, 2), (4, 1)]
    assert {one.step: one.slowest for one in found.worst[:3]} == {1: 2, 3: 2, 4: 4}
    lost = [one.lost_ns for one in found.worst]
    assert lost == sorted(lost, reverse=True) and lost[2] > 0
    assert {one.step: one.dur_ns for one in found.worst} == {step: step_view(run, step).dur_ns for step in range(5)}


def test_a_range_reaches_beyond_what_is_there_but_not_nowhere(run: Run) -> None:
    assert (step_range(run, 4, 90).first, step_range(run, 0, 0).steps) == (4, 1)
    with pytest.raises(PeepholeError, match=r"There is no step from 70 to 90; steps 0 to \d+ are there\."):
        step_range(run, 70, 90)
