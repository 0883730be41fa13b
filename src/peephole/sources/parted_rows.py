"""Rows of whole numbers that wait to be joined by a key, until a file has been read whole.

A few wait in memory. More go to a file in parts, each with all rows of some keys: sets are joined part by part, and
memory does not grow with their number.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
PARTS: Final = 64
IN_MEMORY: Final = 1 << 18
"""Rows that wait in memory, 8 bytes each for a column; more go to the file."""
_MIXED: Final = np.uint64(0x9E3779B97F4A7C15)
_SHIFT: Final = np.uint64(58)


class PartedRows:
    """Rows of so many columns, of which the first is the key."""

    def __init__(self, columns: int, folder: Path | None, in_memory: int | None = None) -> None:
        self._columns, self._folder = columns, folder
        self._most = IN_MEMORY if in_memory is None else in_memory
        self._held: list[Ints] = []
        self._waiting = 0
        self._file: IO[bytes] | None = None
        self._bounds: list[Ints] = []
        """Where the rows of each part begin among those that were written at once."""
        self.count = 0

    def append(self, *columns: NDArray[np.generic]) -> None:
        """Adds rows."""
        rows = np.stack([np.asarray(column, np.int64) for column in columns])
        if not rows.shape[1]:
            return
        self._held.append(rows)
        self._waiting += rows.shape[1]
        self.count += rows.shape[1]
        if self._waiting > self._most:
            self._write()

    @property
    def apart(self) -> bool:
        """Whether there are so many that they lie in parts."""
        return self._file is not None

    def _write(self) -> None:
        """Puts what waits into the file, part by part."""
        rows = self._in_memory()
        part = _part_of(rows[0])
        order = np.argsort(part, kind="stable")
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder, prefix="parts.", buffering=0)  # noqa: SIM115 - until close
        base = self._bounds[-1][-1] if self._bounds else 0
        self._bounds.append(base + np.searchsorted(part[order], np.arange(PARTS + 1)))
        left = memoryview(np.ascontiguousarray(rows.T[order]).data).cast("B")
        while left:
            left = left[self._file.write(left) :]
        self._held.clear()
        self._waiting = 0

    def _in_memory(self) -> Ints:
        if not self._held:
            return np.empty((self._columns, 0), np.int64)
        if len(self._held) > 1:
            self._held = [np.concatenate(self._held, axis=1)]
        return self._held[0]

    def all(self) -> Ints:
        """All rows, column by column, when none of them lie in parts."""
        assert not self.apart
        return self._in_memory()

    def part(self, number: int) -> Ints:
        """The rows of a part, column by column, in the order in which they came."""
        waiting = self._in_memory()
        pieces = []
        if self._file is not None:
            size = 8 * self._columns
            for bounds in self._bounds:
                first, past = int(bounds[number]), int(bounds[number + 1])
                raw = os.pread(self._file.fileno(), (past - first) * size, first * size)
                pieces.append(np.frombuffer(raw, np.int64).reshape(-1, self._columns).T)
        pieces.append(waiting[:, _part_of(waiting[0]) == number])
        return np.ascontiguousarray(np.concatenate(pieces, axis=1))

    def close(self) -> None:
        """Forgets the rows."""
        self._held.clear()
        self._bounds.clear()
        self._waiting = self.count = 0
        if self._file is not None:
            self._file.close()
            self._file = None


def together(*sets: PartedRows) -> Iterator[tuple[Ints, ...]]:
    """The same part of each set, one after the other; all at once when they are few. Nothing is left of the sets."""
    try:
        if not any(rows.apart for rows in sets):
            yield tuple(rows.all() for rows in sets)
        else:
            for number in range(PARTS):
                yield tuple(rows.part(number) for rows in sets)
    finally:
        for rows in sets:
            rows.close()


def _part_of(key: Ints) -> NDArray[np.uint8]:
    found: NDArray[np.uint8] = (key.view(np.uint64) * _MIXED >> _SHIFT).astype(np.uint8)
    return found
