"""Where rows go: the one interface between whoever produces rows and whoever keeps them.

A source or a journal hands over columns, many rows at a time; the store's writer is the real sink, and a test
can be one with ten lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(slots=True)
class Strings:
    """A text column in dictionary form: `values[code]` per row, a negative code is null."""

    codes: Any
    """Sequence or numpy array of integers, one per row."""
    values: Sequence[str]


ColumnValues = Sequence[Any] | Strings | Any
"""A list, a numpy array or, for text, Strings. For `ids` columns a list of lists or (offsets, values)."""


class Sink(Protocol):
    """Takes rows of any table in any order. A column that is left out gets the default of its declaration."""

    def append(self, table: str, columns: Mapping[str, ColumnValues]) -> None:
        """Adds rows; all columns have one length."""

    def problem(self, reason: str, count: int = 1, example: str = "") -> None:
        """Counts something that was not understood or was lost; shown by `peephole info`."""

    def describe(self, **facts: Any) -> None:
        """Adds facts to the manifest: source, frameworks, program, clocks, …"""
