"""Where rows go: the one interface between whoever produces rows and whoever keeps them.

A source or a journal hands over columns, many rows at a time; the store's writer is the real sink, and a test
can be one with ten lines.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(slots=True)
class Strings:
    """A text column in dictionary form: `values[code]` per row, a negative code is null."""

    codes: Any
    """Sequence or numpy array of integers, one per row."""
    values: Sequence[str]


@dataclass(slots=True)
class Joined:
    """A text column put together of parts, so that nobody makes a text per row that only goes into a file.

    A part is a text that every row has, or a column: numbers (a numpy array of integers), texts or Strings.
    """

    parts: Sequence[str | Any]

    def __len__(self) -> int:
        column = next(part for part in self.parts if not isinstance(part, str))
        return len(column.codes if isinstance(column, Strings) else column)

    def __iter__(self) -> Iterator[str]:
        return map("".join, zip(*map(self._texts, self.parts), strict=False))

    @staticmethod
    def _texts(part: str | Any) -> Iterable[str]:
        if isinstance(part, str):
            return itertools.repeat(part)
        if isinstance(part, Strings):
            return (part.values[code] for code in part.codes)
        return map(str, part)


@dataclass(slots=True)
class Utf8:
    """A text column as the bytes of all its texts, one after the other: no object is made per row."""

    data: Any
    """The bytes, which must be UTF-8."""
    offsets: Any
    """Where each text begins (numpy array of 64 bits), and at last where the last one ends."""
    missing: Any
    """Which rows are null (numpy array of bool)."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[str | None]:
        data = bytes(self.data)
        for row, (first, past) in enumerate(itertools.pairwise(self.offsets)):
            yield None if self.missing[row] else data[first:past].decode()


ColumnValues = Sequence[Any] | Strings | Joined | Utf8 | Any
"""A list, a numpy array or, for text, Strings, Joined or Utf8. For `ids` columns a list of lists or
(offsets, values)."""


class Sink(Protocol):
    """Takes rows of any table in any order. A column that is left out gets the default of its declaration."""

    def append(self, table: str, columns: Mapping[str, ColumnValues]) -> None:
        """Adds rows; all columns have one length."""

    def problem(self, reason: str, count: int = 1, example: str = "") -> None:
        """Counts something that was not understood or was lost; shown by `peephole info`."""

    def describe(self, **facts: Any) -> None:
        """Adds facts to the manifest: source, frameworks, program, clocks, …"""
