"""A thread trace as lanes to draw: waves of the traced SIMD, execution units, every wave of every unit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from peephole.query.hardware.mapping import QUEUE_NAMES
from peephole.query.hardware.packets import BY_CODE, cycles, shown_as
from peephole.query.hardware.traces import HardwareTrace

Ints = NDArray[np.int64]
CLASSES = ("VALU", "SALU", "LDS", "VMEM", "SMEM", "wait", "jump", "other")
"""What colours mean; an event's class is its place here."""
_PATTERNS = (
    (r"LDS", 2), (r"SMEM", 4), (r"MEM|FLAT|BUF", 3), (r"VALU|WMMA|VINTERP|TFU", 0), (r"SALU", 1),
    (r"JUMP|CALL|WAVEEND|NEXT|PC", 6), (r"IMM|BARRIER|WAVERDY|MESSAGE|MSG", 5),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lane:
    """Events of one wave or unit in order of their begin."""

    label: str
    group: str
    """`waves`, `units` or `all`."""
    start: Ints
    end: Ints
    kind: Ints
    """Place in CLASSES."""
    op: Ints
    """Place in the view's `ops`."""
    instruction: Ints
    """Row of the program, -1 when unknown."""
    link: Ints
    """For an execution the event of its dispatch, for a dispatch that of its execution; -1 for none."""
    event: Ints
    """Number of the event in the whole view."""
    other: NDArray[np.bool_]
    """Work of another SIMD, drawn paler."""


@dataclass(frozen=True, slots=True)
class LaneView:
    """All lanes of a trace."""

    lanes: list[Lane]
    ops: list[str]
    first: int
    last: int
    """Clocks of the first and the last event."""


@cache
def class_of(name: str) -> int:
    """The class of an operation."""
    return next((number for pattern, number in _PATTERNS if re.search(pattern, name)), 7)


@dataclass(slots=True)
class _Events:
    """Columns of all events, before they are sorted into lanes."""

    lane: Ints
    start: Ints
    end: Ints
    op: Ints
    instruction: Ints
    link: Ints
    other: NDArray[np.bool_]


def lane_view(trace: HardwareTrace) -> LaneView:
    """The lanes of a trace; without a mapping those of the packets that name a wave."""
    ops: dict[str, int] = {}
    mapped = trace.mapped
    if mapped is not None and len(mapped):
        names, events = _mapped(trace, ops)
    else:
        names, events = _unmapped(trace, ops)
    lanes = _split(names, events, list(ops))
    lanes += _all_waves(trace)
    starts = [int(lane.start[0]) for lane in lanes if len(lane.start)]
    ends = [int(lane.end.max()) for lane in lanes if len(lane.end)]
    return LaneView(lanes, list(ops), min(starts, default=0), max(ends, default=1))


def _packet_ops(trace: HardwareTrace, ops: dict[str, int]) -> Ints:
    """The operation of each packet as a number in `ops`."""
    packets = trace.packets
    # there are few kinds and operations: a table of all of them is quicker than sorting a million packets
    key = packets.kind.astype(np.int32) << 8 | (packets.op & 0xFF)
    numbers = np.zeros(1 << 15, np.int64)
    for value in np.flatnonzero(np.bincount(key, minlength=1 << 15)).tolist():
        name = shown_as(packets.arch, BY_CODE[value >> 8].name, value & 0xFF)
        numbers[value] = ops.setdefault(name, len(ops))
    return np.asarray(numbers[key], np.int64)


def _mapped(trace: HardwareTrace, ops: dict[str, int]) -> tuple[list[tuple[str, str]], _Events]:
    packets, mapped = trace.packets, trace.mapped
    assert mapped is not None
    by_packet = _packet_ops(trace, ops)
    time = packets.time[mapped.packet]
    executes = mapped.wave < 0
    origin = np.where(mapped.link >= 0, mapped.link, 0)
    op = np.where(executes & (mapped.link >= 0), by_packet[mapped.packet[origin]], by_packet[mapped.packet])
    taken = np.array([cycles(name) for name in ops] or [1], np.int64)[op]
    queue = np.where(executes, -1 - mapped.wave, 0)
    late = executes & (queue & 3 == 1)  # a vector instruction reports its last clock, the others their first
    length = np.where(executes, taken, 1)
    start = np.where(late, time - length, time)
    instruction = np.where(executes, np.where(mapped.link >= 0, mapped.instruction[origin], -1), mapped.instruction)
    link = mapped.link.copy()
    rows = np.flatnonzero(executes & (mapped.link >= 0))
    link[mapped.link[rows]] = rows
    # an instruction of another SIMD names a wave there, not one of ours
    foreign = np.array([name.startswith("OTHER_") for name in ops] or [False])[op] & ~executes
    seen = np.bincount(mapped.wave[~executes & ~foreign], minlength=32) > 0
    names = [(f"Wave {wave}", "waves") for wave in np.flatnonzero(seen).tolist()] + [("Other SIMDs", "waves")]
    place = np.where(foreign, len(names) - 1, (np.cumsum(seen) - 1)[np.where(executes, 0, mapped.wave)])
    units: list[str] = ["VALU", "SALU", "LDS", "VMEM"]
    unit_place = np.array([units.index(QUEUE_NAMES[q % 4]) for q in range(len(QUEUE_NAMES))], np.int64)
    lane = np.where(executes, len(names) + unit_place[queue], place)
    names += [(name, "units") for name in units]
    return names, _Events(lane, start, start + length, op, instruction, link, foreign | (executes & (queue >= 4)))


def _unmapped(trace: HardwareTrace, ops: dict[str, int]) -> tuple[list[tuple[str, str]], _Events]:
    packets = trace.packets
    rows = np.flatnonzero(packets.is_kind("CDNA_INST", "CDNA_INST_PC"))
    op = _packet_ops(trace, ops)[rows]
    key = (packets.simd[rows].astype(np.int64) << 8) | packets.wave[rows].astype(np.int64)
    lanes, place = np.unique(key, return_inverse=True)
    names = [(f"SIMD {int(k) >> 8} wave {int(k) & 0xFF}", "waves") for k in lanes]
    nothing = np.full(len(rows), -1, np.int64)
    time = packets.time[rows]
    return names, _Events(place, time, time + 1, op, nothing, nothing, np.zeros(len(rows), np.bool_))


def _split(names: list[tuple[str, str]], events: _Events, ops: list[str]) -> list[Lane]:
    kinds = np.array([class_of(name) for name in ops] or [7], np.int64)
    found = []
    order = np.argsort(events.lane.astype(np.uint8 if len(names) < 256 else np.uint16), kind="stable")
    ends = np.cumsum(np.bincount(events.lane, minlength=len(names)))
    for number, (label, group) in enumerate(names):
        rows = order[ends[number - 1] if number else 0 : ends[number]]
        start = events.start[rows]
        if np.any(start[1:] < start[:-1]):  # packets come in order, but some report their last clock
            rows = rows[np.argsort(start, kind="stable")]
        if not len(rows) and group != "units":
            continue
        found.append(
            Lane(
                label, group, events.start[rows], events.end[rows], kinds[events.op[rows]], events.op[rows],
                events.instruction[rows], events.link[rows], rows, events.other[rows],
            )
        )  # fmt: skip
    return found


def _all_waves(trace: HardwareTrace) -> list[Lane]:
    """One lane per SIMD: the life of each wave, its slot in `op`."""
    waves = trace.waves
    key = waves.cu << 8 | waves.simd
    found = []
    for value in np.unique(key).tolist():
        rows = np.flatnonzero(key == value)
        nothing = np.full(len(rows), -1, np.int64)
        found.append(
            Lane(
                f"CU {value >> 8} SIMD {value & 0xFF}", "all", waves.start[rows], waves.end[rows],
                np.full(len(rows), 7, np.int64), waves.wave[rows], nothing, nothing, nothing, ~waves.closed[rows],
            )
        )  # fmt: skip
    return found


def window(lane: Lane, t0: int, t1: int, pixels: int) -> tuple[Ints, Ints, Ints]:
    """Events of a lane that touch [t0, t1), how many each stands for (at most about four a pixel), and their cycles."""
    # ends are nearly sorted like starts; the longest event bounds how far back one can reach
    longest = int((lane.end - lane.start).max()) if len(lane.start) else 0
    a = int(np.searchsorted(lane.start, t0 - longest, "left"))
    b = int(np.searchsorted(lane.start, t1, "left"))
    rows = np.arange(a, b)[lane.end[a:b] > t0]
    if len(rows) <= 4 * pixels:
        return rows, np.ones(len(rows), np.int64), lane.end[rows] - lane.start[rows]
    width = max((t1 - t0) / pixels, 1.0)
    cell = ((lane.start[rows] - t0) / width).astype(np.int64)
    if lane.group == "all":  # waves of different slots lie above each other
        cell = cell * 64 + lane.op[rows]
    order = np.argsort(cell, kind="stable")
    first = np.flatnonzero(np.diff(cell[order], prepend=-1))
    counts = np.diff(np.append(first, len(rows)))
    keep = rows[order[first]]
    busy = np.add.reduceat((lane.end - lane.start)[rows][order], first)
    back = np.argsort(keep, kind="stable")
    return keep[back], counts[back], busy[back]
