"""PyTorch's `[memory]` events: buffers by address, and the total as a counter."""

from __future__ import annotations

from typing import Any, Final, TypeGuard

from peephole.model.sink import Sink
from peephole.model.tables import NONE

_LARGEST: Final = 1 << 60
_DEVICES: Final = {0: "CPU", 1: "CUDA", 6: "XLA", 13: "MPS"}


class Memory:
    """Pairs allocations and frees, which may arrive in any order, when the file has ended."""

    def __init__(self) -> None:
        self._events: list[tuple[int, tuple[int, int], str, int, int]] = []

    def take(self, time: int, process: tuple[int, int], args: dict[str, Any]) -> int | None:
        """Takes an event of a process, the only one that an address means something in.

        Gives the total that it states, None when it is not of the known form.
        """
        size, address, total = args.get("Bytes"), args.get("Addr"), args.get("Total Allocated")
        if not _is_size(size) or not isinstance(address, int):
            return None
        kind, number = args.get("Device Type", 0), args.get("Device Id", -1)
        device = _DEVICES.get(kind, f"device type {kind}") if isinstance(kind, int) else str(kind)
        if isinstance(number, int) and number >= 0 and device != "CPU":
            device = f"{device}:{number}"
        self._events.append((time, process, device, address, size))
        return total if _is_size(total) else 0

    def finish(self, sink: Sink) -> None:
        """Appends the buffers."""
        self._events.sort(key=lambda event: event[0])
        live: dict[tuple[tuple[int, int], str, int], int] = {}
        rows: list[list[Any]] = []
        unmatched = 0
        for time, process, device, address, size in self._events:
            key = (process, device, address)
            if size >= 0:
                live[key] = len(rows)
                rows.append([1 + len(rows), device, time, NONE, size])
            elif key in live:
                rows[live.pop(key)][3] = time
            else:
                unmatched += 1
        if unmatched:
            sink.problem("memory freed that was allocated before the trace began", unmatched)
        if rows:
            ids, devices, allocs, frees, sizes = (list(column) for column in zip(*rows, strict=True))
            sink.append("buffers", {"id": ids, "device": devices, "alloc": allocs, "free": frees, "bytes": sizes})


def _is_size(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and abs(value) < _LARGEST
