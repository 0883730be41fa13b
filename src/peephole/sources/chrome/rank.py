"""The rank that a trace names, out of its beginning: before it is worth reading the whole."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Final

HEAD: Final = 1 << 20
"""Bytes of a trace in which its rank stands."""
_RANK: Final = re.compile(rb'"distributedInfo"\s*:\s*\{[^{}\[\]]*?"rank"\s*:\s*(\d+)')


def rank_of(path: Path) -> int | None:
    """The rank that a trace names in its beginning, None where it names none."""
    try:
        with path.open("rb") as file:
            return rank_in(file.read(HEAD))
    except OSError:
        return None


def rank_in(head: bytes) -> int | None:
    """The rank that the beginning of a trace names, None where it names none."""
    try:
        if head[:2] == b"\x1f\x8b":
            head = zlib.decompressobj(wbits=31).decompress(head, HEAD)
    except zlib.error:
        return None
    found = _RANK.search(head)
    return int(found[1]) if found else None
