"""The most memory that each device held, and what held it then."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from peephole.model.tables import NONE
from peephole.query.memory.buffers import memory, read_buffers

if TYPE_CHECKING:
    from peephole.store.capture import Capture

_MOST: Final = 200
"""Kinds of buffers that are named."""


@dataclass(frozen=True, slots=True)
class Held:
    """Buffers that are alike: name, dtype and size."""

    name: str
    dtype: str
    bytes: int
    count: int


@dataclass(frozen=True, slots=True)
class Peak:
    """The most that a device held."""

    device: str
    bytes: int
    time: int
    """When it was first reached, -1 for never."""
    buffers: int
    held: tuple[Held, ...]
    """What held it then, most bytes first."""


def peaks(capture: Capture, devices: list[str]) -> list[Peak]:
    """The peak of each of these devices."""
    if not devices:
        return []
    table = capture.read("buffers", ["device", "alloc", "free"])
    texts = table.texts("device")
    found = []
    for device in devices:
        own = memory(capture, device)
        there = (texts.codes == texts.code(device)) if device else texts.codes < 0
        alive = there & (table["alloc"] <= own.peak_time) & ((table["free"] == NONE) | (table["free"] > own.peak_time))
        kinds = Counter((b.name, b.dtype, b.bytes) for b in read_buffers(capture, np.flatnonzero(alive)))
        held = sorted((Held(*kind, count) for kind, count in kinds.items()), key=lambda one: -one.bytes * one.count)
        found.append(Peak(device, own.peak, own.peak_time, int(alive.sum()), tuple(held[:_MOST])))
    return found


@dataclass(frozen=True, slots=True)
class HeldRow:
    """Buffers of one kind at the peaks of both sides."""

    name: str
    dtype: str
    bytes: int
    count_a: int
    count_b: int


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """A device's peak on both sides; 0 for a side that has nothing there."""

    device: str
    peak_a: int
    peak_b: int
    buffers_a: int
    buffers_b: int
    held: tuple[HeldRow, ...]
    """What held the peaks, largest difference first."""


def memory_rows(a: list[Peak], b: list[Peak]) -> list[MemoryRow]:
    """Both sides' peaks by device."""
    own, other = {peak.device: peak for peak in a}, {peak.device: peak for peak in b}
    rows = []
    for device in dict.fromkeys([*own, *other]):
        one, two = own.get(device), other.get(device)
        counts_a, counts_b = (
            {(held.name, held.dtype, held.bytes): held.count for held in (peak.held if peak else ())}
            for peak in (one, two)
        )
        held = [
            HeldRow(*kind, counts_a.get(kind, 0), counts_b.get(kind, 0))
            for kind in dict.fromkeys([*counts_a, *counts_b])
        ]
        held.sort(
            key=lambda row: (-abs(row.count_a - row.count_b) * row.bytes, -row.bytes * max(row.count_a, row.count_b))
        )
        rows.append(
            MemoryRow(
                device, one.bytes if one else 0, two.bytes if two else 0, one.buffers if one else 0,
                two.buffers if two else 0, tuple(held),
            )
        )  # fmt: skip
    return rows
