"""Allocations of a session as buffers."""

from __future__ import annotations

from typing import Final

from peephole.model.sink import Sink
from peephole.model.tables import NONE
from peephole.sources.database_rows import TableReader
from peephole.sources.nsight.lanes import process_of

_TABLE: Final = "CUDA_GPU_MEMORY_USAGE_EVENTS"
_ALLOC, _FREE = 0, 1
_HOST_KINDS: Final = (0, 1)
"""Pageable and pinned memory of the host."""


class Buffers:
    """Pairs what was allocated with what was freed at the same address of the same process."""

    def __init__(self, tables: TableReader, shift: int) -> None:
        self._tables, self._shift = tables, shift

    def append_to(self, sink: Sink) -> None:
        """Appends the buffers."""
        events: list[tuple[int, int, int, str, int, int]] = []
        wanted = ["start", "deviceId", "bytes", "memoryOperationType", "address"]
        for rows in self._tables.numbers(_TABLE, wanted, ["globalPid", "memKind"]):
            process = process_of(rows["globalPid"])
            columns = (rows["start"], process, rows["address"], rows["deviceId"], rows["memKind"], rows["bytes"],
                       rows["memoryOperationType"])  # fmt: skip
            for start, pid, address, gpu, kind, size, what in zip(*(c.tolist() for c in columns), strict=True):
                device = "Host (pinned)" if kind in _HOST_KINDS else f"GPU {max(gpu, 0)}"
                events.append((start + self._shift, pid, address, device, size, what))
        events.sort(key=lambda event: event[0])
        live: dict[tuple[int, str, int], int] = {}
        found: list[list[int | str]] = []
        lone = 0
        for time, pid, address, device, size, what in events:
            key = (pid, device, address)
            if what == _ALLOC:
                live[key] = len(found)
                found.append([len(found) + 1, device, time, NONE, max(size, 0)])
            elif what == _FREE and key in live:
                found[live.pop(key)][3] = time
            else:
                lone += 1
        if lone:
            sink.problem("memory freed that was allocated before the session began", lone)
        if found:
            ids, devices, allocs, frees, sizes = (list(column) for column in zip(*found, strict=True))
            sink.append("buffers", {"id": ids, "device": devices, "alloc": allocs, "free": frees, "bytes": sizes})
