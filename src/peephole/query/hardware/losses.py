"""What a trace says of itself: packets that were lost, moments in which it stood still."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peephole.query.hardware.decode import Packets
from peephole.query.hardware.packets import LOST_BIT, MARKS, REAL_BIT

LOST, STALLED, WENT_ON = "packets were lost", "the trace stalled", "the trace went on"


@dataclass(frozen=True, slots=True)
class Losses:
    """Clocks at which the trace marked something, by what it marked."""

    marks: dict[str, NDArray[np.int64]]

    def counts(self) -> dict[str, int]:
        """How often each was marked."""
        return {reason: len(times) for reason, times in self.marks.items()}

    def stalls(self) -> list[tuple[int, int]]:
        """Begin and end of each stall of the trace; a stall without an end is as long as its mark."""
        ends = self.marks.get(WENT_ON, np.empty(0, np.int64))
        found = []
        for start in self.marks.get(STALLED, np.empty(0, np.int64)).tolist():
            at = int(np.searchsorted(ends, start))
            found.append((start, int(ends[at]) if at < len(ends) else start))
        return found

    def sentences(self) -> list[str]:
        """The same in words, one sentence a reason."""
        counts = self.counts()
        words = (
            [f"{counts[LOST]:,} x packets were lost: waves and instructions are missing there."]
            if LOST in counts
            else []
        )
        if STALLED in counts:
            cycles = sum(end - start for start, end in self.stalls())
            words.append(f"{counts[STALLED]:,} x the trace stalled, {cycles:,} cycles in all.")
        rest = (reason for reason in counts if reason not in (LOST, STALLED, WENT_ON))
        return words + [f"{counts[reason]:,} x {reason}." for reason in rest]


def losses(packets: Packets) -> Losses:
    """The marks of a trace."""
    found: dict[str, list[NDArray[np.int64]]] = {}
    for name in ("CDNA_MISC", "TS_WAVE_STATE"):
        rows = np.flatnonzero(packets.is_kind(name))
        value = packets.payload(rows)
        for reason, places in MARKS.items():
            if name not in places or not len(rows):
                continue
            wanted = np.uint64(places[name])
            hits = rows[value == wanted if name == "CDNA_MISC" else (value & wanted) != 0]
            if len(hits):
                found.setdefault(reason, []).append(packets.time[hits])
    rows = lost_rows(packets)
    if len(rows):
        found.setdefault(LOST, []).append(packets.time[rows])
    return Losses({reason: np.concatenate(found[reason]) for reason in MARKS if reason in found})


def lost_rows(packets: Packets) -> NDArray[np.int64]:
    """The packets of an RDNA stream that say that others before them were lost."""
    rows = np.flatnonzero(packets.is_kind("TS_DELTA_OR_MARK"))
    raw = packets.raw[rows]
    lost = (raw >> np.uint64(LOST_BIT)) & ~(raw >> np.uint64(REAL_BIT[packets.arch])) & np.uint64(1)
    return rows[lost.astype(np.bool_)]
