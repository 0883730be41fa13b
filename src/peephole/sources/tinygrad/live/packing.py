"""Nodes and matches as journal records, many at a time: there are hundreds of thousands. Standard library only.

The writer's own way, a call per row, would cost the program more than tinygrad's pickle does. The layout is the
journal's (model/journal.py): a record's 32nd byte is its kind, so a format here has it in the middle of a column.
"""

from __future__ import annotations

import struct
from typing import Final

from peephole.model.journal import SLOT, TABLE_KINDS, record_format
from peephole.model.tables import TABLES

NODE: Final = TABLE_KINDS["nodes"]
MATCH: Final = TABLE_KINDS["matches"]
AT_ONCE: Final = 400
"""Records that are copied in at once: some 32 KiB."""

assert record_format(TABLES["nodes"]).format == "<qIIIIIII"
assert record_format(TABLES["matches"]).format == "<qiqqIiq"

MATCH_RECORD: Final = struct.Struct("<IqiqIHBBHIiqq6x")
"""length, step, ordinal, before, after (48 bits), flags, kind, the rest of after, file, line, dur, NO_LISTS."""
MATCH_LENGTH: Final = 52
NO_LISTS: Final = -1
"""The lengths of two lists that are null: what a rule took and put is its node before and after."""


_NODE_HEAD: Final = struct.Struct("<IqIIII")
_SIZE: Final = struct.Struct("<I")
_SIZE_AT: Final = struct.calcsize("<IqIIIIHBBHII")


def node_record(sources: int) -> struct.Struct:
    """length, id, op, dtype, arg, tag, half of shape, flags, kind, its other half, metadata, name, size of src, src."""
    size = SLOT + 14 + 8 * sources
    return struct.Struct(f"<IqIIIIHBBHIII{sources}q{-size % SLOT}x")


def node_length(sources: int) -> int:
    """The payload's length of a node with that many sources."""
    return 40 + 8 * sources


def node_parts(record: bytes) -> tuple[int, int, int, int, tuple[int, ...]]:
    """The numbers of the op's, dtype's, arg's and tag's texts, and the sources, of a node's record."""
    _, _, op, dtype, arg, tag = _NODE_HEAD.unpack_from(record)
    (size,) = _SIZE.unpack_from(record, _SIZE_AT)
    return op, dtype, arg, tag, struct.unpack_from(f"<{size // 8}q", record, _SIZE_AT + 4)
