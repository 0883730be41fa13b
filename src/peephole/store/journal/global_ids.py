"""Ids that are unique in a process become unique in the capture."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.journal import PROCESS_SHIFT
from peephole.model.tables import Column, Table

_UNITS: Final = frozenset(
    ("context", "step", "node", "buffer", "contexts.id", "steps.id", "nodes.id", "buffers.id", "slices.correlation")
)
TIMES: Final = frozenset(
    (
        ("slices", "start"),
        ("counters", "time"),
        ("markers", "time"),
        ("buffers", "alloc"),
        ("buffers", "free"),
        ("contexts", "start"),
        ("steps", "start"),
        ("hardware", "start"),
    )
)
"""Columns that hold a moment, and move when clocks are aligned."""


def is_id(table: Table, column: Column) -> bool:
    """Whether a column holds ids of its process."""
    return column.unit in _UNITS or (table.name == "slices" and column.name == "correlation")


def global_ids(ids: NDArray[np.int64], ordinal: int, zero_is_none: bool = False) -> NDArray[np.int64]:
    """Ids of the process as ids of the capture. Negative ones mean none, large ones name another process's thing."""
    base = np.int64(ordinal << PROCESS_SHIFT)
    if ordinal == 0:
        return ids
    own = (ids > 0 if zero_is_none else ids >= 0) & (ids < 1 << PROCESS_SHIFT)
    return np.where(own, ids + base, ids)
