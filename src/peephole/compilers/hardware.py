"""Machine code as a compiler decodes it."""

from __future__ import annotations

from dataclasses import dataclass

from peephole.errors import PeepholeError


class Undecodable(PeepholeError):
    """The code is not understood, or what decodes it is not installed; the text says which."""


class NoDecoder(Undecodable):
    """A compiler that decodes no machine code at all: what another one says of the code is worth more."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of a kernel."""

    offset: int
    """Bytes from the beginning of the code."""
    size: int
    op: str
    """`S_LOAD_B128`; empty when the instruction has no name."""
    text: str
    jump: int
    """Bytes from its end to where it jumps when it is a branch; 0 for the others."""
