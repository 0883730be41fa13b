"""Whether files are the ranks of one run: captures, or traces that name a rank each, in them or in the file's name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from peephole.errors import PeepholeError
from peephole.model.folder import is_capture
from peephole.model.urls import is_remote
from peephole.sources.chrome.rank import HEAD, head_of, is_trace, rank_in, rank_in_name
from peephole.store import remote

_LOOKED_AT: Final = 32
"""Of thousands of files some are enough to say what they are."""


def are_ranks(given: Sequence[str]) -> bool:
    """Whether a capture is among these, or most of them are traces that name different ranks; here or in object
    storage."""
    if len(given) < 2:
        return False
    if any(remote.is_capture_url(one) if is_remote(one) else is_capture(Path(one)) for one in given):
        return True
    some = given[:: max(len(given) // _LOOKED_AT, 1)]
    named = [rank for one in some if (rank := _rank(one)) is not None]
    if not named:
        numbers = [rank_in_name(one) for one in given]
        return None not in numbers and len(set(numbers)) == len(given) and all(is_trace(_head(one)) for one in some)
    return len(set(named)) > 1 and 2 * len(named) > len(some)


def _rank(given: str) -> int | None:
    return rank_in(_head(given))


def _head(given: str) -> bytes:
    if not is_remote(given):
        return head_of(Path(given)) if Path(given).is_file() else b""
    try:
        return remote.head(given, HEAD)
    except PeepholeError:
        return b""
