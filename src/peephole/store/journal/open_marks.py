"""The marks of a process: which span was begun last on each row of each lane. See model/journal.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.store.journal.segments import LARGEST

MARK: Final = np.dtype(
    [
        ("start", "<i8"),
        ("name", "<u4"),
        ("correlation", "<u4"),
        ("again", "<i8"),
        ("track", "<u4"),
        ("depth", "<u2"),
        ("thread", "<u2"),
    ]
)
"""`model.journal.MARK` as numpy sees it."""


def read_marks(folder: Path) -> NDArray[Any]:
    """The whole marks of a process; `thread` is the ordinal plus 1. What cannot be read is left out."""
    found = []
    try:
        for path in sorted(folder.glob("open.*")):
            if path.stat().st_size <= LARGEST:
                data = path.read_bytes()
                found.append(np.frombuffer(data, MARK, len(data) // MARK.itemsize))
    except OSError:  # sealed and removed meanwhile
        pass
    marks = np.concatenate(found) if found else np.zeros(0, MARK)
    whole: NDArray[Any] = marks[(marks["thread"] > 0) & (marks["start"] > 0) & (marks["start"] == marks["again"])]
    return whole
