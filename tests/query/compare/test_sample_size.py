"""How many durations of each name a comparison of large traces holds."""

from __future__ import annotations

import numpy as np

from peephole.query.compare.runs import HELD, SAMPLE, sample_size


def test_few_names_have_a_whole_sample() -> None:
    assert sample_size(np.array([24_000_000, 5, 0])) == SAMPLE


def test_many_names_hold_no_more_together() -> None:
    counts = np.full(20_000, 1_200)
    size = sample_size(counts)
    assert 6 <= size < SAMPLE
    assert np.minimum(counts, size).sum() <= HELD
    assert np.minimum(counts, 2 * size).sum() > HELD
