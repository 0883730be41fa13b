"""PyTorch's `[memory]` events: buffers by address, and the total as a counter."""

from __future__ import annotations

from typing import Any

from peephole.model.sink import Sink
from peephole.model.tables import NONE

_DEVICES = {0: "CPU", 1: "CUDA", 6: "XLA", 13: "MPS"}


class Memory:
    """Pairs allocations and frees, which may arrive in any order, when the file has ended."""

    def __init__(self) -> None:
        self._events: list[tuple[int, str, int, int]] = []

    def take(self, time: int, args: dict[str, Any]) -> int | None:
        """Takes an event; gives the total that it states, None when it is not of the known form."""
        size, address = args.get("Bytes"), args.get("Addr")
        if not isinstance(size, int) or not isinstance(address, int):
            return None
        kind, number = args.get("Device Type", 0), args.get("Device Id", -1)
        device = _DEVICES.get(kind, f"device type {kind}") if isinstance(kind, int) else str(kind)
        if isinstance(number, int) and number >= 0 and device != "CPU":
            device = f"{device}:{number}"
        self._events.append((time, device, address, size))
        total = args.get("Total Allocated")
        return total if isinstance(total, int) else 0

    def finish(self, sink: Sink, first_id: int) -> int:
        """Appends the buffers, numbered from `first_id`; gives the next free number."""
        self._events.sort(key=lambda event: event[0])
        live: dict[tuple[str, int], int] = {}
        rows: list[list[Any]] = []
        unmatched = 0
        for time, device, address, size in self._events:
            key = (device, address)
            if size >= 0:
                live[key] = len(rows)
                rows.append([first_id + len(rows), device, time, NONE, size])
            elif key in live:
                rows[live.pop(key)][3] = time
            else:
                unmatched += 1
        if unmatched:
            sink.problem("memory freed that was allocated before the trace began", unmatched)
        if rows:
            ids, devices, allocs, frees, sizes = (list(column) for column in zip(*rows, strict=True))
            sink.append("buffers", {"id": ids, "device": devices, "alloc": allocs, "free": frees, "bytes": sizes})
        return first_id + len(rows)
