"""A gzip file read as far as it goes: what precedes a cut or a damage is never lost."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:  # not for a command that only asks what a file is
    from concurrent.futures import Future

GZIP_MAGIC = b"\x1f\x8b"
_PIECE = 1 << 18


class Gunzip:
    """Reads like a file; at the end `damage` says in words what cut it short, or is empty."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._inflate = zlib.decompressobj(wbits=31)
        self._input = b""
        self.damage = ""

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; empty at the end."""
        out = bytearray()
        while len(out) < size and not self.damage:
            if self._inflate.eof:
                self._input = self._inflate.unused_data or self._file.read(_PIECE)
                if not self._input.startswith(GZIP_MAGIC):
                    break  # the end, or padding behind the last member
                self._inflate = zlib.decompressobj(wbits=31)
            if not self._input:
                self._input = self._file.read(_PIECE)
                if not self._input:
                    self.damage = "the gzip file ends too early"
                    break
            try:
                out += self._inflate.decompress(self._input, size - len(out))
                self._input = self._inflate.unconsumed_tail
            except zlib.error as error:
                self.damage = f"the gzip file is damaged ({error})"
        return bytes(out)


class ReadAhead:
    """The same with the next `piece` bytes unpacked in a thread, while what came before is worked on."""

    def __init__(self, stream: Gunzip, piece: int) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._stream, self._piece = stream, piece
        self._pool = ThreadPoolExecutor(1, "peephole-unzip")
        self._next: Future[bytes] | None = None
        self._kept = b""
        self._ended = False

    @property
    def damage(self) -> str:
        """What cut the file short, when all of it was read."""
        return self._stream.damage

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; empty at the end."""
        while len(self._kept) < size and not self._ended:
            if self._next is None:
                self._next = self._pool.submit(self._stream.read, self._piece)
            found = self._next.result()
            self._ended = not found
            self._kept += found
            self._next = None if self._ended else self._pool.submit(self._stream.read, self._piece)
        out, self._kept = self._kept[:size], self._kept[size:]
        return out

    def close(self) -> None:
        """Ends the thread."""
        self._pool.shutdown(cancel_futures=True)
