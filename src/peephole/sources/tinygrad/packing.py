"""Nodes and matches as journal records, many at a time: there are hundreds of thousands. Standard library only.

The writer's own way, a call per row, would cost the program more than tinygrad's pickle does. The layout is the
journal's (model/journal.py): a record's 32nd byte is its kind, so a format here has it in the middle of a column.
Several records are copied in at once; the kind of the first one is written last, so that all are there or none.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from peephole.model.journal import SLOT, TABLE_KINDS, record_format
from peephole.model.tables import TABLES

if TYPE_CHECKING:
    from peephole.record.writer import Writer

NODE: Final = TABLE_KINDS["nodes"]
MATCH: Final = TABLE_KINDS["matches"]
AT_ONCE: Final = 400
"""Records that are copied in at once: some 32 KiB."""

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


def write_records(writer: Writer, parts: Sequence[bytes]) -> None:
    """Puts whole records, each padded to its slots, into the journal."""
    block = b"".join(parts)
    size = len(block)
    if not size or (writer.pos + size > writer.limit and not writer.roll(size)):
        return  # no room on the disk: counted there
    pos = writer.pos
    writer.pos = pos + size
    kind = SLOT - 1
    buffer = writer.buf
    buffer[pos : pos + kind] = block[:kind]
    buffer[pos + SLOT : pos + size] = block[SLOT:]
    buffer[pos + kind] = block[kind]
