"""Segments of a journal: finds them, checks them and splits them into slices and records. Damage is counted."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.journal import (
    DROPPED_MAX,
    HEADER,
    INLINE,
    KIND_END,
    KIND_PAD,
    KIND_SLICE,
    MAGIC,
    SHORT_SHIFT,
    SLOT,
)
from peephole.model.tables import FORMAT_VERSION

Problem = Callable[[str, int, str], None]
"""Called with reason, count and example."""

SLICE: Final = np.dtype(
    [
        ("start", "<i8"),
        ("dur", "<i8"),
        ("name", "<u4"),
        ("correlation", "<u4"),
        ("track", "<u4"),
        ("depth", "<u2"),
        ("flags", "u1"),
        ("kind", "u1"),
    ]
)
"""`model.journal.SLICE` as numpy sees it."""
_SLOT_BITS: Final = SLOT.bit_length() - 1
assert SLOT == 1 << _SLOT_BITS
_WHOLE_SLOT: Final = np.dtype(f"V{SLOT}")
LARGEST: Final = 2 << 30
"""Bytes of one segment that we are willing to read."""
_FILE = re.compile(r"t(\d{1,9})\.(\d{1,9})\.seg")


@dataclass(slots=True)
class Split:
    """What a stretch of a segment holds. Positions are slots within `data`."""

    data: bytes
    slices: NDArray[Any]
    slice_at: NDArray[np.int64] | None
    """None when every slot is a slice."""
    record_at: NDArray[np.int64]
    record_kind: NDArray[np.uint8]
    record_length: NDArray[np.int64]
    end: int
    """The slot to go on from when the segment grows."""

    def payload(self, slot: int, length: int) -> bytes:
        """The bytes of the record at that slot, which is so long."""
        at = slot * SLOT
        if length <= INLINE:
            return self.data[at + 4 : at + 4 + length]
        return self.data[at + 4 : at + 4 + INLINE] + self.data[at + SLOT : at + SLOT + length - INLINE]


def gather(found: Split, records: NDArray[np.int64], size: int) -> NDArray[np.uint8]:
    """The payloads of records that are all of that many bytes, a row each."""
    slots = np.frombuffer(found.data, _WHOLE_SLOT, len(found.data) // SLOT)
    at = found.record_at[records]
    payloads = np.empty((len(at), size), np.uint8)
    first = min(size, INLINE)
    payloads[:, :first] = slots.take(at).view(np.uint8).reshape(-1, SLOT)[:, 4 : 4 + first]
    for done in range(first, size, SLOT):
        at = at + 1
        own = slots.take(at).view(np.uint8).reshape(-1, SLOT)
        payloads[:, done : done + SLOT] = own[:, : size - done]
    return payloads


def list_segments(folder: Path) -> dict[int, list[tuple[int, Path]]]:
    """The segments of a process by thread, each thread's in order."""
    found: dict[int, list[tuple[int, Path]]] = {}
    try:
        paths = list(folder.iterdir())
    except OSError:  # it was sealed and removed meanwhile
        return found
    for path in paths:
        match = _FILE.fullmatch(path.name)
        if match:
            found.setdefault(int(match[1]), []).append((int(match[2]), path))
    return {thread: sorted(found[thread]) for thread in sorted(found)}


@dataclass(frozen=True, slots=True)
class Header:
    """A segment's header; `used` is 0 while it is being written."""

    version: int
    used: int
    crc: int
    dropped: int
    short: int
    """What was short when these were dropped: a number in model.journal.SHORT."""


def read_header(head: bytes) -> Header | None:
    """The header, or None when these bytes are no segment of a journal that we can read."""
    if len(head) < HEADER.size:
        return None
    magic, version, _, _, _, used, crc, dropped = HEADER.unpack(head[: HEADER.size])
    if magic != MAGIC or version > FORMAT_VERSION:
        return None
    return Header(max(1, version), used, crc, dropped & DROPPED_MAX, dropped >> SHORT_SHIFT)


def is_whole(data: bytes, header: Header) -> bool:
    """Whether a closed segment has all its slots and their checksum is right. `data` begins behind the header."""
    return len(data) >= header.used * SLOT and zlib.crc32(memoryview(data)[: header.used * SLOT]) == header.crc


@dataclass(frozen=True, slots=True)
class Loaded:
    """A segment's bytes from some slot on."""

    slot: int
    header: Header | None
    data: bytes
    whole: bool
    """A closed segment that was read from its first slot has all of them and the right checksum."""
    error: str | None = None


def load(path: Path, slot: int) -> Loaded:
    """Reads a segment from that slot on. Hardly holds Python's lock, so it is worth a thread of its own."""
    try:
        if path.stat().st_size > LARGEST:
            raise OSError("it is too large")
        with path.open("rb") as file:
            header = read_header(file.read(SLOT))
            file.seek(SLOT + slot * SLOT)
            data = file.read()
    except OSError as error:
        return Loaded(slot, None, b"", False, str(error))
    return Loaded(slot, header, data, header is not None and slot == 0 and is_whole(data, header))


def split(data: bytes, closed: bool, problem: Problem, where: str) -> Split:
    """The slices and records in `data`, which begins at a record.

    An open segment ends at the first slot without a kind that nothing follows. Else such a slot is a record that was
    begun and never finished: it is counted and skipped.
    """
    slots = len(data) // SLOT
    kinds = np.frombuffer(data, np.uint8, slots * SLOT)[SLOT - 1 :: SLOT]
    is_odd = kinds != KIND_SLICE
    odd = np.flatnonzero(is_odd)
    if len(odd) == 0:
        none = np.zeros(0, np.int64)
        return Split(data, np.frombuffer(data, SLICE, slots), None, none, none.astype(np.uint8), none, slots)
    lengths = np.frombuffer(data, "<u4", slots * SLOT // 4)[:: SLOT // 4][odd].astype(np.int64)
    sizes = 1 + ((np.maximum(lengths - INLINE, 0) + SLOT - 1) >> _SLOT_BITS)
    found, end, skipped = _walk(_Odd(odd, kinds[odd], lengths, sizes, is_odd), closed, problem, where)
    at = odd[found]
    slice_at = _slices_between(np.flatnonzero(~is_odd[:end]), at, at + sizes[found], skipped)
    slices = np.frombuffer(data, SLICE, slots)[slice_at]
    return Split(data, slices, slice_at, at, kinds[at], lengths[found], end)


def _slices_between(
    slices: NDArray[np.int64], begin: NDArray[np.int64], behind: NDArray[np.int64], skipped: list[tuple[int, int]]
) -> NDArray[np.int64]:
    """Those slots of slices that are not what a record goes on in, nor skipped."""
    if len(begin) and len(slices):
        record = np.searchsorted(begin, slices) - 1
        slices = slices[(record < 0) | (slices >= behind[record])]
    for first, last in skipped:
        slices = slices[(slices < first) | (slices >= last)]
    return slices


class _Odd:
    """The slots that are no slices, and of each the first one that its record does not take."""

    def __init__(
        self,
        at: NDArray[np.int64],
        kinds: NDArray[np.uint8],
        lengths: NDArray[np.int64],
        sizes: NDArray[np.int64],
        is_odd: NDArray[np.bool_],
    ) -> None:
        self.at = at
        self.kinds = kinds
        self.lengths = lengths
        self.behind = at + sizes
        self.slots = len(is_odd)
        before = np.zeros(self.slots + 1, np.int64)
        np.cumsum(is_odd, out=before[1:])
        self.following = before[np.minimum(self.behind, self.slots)]
        """For each the number of the next one that is not part of its record."""
        self.special = (kinds == KIND_END) | (kinds == KIND_PAD) | (self.behind > self.slots)


def _walk(
    odd: _Odd, closed: bool, problem: Problem, where: str
) -> tuple[NDArray[np.int64], int, list[tuple[int, int]]]:
    """Goes from record to record: their numbers in `odd`, where they end, and the stretches that were skipped."""
    skipped: list[tuple[int, int]] = []
    count, slots = len(odd.at), odd.slots
    is_found = bytearray(count)
    following: list[int] = np.where(odd.special, -1, odd.following).tolist()
    following.append(-1)
    i, end = 0, slots
    while True:
        while (after := following[i]) >= 0:
            is_found[i] = 1
            i = after
        if i == count or odd.kinds[i] == KIND_PAD:
            break
        slot, behind = int(odd.at[i]), int(odd.behind[i])
        if odd.kinds[i] != KIND_END:
            problem("journal records that go beyond their segment", 1, where)
            end = slot
            break
        after = int(odd.following[i])
        follows = behind < slots and (after >= count or odd.at[after] != behind or odd.kinds[after] != KIND_END)
        if odd.lengths[i] and follows:
            skipped.append((slot, behind))
            i = after
        elif not closed:
            end = slot
            break
        else:
            others = np.flatnonzero(odd.kinds[i:] != KIND_END)
            i = i + int(others[0]) if len(others) else count
        problem("journal records that were begun and never finished", 1, where)
    return np.flatnonzero(np.frombuffer(is_found, np.bool_)), end, skipped
