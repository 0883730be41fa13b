"""Names for operations that last from print to print, since those of the print do not.

A value number says what an operation is and what it reads, down to the arguments; two of one number are the same. What
has none in the state before is sought by symbol, then by what it says itself, then by location, then as the next one
of its kind in the same place. What is not found is new, and gets a new name.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final

from peephole.sources.mlir.parser import Operation

WAYS: Final = 5


@dataclass(slots=True)
class Placed:
    """An operation in a state: where it is, its value number and its name."""

    operation: Operation
    parent: Placed | None
    number: int
    loc: str
    name: str = ""
    regions: list[list[Placed]] = field(default_factory=list)

    def key(self, way: int) -> Hashable:
        """What it is sought by, in the way of that number; None when that says nothing about it."""
        told, above = self.operation.text, self.parent.name if self.parent else ""
        if way == 0:
            return (told.name, told.symbol, above) if told.symbol else None
        if way == 1:
            return self.number
        if way == 2:
            return told.name, told.says, above
        if way == 3:
            return (told.name, self.loc) if self.loc else None
        return told.name, above


class Names:
    """The names of one operation's states, one after the other."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}
        self._before: list[Placed] = []

    def give(self, state: list[Placed]) -> None:
        """Names every operation of a state, outer ones before inner ones."""
        left, open_before = state, list(self._before)
        for way in range(WAYS):
            left, open_before = self._match(way, left, open_before)
        taken: set[str] = {one.name for one in state if one.name}
        for one in left:
            one.name = self._new(one, taken)
        self._before = state

    @staticmethod
    def _match(way: int, left: list[Placed], before: list[Placed]) -> tuple[list[Placed], list[Placed]]:
        there: dict[Hashable, deque[Placed]] = {}
        for one in before:
            key = one.key(way)
            if key is not None:
                there.setdefault(key, deque()).append(one)
        rest: list[Placed] = []
        found: set[int] = set()
        for one in left:
            # inside what is new nothing has a place in common
            key = one.key(way) if way in (1, 3) or one.parent is None or one.parent.name else None
            same = there.get(key) if key is not None else None
            if same:
                old = same.popleft()
                found.add(id(old))
                one.name = old.name
            else:
                rest.append(one)
        return rest, [one for one in before if id(one) not in found]

    def _new(self, one: Placed, taken: set[str]) -> str:
        told = one.operation.text
        short = f"@{told.symbol}" if told.symbol and one.operation.regions else told.name.rpartition(".")[2] or "op"
        while True:
            count = self._used[short] = self._used.get(short, -1) + 1
            name = short if short.startswith("@") and not count else f"{short}_{count}"
            if name not in taken:
                taken.add(name)
                return name


class ValueNumbers:
    """Numbers of what operations compute; the same for the same, over all states."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def of(self, content: Hashable) -> int:
        """The number of a content."""
        return self._numbers.setdefault(content, len(self._numbers))
