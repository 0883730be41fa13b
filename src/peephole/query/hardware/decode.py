"""A raw thread trace to columns, for any number of packets, in parts of bounded size."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from peephole.query.hardware.packets import BY_CODE, Arch, tables

PART = 1 << 20
_ROOM = 512
"""Packets that there is room for in any case: untouched memory is what a short stream would pay most for."""
_U8, _I8, _I16, _I64, _U64 = (np.dtype(name) for name in ("<u1", "<i1", "<i2", "<i8", "<u8"))
_PAD = bytes(16)
_ARCHS = tuple(Arch)
_START = np.array([0, 0, -(2**62), 0, 0, -1, 0] + [0] * 128, np.int64)
"""The state before a stream; see scan.py."""

SILENT = frozenset({"NOP", "TS_DELTA_SHORT", "TS_DELTA_S5_W2", "TS_DELTA_S5_W3", "TS_DELTA_OR_MARK"})
"""Packets that only pass time (samples of the clock and marks of lost packets are kept nevertheless)."""


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

    def payload(self, rows: NDArray[np.int64] | slice = slice(None)) -> NDArray[np.uint64]:
        """The payload field of packets; 0 where the type has none."""
        low, mask = _payloads()
        kind = self.kind[rows]
        return (self.raw[rows] >> low[kind]) & mask[kind]

    def is_kind(self, *names: str) -> NDArray[np.bool_]:
        """Which packets are of one of these types."""
        wanted = np.zeros(128, np.bool_)
        wanted[[code for code, packet in BY_CODE.items() if packet.name in names]] = True
        return wanted[self.kind]

    def name(self, row: int) -> str:
        """The name of a packet's type."""
        return BY_CODE[int(self.kind[row])].name


@cache
def _payloads() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """By code: the payload's lowest bit and its mask."""
    low, mask = np.zeros(128, np.uint64), np.zeros(128, np.uint64)
    for code, packet in BY_CODE.items():
        low[code], width = packet.payload or (0, 0)
        mask[code] = (1 << width) - 1
    return low, mask


class Decoder:
    """Decodes one stream part by part; `parts` can be left at any point without having read the rest.

    Bits that are no packet are damage: with `stop` the stream ends there, else they are passed over.
    """

    def __init__(self, blob: bytes, skip: Collection[str] = (), *, stop: bool = False) -> None:
        self._size = len(blob)
        self._words = np.frombuffer(blob + _PAD[len(blob) & 7 :], _U64)
        self._tables = tables(frozenset(skip))
        self._state = _START.copy()
        if stop:
            self._state[4] = 1

    @property
    def arch(self) -> Arch:
        """The kind of stream; known after the first part."""
        return _ARCHS[self._state.item(3)]

    @property
    def time(self) -> int:
        """Time of the last packet."""
        return int(self._state[1])

    @property
    def left_over(self) -> int:
        """Bytes at the end that hold no whole packet."""
        return max(self._size - (self._state.item(0) + 1) // 2, 0)

    @property
    def damage(self) -> tuple[int, int] | None:
        """Byte and clock of the first bits that are no packet; None for a stream that is whole."""
        nibble = self._state.item(5)
        return None if nibble < 0 else (nibble // 2, self._state.item(6))

    def counts(self) -> dict[str, int]:
        """How many packets of each type were seen, the skipped ones too."""
        found: dict[str, int] = {}
        for code, packet in BY_CODE.items():
            if count := int(self._state[7 + code]):
                found[packet.name] = found.get(packet.name, 0) + count
        return found

    def part(self, size: int = PART) -> Packets | None:
        """The next packets, at most `size`; None at the end."""
        left = self._size * 2 - 16 - self._state.item(0)
        if left < 0:
            return None
        # a nibble is the least, most packets have four or five: what does not fit comes with the next part
        room = min(size, left + 1, max(left // 3, _ROOM))
        out = np.empty(22 * room, _U8)
        table = self._tables
        n = _compiled()(self._words, self._size, table.lead, table.fields, self._state, out, room)
        take = np.frombuffer
        return Packets(
            self.arch, take(out, _U8, n, 18 * room), take(out, _I64, n), take(out, _I8, n, 19 * room),
            take(out, _I8, n, 20 * room), take(out, _I8, n, 21 * room), take(out, _I16, n, 16 * room),
            take(out, _U64, n, 8 * room),
        )  # fmt: skip

    def parts(self, size: int = PART) -> Iterator[Packets]:
        """The packets, at most `size` at a time."""
        while (found := self.part(size)) is not None:
            if len(found):
                yield found

    def rest(self) -> Packets:
        """All packets that were not read yet."""
        first = self.part()
        if first is None:
            return _nothing(self.arch)
        if self._state.item(0) > self._size * 2 - 16:
            return first
        return _joined(self.arch, [first, *self.parts()])


@cache
def _compiled() -> Callable[..., int]:
    from peephole.query.hardware.packet_scan import scan

    return scan  # type: ignore[no-any-return]


_COLUMNS = ("kind", "time", "wave", "simd", "cu", "op", "raw")


def _nothing(arch: Arch) -> Packets:
    dtypes = (_U8, _I64, _I8, _I8, _I8, _I16, _U64)
    return Packets(arch, *(np.empty(0, dtype) for dtype in dtypes))


def _joined(arch: Arch, parts: list[Packets]) -> Packets:
    columns = [np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS]
    return Packets(arch, *columns)


def decode(blob: bytes, skip: Collection[str] = ()) -> Packets:
    """All packets of a stream but those whose type is skipped."""
    return Decoder(blob, skip).rest()
