"""One segment of a journal: a preallocated, memory-mapped file that outlives the process that writes it."""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import sys
import zlib
from typing import Final

from peephole.model.journal import DROPPED_OFFSET, HEADER, MAGIC, SLOT, USED_OFFSET
from peephole.model.tables import FORMAT_VERSION

FIRST_BYTES: Final = 64 * 1024
LARGEST_BYTES: Final = 4 * 1024 * 1024
_USED_AND_CRC: Final = struct.Struct("<II")
_U32: Final = struct.Struct("<I")


def create(path: str, size: int, process: int, thread: int, number: int) -> mmap.mmap:
    """A mapped segment of that many bytes, all zero behind its header. OSError when there is no room for it.

    The blocks are allocated here: writing to a mapped page that the disk has no room for would be SIGBUS.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
    try:
        _allocate(fd, size)
        if sys.version_info >= (3, 13):
            # no descriptor of ours stays open for a program that closes all of them by number
            buffer = mmap.mmap(fd, size, trackfd=False)
        else:
            buffer = mmap.mmap(fd, size)
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(fd)
    HEADER.pack_into(buffer, 0, MAGIC, FORMAT_VERSION, process & 0xFFFF, thread, number, 0, 0, 0)
    return buffer


def close(buffer: mmap.mmap, path: str, end: int) -> None:
    """Writes used slots and CRC into the header and cuts the file to that length; nobody may be writing it then.

    The mapping is left to the garbage collector, since a frame that a signal interrupted may still hold it.
    """
    with memoryview(buffer) as view:
        crc = zlib.crc32(view[SLOT:end])
    _USED_AND_CRC.pack_into(buffer, USED_OFFSET, end // SLOT - 1, crc)
    if end < len(buffer):
        with contextlib.suppress(OSError):  # it only saves room
            os.truncate(path, end)


def count_dropped(buffer: mmap.mmap, count: int) -> None:
    """Writes how many events were lost after this segment into its header."""
    _U32.pack_into(buffer, DROPPED_OFFSET, min(count, 0xFFFFFFFF))


def _allocate(fd: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, 0, size)
        return
    left = size  # macOS has no such call: zeros do the same
    while left:
        left -= os.write(fd, bytes(min(left, 1 << 20)))
