"""NVIDIA's PMA samples: where the warps of a kernel stood, and what they waited for.

A stream of 32-byte packets, each with a header in its second word: how many of the other 28 bytes count, which unit
they are of, whether something was lost before them. The bytes of a unit make records of 8, since Blackwell of 9.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from peephole.query.hardware.counters import Counter, Unit

_PACKET: Final = 32
_BLACKWELL: Final = 0xA04
_OLDEST: Final = 0x800
_OTHER: Final = "OTHER"
_REASONS: Final = {
    8: {1: "MEMORY_THROTTLE", 15: "MEMORY_THROTTLE", 2: "CONSTANT_MEMORY", 3: "SYNC", 6: "INST_FETCH", 11: "INST_FETCH",
        7: "EXEC_DEPENDENCY", 10: "EXEC_DEPENDENCY", 9: "MEMORY_DEPENDENCY", 12: "PIPE_BUSY", 18: "NONE"},
    9: {1: "MEMORY_THROTTLE", 14: "MEMORY_THROTTLE", 2: "SYNC", 5: "INST_FETCH", 10: "INST_FETCH", 6: "EXEC_DEPENDENCY",
        9: "EXEC_DEPENDENCY", 8: "MEMORY_DEPENDENCY", 11: "PIPE_BUSY", 15: "PIPE_BUSY", 17: "NONE"},
}  # fmt: skip
"""By the size of a record, what its key stands for."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One warp at one moment. `active` says whether it was executing."""

    unit: int
    wave: int
    pc: int
    reason: str
    active: bool

    @property
    def place(self) -> tuple[int, int, int]:
        """Graphics cluster, texture cluster and multiprocessor of its unit."""
        return self.unit >> 5, self.unit >> 1 & 0xF, self.unit & 1


def samples(blob: bytes, props: dict[str, Any]) -> Iterator[Sample]:
    """The samples in the order of the stream; a packet that is cut off is left out."""
    version = (props.get("device") or {}).get("sm_version", _OLDEST)
    size = 9 if isinstance(version, int) and version >= _BLACKWELL else 8
    held: dict[int, bytes] = {}
    for at in range(0, len(blob) - _PACKET + 1, _PACKET):
        packet = blob[at : at + _PACKET]
        header = int.from_bytes(packet[4:8], "little")
        unit = header >> 8 & 0xFF | (header >> 25 & 0x7) << 8
        known = b"" if header >> 28 & 1 else held.get(unit, b"")
        known += (packet[:4] + packet[8:])[: header & 0x1F]
        whole = len(known) - len(known) % size
        for start in range(0, whole, size):
            yield _sample(int.from_bytes(known[start : start + size], "little"), unit, size)
        held[unit] = known[whole:]


def _sample(word: int, unit: int, size: int) -> Sample:
    if size == 8:
        key, wave, pc, active = word >> 45 & 0x1F, word >> 50 & 0x3F, word & (1 << 45) - 1, word >> 62 & 1
    else:
        key, pc, active = word & 0x3F, word >> 8 & (1 << 53) - 1, word >> 67 & 1
        wave = (word >> 6 & 3) << 4 | word >> 68 & 0xF
    return Sample(unit, wave, pc << 4, _REASONS[size].get(key, _OTHER), bool(active))


def stall_counters(blob: bytes, props: dict[str, Any]) -> list[Counter]:
    """The samples of each reason, most first, with those of each multiprocessor."""
    tally: Tally[tuple[str, tuple[int, int, int]]] = Tally((one.reason, one.place) for one in samples(blob, props))
    totals: Tally[str] = Tally()
    for (reason, _), number in tally.items():
        totals[reason] += number
    found = []
    for reason, total in totals.most_common():
        units = sorted((place, number) for (own, place), number in tally.items() if own == reason)
        parts = tuple(Unit(gpc, tpc, sm, 0, (number,)) for (gpc, tpc, sm), number in units)
        found.append(Counter(f"stall {reason}", "PMA", total, max(number for _, number in units), parts))
    return found


def hottest(blob: bytes, props: dict[str, Any], most: int) -> list[tuple[int, int, list[tuple[str, int]]]]:
    """The instructions that were met most: their place in the kernel, how often, and what was waited for there."""
    at: dict[int, Tally[str]] = {}
    for one in samples(blob, props):
        at.setdefault(one.pc, Tally())[one.reason] += 1
    ordered = sorted(at.items(), key=lambda item: (-item[1].total(), item[0]))[:most]
    return [(pc, reasons.total(), reasons.most_common()) for pc, reasons in ordered]
