"""Whether files are the ranks of one run: captures, or traces that name a rank each."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from peephole.model.folder import is_capture

_HEAD: Final = 1 << 20
_RANK: Final = re.compile(rb'"distributedInfo"\s*:\s*\{[^{}\[\]]*?"rank"\s*:\s*(\d+)')


def are_ranks(paths: Sequence[Path]) -> bool:
    """Whether these are captures, or most of them traces that name different ranks."""
    if len(paths) < 2:
        return False
    if all(is_capture(path) for path in paths):
        return True
    named = [rank for path in paths if path.is_file() and (rank := rank_of(path)) is not None]
    return len(set(named)) > 1 and 2 * len(named) > len(paths)


def rank_of(path: Path) -> int | None:
    """The rank that a trace names in its beginning, None where it names none."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
        if head[:2] == b"\x1f\x8b":
            head = zlib.decompressobj(wbits=31).decompress(head, _HEAD)
    except (OSError, zlib.error, gzip.BadGzipFile):
        return None
    found = _RANK.search(head)
    return int(found[1]) if found else None
