"""Memory over time: what was allocated, and what held it at the peak."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peephole.model.journal import PROCESS_SHIFT
from peephole.model.tables import NONE
from peephole.store.capture import Capture

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory from alloc to free."""

    id: int
    device: str
    alloc: int
    free: int
    """-1 while it lives."""
    bytes: int
    dtype: str
    name: str


@dataclass(frozen=True, slots=True)
class MemoryEvent:
    """An alloc or a free, and what is held after it."""

    time: int
    kind: str
    buffer: Buffer
    total: int


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of one device; the columns are its allocs and frees in time order."""

    device: str
    buffers: tuple[int, int]
    """How many there were, and how many were never freed."""
    peak: int
    peak_time: int
    """When the peak was first reached; -1 when nothing was ever held."""
    time: Ints
    is_alloc: NDArray[np.bool_]
    total: Ints
    row: Ints
    """Row of the table `buffers`."""


def of_several_processes(ids: Ints) -> bool:
    """Whether buffers were allocated by more than one process."""
    return bool(len(ids)) and int(ids.min()) >> PROCESS_SHIFT != int(ids.max()) >> PROCESS_SHIFT


def buffers_of_several_processes(capture: Capture) -> bool:
    """Whether the buffers of a capture were allocated by more than one process."""
    return of_several_processes(capture.read("buffers", ["id"])["id"])


def count_uses(capture: Capture) -> int:
    """How many uses of buffers are known."""
    return capture.count("uses")


def handle(buffer: int, several: bool) -> str:
    """What people read a buffer as: its number in its process, and that process where there are several."""
    own = f"b{buffer & ((1 << PROCESS_SHIFT) - 1)}"
    return f"p{buffer >> PROCESS_SHIFT}.{own}" if several else own


def devices(capture: Capture) -> list[str]:
    """The devices that have buffers, in the order of their first allocation."""
    seen: dict[str, None] = {}
    for frame in capture.scan("buffers", ["device"]):
        texts = frame.texts("device")
        codes, first = np.unique(texts.codes, return_index=True)
        for code in codes[np.argsort(first)].tolist():
            seen[texts.values[code] if code >= 0 else ""] = None
    return list(seen)


def memory(capture: Capture, device: str) -> Memory:
    """The memory of a device over the whole capture."""
    frame = capture.read("buffers", ["device", "alloc", "free", "bytes"])
    texts = frame.texts("device")
    own = np.flatnonzero(texts.codes == texts.code(device) if device else texts.codes < 0)
    return memory_of(device, own, frame["alloc"][own], frame["free"][own], frame["bytes"][own])


def memory_of(device: str, own: Ints, alloc: Ints, free: Ints, size: Ints) -> Memory:
    """The memory of a device out of the columns of its own rows."""
    freed = free != NONE
    time = np.concatenate([alloc, free[freed]])
    is_alloc = np.concatenate([np.ones(len(own), np.bool_), np.zeros(int(freed.sum()), np.bool_)])
    row = np.concatenate([own, own[freed]])
    # at one moment what was there is freed before anything new comes, and nothing is freed before it came
    late = np.concatenate([np.ones(len(own), np.int64), np.where(alloc[freed] >= free[freed], 2, 0)])
    order = np.lexsort((late, time))
    change = np.concatenate([size, -size[freed]])[order]
    total = np.cumsum(change)
    at = int(np.argmax(total)) if len(total) else -1
    peak = int(total[at]) if at >= 0 else 0
    peak_time = int(time[order][at]) if at >= 0 else NONE
    counts = (len(own), len(own) - int(freed.sum()))
    return Memory(device, counts, peak, peak_time, time[order], is_alloc[order], total, row[order])


def read_buffers(capture: Capture, rows: Ints) -> list[Buffer]:
    """The buffers of these rows."""
    if not len(rows):
        return []
    low, high = int(rows.min()), int(rows.max()) + 1
    frame = capture.read("buffers", ["id", "device", "alloc", "free", "bytes", "dtype", "name"], slice(low, high))
    at = rows - low
    numbers = (frame[name][at].tolist() for name in ("id", "alloc", "free", "bytes"))
    device, dtype, name = frame.texts("device"), frame.texts("dtype"), frame.texts("name")
    return [
        Buffer(id, device[i] or "", alloc, free, size, dtype[i] or "", name[i] or "")
        for i, id, alloc, free, size in zip(at.tolist(), *numbers, strict=True)
    ]


def find_buffer(capture: Capture, number: int) -> Buffer | None:
    """The buffer of that number; None when there is none."""
    found = read_buffers(capture, np.flatnonzero(capture.read("buffers", ["id"])["id"] == number))
    return found[0] if found else None


def memory_events(
    capture: Capture, found: Memory, interval: tuple[int, int] | None = None, part: int = 4096
) -> Iterator[MemoryEvent]:
    """The events one by one, read a part at a time."""
    low, high = 0, len(found.time)
    if interval is not None:
        low, high = (int(np.searchsorted(found.time, moment, "left")) for moment in interval)
    for begin in range(low, high, part):
        stop = min(begin + part, high)
        buffers = read_buffers(capture, found.row[begin:stop])
        for i, buffer in zip(range(begin, stop), buffers, strict=True):
            kind = "alloc" if found.is_alloc[i] else "free"
            yield MemoryEvent(int(found.time[i]), kind, buffer, int(found.total[i]))


def alive(capture: Capture, device: str, moment: int) -> list[Buffer]:
    """What a device held right after a moment, largest first."""
    frame = capture.read("buffers", ["device", "alloc", "free"])
    texts = frame.texts("device")
    there = (texts.codes == texts.code(device)) if device else texts.codes < 0
    held = there & (frame["alloc"] <= moment) & ((frame["free"] == NONE) | (frame["free"] > moment))
    return sorted(read_buffers(capture, np.flatnonzero(held)), key=lambda buffer: (-buffer.bytes, buffer.id))
