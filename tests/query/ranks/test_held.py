"""Which collectives held a rank up, and which ran beside its computing."""

from __future__ import annotations

import numpy as np

from peephole.query.ranks.intervals import union
from peephole.query.ranks.summary import _held

MS = 1_000_000


def held(*computing: tuple[int, int]) -> bool:
    """Whether a collective from 0 to 100 ms held up a rank that computed at these times, in ms."""
    times = np.array(computing, np.int64).reshape(-1, 2) * MS
    parts = union(times[:, 0], times[:, 1])
    return bool(_held(parts, np.array([0], np.int64), np.array([100 * MS], np.int64))[0])


def test_a_rank_that_computed_nothing_at_its_end_was_held_up() -> None:
    assert held()
    assert held((0, 90))


def test_one_that_ran_beside_computing_held_nobody_up() -> None:
    assert not held((0, 100))
    assert not held((5, 45), (50, 101))


def test_a_thread_that_ends_it_late_does_not_hide_the_wait() -> None:
    assert held((99, 104))
