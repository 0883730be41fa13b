"""The packets of AMD's thread traces, as data: length, prefix, and where the fields sit.

A field is (lowest bit, width), counted from the packet's first bit. The longest matching prefix wins. The decoder's
tables, the tests' encoder and the names on the screen all come out of this.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import cache

import numpy as np
from numpy.typing import NDArray

Field = tuple[int, int]


class Arch(IntEnum):
    """The three kinds of stream."""

    RDNA3 = 0
    RDNA4 = 1
    CDNA = 2


class Clock(IntEnum):
    """How a packet moves the time."""

    DELTA = 0
    DELTA_OR_MARK = 1
    SHORT = 2
    FOURS = 3
    ABSOLUTE = 4


@dataclass(frozen=True, slots=True)
class Packet:
    """One type of packet."""

    name: str
    bits: int
    prefix: str
    delta: Field | None = None
    wave: Field | None = None
    simd: Field | None = None
    cu: Field | None = None
    sa: int | None = None
    """Bit that says which half of the engine; it goes above the cu field."""
    op: Field | None = None
    payload: Field | None = None
    clock: Clock = Clock.DELTA

    @property
    def value(self) -> int:
        """The prefix as a number."""
        return int(self.prefix, 2)


def _p(name: str, bits: int, prefix: str, **fields: object) -> Packet:
    return Packet(name, bits, prefix, **fields)  # type: ignore[arg-type]


_RDNA3 = (
    _p("VALUINST", 12, "011", delta=(3, 3), wave=(7, 5)),
    _p("VMEMEXEC", 8, "1111", delta=(4, 2), op=(6, 2)),
    _p("ALUEXEC", 8, "1110", delta=(4, 2), op=(6, 2)),
    _p("IMMEDIATE", 12, "1101", delta=(4, 3), wave=(7, 5)),
    _p("IMMEDIATE_MASK", 24, "00100", delta=(5, 3), payload=(8, 16)),
    _p("WAVERDY", 24, "10100", delta=(5, 3), payload=(8, 16)),
    _p("TS_DELTA_S8_W3", 72, "0100001", delta=(8, 3)),
    _p("WAVEEND", 20, "10101", delta=(5, 3), wave=(15, 5), simd=(9, 2), cu=(11, 3), sa=8),
    _p("WAVESTART", 32, "01100", delta=(5, 2), wave=(13, 5), simd=(8, 2), cu=(10, 3), sa=7, payload=(18, 14)),
    _p("TS_DELTA_S5_W2", 48, "11100", delta=(5, 2)),
    _p("WAVEALLOC", 20, "00101", delta=(5, 3)),
    _p("TS_DELTA_S5_W3", 52, "00110", delta=(5, 3)),
    _p("PERF", 28, "10110", delta=(5, 3), payload=(8, 20)),
    _p("UTILCTR", 48, "0110001", delta=(7, 2), payload=(9, 39)),
    _p("TS_DELTA_SHORT", 8, "1000", delta=(4, 4), clock=Clock.SHORT),
    _p("NOP", 4, "0000"),
    _p("TS_WAVE_STATE", 24, "1010001", delta=(7, 9), payload=(16, 8)),
    _p("EVENT", 24, "01100001", delta=(8, 3), payload=(11, 13)),
    _p("EVENT_BIG", 32, "11100001", delta=(8, 3), payload=(11, 21)),
    _p("REG", 64, "1001", delta=(4, 3), payload=(32, 32)),
    _p("SNAPSHOT", 64, "1110001", delta=(7, 3), payload=(10, 54)),
    _p("TS_DELTA_OR_MARK", 48, "0000001", delta=(12, 36), payload=(12, 36), clock=Clock.DELTA_OR_MARK),
    _p("LAYOUT_HEADER", 64, "0010001", simd=(13, 2), payload=(7, 6)),
    _p("INST", 20, "010", delta=(4, 3), wave=(8, 5), op=(13, 7)),
)

_RDNA4_CHANGES = {
    packet.name: packet
    for packet in (
        _p("WAVEEND", 20, "10101", delta=(5, 3), wave=(15, 5), simd=(9, 2), cu=(11, 4), sa=8),
        _p("WAVESTART", 32, "01100", delta=(5, 2), wave=(15, 5), simd=(8, 2), cu=(10, 4), sa=7, payload=(20, 12)),
        _p("TS_DELTA_S5_W2", 40, "11100", delta=(5, 2)),
        _p("WAVEALLOC", 24, "00101", delta=(5, 3)),
        _p("TS_DELTA_S5_W3", 56, "00110", delta=(7, 3)),
        _p("PERF", 32, "10110", delta=(7, 3), payload=(10, 22)),
        _p("TS_DELTA_OR_MARK", 64, "0000001", delta=(12, 52), payload=(12, 52), clock=Clock.DELTA_OR_MARK),
        _p("INST", 20, "010", delta=(3, 3), wave=(7, 5), op=(12, 8)),
    )
}

_CDNA = (
    _p("CDNA_MISC", 16, "0000", delta=(4, 8), payload=(13, 3), clock=Clock.FOURS),
    _p("CDNA_TIMESTAMP", 64, "0001", payload=(16, 48), clock=Clock.ABSOLUTE),
    _p("CDNA_REG", 64, "0010", payload=(32, 32)),
    _p("CDNA_WAVESTART", 32, "0011", wave=(10, 4), simd=(14, 2), cu=(6, 4), payload=(22, 7)),
    _p("CDNA_WAVEALLOC", 16, "0100", wave=(10, 4), simd=(14, 2), cu=(6, 4)),
    _p("CDNA_REG_CS", 48, "0101", payload=(16, 32)),
    _p("CDNA_WAVEEND", 16, "0110", wave=(10, 4), simd=(14, 2), cu=(6, 4)),
    _p("CDNA_EVENT", 16, "0111"),
    _p("CDNA_EVENT_CS", 16, "1000"),
    _p("CDNA_EVENT_GFX1", 16, "1001"),
    _p("CDNA_INST", 16, "1010", wave=(5, 4), simd=(9, 2), op=(11, 5)),
    _p("CDNA_INST_PC", 64, "1011", wave=(5, 4), simd=(9, 2), payload=(16, 48)),
    _p("CDNA_USERDATA", 48, "1100", wave=(10, 4), simd=(14, 2), cu=(6, 4), payload=(16, 32)),
    _p("CDNA_ISSUE", 32, "1101", simd=(5, 2), payload=(8, 20)),
    _p("CDNA_PERF", 64, "1110", cu=(6, 4), payload=(12, 52)),
    _p("CDNA_REG_CS_PRIV", 48, "1111", payload=(16, 32)),
    _p("LAYOUT_HEADER", 64, "0010001", simd=(13, 2), payload=(7, 6)),
)

PACKETS: dict[Arch, tuple[Packet, ...]] = {
    Arch.RDNA3: _RDNA3,
    Arch.RDNA4: tuple(_RDNA4_CHANGES.get(packet.name, packet) for packet in _RDNA3),
    Arch.CDNA: _CDNA,
}
"""The types of each kind of stream."""

BY_CODE: dict[int, Packet] = {
    arch << 5 | i: packet for arch, packets in PACKETS.items() for i, packet in enumerate(packets)
}
"""A packet's kind is a code that tells stream and type."""

REAL_BIT, LOST_BIT = {Arch.RDNA3: 9, Arch.RDNA4: 7, Arch.CDNA: 0}, 8
"""TS_DELTA_OR_MARK is a sample of the 100 MHz clock when the first bit alone is set, and says that packets were lost
when the second alone is set."""

MARKS: dict[str, dict[str, int]] = {
    "packets were lost": {"CDNA_MISC": 2},
    "the trace stalled": {"CDNA_MISC": 4, "TS_WAVE_STATE": 1 << 4},
    "the trace went on": {"CDNA_MISC": 5, "TS_WAVE_STATE": 1 << 5},
    "the chip throttled itself": {"TS_WAVE_STATE": 1 << 6},
    "waves were saved for another process": {"CDNA_MISC": 6, "TS_WAVE_STATE": 1 << 3},
}
"""What a trace says of itself: a number in CDNA_MISC, a bit in TS_WAVE_STATE (AMD calls it MISC). AMD's own decoder
names them packet lost, stall begin and end, DIDT stall, save context."""

TRACED_SIMD, TRACED_WGP, TRACED_SA = (13, 2), (15, 3), (19, 1)
"""Fields of LAYOUT_HEADER in RDNA streams: the one SIMD whose instructions are traced."""
NEW_PC_WAVE, NEW_PC = (11, 5), (16, 46)
"""Fields of TS_DELTA_S8_W3: the wave that jumped to a computed address, and the address in words of 4 bytes."""


@dataclass(frozen=True, slots=True)
class Tables:
    """What the compiled loop reads. A field that a type does not have gives -1, without a branch."""

    lead: NDArray[np.uint16]
    """[arch << 8 | low byte] -> code of the type << 5 | length in nibbles."""
    fields: NDArray[np.uint64]
    """[code << 5 | column]: delta (lowest bit, mask, factor, summand), kept or not, special case, mask of the packet,
    then wave, simd, cu (lowest bit, mask, what is set when there is no such field), sa (lowest bit, mask, place), op
    (lowest bit), the bit of a real-time sample, op (mask, as above), the type that unknown bits are taken for."""


_SPECIAL = {Clock.DELTA_OR_MARK: 1, Clock.ABSOLUTE: 2}
_HEADER, _UNKNOWN, _CDNA_WAVE = 3, 4, 5
"""Special cases by name: a header, bits that are no packet at all, a packet whose wave must be one of CDNA's ten."""
_NO_PACKET = 31
"""Kind of the bits that are no packet; the decoder takes them for a NOP and says where they were."""
_ALL = (1 << 64) - 1


def _field(field: Field | None) -> list[int]:
    return [field[0], (1 << field[1]) - 1, 0] if field else [0, 0, _ALL]


@cache
def tables(skip: frozenset[str] = frozenset()) -> Tables:
    """The packet types as arrays; packets of the types to skip pass time and are counted, no more."""
    lead = np.zeros(3 * 256, np.uint16)
    fields = np.zeros((128, 32), np.uint64)
    for arch, packets in PACKETS.items():
        default = next((i for i, packet in enumerate(packets) if packet.name == "NOP"), 0)
        for byte in range(256):
            fitting = [i for i, p in enumerate(packets) if byte & ((1 << len(p.prefix)) - 1) == p.value]
            kind = max(fitting, key=lambda i: len(packets[i].prefix), default=_NO_PACKET)
            length = packets[kind].bits // 4 if fitting else 1
            lead[arch << 8 | byte] = (arch << 5 | kind) << 5 | length
        for kind, packet in enumerate(packets):
            delta = _field(packet.delta)[:2]
            factor, summand = 4 if packet.clock is Clock.FOURS else 1, 4 if packet.clock is Clock.SHORT else 0
            special = _HEADER if packet.name == "LAYOUT_HEADER" else _SPECIAL.get(packet.clock, 0)
            special = _CDNA_WAVE if arch is Arch.CDNA and packet.wave else special
            sa = [packet.sa, 1, packet.cu[1]] if packet.sa is not None and packet.cu else [0, 0, 0]
            op = _field(packet.op)
            row = [
                *delta, factor, summand, packet.name not in skip, special, _ALL >> max(64 - packet.bits, 0),
                *_field(packet.wave), *_field(packet.simd), *_field(packet.cu), *sa, op[0], REAL_BIT[arch], *op[1:],
            ]  # fmt: skip
            fields[arch << 5 | kind, : len(row)] = np.array(row, np.uint64)
        fields[arch << 5 | _NO_PACKET] = fields[arch << 5 | default]
        fields[arch << 5 | _NO_PACKET, 5:7] = _UNKNOWN, 15
        fields[arch << 5 | _NO_PACKET, 23] = arch << 5 | default
    return Tables(lead, fields.ravel())


_RDNA3_OPS = {
    0x00: "SALU", 0x01: "SMEM_RD", 0x03: "JUMP", 0x04: "JUMP_NO", 0x05: "CALL", 0x09: "MESSAGE", 0x0B: "VALUT_4",
    0x0D: "VALUB_2", 0x0E: "VALUB_4", 0x0F: "VALUB_16", 0x12: "VINTERP", 0x13: "BARRIER",
    0x1C: "FLAT_RD_2", 0x1D: "FLAT_WR_3", 0x1E: "FLAT_WR_4", 0x1F: "FLAT_WR_5", 0x20: "FLAT_WR_6",
    0x21: "SGMEM_RD_1", 0x22: "SGMEM_RD_2", 0x24: "SGMEM_WR_2", 0x25: "SGMEM_WR_3", 0x26: "SGMEM_WR_4",
    0x27: "SGMEM_WR_5", 0x28: "SGMEM_WR_6", 0x29: "LDS_RD", 0x2A: "LDS_WR_1", 0x2B: "LDS_WR_2", 0x2C: "LDS_WR_3",
    0x2D: "LDS_WR_4", 0x2E: "LDS_WR_5", 0x72: "SALU_WR_EXEC", 0x73: "VALU1_WR_EXEC",
}  # fmt: skip
_RDNA4_OPS = {
    **_RDNA3_OPS,
    0x01: "SMEM", 0x02: "SMEM_WR", 0x07: "SALU_NO_EXEC", 0x0A: "VALU_1", 0x0C: "VALUB_1", 0x13: "BARRIER_WAIT",
    0x21: "VMEM_RD_1", 0x22: "VMEM_RD_2", 0x23: "VMEM_WR_1", 0x24: "VMEM_WR_2", 0x25: "VMEM_WR_3", 0x26: "VMEM_WR_4",
    0x27: "VMEM_WR_5", 0x28: "VMEM_WR_6", 0x2F: "BUF_RD_1", 0x30: "BUF_RD_2", 0x31: "BUF_WR_1", 0x32: "BUF_WR_2",
    0x33: "BUF_WR_3", 0x34: "BUF_WR_4", 0x35: "BUF_WR_5", 0x36: "BUF_WR_6", 0x6E: "LDS_DIR_LOAD",
    0x6F: "LDS_PARAM_LOAD", 0x74: "VALU_WR_EXEC_2", 0x77: "OTHER_LDS_6", 0x78: "OTHER_LDS_10", 0x7A: "BARRIER_SIGNAL",
    0x87: "DYN_VGPR", 0x8A: "BARRIER_JOIN", 0x8C: "WMMA_8", 0x8D: "WMMA_16", 0x8E: "WMMA_32", 0x8F: "WMMA_64",
    0x92: "VALU_DPFP", 0x98: "SALU_FLOAT_3", 0x99: "VALU_SCL_TRANS", 0x9B: "SALU_2", 0x9C: "SALU_5",
}  # fmt: skip
_CDNA_OPS = {
    0: "SMEM_RD", 1: "SALU_32", 2: "VMEM_RD", 3: "VMEM_WR", 4: "FLAT_WR", 5: "VALU_32", 6: "LDS", 7: "PC", 12: "JUMP",
    13: "NEXT", 14: "FLAT_RD", 15: "OTHER_MSG", 16: "SMEM_WR", 17: "SALU_64", 18: "VALU_64", 28: "VALU_MAI",
}  # fmt: skip
OP_JUMP, OP_JUMP_NO = 0x03, 0x04


def _others(ranges: tuple[tuple[str, int, int, int], ...]) -> dict[int, str]:
    """Operations of SIMDs that are not traced: their name ends in the cycles that they take."""
    return {
        code: f"OTHER_{name}_{code - low + cycles}"
        for name, low, high, cycles in ranges
        for code in range(low, high + 1)
    }


OPS: dict[Arch, dict[int, str]] = {
    Arch.RDNA3: _RDNA3_OPS | _others((("LDS", 0x50, 0x54, 1), ("FLAT", 0x55, 0x59, 2), ("VMEM", 0x5A, 0x66, 1))),
    Arch.RDNA4: _RDNA4_OPS | _others((("LDS", 0x50, 0x54, 1), ("FLAT", 0x55, 0x59, 2), ("VMEM", 0xBC, 0xDD, 1))),
    Arch.CDNA: _CDNA_OPS,
}
ALU_SOURCES = ("NONE", "SALU", "VALU", "VALU_SALU")
MEMORY_SOURCES = ("LDS", "LDS_ALT", "VMEM", "VMEM_ALT")


def op_name(arch: Arch, kind: str, op: int) -> str:
    """What an operation is called; its number in hexadecimal when it has no name."""
    if kind == "ALUEXEC":
        return ALU_SOURCES[op & 3]
    if kind == "VMEMEXEC":
        return MEMORY_SOURCES[op & 3]
    return OPS[arch].get(op, f"0x{op:02x}")


def shown_as(arch: Arch, kind: str, op: int) -> str:
    """What a packet is shown as: the operation of an instruction, else its type."""
    return op_name(arch, kind, op) if kind in ("INST", "CDNA_INST") else kind.removesuffix("_MASK")


_CYCLES = re.compile(r"_(\d+)$")


def cycles(name: str) -> int:
    """The clocks that an operation takes, which its name may end in; 1 where it does not."""
    found = _CYCLES.search(name)
    return int(found[1]) if found else 1
