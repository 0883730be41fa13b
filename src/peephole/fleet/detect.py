"""Whether files are the ranks of one run: captures, or traces that name a rank each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from peephole.model.folder import is_capture
from peephole.sources.chrome.rank import rank_of


def are_ranks(paths: Sequence[Path]) -> bool:
    """Whether these are captures, or most of them traces that name different ranks."""
    if len(paths) < 2:
        return False
    if all(is_capture(path) for path in paths):
        return True
    named = [rank for path in paths if path.is_file() and (rank := rank_of(path)) is not None]
    return len(set(named)) > 1 and 2 * len(named) > len(paths)
