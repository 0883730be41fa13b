"""A raw thread trace to columns, for any number of packets, in parts of bounded size."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from peephole.query.hardware.packets import BY_CODE, Arch, tables

PART = 1 << 20

SILENT = frozenset({"NOP", "TS_DELTA_SHORT", "TS_DELTA_S5_W2", "TS_DELTA_S5_W3", "TS_DELTA_S8_W3", "TS_DELTA_OR_MARK"})
"""Packets that only pass time (marks of the clock are kept nevertheless)."""


@dataclass(frozen=True, slots=True)
class Packets:
    """Packets in stream order. -1 stands for a field that the type does not have."""

    arch: Arch
    kind: NDArray[np.uint8]
    """A code of BY_CODE."""
    time: NDArray[np.int64]
    """In shader clocks since the stream began."""
    wave: NDArray[np.int8]
    simd: NDArray[np.int8]
    cu: NDArray[np.int8]
    op: NDArray[np.int16]
    raw: NDArray[np.uint64]
    """The packet's first 64 bits."""

    def __len__(self) -> int:
        return len(self.kind)

    def payload(self) -> NDArray[np.uint64]:
        """The payload field of each packet; 0 where the type has none."""
        low, width = np.zeros(128, np.uint64), np.zeros(128, np.uint64)
        for code, packet in BY_CODE.items():
            low[code], width[code] = packet.payload or (0, 0)
        low, width = low[self.kind], width[self.kind]
        return (self.raw >> low) & ((np.uint64(1) << width) - np.uint64(1))

    def is_kind(self, *names: str) -> NDArray[np.bool_]:
        """Which packets are of one of these types."""
        wanted = np.zeros(128, np.bool_)
        wanted[[code for code, packet in BY_CODE.items() if packet.name in names]] = True
        return wanted[self.kind]

    def name(self, row: int) -> str:
        """The name of a packet's type."""
        return BY_CODE[int(self.kind[row])].name


@cache
def _kept(skip: frozenset[str]) -> NDArray[np.bool_]:
    """[arch, type] -> whether packets of that type are wanted."""
    keep = np.zeros((3, 32), np.bool_)
    for code, packet in BY_CODE.items():
        keep[code >> 5, code & 31] = packet.name not in skip
    return keep


class Decoder:
    """Decodes one stream part by part; `parts` can be left at any point without having read the rest."""

    def __init__(self, blob: bytes, skip: Collection[str] = ()) -> None:
        self._size = len(blob)
        self._words = np.frombuffer(blob + bytes(16 - len(blob) % 8), "<u8")
        self._keep = _kept(frozenset(skip))
        self._counts = np.zeros((3, 32), np.int64)
        from peephole.query.hardware.scan import NO_OFFSET

        self._state = np.array([0, 0, NO_OFFSET, 0], np.int64)

    @property
    def arch(self) -> Arch:
        """The kind of stream; known after the first part."""
        return Arch(int(self._state[3]))

    @property
    def time(self) -> int:
        """Time of the last packet."""
        return int(self._state[1])

    @property
    def left_over(self) -> int:
        """Bytes at the end that hold no whole packet."""
        return max(self._size - (int(self._state[0]) + 1) // 2, 0)

    def counts(self) -> dict[str, int]:
        """How many packets of each type were seen, the skipped ones too."""
        found: dict[str, int] = {}
        for code, packet in BY_CODE.items():
            if count := int(self._counts[code >> 5, code & 31]):
                found[packet.name] = found.get(packet.name, 0) + count
        return found

    def parts(self, size: int = PART) -> Iterator[Packets]:
        """The packets, at most `size` at a time."""
        from peephole.query.hardware.scan import scan

        table = tables()
        while (left := self._size * 2 - 16 - int(self._state[0])) >= 0:
            size = min(size, left + 1)  # a packet has a nibble at least
            kind, time = np.empty(size, np.uint8), np.empty(size, np.int64)
            wave, simd, cu = np.empty(size, np.int8), np.empty(size, np.int8), np.empty(size, np.int8)
            op, raw = np.empty(size, np.int16), np.empty(size, np.uint64)
            n = scan(
                self._words, self._size, table.first, table.fields, table.marks, self._keep, self._state,
                kind, time, wave, simd, cu, op, raw, self._counts,
            )  # fmt: skip
            if n:
                yield Packets(self.arch, kind[:n], time[:n], wave[:n], simd[:n], cu[:n], op[:n], raw[:n])


def decode(blob: bytes, skip: Collection[str] = ()) -> Packets:
    """All packets of a stream but those whose type is skipped."""
    decoder = Decoder(blob, skip)
    parts = list(decoder.parts())
    if len(parts) == 1:
        return parts[0]

    def joined(name: str, dtype: type) -> NDArray[np.generic]:
        return np.concatenate([getattr(part, name) for part in parts]) if parts else np.empty(0, dtype)

    return Packets(
        decoder.arch,
        joined("kind", np.uint8),  # type: ignore[arg-type]
        joined("time", np.int64),  # type: ignore[arg-type]
        joined("wave", np.int8),  # type: ignore[arg-type]
        joined("simd", np.int8),  # type: ignore[arg-type]
        joined("cu", np.int8),  # type: ignore[arg-type]
        joined("op", np.int16),  # type: ignore[arg-type]
        joined("raw", np.uint64),  # type: ignore[arg-type]
    )
