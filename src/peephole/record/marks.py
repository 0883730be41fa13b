"""Marks of what is open, in memory that outlives the process: one for each row of each lane, the span begun there last.

Beginning a span writes over the mark of the span before it. A span that has ended is in the journal, so its reader
knows which marks are of spans that never did.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import count
from typing import Any, Final

from peephole.model.journal import MARK
from peephole.record.segment import FIRST_BYTES, LARGEST_BYTES, Mapped

_ROW: Final = struct.Struct("<IHH")
_ROW_AT: Final = MARK.size - _ROW.size
put_mark: Final = struct.Struct("<qIIq").pack_into
"""put_mark(buffer, at, start, name, correlation, start): the part of a mark that changes."""
Place = tuple[Any, int]
"""A buffer and where in it."""
_NOWHERE: Final[Place] = (bytearray(MARK.size), 0)


class Marks:
    """Gives places for marks; those of a process lie in files of its own."""

    def __init__(self, make: Callable[[int, int], Mapped]) -> None:
        self._make = make
        self._tables: list[tuple[Mapped, Callable[[], int]]] = []
        self._numbers = count()

    def place(self, track: int, depth: int, thread: int) -> Place:
        """Where the spans of one row of a track are marked; nowhere that counts when there is no room for it."""
        if thread >= 0xFFFF or depth > 0xFFFF:
            return _NOWHERE
        try:
            table, take = self._tables[-1]
            at = take() * MARK.size
            if at + MARK.size > table.size:
                raise IndexError
        except IndexError:
            try:
                table = self._grow()
            except OSError:
                return _NOWHERE
            table, take = self._tables[-1]
            at = take() * MARK.size
            if at + MARK.size > table.size:
                return _NOWHERE
        _ROW.pack_into(table.buf, at + _ROW_AT, track, depth, thread + 1)
        return table.buf, at

    def _grow(self) -> Mapped:
        table = self._make(next(self._numbers), min(FIRST_BYTES << len(self._tables), LARGEST_BYTES))
        self._tables.append((table, count().__next__))
        return table
