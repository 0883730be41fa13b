"""The names of slices as numbers, row group by row group: what a window needs without decoding texts.

`index/codes.bin`: magic | one zstd chunk per row group of slices.parquet | directory | footer. A chunk
holds the bytes of number plus one (0: no name), all first bytes, then all second ones, as in the pyramid.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.store.index.byte_planes import from_planes, to_planes, width_of
from peephole.store.index.index_file import IndexFile, IndexFileWriter

MAGIC: Final = b"PEEPCOD1"
FILE: Final = "codes.bin"
_FOOTER: Final = struct.Struct("<QQ")
"""Slices that it was built of, offset of the directory."""
_DIRECTORY: Final = np.dtype([("rows", "<u4"), ("packed", "<u4"), ("width", "u1")])
"""One per row group, in order; width: bytes of a number."""


class CodesWriter:
    """Takes the names' numbers of one row group after the other."""

    def __init__(self, path: Path) -> None:
        self._file = IndexFileWriter(path, MAGIC)
        self._directory: list[tuple[int, int, int]] = []

    def add(self, name: NDArray[np.int32]) -> None:
        """Adds the names of a row group."""
        width = width_of(int(name.max(initial=0)) + 1)
        packed = self._file.chunk(to_planes(name + 1, width))
        self._directory.append((len(name), packed, width))

    def close(self) -> None:
        """Writes the directory."""
        slices = sum(entry[0] for entry in self._directory)
        self._file.end(np.array(self._directory, _DIRECTORY).tobytes(), _FOOTER.pack(slices, self._file.at))

    def abort(self) -> None:
        """Lets go of the file if it has not come to its end."""
        self._file.abort()


class Codes:
    """Reads the names of row groups."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = IndexFile(path, MAGIC, _FOOTER)
        with self._file.checked():
            self.slices, directory = self._read_directory()
        self.rows: list[int] = directory["rows"].tolist()
        """How many slices each row group has."""
        self._width: list[int] = directory["width"].tolist()
        packed = directory["packed"].astype(np.int64)
        self._packed: list[int] = packed.tolist()
        self._offset: list[int] = (np.cumsum(packed) - packed + len(MAGIC)).tolist()

    def _read_directory(self) -> tuple[int, NDArray[np.void]]:
        slices, at = self._file.footer
        if at > self._file.footer_at:
            raise ValueError("wrong footer")
        found = np.frombuffer(self._file.read(at, self._file.footer_at - at), _DIRECTORY)
        if int(found["rows"].sum()) != slices or not np.isin(found["width"], (1, 2, 4)).all():
            raise ValueError("wrong directory")
        return slices, found

    def group(self, number: int) -> NDArray[np.int32]:
        """Numbers of the names of a row group, -1 for none."""
        rows, width = self.rows[number], self._width[number]
        with self._file.checked():
            raw = self._file.chunk(self._offset[number], self._packed[number], rows * width)
            return from_planes(raw, rows, width).astype(np.int32) - 1

    def close(self) -> None:
        """Lets go of the file."""
        self._file.close()
