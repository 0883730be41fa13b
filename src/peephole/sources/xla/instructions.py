"""What a dump of HLO consists of, however it was written: computations, their instructions, where those came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

BODY: Final = "\0"
"""In front of a computation's name where names of instructions stand too."""


class Frame(NamedTuple):
    """A call on the stack that an instruction was traced on; `parent` is the number of the one further out, 0: none."""

    file: str
    function: str
    line: int
    parent: int


class Instruction:
    """One instruction, shared by all dumps in which it is written the same way."""

    __slots__ = ("arg", "bodies", "dtype", "frame", "name", "op", "op_name", "own", "place", "reads", "shape", "tag")

    def __init__(
        self, name: str, op: str, dtype: str, shape: str, arg: str, root: bool, reads: tuple[str, ...]
    ) -> None:
        self.name, self.op, self.dtype, self.shape, self.arg = name, op, dtype, shape, arg
        self.tag = "ROOT" if root else None
        self.reads = reads
        """Names of its operands, then, marked with BODY, of the computations that it calls."""
        self.bodies: tuple[str, ...] = ()
        """The names of those computations."""
        self.op_name, self.frame, self.place = "", 0, ""
        """Where it came from: the name that the program's framework gave it, a frame's number, or `file:line`."""
        self.own = -1
        """Number of its fields among those of its module, once it has one."""


@dataclass(slots=True)
class Computation:
    """A computation: its instructions in order, operands before users."""

    name: str
    entry: bool
    instructions: list[Instruction]


@dataclass(slots=True)
class Dump:
    """The state of a module: its computations, those that are called first."""

    name: str
    header: str
    """What the module says about itself: layouts, aliases, whether it is scheduled."""
    computations: list[Computation]
    frames: dict[int, Frame] = field(default_factory=dict)
    cut: bool = False
    """Whether the file ends before the module does."""
