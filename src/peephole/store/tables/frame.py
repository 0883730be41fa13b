"""Columns read from a capture: numpy arrays, and texts as codes into a list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Texts:
    """A text column: `codes[i]` points into `values`, a negative code is null."""

    codes: NDArray[np.int32]
    values: list[str]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> str | None:
        code = int(self.codes[row])
        return None if code < 0 else self.values[code]

    def __iter__(self) -> Iterator[str | None]:
        values = self.values
        return (None if code < 0 else values[code] for code in self.codes.tolist())

    def code(self, value: str) -> int:
        """The code of a text, or -2 when no row has it."""
        try:
            return self.values.index(value)
        except ValueError:
            return -2


@dataclass(frozen=True, slots=True)
class Lists:
    """A column of id lists: row i is `values[offsets[i]:offsets[i + 1]]`."""

    offsets: NDArray[np.int64]
    values: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> list[int]:
        return self.values[self.offsets[row] : self.offsets[row + 1]].tolist()  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Blobs:
    """A column of byte strings; None where there is none."""

    values: list[bytes | None]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, row: int) -> bytes | None:
        return self.values[row]


class Frame:
    """Rows of one table. Numbers by `frame["start"]`, texts by `texts`, id lists by `lists`, bytes by `blobs`."""

    def __init__(self, table: str, rows: int, columns: Mapping[str, NDArray[Any] | Texts | Lists | Blobs]) -> None:
        self.table = table
        self.rows = rows
        self._columns = columns

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, name: str) -> NDArray[Any]:
        column = self._columns[name]
        assert isinstance(column, np.ndarray), f"{self.table}.{name} holds no numbers"
        return column

    def texts(self, name: str) -> Texts:
        """A `str` or `text` column."""
        column = self._columns[name]
        assert isinstance(column, Texts), f"{self.table}.{name} holds no texts"
        return column

    def lists(self, name: str) -> Lists:
        """An `ids` column."""
        column = self._columns[name]
        assert isinstance(column, Lists), f"{self.table}.{name} holds no lists"
        return column

    def blobs(self, name: str) -> Blobs:
        """A `bytes` column."""
        column = self._columns[name]
        assert isinstance(column, Blobs), f"{self.table}.{name} holds no bytes"
        return column
