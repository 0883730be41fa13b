"""Nodes and matches as journal records, many at a time: there are hundreds of thousands. Standard library only.

The writer's own way, a call per row, would cost the program more than tinygrad's pickle does. The layout is the
journal's (model/journal.py): a record's 32nd byte is its kind, so a format here has it in the middle of a column.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
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


_MIDDLE: Final = struct.pack("<HBBH", 0, 0, NODE, 0)
"""What of a node's record is always the same: half of shape, flags, kind, the other half."""
_HEAD: Final = struct.Struct("<IqIIII6sIII")
_OP: Final = struct.Struct("<I")
_BEFORE_OP: Final = struct.calcsize("<Iq")
_lists: Final[dict[int, struct.Struct]] = {}

Packed = Callable[..., bytes]


def node_packer(sources: int) -> tuple[Packed, int, bytes, int]:
    """What packs a node with that many sources, and what it is given beside them.

    `pack(length, id, op, dtype, arg, tag, middle, metadata, 0, size, *src)` with (pack, length, middle, size).
    """
    size = SLOT + 14 + 8 * sources
    return struct.Struct(f"{_HEAD.format}{sources}q{-size % SLOT}x").pack, 40 + 8 * sources, _MIDDLE, 8 * sources


def node_op(record: bytes) -> int:
    """The number of the op's text, of a node's record."""
    number: int = _OP.unpack_from(record, _BEFORE_OP)[0]
    return number


def node_parts(record: bytes) -> tuple[int, int, tuple[int, ...], int, int, int]:
    """The numbers of the op's, dtype's, arg's, tag's and metadata's texts, of a node's record, and its sources."""
    _, _, op, dtype, arg, tag, _, metadata, _, size = _HEAD.unpack_from(record)
    numbers = _lists.get(size)
    if numbers is None:
        numbers = _lists[size] = struct.Struct(f"<{size // 8}q")
    return op, dtype, numbers.unpack_from(record, _HEAD.size), arg, tag, metadata
