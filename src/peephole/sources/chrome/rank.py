"""The rank that a trace names, out of its beginning: before it is worth reading the whole."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Final

HEAD: Final = 1 << 20
"""Bytes of a trace in which its rank stands."""
_RANK: Final = re.compile(rb'"distributedInfo"\s*:\s*\{[^{}\[\]]*?"rank"\s*:\s*(\d+)')

_NAMED: Final = re.compile(r"(?:^|[^a-zA-Z])rank[-_.]?(\d{1,7})(?!\d)[^/]*\.json(?:\.gz)?$", re.IGNORECASE)


def rank_in_name(path: str) -> int | None:
    """The rank that a trace's name ends with (`rank3.json`): what is left where the trace itself names none."""
    found = _NAMED.search(path.rpartition("/")[2])
    return int(found[1]) if found else None


def head_of(path: Path) -> bytes:
    """The beginning of a file, nothing of one that cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(HEAD)
    except OSError:
        return b""


def is_trace(head: bytes) -> bool:
    """Whether this is the beginning of a trace."""
    return b'"traceEvents"' in _plain(head)


def _plain(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(head, HEAD) if head[:2] == b"\x1f\x8b" else head
    except zlib.error:
        return b""


def rank_in(head: bytes) -> int | None:
    """The rank that the beginning of a trace names, None where it names none."""
    head = _plain(head)
    found = _RANK.search(head)
    return int(found[1]) if found else None
