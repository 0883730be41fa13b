"""What an allocator reserved at a moment and the blocks that are held in it; what lies between them is free."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from peephole.model.allocator_names import EVENTS, EXPANDABLE, OUT_OF_MEMORY, SEGMENTS
from peephole.query.capture.info import span
from peephole.query.memory.addresses import Addresses, addresses, frames_of
from peephole.query.memory.bands import DeviceMemory, read_devices
from peephole.query.memory.buffers import devices
from peephole.query.memory.labels import buffer_labels
from peephole.store.capture import Capture
from peephole.store.tables.frame import Texts

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SegmentsAt:
    """The segments of a moment by address, and their blocks by address, in columns."""

    address: NDArray[np.uint64]
    bytes: Ints
    name: list[str]
    used: Ints
    largest_free: Ints
    segment: Ints
    """Of each block: the place of its segment."""
    offset: Ints
    """Where a block begins in its segment."""
    place: Ints
    """The place of its buffer among those of the device."""
    size: Ints
    """What was asked for."""
    taken: Ints
    """The same with what was rounded up, where that is known."""
    pending: NDArray[np.bool_]
    """To be freed, as soon as the streams that use it are done."""
    lost: int
    """Bytes of buffers that lie in no segment, or whose address nobody knows."""

    @property
    def reserved(self) -> int:
        """Bytes of all segments."""
        return int(self.bytes.sum())

    @property
    def allocated(self) -> int:
        """Bytes of all blocks."""
        return int(self.size.sum())

    @property
    def largest(self) -> int:
        """The largest block that is free."""
        return int(self.largest_free.max(initial=0))

    @property
    def fragmentation(self) -> float:
        """The share of what is reserved that nobody uses."""
        return 1 - self.allocated / self.reserved if self.reserved else 0.0

    def bounds(self) -> list[tuple[int, int]]:
        """First and past of the blocks of each segment."""
        return list(pairwise(np.searchsorted(self.segment, np.arange(len(self.bytes) + 1)).tolist()))


class Allocator:
    """The memory of a device, what is reserved for it, and where both lie."""

    def __init__(self, capture: Capture, device: str) -> None:
        self.known = {device, device + SEGMENTS} <= set(devices(capture))
        """Whether the capture says what was reserved; nothing else is there otherwise."""
        if not self.known:
            return
        found = read_devices(capture, (span(capture) or (0, 0))[1])
        self.blocks, self.reserved = found[device], found[device + SEGMENTS]
        self._addresses, self._names = addresses(capture), buffer_labels(capture).name

    def at(self, moment: int) -> SegmentsAt:
        """The segments and blocks right after a moment."""
        return segments_at(self.blocks, self.reserved, self._addresses, self._names, moment)

    def beside(self, moment: int) -> tuple[int | None, int | None]:
        """When something changed last before a moment, and next after it."""
        before: list[int] = []
        after: list[int] = []
        for time in (self.blocks.memory.time, self.reserved.memory.time):
            first, past = (int(np.searchsorted(time, moment, side)) for side in ("left", "right"))
            before += time[first - 1 : first].tolist() if first else []
            after += time[past : past + 1].tolist()
        return max(before, default=None), min(after, default=None)

    def reserved_at(self, moment: int) -> int:
        """What was reserved right after a moment."""
        memory = self.reserved.memory
        at = int(np.searchsorted(memory.time, moment, "right"))
        return int(memory.total[at - 1]) if at else 0


def segments_at(
    blocks: DeviceMemory, reserved: DeviceMemory, found: Addresses, names: Texts, moment: int
) -> SegmentsAt:
    """The segments and blocks right after a moment; `names` are those of the table's buffers."""
    start, size, name = _segments(reserved, found, names, moment)
    places = blocks.at(moment)
    address, known = found.of(blocks.id[places])
    inside = np.searchsorted(start, address, "right").astype(np.int64) - 1
    held = blocks.size[places]
    offset = (address - start[inside]).astype(np.int64) if len(start) else np.zeros(len(places), np.int64)
    # an offset may be beyond 63 bits where the address lies in no segment: it is negative then
    there = known & (inside >= 0) & (offset >= 0)
    there &= (offset <= size[inside] - held) if len(start) else False
    lost = int(held[~there].sum())
    kept = np.flatnonzero(there)
    kept = kept[np.lexsort((offset[kept], inside[kept]))]
    segment, offset, held, places = inside[kept], offset[kept], held[kept], places[kept]
    taken = np.minimum(found.taken(blocks.id[places], held), size[segment] - offset)
    used = np.zeros(len(start), np.int64)
    np.add.at(used, segment, held)
    return SegmentsAt(
        start, size, name, used, _largest_free(size, segment, offset, taken), segment, offset, places, held, taken,
        found.pending(blocks.id[places], moment), lost,
    )  # fmt: skip


def _segments(
    reserved: DeviceMemory, found: Addresses, names: Texts, moment: int
) -> tuple[NDArray[np.uint64], Ints, list[str]]:
    places = reserved.at(moment)
    address, known = found.of(reserved.id[places])
    order = np.flatnonzero(known)
    order = order[np.argsort(address[order], kind="stable")]
    address, size = address[order], reserved.size[places[order]]
    name = [names[row] or "" for row in reserved.rows[places[order]].tolist()]
    if not len(order):
        return address, size, name
    touching = address[1:] == address[:-1] + size[:-1].astype(np.uint64)
    same = np.array([a == b and a.startswith(EXPANDABLE) for a, b in pairwise(name)], np.bool_)
    first = np.flatnonzero(np.concatenate([[True], ~(touching & same)]))
    return address[first], np.add.reduceat(size, first), [name[at] for at in first.tolist()]


def _largest_free(size: Ints, segment: Ints, offset: Ints, held: Ints) -> Ints:
    found = size.copy()
    if not len(segment):
        return found
    first = np.concatenate([[True], segment[1:] != segment[:-1]])
    last = np.concatenate([first[1:], [True]])
    end = offset + held
    before = offset - np.where(first, 0, np.concatenate([[0], end[:-1]]))
    found[segment[first]] = 0
    np.maximum.at(found, segment, before)
    np.maximum.at(found, segment[last], (size[segment] - end)[last])
    return found


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """A moment at which an allocation failed."""

    time: int
    name: str
    stack: tuple[str, ...]
    """Who asked, innermost first."""


def out_of_memory(capture: Capture, device: str) -> list[OutOfMemory]:
    """The moments at which a device had no memory left, in their order."""
    tracks = capture.read("tracks", ["id", "name"])
    own = {int(tracks["id"][row]) for row, name in enumerate(tracks.texts("name")) if name == device + EVENTS}
    if not own:
        return []
    markers = capture.read("markers", ["time", "track", "name", "args"])
    names, args = markers.texts("name"), markers.texts("args")
    return [
        OutOfMemory(int(markers["time"][row]), names[row] or "", frames_of(args[row]))
        for row, track in enumerate(markers["track"].tolist())
        if track in own and (names[row] or "").startswith(OUT_OF_MEMORY)
    ]
