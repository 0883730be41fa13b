"""Two clocks at one moment, whatever else the machine does."""

from __future__ import annotations

from time import perf_counter_ns, time_ns

import pytest

from peephole.record import clocks


def test_both_clocks_are_of_now() -> None:
    earlier = perf_counter_ns(), time_ns()
    moment, wall = clocks.same_moment()
    assert earlier[0] <= moment <= perf_counter_ns()
    assert earlier[1] <= wall <= time_ns()


def test_a_try_in_which_the_process_was_put_aside_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five milliseconds pass between the two clocks at the first try, a microsecond at the second."""
    ahead = 7_000_000_000
    looks = iter([0, 5_000_000, 6_000_000, 6_001_000])
    walls = iter([ahead + 4_900_000, ahead + 6_000_500])
    monkeypatch.setattr(clocks, "perf_counter_ns", lambda: next(looks))
    monkeypatch.setattr(clocks, "time_ns", lambda: next(walls))
    moment, wall = clocks.same_moment()
    assert wall - moment == ahead
