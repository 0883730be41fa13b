"""Which line of its source each instruction of a binary came from: the line table that a compiler writes with -g.

Read here and not by a tool, since a stranger's capture must be safe to open: loops are bounded by the bytes they read.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.query.hardware.elf import sections

_MOST: Final = 2_000_000
"""Rows that are read."""


@dataclass(frozen=True, slots=True)
class LineTable:
    """Addresses in order, and the line from each to the next; 0 where there is none."""

    address: NDArray[np.int64]
    line: NDArray[np.int64]

    def lines(self, pcs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The line of each address, 0 for one that the table does not cover."""
        if not len(self.address):
            return np.zeros(len(pcs), np.int64)
        at = np.searchsorted(self.address, pcs, "right") - 1
        return np.where(at >= 0, self.line[np.maximum(at, 0)], 0)


def line_table(binary: bytes) -> LineTable:
    """The lines of a binary of version 2 to 5 of DWARF; empty when it has none, or one that is not understood."""
    section = sections(binary).get(".debug_line")
    rows: list[tuple[int, int]] = []
    if section is not None:
        try:
            _units(section.content, rows)
        except (IndexError, struct.error, ValueError):
            rows = []  # half a table would say wrong lines
    rows.sort(key=lambda row: row[0])
    address, line = (np.array([row[part] for row in rows], np.int64) for part in (0, 1))
    return LineTable(address, line)


def _units(data: bytes, rows: list[tuple[int, int]]) -> None:
    at = 0
    while at + 4 < len(data) and len(rows) < _MOST:
        (length,) = struct.unpack_from("<I", data, at)
        wide = length == 0xFFFFFFFF
        at += 4
        if wide:
            (length,) = struct.unpack_from("<Q", data, at)
            at += 8
        end = at + length
        if not length or end > len(data):
            raise ValueError(length)
        _unit(data, at, end, wide, rows)
        at = end


def _unit(data: bytes, at: int, end: int, wide: bool, rows: list[tuple[int, int]]) -> None:
    (version,) = struct.unpack_from("<H", data, at)
    at += 2
    if not 2 <= version <= 5:
        return
    if version == 5:
        at += 2  # sizes of addresses and of selectors
    (header,) = struct.unpack_from("<Q" if wide else "<I", data, at)
    at += 8 if wide else 4
    program = at + header
    step = data[at]
    at += 2 if version >= 4 else 1  # operations of one instruction: 1 but for VLIW
    _, base, spread, opcodes = struct.unpack_from("<BbBB", data, at)
    at += 4
    lengths = data[at : at + opcodes - 1]
    if not spread or len(lengths) != opcodes - 1 or program > end:
        raise ValueError(spread)
    _run(data, program, end, (step, base, spread, opcodes, lengths), rows)


def _run(data: bytes, at: int, end: int, form: tuple[int, int, int, int, bytes], rows: list[tuple[int, int]]) -> None:
    step, base, spread, opcodes, lengths = form
    address, line = 0, 1
    while at < end and len(rows) < _MOST:
        code = data[at]
        at += 1
        if code >= opcodes:
            address += (code - opcodes) // spread * step
            line += base + (code - opcodes) % spread
            rows.append((address, max(line, 0)))
        elif code == 0:
            size, at = _unsigned(data, at)
            kind = data[at]
            if kind == 1:  # the end of a sequence: what follows belongs to nobody
                rows.append((address, 0))
                address, line = 0, 1
            elif kind == 2:
                address = int.from_bytes(data[at + 1 : at + size], "little") & (1 << 62) - 1
            at += size
        elif code == 1:
            rows.append((address, max(line, 0)))
        elif code == 2:
            more, at = _unsigned(data, at)
            address += more * step
        elif code == 3:
            more, at = _signed(data, at)
            line += more
        elif code == 8:
            address += (255 - opcodes) // spread * step
        elif code == 9:
            address += struct.unpack_from("<H", data, at)[0]
            at += 2
        else:
            for _ in range(lengths[code - 1]):
                _, at = _unsigned(data, at)
        address &= (1 << 62) - 1
        line &= (1 << 31) - 1


def _unsigned(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << min(shift, 70)
        shift += 7
        if byte < 0x80:
            return value & (1 << 62) - 1, at


def _signed(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << min(shift, 70)
        shift += 7
        if byte < 0x80:
            return value - (1 << shift) if byte & 0x40 and shift < 64 else value & (1 << 62) - 1, at
