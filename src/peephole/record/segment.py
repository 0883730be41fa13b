"""One segment of a journal: a preallocated, memory-mapped file that outlives the process that writes it."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import struct
import sys
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from peephole.model.journal import DROPPED_MAX, DROPPED_OFFSET, HEADER, MAGIC, SHORT_SHIFT, SLOT, USED_OFFSET
from peephole.model.tables import FORMAT_VERSION
from peephole.record.descriptors import Identity, close, identity, with_own

FIRST_BYTES: Final = 64 * 1024
LARGEST_BYTES: Final = 4 * 1024 * 1024
_USED_AND_CRC: Final = struct.Struct("<II")
_U32: Final = struct.Struct("<I")
_kept: Final[list[mmap.mmap]] = []
"""Mappings whose descriptor the program has closed: to let go of one would close what has that number now."""


class Mapped:
    """A mapped file. `write` appends at its position, which no step of Python can get in between of.

    It lets go of the mapping when nobody holds it any more: a frame that a signal interrupted may hold it for long.
    """

    __slots__ = ("_fd", "_file", "base", "buf", "following", "path", "size", "tell", "used", "write")

    def __init__(self, path: str, size: int) -> None:
        """A new file of that many bytes, all zero. OSError when there is no room for it.

        The blocks are allocated here: writing to a mapped page that the disk has no room for would be SIGBUS.
        """
        self.path = path
        self.size = size
        self.used = 0
        """Bytes up to the last record, once the segment is closed."""
        self.base = 0
        """Events that were lost before it began."""
        self.following: dict[str, Mapped] = {}
        """The segment after it: `setdefault` makes one of two that were made at once the one that counts."""
        self._fd = -1
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            self._file = identity(path)
            try:
                _allocate(fd, self._file, size)
                self.buf: mmap.mmap = self._map(fd)
            finally:
                close(fd, self._file)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise
        self.write: Callable[[bytes], int] = self.buf.write
        self.tell: Callable[[], int] = self.buf.tell

    def _map(self, fd: int) -> mmap.mmap:
        if sys.version_info >= (3, 13):
            # no descriptor of ours stays open for a program that closes all of them by number
            untracked = partial(mmap.mmap, trackfd=False)  # C, with no step of Python between the look and the call
            found: list[Any] = with_own(fd, self._file, untracked, self.size)
        else:
            (number,) = with_own(fd, self._file, os.dup) or [-1]
            close(number, self._file)
            found = with_own(fd, self._file, mmap.mmap, self.size)
            self._fd = _duplicate(fd, number, self._file)  # the lowest that was free: most likely the same number
        if not found:
            raise OSError(errno.EBADF, "the program closed the descriptor")
        buf: mmap.mmap = found[0]
        return buf

    def __del__(self) -> None:
        with contextlib.suppress(BaseException):  # whenever this comes, also while the interpreter ends
            if sys.version_info < (3, 13) and not with_own(self._fd, self._file, mmap.mmap.close, of=self.buf):
                _kept.append(self.buf)


class Segment(Mapped):
    """A segment of one thread's series."""

    __slots__ = ()

    def __init__(self, path: str, size: int, process: int, thread: int, number: int) -> None:
        super().__init__(path, size)
        HEADER.pack_into(self.buf, 0, MAGIC, FORMAT_VERSION, process & 0xFFFF, thread, number, 0, 0, 0)
        self.buf.seek(SLOT)

    def close(self) -> None:
        """Ends the segment: nothing more fits, its header says what is in it, the file is cut to that length."""
        with contextlib.suppress(ValueError):  # unmapped meanwhile
            if not self.used:
                # reading to its end moves the position there and tells where it was, in one step
                self.used = self.size - len(self.buf.read())
            self.stamp()
            if self.used < self.size:
                with contextlib.suppress(OSError):  # it only saves room
                    os.truncate(self.path, self.used)

    def stamp(self) -> None:
        """Writes used slots and checksum into the header of a segment that is closed."""
        with memoryview(self.buf) as view:
            crc = zlib.crc32(view[SLOT : self.used])
        _USED_AND_CRC.pack_into(self.buf, USED_OFFSET, self.used // SLOT - 1, crc)

    def lost(self, count: int, short: int) -> None:
        """Writes into the header how many events were lost after this segment's, and what was short."""
        with contextlib.suppress(ValueError):
            _U32.pack_into(self.buf, DROPPED_OFFSET, min(count, DROPPED_MAX) | short << SHORT_SHIFT)


def _duplicate(fd: int, likely: int, file: Identity) -> int:
    """The descriptor that a mapping keeps of its file; -1 when it cannot be found."""
    if likely >= 0 and with_own(likely, file, int):
        return likely
    with contextlib.suppress(OSError):
        for number in map(int, os.listdir("/proc/self/fd")):
            if number != fd and with_own(number, file, int):
                return number
    return -1


def _allocate(fd: int, file: Identity, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        if not with_own(fd, file, os.posix_fallocate, 0, size):
            raise OSError(errno.EBADF, "the program closed the descriptor")
        return
    left = size  # macOS has no such call: zeros do the same
    while left:
        written = with_own(fd, file, os.write, bytes(min(left, 1 << 20)))
        if not written:
            raise OSError(errno.EBADF, "the program closed the descriptor")
        left -= written[0]
