"""A kernel's instructions: text, size, branches. Decoding them is up to a compiler."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from peephole.compilers import decode_instructions
from peephole.compilers.hardware import Instruction
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


@lru_cache(maxsize=32)
def disassemble(binary: bytes, arch: str) -> Program:
    """The program of a binary; PeepholeError when nothing here decodes it or the code is not understood."""
    text = sections(binary).get(".text")
    if text is None:
        raise PeepholeError("The kernel's binary has no .text section, so its instructions cannot be shown.")
    instructions = decode_instructions(text.content, arch)
    while len(instructions) > 1 and instructions[-1].op == instructions[-2].op in ("S_CODE_END", "S_NOP"):
        instructions.pop()  # the padding behind a kernel is for the instruction fetch, nothing runs there
    return _program(instructions, text.address)


def _program(instructions: list[Instruction], address: int) -> Program:
    pc = np.array([address + inst.offset for inst in instructions], np.int64)
    size = np.array([inst.size for inst in instructions], np.int64)
    ops = tuple(inst.op for inst in instructions)
    target = np.full(len(pc), -1, np.int64)
    branches = np.array(["BRANCH" in op for op in ops], np.bool_)
    for i in np.flatnonzero(branches).tolist():
        goal = int(pc[i] + size[i]) + instructions[i].jump
        at = int(np.searchsorted(pc, goal))
        if at < len(pc) and int(pc[at]) == goal:
            target[i] = at
    return Program(
        pc,
        size,
        ops,
        tuple(inst.text for inst in instructions),
        target,
        branches,
        np.array([op.startswith(INDIRECT) for op in ops], np.bool_),
        np.array([op in SKIPPED for op in ops], np.bool_),
        tuple(_registers(inst.text) for inst in instructions),
    )


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
