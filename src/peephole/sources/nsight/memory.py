"""Allocations of a session as buffers."""

from __future__ import annotations

from typing import Final

import numpy as np

from peephole.model.sink import Sink, Strings
from peephole.sources.allocation_rows import AllocationRows
from peephole.sources.database_rows import TableReader, distinct_pairs
from peephole.sources.nsight.lanes import process_of

_TABLE: Final = "CUDA_GPU_MEMORY_USAGE_EVENTS"
_ALLOCATED, _FREED = 0, 1
_HOST_KINDS: Final = (0, 1)
"""Pageable and pinned memory of the host."""


def append_buffers(tables: TableReader, shift: int, sink: Sink, first: int) -> int:
    """Appends the buffers; gives the number of the next one."""
    rows_of = AllocationRows(tables.folder, taken_again=False)
    wanted = ["start", "deviceId", "bytes", "memoryOperationType", "address"]
    strange = 0
    for rows in tables.numbers(_TABLE, wanted, ["globalPid", "memKind"]):
        known = (rows["memoryOperationType"] == _ALLOCATED) | (rows["memoryOperationType"] == _FREED)
        strange += int((~known).sum())
        rows = {name: column[known] for name, column in rows.items()}
        # -1 is for the host
        gpu = np.where(np.isin(rows["memKind"], _HOST_KINDS), -1, np.maximum(rows["deviceId"], 0))
        pairs, which = distinct_pairs(process_of(rows["globalPid"]), gpu)
        names = ["Host (pinned)" if device < 0 else f"GPU {device}" for _, device in pairs]
        time = rows["start"] + shift
        rows_of.append(
            np.array([process << 16 | (device & 0xFFFF) for process, device in pairs], np.int64)[which],
            rows["address"], time, time, rows["bytes"], Strings(which, names), rows["memoryOperationType"] == _FREED,
        )  # fmt: skip
    if strange:
        sink.problem("memory events of an unknown kind", strange)
    return rows_of.finish(sink, first, "memory freed that was allocated before the session began")
