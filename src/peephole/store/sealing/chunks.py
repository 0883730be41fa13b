"""Columns of slices: as they are worked on, and as narrow as a chunk of them can be kept."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
STORED: Final = ("start", "dur", "name", "correlation", "extra", "open")
"""The columns of a chunk; track and depth are in its runs."""
_WIDE: Final[dict[str, Any]] = {
    "start": np.int64,
    "dur": np.int64,
    "name": np.int32,
    "correlation": np.int64,
    "extra": np.uint32,
    "open": np.int16,
}


@dataclass(frozen=True, slots=True)
class Slices:
    """Slices column by column; see spool.RECORD."""

    track: NDArray[np.int32]
    depth: NDArray[np.int16]
    start: Ints
    dur: Ints
    name: NDArray[np.int32]
    correlation: Ints
    extra: NDArray[np.uint32]
    open: NDArray[np.int16]

    def __len__(self) -> int:
        return len(self.start)

    def take(self, rows: NDArray[Any]) -> Slices:
        """Those rows, in that order."""
        return Slices(*(getattr(self, f.name).take(rows) for f in fields(self)))

    def followed_by(self, others: Slices) -> Slices:
        """These and the others."""
        return Slices(*(np.concatenate([getattr(self, f.name), getattr(others, f.name)]) for f in fields(self)))


def joined(parts: list[Slices]) -> Slices:
    """All of them, one behind the other."""
    if len(parts) == 1:
        return parts[0]
    return Slices(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Slices)))


class Chunk:
    """Sorted records as columns, in memory or in a file. A column that is all zero takes no room at all."""

    def __init__(self, records: NDArray[Any]) -> None:
        self._rows = len(records)
        self._data: dict[str, NDArray[Any]] = {}
        self._base = 0
        self._file: IO[bytes] | None = None
        self._offsets: dict[str, tuple[int, np.dtype[Any]]] = {}
        for name in STORED:
            values = records[name]
            if name == "correlation":
                values = self._relative(values)
            if name == "name" or values.any():
                self._data[name] = np.ascontiguousarray(values, dtype=_narrow(values))

    def _relative(self, values: Ints) -> Ints:
        # numbers of one process are near each other and far from 0, which means none
        if not values.any():
            return values
        known = values[values != 0]
        self._base = int(known.min()) - 1
        if int(known.max()) - self._base >= 1 << 32:
            self._base = 0
        return values if self._base == 0 else np.where(values == 0, 0, values - self._base)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(values.nbytes for values in self._data.values())

    def move(self, file: IO[bytes], offset: int) -> int:
        """Puts the columns into a file from that offset on, gives the offset behind them."""
        self._file = file
        for name, values in self._data.items():
            self._offsets[name] = (offset, values.dtype)
            view = values.data.cast("B")
            while len(view):
                written = os.pwrite(file.fileno(), view, offset)
                view = view[written:]
                offset += written
        self._data = {}
        return offset

    def column(self, name: str, first: int, last: int) -> NDArray[Any]:
        """Some values of a column in its own width."""
        if name in self._data:
            values = self._data[name][first:last]
        elif name in self._offsets:
            values = self._read(name, first, last)
        else:
            return np.zeros(last - first, _WIDE[name])
        wide: NDArray[Any] = values.astype(_WIDE[name])
        if name == "correlation" and self._base:
            wide = np.where(wide == 0, 0, wide + self._base)
        return wide

    def _read(self, name: str, first: int, last: int) -> NDArray[Any]:
        assert self._file is not None
        offset, dtype = self._offsets[name]
        out = np.empty(last - first, dtype)
        view = out.data.cast("B")
        offset += first * dtype.itemsize
        while len(view):
            got = os.preadv(self._file.fileno(), [view], offset)
            if got <= 0:
                raise OSError("a temporary file is shorter than it was")
            view = view[got:]
            offset += got
        return out


def _narrow(values: NDArray[Any]) -> Any:
    """The smallest type that holds the values."""
    low, high = int(values.min()), int(values.max())
    for dtype in (np.int16, np.uint32):
        info = np.iinfo(dtype)
        if info.min <= low and high <= info.max:
            return dtype
    return values.dtype
