"""What each instruction cost: how often it issued, how long it waited, how long it took to execute."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peephole.query.hardware.decode import Packets
from peephole.query.hardware.mapping import Mapped
from peephole.query.hardware.program import Program


@dataclass(frozen=True, slots=True)
class Figure:
    """One measure per instruction, in clocks."""

    total: NDArray[np.int64]
    worst: NDArray[np.int64]
    count: NDArray[np.int64]

    def mean(self) -> NDArray[np.float64]:
        """Total by count; 0 where nothing was measured."""
        return self.total / np.maximum(self.count, 1)


@dataclass(frozen=True, slots=True)
class Hotspots:
    """Figures per instruction of the program."""

    hits: NDArray[np.int64]
    latency: Figure
    """From dispatch to execution."""
    stall: Figure
    """Clocks that the wave waited before the instruction issued."""
    idle: Figure
    """The part of that wait in which no wave of the SIMD issued anything."""


def hotspots(packets: Packets, mapped: Mapped, program: Program) -> Hotspots:
    """Adds up what the rows of a trace say of each instruction."""
    n = len(program)
    issued = np.flatnonzero((mapped.wave >= 0) & (mapped.instruction >= 0))
    inst, wave = mapped.instruction[issued], mapped.wave[issued]
    time = packets.time[mapped.packet[issued]]
    inst = np.minimum(inst, n - 1)
    order = np.lexsort((np.arange(len(issued)), wave))
    gap = np.zeros(len(issued), np.int64)
    same = wave[order][1:] == wave[order][:-1]
    # a slot serves one wave after another: the first instruction of a wave waited for nothing
    first = inst[order][1:] == 0
    gap[order[1:]] = np.where(same & ~first, np.maximum(np.diff(time[order]) - 1, 0), 0)
    quiet = np.zeros(len(issued), np.int64)
    quiet[1:] = np.minimum(np.maximum(np.diff(time) - 1, 0), gap[1:])
    executed = np.flatnonzero(mapped.link >= 0)
    dispatch = mapped.link[executed]
    delay = packets.time[mapped.packet[executed]] - packets.time[mapped.packet[dispatch]]
    known = mapped.instruction[dispatch] >= 0
    return Hotspots(
        np.bincount(inst, minlength=n).astype(np.int64),
        _figure(np.minimum(mapped.instruction[dispatch][known], n - 1), delay[known], n),
        _figure(inst, gap, n),
        _figure(inst, quiet, n),
    )


def _figure(where: NDArray[np.int64], value: NDArray[np.int64], n: int) -> Figure:
    total, worst, count = (np.zeros(n, np.int64) for _ in range(3))
    np.add.at(total, where, value)
    np.maximum.at(worst, where, value)
    np.add.at(count, where, 1)
    return Figure(total, worst, count)
