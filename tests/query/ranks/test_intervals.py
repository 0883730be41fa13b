"""Sorted intervals against sets of moments."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from peephole.query.ranks.intervals import both, lengths_within, union

PARTS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)).map(lambda p: (p[0], p[0] + p[1])), max_size=12)


def moments(parts: list[tuple[int, int]]) -> set[int]:
    return {moment for start, end in parts for moment in range(start, end)}


@given(PARTS, PARTS, st.integers(0, 80), st.integers(0, 80))
def test_union_intersection_and_parts_are_those_of_the_moments(
    a: list[tuple[int, int]], b: list[tuple[int, int]], x: int, y: int
) -> None:
    columns = [np.array(parts, np.int64).reshape(-1, 2) for parts in (a, b)]
    first, second = (union(part[:, 0], part[:, 1]) for part in columns)
    assert moments(list(zip(first.start.tolist(), first.end.tolist(), strict=True))) == moments(a)
    assert (first.start[1:] > first.end[:-1]).all()
    assert both(first, second).length() == len(moments(a) & moments(b))
    low, high = min(x, y), max(x, y)
    inside = lengths_within(first, np.array([low]), np.array([high]))
    assert inside.tolist() == [len(moments(a) & set(range(low, high)))]
    assert first.within(low, high).length() == inside[0]
