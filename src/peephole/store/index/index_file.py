"""What the binary files of the index have in common: magic | zstd chunks | directory | footer | magic again."""

from __future__ import annotations

import contextlib
import os
import struct
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import pyarrow as pa

from peephole.errors import CaptureError

STEP: Final = 2
"""Each level's buckets are 2**STEP as wide as those of the level below."""
COARSEST: Final = 128
"""No further level above one with so few entries."""
LAST_LEVEL: Final = 62
_DAMAGE: Final = (
    struct.error, ValueError, KeyError, TypeError, IndexError, OverflowError, MemoryError, RecursionError, OSError,
    pa.ArrowException,
)  # fmt: skip


class IndexFileWriter:
    """Writes one file from its beginning to its end."""

    def __init__(self, path: Path, magic: bytes) -> None:
        self._file: BinaryIO = path.open("wb")
        self._codec = pa.Codec("zstd", 3)
        self._magic = magic
        self.at = self._file.write(magic)
        """Where the next chunk begins."""

    def chunk(self, data: bytes) -> int:
        """Writes a chunk and gives the bytes that it takes in the file."""
        packed = self._codec.compress(data, asbytes=True)
        self.at += self._file.write(packed)
        return len(packed)

    def end(self, directory: bytes, footer: bytes) -> None:
        """Writes directory, footer and magic and closes the file."""
        self._file.write(directory + footer + self._magic)
        self._file.close()

    def abort(self) -> None:
        """Lets go of the file if it has not come to its end."""
        with contextlib.suppress(OSError):  # a full disk, which is why we are here
            self._file.close()


class IndexFile:
    """Reads one file by place, so that threads may share it. Damage is a CaptureError."""

    def __init__(self, path: Path, magic: bytes, footer: struct.Struct) -> None:
        self.path = path
        self._codec = pa.Codec("zstd", 3)
        try:
            fd = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise CaptureError(f"{path} cannot be read: {error.strerror}.") from None
        self._fd = fd
        # a capture that nobody closes must not keep the file open for ever
        self.close = weakref.finalize(self, os.close, fd)
        """Lets go of the file; may be called again."""
        with self.checked():
            self.footer_at = os.fstat(fd).st_size - footer.size - len(magic)
            end = os.pread(fd, footer.size + len(magic), max(0, self.footer_at))
            if not end.endswith(magic):
                raise ValueError("wrong footer")
            self.footer: tuple[Any, ...] = footer.unpack(end[: -len(magic)])

    def read(self, at: int, size: int) -> bytes:
        """The bytes at a place; fewer when the file ends."""
        return os.pread(self._fd, size, at)

    def chunk(self, at: int, packed: int, size: int) -> bytes:
        """A chunk of that many bytes, in the file and unpacked."""
        return self._codec.decompress(self.read(at, packed), size, asbytes=True)  # type: ignore[no-any-return]

    @contextlib.contextmanager
    def checked(self) -> Iterator[None]:
        """Makes a CaptureError of whatever damaged bytes lead to."""
        try:
            yield
        except _DAMAGE as error:
            raise CaptureError(f"{self.path} is damaged: {error}.") from None
