"""A generated run whose every figure is known: 24 ranks here, a thousand of 20,000 slices in `bench/ranks.py`."""

from __future__ import annotations

import pytest
from bench.rank_files import path, plan, truth, write_rank
from bench.ranks import differences

from peephole.fleet.run import make_run
from peephole.query.ranks.balance import kernels, steps
from peephole.query.ranks.critical_path import critical_path
from peephole.query.ranks.run import Run, open_run
from peephole.store.capture import open_capture

SLOW: dict[int, tuple[int, ...]] = {7: (2, 5), 19: (5,)}
PLAN = plan(24, 400, 8, SLOW, seed=5)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("generated")
    files = [write_rank(PLAN, rank, folder) for rank in range(24)]
    return open_run(open_capture(make_run(files, folder / "run.peep")))


def test_every_figure_is_what_the_generator_knows(run: Run) -> None:
    assert differences(run, PLAN, SLOW) == []
    assert run.problems == () and sum(rank.slices for rank in run.ranks()) == 24 * PLAN.slices


def test_the_path_leads_over_the_rank_that_was_waited_for_in_every_step(run: Run) -> None:
    for step in range(8):
        legs = [(leg.rank, leg.kind, leg.start_ns, leg.end_ns, leg.waited_for) for leg in critical_path(run, step)]
        assert legs == path(PLAN, step)
    assert {path(PLAN, step)[0][0] for step in (2, 5)} <= {7, 19}


def test_steps_and_kernels_are_sums_of_what_the_generator_knows(run: Run) -> None:
    known = truth(PLAN)
    for row in steps(run):
        assert row.dur_ns == PLAN.finish[:, row.step].max() - PLAN.begin[:, row.step].min()
        assert row.slowest_ns == known["own"][:, row.step].max()
        assert row.exposed_ns == int((known["communication"] - known["overlap"])[:, row.step].mean())
        assert row.slow_ranks == tuple(rank for rank, those in SLOW.items() if row.step in those)
    assert [row.step for row in steps(run)][:2] == [5, 2] or [row.step for row in steps(run)][:2] == [2, 5]
    first = next(one for one in kernels(run) if one.name == "gemm_0")
    own = PLAN.long[..., 0::30].sum(axis=(1, 2, 3))
    assert (first.most_rank, first.most_ns, first.least_ns) == (7, own.max(), own.min())
