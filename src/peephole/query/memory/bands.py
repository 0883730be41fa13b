"""The memory of a device as a picture: its total, and one band per buffer, cut to what a window can show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.tables import NONE
from peephole.query.memory.buffers import Memory, memory_of
from peephole.query.memory.placement import place
from peephole.query.timeline.correlations import Links, Use
from peephole.store.capture import Capture
from peephole.store.index.series import Series

Ints = NDArray[np.int64]
_FOREVER: Final = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Bands:
    """Buffers of a window, as places in a device's columns."""

    drawn: Ints
    """Those with a band of their own, by the time of their allocation."""
    folded: Ints
    """Those that live from before the window until after it."""
    left_out: int
    """How many there are beside these, each with a smaller area than any that is drawn."""
    left_out_bytes: int


class DeviceMemory:
    """The buffers of a device in columns (rows of the table, in its order), its total and where each buffer stands."""

    def __init__(self, name: str, rows: Ints, id: Ints, alloc: Ints, free: Ints, size: Ints, until: int) -> None:
        self.name = name
        self.rows = rows
        self.id = id
        self.alloc = alloc
        self.free = free
        self.size = size
        self.end: Ints = np.where(free == NONE, _FOREVER, np.maximum(free, alloc))
        self.memory: Memory = memory_of(name, rows, alloc, free, size)
        # of several changes at one moment the sum counts: nothing is held for no time
        time, total = self.memory.time, self.memory.total
        last = np.append(time[1:] != time[:-1], True) if len(time) else np.zeros(0, np.bool_)
        self.series = Series(time[last], total[last].astype(np.float64), until)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def offset(self) -> Ints:
        """Where each buffer stands, settled for the whole capture, so that a band never moves."""
        return place(self.alloc, self.free, self.size)

    def at(self, moment: int) -> Ints:
        """What was held right after a moment, largest first."""
        held = np.flatnonzero((self.alloc <= moment) & (self.end > moment))
        return held[np.lexsort((self.id[held], -self.size[held]))]

    def bands(self, t0: int, t1: int, most: int, seen: tuple[int, int] | None = None, shortest: int = 1) -> Bands:
        """The buffers that live in [t0, t1), the largest areas first; no life counts as shorter than `shortest`.

        `seen` is the part that is on the screen. What lives through all of that is drawn as one, so that it must not
        keep others out: it has a share of its own.
        """
        inside = (self.alloc < t1) & (self.end > t0)
        through = inside & (self.alloc <= t0) & (self.end >= t1)
        begin, end = seen or (t0, t1)
        long = inside & ~through & (self.alloc <= begin) & (self.end >= end)
        found = np.flatnonzero(inside & ~through & ~long)
        life = np.minimum(self.end[found], t1) - np.maximum(self.alloc[found], t0)
        drawn = _largest(found, self.size[found].astype(np.float64) * np.maximum(life, shortest), most)
        longest = np.flatnonzero(long)
        shown = _largest(longest, self.size[longest].astype(np.float64), most // 2)
        folded = np.concatenate([np.flatnonzero(through), np.setdiff1d(longest, shown, assume_unique=True)])
        left_bytes = int(self.size[found].sum() - self.size[drawn].sum())
        return Bands(np.sort(np.concatenate([drawn, shown])), np.sort(folded), len(found) - len(drawn), left_bytes)

    def find(self, buffer: int) -> int:
        """The place of a buffer, -1 when it is not on this device."""
        found = np.flatnonzero(self.id == buffer)
        return int(found[0]) if len(found) else NONE


def _largest(places: Ints, weight: NDArray[np.float64], most: int) -> Ints:
    return places if len(places) <= most else places[np.argpartition(-weight, most)[:most]] if most else places[:0]


def read_devices(capture: Capture, until: int) -> dict[str, DeviceMemory]:
    """The memory of every device, in the order of the first allocations; one that lives, lives `until` then."""
    frame = capture.read("buffers", ["device", "id", "alloc", "free", "bytes"])
    texts = frame.texts("device")
    # one sort instead of one search per device: a capture may have thousands
    order = np.argsort(texts.codes, kind="stable")
    codes, first = np.unique(texts.codes[order], return_index=True)
    parts = dict(zip(codes.tolist(), np.split(order.astype(np.int64), first[1:]), strict=True)) if len(order) else {}
    found = {}
    for code in sorted(parts, key=lambda code: int(parts[code][0])):
        rows = parts[code]
        name = texts.values[code] if code >= 0 else ""
        id, alloc, free, size = (frame[column][rows] for column in ("id", "alloc", "free", "bytes"))
        found[name] = DeviceMemory(name, rows, id, alloc, free, size, until)
    return found


@dataclass(frozen=True, slots=True)
class Untouched:
    """The longest time in which nobody used a buffer, between two of its uses or the ends of its life."""

    begin: int
    end: int
    after: Use | None
    """None for the allocation."""
    before: Use | None
    """None for the end of its life."""


@dataclass(frozen=True, slots=True)
class BufferUse:
    """Who made a buffer, who used it, and how long nobody did."""

    producer: Use | None
    """Who wrote it first."""
    readers: tuple[Use, ...]
    """Who read it, the last one first: that is who kept it alive."""
    writers: tuple[Use, ...]
    """Who wrote it again, the last one first; who did both is among both."""
    unknown: int
    """Uses by slices that the capture does not have."""
    untouched: Untouched | None


def buffer_use(links: Links, buffer: int, alloc: int, end: int) -> BufferUse:
    """The uses of a buffer that lives from `alloc` to `end`."""
    found, unknown = links.users_of(buffer)
    made = next((i for i, use in enumerate(found) if "write" in use.mode), NONE)
    producer = found[made] if made >= 0 else None
    others = [(i, use) for i, use in enumerate(found) if i != made][::-1]
    readers = tuple(use for _, use in others if use.mode != "write")
    writers = tuple(use for _, use in others if "write" in use.mode)
    return BufferUse(producer, readers, writers, unknown, _untouched(found, alloc, end))


def _untouched(uses: list[Use], alloc: int, end: int) -> Untouched | None:
    if not uses:
        return None
    best = Untouched(alloc, max(uses[0].slice.start, alloc), None, uses[0])
    last, until = uses[0], uses[0].slice.start + uses[0].slice.dur
    for use in uses[1:]:
        if use.slice.start - until > best.end - best.begin:
            best = Untouched(until, use.slice.start, last, use)
        if use.slice.start + use.slice.dur >= until:
            last, until = use, use.slice.start + use.slice.dur
    if end - until > best.end - best.begin:
        best = Untouched(until, end, last, None)
    return best
