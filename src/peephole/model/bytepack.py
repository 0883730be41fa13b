"""Bytepack: a compact packed profile in one file, specified in docs/bytepack.md."""

from __future__ import annotations

import struct
from typing import Final

MAGIC: Final = b"PEEPPACK"
VERSION: Final = 1
HEADER: Final = struct.Struct("<8sHHI")
"""magic, version, flags (0), reserved (0)."""
SECTION: Final = struct.Struct("<BQ")
"""kind, bytes of payload."""
END, TEXTS, ROWS, FACTS = 0, 1, 2, 3
"""Kinds of section. A reader skips a kind that it does not know."""
COLUMN: Final = struct.Struct("<BQ")
"""encoding, bytes."""
SAME, DELTA, U64, F64, TEXT = 0, 1, 2, 3, 4
"""Encodings of a column: one value for all rows; differences as zigzag varints; raw u64; raw f64; text numbers."""

PROFILE_TABLES: Final = ("tracks", "slices", "counters", "markers", "flows", "buffers", "uses")
"""What a profile is made of, in the order of writing; compilation and hardware stay in the capture."""
RAW_SIZES: Final = {("buffers", "bytes")}
"""Columns that are always raw u64."""
