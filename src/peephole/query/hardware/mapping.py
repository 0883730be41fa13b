"""Packets to instructions: each wave's program counter through jumps, each execution back to its dispatch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from peephole.query.hardware.decode import Packets
from peephole.query.hardware.losses import lost_rows
from peephole.query.hardware.packets import (
    BY_CODE,
    NEW_PC,
    NEW_PC_WAVE,
    OP_JUMP,
    OP_JUMP_NO,
    OPS,
    TRACED_SA,
    TRACED_SIMD,
    TRACED_WGP,
    Arch,
    Field,
)
from peephole.query.hardware.program import Program

QUEUE_NAMES = ("SALU", "VALU", "VMEM", "LDS", "SALU_ALT", "VALU_ALT", "VMEM_ALT", "LDS_ALT")
"""Where instructions execute; `_ALT` is the work of the other SIMDs."""
_QUEUE_OF = {
    "WMMA": 1, "VALU": 1, "VALU1": 1, "VALUT": 1, "VALUB": 1, "VALUINST": 1, "VINTERP": 1,
    "SGMEM": 2, "FLAT": 2, "VMEM": 2, "LDS": 3, "SALU": 0, "SMEM": 0,
}  # fmt: skip
_RING = 1 << 12
PROBLEMS = (
    "packet of a wave whose start was not traced",
    "program counter outside the program",
    "execution without a traced dispatch",
    "branch without a jump packet",
    "wave that started again without an end",
    "instruction after a jump to a computed address",
    "instruction of a wave that lost packets",
)


@dataclass(frozen=True, slots=True)
class Mapped:
    """What each wave and unit did. A row is a packet and a wave or a unit, in stream order."""

    packet: NDArray[np.int64]
    """Row of Packets."""
    wave: NDArray[np.int64]
    """The wave; for an execution -1 minus its place in QUEUE_NAMES."""
    instruction: NDArray[np.int64]
    """Row of the Program, -1 when it is not known."""
    link: NDArray[np.int64]
    """For an execution the row here of its dispatch, -1 when there is none."""
    problems: dict[str, int]

    def __len__(self) -> int:
        return len(self.packet)


@dataclass(frozen=True, slots=True)
class _Roles:
    """By packet code and operation: what it means for the walk."""

    role: NDArray[np.uint8]
    flags: NDArray[np.uint8]
    queue: NDArray[np.int8]
    queue2: NDArray[np.int8]


@cache
def _roles() -> _Roles:
    from peephole.query.hardware.walk import DECIDES, END, EXEC, ISSUE, JUMPS, LAND, MASK, OTHER, READY, START

    shape = (128, 256)
    role, flags = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
    queue, queue2 = np.full(shape, -1, np.int8), np.full(shape, -1, np.int8)
    simple = {
        "WAVESTART": START, "CDNA_WAVESTART": START, "WAVEEND": END, "VALUINST": ISSUE, "IMMEDIATE": ISSUE,
        "INST": ISSUE, "IMMEDIATE_MASK": MASK, "ALUEXEC": EXEC, "VMEMEXEC": EXEC, "TS_DELTA_S8_W3": LAND,
        "WAVERDY": READY,
    }  # fmt: skip
    for code, packet in BY_CODE.items():
        role[code, :] = simple.get(packet.name, 0)
        if packet.name == "VALUINST":
            queue[code, :] = 1
        elif packet.name == "INST":
            for op in range(256):
                name = OPS[Arch(code >> 5)].get(op, "")
                plain = name.removeprefix("OTHER_")
                found = _QUEUE_OF.get(plain.split("_")[0], -1)
                other = plain != name
                queue[code, op] = found + 4 if other and found >= 0 else found
                flags[code, op] = JUMPS * (op == OP_JUMP) | OTHER * other | DECIDES * (op in (OP_JUMP, OP_JUMP_NO))
        elif packet.name == "ALUEXEC":
            queue[code, 1], queue[code, 2], queue[code, 3], queue2[code, 3] = 0, 1, 1, 0
        elif packet.name == "VMEMEXEC":
            queue[code, :4] = (3, 7, 2, 6)
    return _Roles(role, flags, queue, queue2)


def traced_unit(packets: Packets) -> tuple[int, int]:
    """The CU and SIMD whose instructions the stream holds, as its header says; the first of all without a header."""
    headers = packets.raw[packets.is_kind("LAYOUT_HEADER")]
    if packets.arch is Arch.CDNA or not len(headers):
        return 0, 0
    raw = headers[:1]
    width = 3 if packets.arch is Arch.RDNA3 else 4
    return int(_bits(raw, TRACED_WGP)[0] | _bits(raw, TRACED_SA)[0] << width), int(_bits(raw, TRACED_SIMD)[0])


def _bits(raw: NDArray[np.uint64], field: Field) -> NDArray[np.int64]:
    return ((raw >> np.uint64(field[0])) & np.uint64((1 << field[1]) - 1)).astype(np.int64)


def map_instructions(packets: Packets, program: Program, base: int = 0) -> Mapped:
    """Follows the waves of the SIMD that was traced; `base` is where the binary lay in the GPU's memory.

    With NO_PROGRAM there are waves, units and links all the same, but no instructions.
    """
    from peephole.query.hardware.walk import LOST, QUEUES, walk

    roles = _roles()
    kind, op = packets.kind, np.maximum(packets.op, 0)
    wave = np.maximum(packets.wave, 0).astype(np.int64)
    cu, simd = traced_unit(packets)
    selected = (packets.cu == cu) & (packets.simd == simd)
    mask = packets.payload()
    landed = np.flatnonzero(packets.is_kind("TS_DELTA_S8_W3"))
    wave[landed] = _bits(packets.raw[landed], NEW_PC_WAVE)
    mask[landed] = program.indices(_bits(packets.raw[landed], NEW_PC) * 4 - base) + 1
    pcs, heads = np.full(32, -1, np.int64), np.zeros((QUEUES, 2), np.int64)
    adrift = np.full(32, -1, np.int64)
    pending, problems = np.zeros((QUEUES, _RING), np.int64), np.zeros(len(PROBLEMS), np.int64)
    parts: list[tuple[NDArray[np.int64], ...]] = []
    begin = base = 0
    place = kind.astype(np.int32) << 8 | op
    role, flags, queue, queue2 = (
        table.ravel().take(place) for table in (roles.role, roles.flags, roles.queue, roles.queue2)
    )
    role[lost_rows(packets)] = LOST
    while begin < len(packets):
        size = len(packets) - begin + 64
        out = tuple(np.empty(size, np.int64) for _ in range(4))
        n, begin = walk(
            role, flags, queue, queue2, wave, selected, mask, program.size, program.target, program.branches,
            program.indirect, program.skipped, pcs, adrift, pending, heads, *out, problems, begin, base,
        )  # fmt: skip
        parts.append(tuple(column[:n] for column in out))
        base += n
    packet, waves, instruction, link = (
        np.concatenate([part[k] for part in parts]) if parts else np.empty(0, np.int64) for k in range(4)
    )
    if not len(program):  # nothing is known of any instruction, which is no problem of the trace
        instruction[:], problems[1] = -1, 0
    found = {PROBLEMS[i]: int(count) for i, count in enumerate(problems) if count}
    return Mapped(packet, waves, instruction, link, found)
