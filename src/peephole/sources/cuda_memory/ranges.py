"""Ranges of addresses that are held: parts of them come and go."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass
from typing import Generic, TypeVar

Holder = TypeVar("Holder")


@dataclass(frozen=True, slots=True)
class Range(Generic[Holder]):
    """Addresses from `start` up to `end`, and what holds them."""

    start: int
    end: int
    holder: Holder


class Ranges(Generic[Holder]):
    """Ranges that do not overlap."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ranges: dict[int, Range[Holder]] = {}

    def all(self) -> list[Range[Holder]]:
        """All of them, by address."""
        return [self._ranges[start] for start in self._starts]

    def add(self, start: int, end: int, holder: Holder) -> None:
        """One more, where none is."""
        if start < end:
            insort(self._starts, start)
            self._ranges[start] = Range(start, end, holder)

    def take(self, start: int, end: int) -> list[Range[Holder]]:
        """Takes those away that have any address of a range, whole; who wants their rests puts them back."""
        first = last = bisect_left(self._starts, start)
        if first and self._ranges[self._starts[first - 1]].end > start:
            first -= 1
        while last < len(self._starts) and self._starts[last] < end:
            last += 1
        found = [self._ranges.pop(at) for at in self._starts[first:last]]
        del self._starts[first:last]
        return found

    def cut(self, start: int, end: int) -> None:
        """Takes exactly these addresses away."""
        for one in self.take(start, end):
            self.add(one.start, min(one.end, start), one.holder)
            self.add(max(one.start, end), one.end, one.holder)
