"""A kernel's instructions: text, size, branches. Disassembling needs tinygrad's package; nothing else here does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from peephole.errors import PeepholeError
from peephole.query.hardware.elf import sections

SKIPPED = frozenset({"S_DELAY_ALU", "S_WAIT_ALU", "S_BARRIER_WAIT"})
"""Instructions for which the trace has no packet."""
INDIRECT = ("S_SETPC", "S_SWAPPC", "S_CALL", "S_RFE")
"""Instructions after which the program counter is where a register said."""


@dataclass(frozen=True, slots=True)
class Program:
    """The instructions of a kernel in the order of their addresses."""

    pc: NDArray[np.int64]
    size: NDArray[np.int64]
    op: tuple[str, ...]
    """`S_LOAD_B128`; empty when the instruction has no name."""
    text: tuple[str, ...]
    target: NDArray[np.int64]
    """Instruction that a branch jumps to; -1 for what is no branch or jumps out of the program."""
    branches: NDArray[np.bool_]
    indirect: NDArray[np.bool_]
    """Jumps to an address that a register holds, and calls: the trace says where they went."""
    skipped: NDArray[np.bool_]
    registers: tuple[tuple[str, ...], ...]
    """Registers that an instruction names, as `v12`, `s0`."""

    def __len__(self) -> int:
        return len(self.pc)

    def indices(self, pcs: NDArray[np.int64]) -> NDArray[np.int64]:
        """The instructions at addresses; -1 where there is none."""
        at = np.minimum(np.searchsorted(self.pc, pcs), len(self.pc) - 1)
        return np.where(self.pc[at] == pcs, at, -1) if len(self.pc) else np.full(len(pcs), -1, np.int64)


_NONE, _NO = np.empty(0, np.int64), np.empty(0, np.bool_)
NO_PROGRAM = Program(_NONE, _NONE, (), (), _NONE, _NO, _NO, _NO, ())
"""A program that is not known."""


def family(arch: str) -> str:
    """tinygrad's name of an architecture's instruction set."""
    return "rdna3" if arch.startswith("gfx11") else "rdna4" if arch.startswith("gfx12") else "cdna"


@lru_cache(maxsize=32)
def disassemble(binary: bytes, arch: str) -> Program:
    """The program of a binary; PeepholeError when tinygrad is not installed or the code is not understood."""
    try:
        from tinygrad.renderer.amd import detect_format
    except ImportError:
        raise PeepholeError(
            "Disassembly needs tinygrad on this machine: pip install 'peephole[tinygrad]'. "
            "Waves, occupancy and counters are shown without it."
        ) from None
    text = sections(binary).get(".text")
    if text is None:
        raise PeepholeError("The kernel's binary has no .text section, so its instructions cannot be shown.")
    instructions = []
    offset, code, kind = 0, text.content, family(arch)
    while offset < len(code):
        piece = code[offset : offset + 64]
        try:
            decoded = detect_format(piece, kind).from_bytes(piece)
        except Exception as error:  # the disassembler raises whatever its tables lead it to
            raise PeepholeError(
                f"The instruction at {text.address + offset:#x} is unknown to tinygrad's disassembler ({error})."
            ) from None
        instructions.append((text.address + offset, decoded))
        offset += decoded.size()
    while len(instructions) > 1 and _op(instructions[-1][1]) == _op(instructions[-2][1]) in ("S_CODE_END", "S_NOP"):
        instructions.pop()  # the padding behind a kernel is for the instruction fetch, nothing runs there
    return _program(instructions)


def _program(instructions: list[tuple[int, object]]) -> Program:
    pc = np.array([at for at, _ in instructions], np.int64)
    size = np.array([inst.size() for _, inst in instructions], np.int64)  # type: ignore[attr-defined]
    ops = tuple(_op(inst) for _, inst in instructions)
    texts = tuple(_text(inst) for _, inst in instructions)
    target = np.full(len(pc), -1, np.int64)
    branches = np.array(["BRANCH" in op for op in ops], np.bool_)
    for i in np.flatnonzero(branches).tolist():
        distance = getattr(instructions[i][1], "simm16", 0) & 0xFFFF
        goal = int(pc[i] + size[i]) + (distance - 0x10000 if distance & 0x8000 else distance) * 4
        at = int(np.searchsorted(pc, goal))
        if at < len(pc) and int(pc[at]) == goal:
            target[i] = at
    return Program(
        pc,
        size,
        ops,
        texts,
        target,
        branches,
        np.array([op.startswith(INDIRECT) for op in ops], np.bool_),
        np.array([op in SKIPPED for op in ops], np.bool_),
        tuple(_registers(text) for text in texts),
    )


def _op(inst: object) -> str:
    return str(getattr(inst, "op_name", ""))


_DUAL = re.compile(r"^VOPD\(\w+\.(\w+), \w+\.(\w+), ")


def _text(inst: object) -> str:
    """The instruction; two in one are named as the others are."""
    return _DUAL.sub(lambda found: f"{found[1].lower()}, {found[2].lower()}(", str(inst))


_WIDEST = 64
_OPERAND = re.compile(r"\b(v|s|a|ttmp)\[(\d+)(?::(\d+))?\]|\b(VCC|EXEC)(_LO|_HI)?\b|\bM0\b")


def _registers(text: str) -> tuple[str, ...]:
    """The registers that an instruction names, each by itself: `v[3:4]` is v3 and v4."""
    found: list[str] = []
    for kind, first, last, pair, half in _OPERAND.findall(text):
        if kind:
            found += [f"{kind}{number}" for number in range(int(first), int(last or first) + 1)[:_WIDEST]]
        elif pair:
            found += [f"{pair.lower()}{part.lower()}" for part in ([half] if half else ("_LO", "_HI"))]
        else:
            found.append("m0")
    return tuple(dict.fromkeys(found))
