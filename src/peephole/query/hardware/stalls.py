"""NVIDIA's PMA samples: where the warps of a kernel stood, and what they waited for.

A stream of 32-byte packets, each with a header in its second word: how many of the other 28 bytes count, which unit
they are of, whether something was lost before them. The bytes of a unit make records of 8, since Blackwell of 9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.query.hardware.counters import Counter, Unit

REASONS: Final = (
    "OTHER", "NONE", "MEMORY_DEPENDENCY", "MEMORY_THROTTLE", "CONSTANT_MEMORY", "SYNC", "INST_FETCH",
    "EXEC_DEPENDENCY", "PIPE_BUSY",
)  # fmt: skip
"""What a warp can wait for; a sample's reason is a place in it."""
_PACKET: Final = 32
_PAYLOAD: Final = 28
_BLACKWELL: Final = 0xA04
_OLDEST: Final = 0x800
_KEYS: Final = {
    8: {1: "MEMORY_THROTTLE", 15: "MEMORY_THROTTLE", 2: "CONSTANT_MEMORY", 3: "SYNC", 6: "INST_FETCH", 11: "INST_FETCH",
        7: "EXEC_DEPENDENCY", 10: "EXEC_DEPENDENCY", 9: "MEMORY_DEPENDENCY", 12: "PIPE_BUSY", 18: "NONE"},
    9: {1: "MEMORY_THROTTLE", 14: "MEMORY_THROTTLE", 2: "SYNC", 5: "INST_FETCH", 10: "INST_FETCH", 6: "EXEC_DEPENDENCY",
        9: "EXEC_DEPENDENCY", 8: "MEMORY_DEPENDENCY", 11: "PIPE_BUSY", 15: "PIPE_BUSY", 17: "NONE"},
}  # fmt: skip
"""By the size of a record, what its key stands for."""

Place = tuple[int, int, int]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Samples:
    """One warp at one moment each, in the order of the stream; columns of one length.

    `reason` is a place in REASONS, `active` says whether the warp was executing. `lost` counts the packets that say
    that something before them was lost.
    """

    unit: Ints
    wave: Ints
    pc: Ints
    reason: Ints
    active: NDArray[np.bool_]
    lost: int

    def __len__(self) -> int:
        return len(self.unit)


def place(unit: int) -> Place:
    """Graphics cluster, texture cluster and multiprocessor of a unit."""
    return unit >> 5, unit >> 1 & 0xF, unit & 1


def samples(blob: bytes, props: dict[str, Any]) -> Samples:
    """All samples; a packet that is cut off is left out, and a record of which the stream lost a part."""
    version = (props.get("device") or {}).get("sm_version", _OLDEST)
    size = 9 if isinstance(version, int) and version >= _BLACKWELL else 8
    packets = np.frombuffer(blob, np.uint8, len(blob) // _PACKET * _PACKET).reshape(-1, _PACKET)
    header = np.ascontiguousarray(packets[:, 4:8]).view("<u4")[:, 0].astype(np.int64)
    unit = header >> 8 & 0xFF | (header >> 25 & 0x7) << 8
    lost = (header >> 28 & 1).astype(bool)
    # the packets of a unit one behind the other: its records go over their borders, but not over a loss
    order = np.argsort(unit, kind="stable")
    held = np.minimum(header & 0x1F, _PAYLOAD)[order]
    payload = np.concatenate([packets[order, :4], packets[order, 8:]], axis=1)
    content = payload[np.arange(_PAYLOAD) < held[:, None]]
    ends = np.cumsum(held)
    begins = np.flatnonzero((np.diff(unit[order], prepend=-1) != 0) | lost[order])
    first = (ends - held)[begins]
    number = np.diff(first, append=len(content)) // size
    within = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
    start = np.repeat(first, number) + within * size
    whole = order[np.searchsorted(ends, start + size - 1, side="right")]  # the packet that completes each record
    stream = np.argsort(whole, kind="stable")
    records = content[start[stream, None] + np.arange(size)]
    return _fields(records, unit[whole[stream]], int(lost.sum()))


def _fields(records: NDArray[np.uint8], unit: Ints, lost: int) -> Samples:
    size = records.shape[1]
    word = np.ascontiguousarray(records[:, :8]).view("<u8")[:, 0]
    if size == 8:
        key, wave, pc, active = word >> 45 & 0x1F, word >> 50 & 0x3F, word & (1 << 45) - 1, word >> 62 & 1
    else:
        high = records[:, 8].astype(np.uint64)
        key, pc, active = word & 0x3F, word >> 8 & (1 << 53) - 1, high >> 3 & 1
        wave = (word >> 6 & 3) << 4 | high >> 4
    known = np.zeros(64, np.int64)
    for number, reason in _KEYS[size].items():
        known[number] = REASONS.index(reason)
    return Samples(
        unit, wave.astype(np.int64), (pc << 4).astype(np.int64), known[key.astype(np.int64)], active == 1, lost
    )


def stall_counters(blob: bytes, props: dict[str, Any]) -> list[Counter]:
    """The samples of each reason, most first, with those of each multiprocessor."""
    all_samples = samples(blob, props)
    found = []
    for reason, total in by_reason(all_samples.reason):
        units, numbers = np.unique(all_samples.unit[all_samples.reason == reason], return_counts=True)
        parts = tuple(
            Unit(*place(unit), 0, (number,)) for unit, number in zip(units.tolist(), numbers.tolist(), strict=True)
        )
        found.append(Counter(f"stall {REASONS[reason]}", "PMA", total, int(numbers.max()), parts))
    return found


def by_reason(reasons: Ints) -> list[tuple[int, int]]:
    """How often each reason is there, most first."""
    counts = np.bincount(reasons, minlength=len(REASONS))
    order = np.argsort(-counts, kind="stable")
    return [(int(reason), int(counts[reason])) for reason in order if counts[reason]]


def hottest(found: Samples, most: int) -> list[tuple[int, int, list[tuple[int, int]]]]:
    """The instructions that were met most: their place in the kernel, how often, and what was waited for there."""
    places, at, counts = np.unique(found.pc, return_inverse=True, return_counts=True)
    ordered = np.argsort(-counts, kind="stable")[:most]
    rank = np.full(len(places), -1, np.int64)
    rank[ordered] = np.arange(len(ordered))
    own = rank[at]
    table = np.bincount(
        own[own >= 0] * len(REASONS) + found.reason[own >= 0], minlength=len(ordered) * len(REASONS)
    ).reshape(-1, len(REASONS))
    return [
        (
            int(places[row]),
            int(counts[row]),
            [(int(k), int(tally[k])) for k in np.argsort(-tally, kind="stable") if tally[k]],
        )
        for row, tally in zip(ordered, table, strict=True)
    ]
