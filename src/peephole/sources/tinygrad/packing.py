"""Nodes and matches as journal records, many at a time: there are hundreds of thousands. Standard library only.

The writer's own way, a call per row, would cost the program more than tinygrad's pickle does. The layout is the
journal's (model/journal.py): a record's 32nd byte is its kind, so a format here has it in the middle of a column.
Several records are copied in at once; the kind of the first one is written last, so that all are there or none.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from peephole.model.journal import SLOT, TABLE_KINDS, record_format
from peephole.model.tables import TABLES

if TYPE_CHECKING:
    from peephole.record.writer import Writer

NODE: Final = TABLE_KINDS["nodes"]
MATCH: Final = TABLE_KINDS["matches"]
_MOST: Final = 32 * 1024

assert record_format(TABLES["nodes"]).format == "<qIIIIII"
assert record_format(TABLES["matches"]).format == "<qiqqIiq"

MATCH_RECORD: Final = struct.Struct("<IqiqIHBBHIiq14x")
"""length, step, ordinal, before, after (48 bits), flags, kind, the rest of after, file, line, dur."""
MATCH_LENGTH: Final = 44


def node_record(sources: int) -> struct.Struct:
    """length, id, op, dtype, arg, tag, half of shape, flags, kind, its other half, metadata, length of src, src."""
    size = SLOT + 10 + 8 * sources
    return struct.Struct(f"<IqIIIIHBBHII{sources}q{-size % SLOT}x")


def node_length(sources: int) -> int:
    """The payload's length of a node with that many sources."""
    return 36 + 8 * sources


class Batch:
    """Records on their way into one writer."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, record: bytes) -> None:
        """Takes a whole record, padded to its slots."""
        self._parts.append(record)
        self._size += len(record)
        if self._size >= _MOST:
            self.write()

    def write(self) -> None:
        """Puts what was taken into the journal."""
        size = self._size
        if not size:
            return
        block = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        writer = self._writer
        if writer.pos + size > writer.limit and not writer.roll(size):
            return  # no room on the disk: counted there
        pos = writer.pos
        writer.pos = pos + size
        kind = SLOT - 1
        buffer = writer.buf
        buffer[pos : pos + kind] = block[:kind]
        buffer[pos + SLOT : pos + size] = block[SLOT:]
        buffer[pos + kind] = block[kind]
