"""What is known of each instruction of a kernel: what it waits for, and the line of the source that it came from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from peephole.query.hardware.hotspots import Hotspots
from peephole.query.hardware.line_table import LineTable
from peephole.query.hardware.program import Program
from peephole.query.hardware.waits import awaited, decode_wait, words


@dataclass(frozen=True, slots=True)
class InstructionFacts:
    """Facts of one instruction; empty texts, -1 and 0 where there is nothing to say."""

    wait: str
    """`vmcnt(1) lgkmcnt(0)`."""
    words: str
    """The wait in words."""
    awaits: int
    """The instruction that has to be done before the wait ends."""
    line: int
    """Of the kernel's source, from 1."""
    source: str
    """That line."""


def instruction_facts(program: Program, arch: str, table: LineTable, source: list[str]) -> list[InstructionFacts]:
    """The facts of every instruction, in the order of the program."""
    joins = frozenset(program.target[program.target >= 0].tolist())
    found = []
    for at, (op, text, line) in enumerate(zip(program.op, program.text, table.lines(program.pc).tolist(), strict=True)):
        wait = decode_wait(op, text, arch)
        said = source[line - 1].strip() if 0 < line <= len(source) else ""
        if wait is None:
            found.append(InstructionFacts("", "", -1, line, said))
        else:
            before = awaited(program.op, at, wait, arch, joins)
            found.append(InstructionFacts(wait.text, words(wait), before, line, said))
    return found


def by_stall(found: Hotspots) -> list[int]:
    """The instructions that issued, those that waited longest first; of equal ones those that issued more often."""
    order = np.lexsort((np.arange(len(found.hits)), -found.hits, -found.stall.total))
    return [int(at) for at in order if found.hits[at]]
