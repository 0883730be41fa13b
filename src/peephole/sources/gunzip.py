"""A gzip file read as far as it goes: what precedes a cut or a damage is never lost."""

from __future__ import annotations

import zlib
from typing import BinaryIO

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
