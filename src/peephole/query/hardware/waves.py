"""Every wave of a trace, on all units, and how many were in flight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peephole.query.hardware.decode import Packets
from peephole.query.hardware.packets import LOST_BIT, REAL_BIT


@dataclass(frozen=True, slots=True)
class Waves:
    """Waves in order of their start."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    """Clock of the end; that of the last packet for a wave whose end was not traced."""
    cu: NDArray[np.int64]
    simd: NDArray[np.int64]
    wave: NDArray[np.int64]
    closed: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.start)


def waves(packets: Packets) -> Waves:
    """Pairs starts and ends by unit and wave slot."""
    starts = packets.is_kind("WAVESTART", "CDNA_WAVESTART")
    rows = np.flatnonzero(starts | packets.is_kind("WAVEEND", "CDNA_WAVEEND"))
    key = (
        (packets.cu[rows].astype(np.int64) & 0xFF) << 16
        | (packets.simd[rows].astype(np.int64) & 0xFF) << 8
        | (packets.wave[rows].astype(np.int64) & 0xFF)
    )
    order = np.argsort(key, kind="stable")
    rows, key = rows[order], key[order]
    is_start = starts[rows]
    time = packets.time[rows]
    following = np.zeros(len(rows), np.bool_)
    following[:-1] = (key[:-1] == key[1:]) & ~is_start[1:]
    last = int(packets.time[-1]) if len(packets) else 0
    at = np.flatnonzero(is_start)
    closed = following[at]
    # a wave slot that starts again before its end was traced has ended there at the latest
    again = np.zeros(len(rows), np.bool_)
    again[:-1] = (key[:-1] == key[1:]) & is_start[1:]
    upper = np.append(time[1:], last) if len(time) else time
    end = np.where(closed | again[at], upper[at], last)
    found = np.argsort(time[at], kind="stable")
    at, end, closed = at[found], end[found], closed[found]
    return Waves(time[at], end, key[at] >> 16, key[at] >> 8 & 0xFF, key[at] & 0xFF, closed)


def occupancy(found: Waves) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Clocks at which the number of waves in flight changes, and the number from then on."""
    times = np.concatenate([found.start, found.end])
    steps = np.concatenate([np.ones(len(found), np.int64), -np.ones(len(found), np.int64)])
    moments, inverse = np.unique(times, return_inverse=True)
    change = np.zeros(len(moments), np.int64)
    np.add.at(change, inverse, steps)
    return moments, np.cumsum(change)


@dataclass(frozen=True, slots=True)
class ClockSamples:
    """Shader clocks and the 100 MHz clock at the same moments."""

    cycle: NDArray[np.int64]
    tick: NDArray[np.int64]


def clock_samples(packets: Packets) -> ClockSamples:
    """The samples that the trace holds; RDNA only."""
    rows = np.flatnonzero(packets.is_kind("TS_DELTA_OR_MARK"))
    raw = packets.raw[rows]
    real, lost = raw >> np.uint64(REAL_BIT[packets.arch]), raw >> np.uint64(LOST_BIT)
    rows = rows[(real & ~lost & np.uint64(1)).astype(np.bool_)]
    return ClockSamples(packets.time[rows], packets.payload(rows).astype(np.int64))
