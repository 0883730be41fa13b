"""The names of slices as numbers, row group by row group: what a window needs without decoding texts.

`index/codes.bin`: magic | one zstd chunk per row group of slices.parquet | directory | footer. A chunk
holds the bytes of number plus one (0: no name), all first bytes, then all second ones, as in the pyramid.
"""

from __future__ import annotations

import os
import struct
import weakref
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from peephole.errors import CaptureError
from peephole.store.planes import from_planes, to_planes, width_of

MAGIC: Final = b"PEEPCOD1"
FILE: Final = "codes.bin"
_FOOTER: Final = struct.Struct("<QQ8s")
"""Slices that it was built of, offset of the directory, magic."""
_DIRECTORY: Final = np.dtype([("rows", "<u4"), ("packed", "<u4"), ("width", "u1")])
"""One per row group, in order; width: bytes of a number."""


class CodesWriter:
    """Takes the names' numbers of one row group after the other."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("wb")
        self._file.write(MAGIC)
        self._codec = pa.Codec("zstd", 3)
        self._directory: list[tuple[int, int, int]] = []

    def add(self, name: NDArray[np.int32]) -> None:
        """Adds the names of a row group."""
        width = width_of(int(name.max(initial=0)) + 1)
        packed = self._codec.compress(to_planes(name + 1, width), asbytes=True)
        self._file.write(packed)
        self._directory.append((len(name), len(packed), width))

    def close(self) -> None:
        """Writes the directory."""
        at = self._file.tell()
        self._file.write(np.array(self._directory, _DIRECTORY).tobytes())
        self._file.write(_FOOTER.pack(sum(entry[0] for entry in self._directory), at, MAGIC))
        self._file.close()

    def abort(self) -> None:
        """Lets go of the file."""
        self._file.close()


class Codes:
    """Reads the names of row groups."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._codec = pa.Codec("zstd", 3)
        try:
            self._fd = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise CaptureError(f"{path} cannot be read: {error.strerror}.") from None
        # a capture that nobody closes must not keep the file open for ever
        self._close = weakref.finalize(self, os.close, self._fd)
        self.slices, directory = self._read_directory()
        self._rows: list[int] = directory["rows"].tolist()
        self._width: list[int] = directory["width"].tolist()
        packed = directory["packed"].astype(np.int64)
        self._packed: list[int] = packed.tolist()
        self._offset: list[int] = (np.cumsum(packed) - packed + len(MAGIC)).tolist()

    def _read_directory(self) -> tuple[int, NDArray[np.void]]:
        try:
            size = os.fstat(self._fd).st_size
            slices, at, magic = _FOOTER.unpack(os.pread(self._fd, _FOOTER.size, size - _FOOTER.size))
            length = size - _FOOTER.size - at
            if magic != MAGIC or at > size or length < 0 or length % _DIRECTORY.itemsize:
                raise ValueError("wrong footer")
            found = np.frombuffer(os.pread(self._fd, length, at), _DIRECTORY)
            if int(found["rows"].sum()) != slices or not np.isin(found["width"], (1, 2, 4)).all():
                raise ValueError("wrong directory")
            return slices, found
        except (struct.error, ValueError, OSError) as error:
            self.close()
            raise CaptureError(f"{self.path} is damaged: {error}.") from None

    def group(self, number: int) -> NDArray[np.int32]:
        """Numbers of the names of a row group, -1 for none."""
        rows, width = self._rows[number], self._width[number]
        try:
            data = os.pread(self._fd, self._packed[number], self._offset[number])
            raw = self._codec.decompress(data, rows * width, asbytes=True)
            return from_planes(raw, rows, width).astype(np.int32) - 1
        except (ValueError, OSError, pa.ArrowException, IndexError) as error:
            raise CaptureError(f"{self.path} is damaged: {error}.") from None

    def close(self) -> None:
        """Lets go of the file."""
        self._close()
