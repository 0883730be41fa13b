"""Stall samples over time: a lane for each wave of each multiprocessor, as VIZ shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.query.hardware.stalls import Ints, Samples, place

CYCLES: Final = 32
"""Cycles of a sample: the stream has no clock, so the samples of a multiprocessor stand one behind the other."""
MOST: Final = 200_000
"""Samples that are laid out: the first of the stream."""


@dataclass(frozen=True, slots=True)
class StallLane:
    """A wave of a multiprocessor, with its number of samples and of runs."""

    gpc: int
    tpc: int
    sm: int
    wave: int
    samples: int
    runs: int


@dataclass(frozen=True, slots=True)
class StallLanes:
    """Lanes in the order of units and waves, and the runs of all, lane after lane.

    A run is samples of a wave that follow each other without another wave's between, alike in all they say.
    """

    lanes: list[StallLane]
    start: Ints
    end: Ints
    pc: Ints
    reason: Ints
    active: NDArray[np.bool_]
    shown: int


def stall_lanes(found: Samples, most: int = MOST) -> StallLanes:
    """The first `most` samples, each at its number among those of its unit."""
    unit, wave, pc = found.unit[:most], found.wave[:most], found.pc[:most]
    reason, active = found.reason[:most], found.active[:most]
    slot = _numbers(unit)
    lane = unit << 8 | wave
    order = np.lexsort((slot, lane))
    lane, slot, pc, reason, active = lane[order], slot[order], pc[order], reason[order], active[order]
    apart = np.ones(len(order), bool)
    apart[1:] = (slot[1:] != slot[:-1] + 1) | (lane[1:] != lane[:-1])
    for column in (pc, reason, active):
        apart[1:] |= column[1:] != column[:-1]
    first = np.flatnonzero(apart)
    last = np.append(first, len(order))[1:] - 1
    names, samples = np.unique(lane, return_counts=True)
    runs = np.unique(lane[first], return_counts=True)[1]
    lanes = [
        StallLane(*place(name >> 8), name & 0xFF, number, own)
        for name, number, own in zip(names.tolist(), samples.tolist(), runs.tolist(), strict=True)
    ]
    return StallLanes(
        lanes, slot[first] * CYCLES, (slot[last] + 1) * CYCLES, pc[first], reason[first], active[first], len(order)
    )


def _numbers(unit: Ints) -> Ints:
    """The number of each sample among those of its unit."""
    order = np.argsort(unit, kind="stable")
    begins = np.flatnonzero(np.diff(unit[order], prepend=-1))
    lengths = np.diff(begins, append=len(unit))
    numbers = np.empty(len(unit), np.int64)
    numbers[order] = np.arange(len(unit)) - np.repeat(begins, lengths)
    return numbers
