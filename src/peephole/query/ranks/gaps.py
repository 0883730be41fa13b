"""Idle time of a rank, by cause: the host launched late, a collective began late, or the kernel waited for another."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.query.ranks.intervals import Intervals, Ints, lengths_within

HOST, KERNELS, TALK, OTHER = "host", "between kernels", "before communication", "other"
_SHORT: Final = 30_000
"""ns within which kernels follow each other as devices do it: nobody is to blame. HTA's default comes to the same."""
_OUTSIDE: Final = -1

Gap = tuple[int, str, int, int]
"""Step (-1 outside of any), cause, how many began in it, ns."""


class Launches:
    """When what ran on a device was launched, as far as arrows from the host say so."""

    def __init__(self, begins: Ints, ends: Ints) -> None:
        """`begins` and `ends` are the arrows: the numbers of the slices that they lead from and to."""
        self._arrows = begins, ends
        self._device: list[tuple[Ints, Ints]] = []
        """Start and number of what ran on devices."""
        self._host: list[tuple[Ints, Ints]] = []

    def add(self, start: Ints, number: Ints, device: NDArray[np.bool_], own: NDArray[np.bool_]) -> None:
        """Takes slices, and whether each is on a device; of those that no arrow touches nothing is kept."""
        begins, ends = self._arrows
        if not len(begins):
            return
        for parts, arrow, where in ((self._device, ends, device), (self._host, begins, ~device)):
            chosen = own & where & _place(arrow, number)[1]
            if chosen.any():
                parts.append((start[chosen], number[chosen]))

    def known(self) -> tuple[Ints, Ints]:
        """Start of each slice on a device whose launch is known, in order, and when its launch began."""
        if not self._device or not self._host:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        begins, ends = self._arrows
        start, number = (np.concatenate(part) for part in zip(*self._device, strict=True))
        called, caller = (np.concatenate(part) for part in zip(*self._host, strict=True))
        arrow, _ = _place(ends, number)
        host, there = _place(caller, begins[arrow])
        start, launch = start[there], called[host[there]]
        order = np.lexsort((launch, start))
        return start[order], launch[order]


def _place(keys: Ints, wanted: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Where each wanted number is among the keys, and whether it is."""
    order = np.argsort(keys, kind="stable")
    at = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    return order[at], keys[order[at]] == wanted


def idle_gaps(
    everything: Intervals, computing: Intervals, talking: Intervals, launches: tuple[Ints, Ints], steps: Ints
) -> list[Gap]:
    """The time in which nothing ran, by step and cause, the causes by name. `steps` has number, begin and end."""
    if len(everything.start) < 2:
        return []
    begin, end = everything.end[:-1], everything.start[1:]
    length = end - begin
    start, launch = launches
    at = np.minimum(np.searchsorted(start, end), max(len(start) - 1, 0))
    known = start[at] == end if len(start) else np.zeros(len(end), np.bool_)
    late = known & (launch[at] > begin) if len(start) else known
    next_talks = np.isin(end, talking.start) & ~np.isin(end, computing.start)
    causes = {
        HOST: late | (~known & (length >= _SHORT) & ~next_talks),
        KERNELS: ~late & (length < _SHORT),
        TALK: ~known & (length >= _SHORT) & next_talks,
        OTHER: known & ~late & (length >= _SHORT),
    }
    found: list[Gap] = []
    for cause, chosen in sorted(causes.items()):
        if chosen.any():
            found += _by_step(cause, Intervals(begin[chosen], end[chosen]), steps)
    return sorted(found)


def _by_step(cause: str, gaps: Intervals, steps: Ints) -> list[Gap]:
    """What of these gaps lies in each step, and what in none."""
    number, begin, end = steps.T
    inside = lengths_within(gaps, begin, end)
    counts = np.searchsorted(gaps.start, end, "left") - np.searchsorted(gaps.start, begin, "left")
    rows = [
        (step, cause, many, ns)
        for step, many, ns in zip(number.tolist(), counts.tolist(), inside.tolist(), strict=True)
        if ns
    ]
    rest, many = gaps.length() - int(inside.sum()), len(gaps.start) - int(counts.sum())
    return [*rows, (_OUTSIDE, cause, max(many, 0), rest)] if rest > 0 else rows
