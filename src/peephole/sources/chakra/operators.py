"""What an execution trace holds, however it was written: operators, what they read, write and wait for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from peephole.model.tables import NONE

MOST_TEXT: Final = 400
"""Characters of a value that are kept."""


class Tensor(NamedTuple):
    """A tensor that an operator was given or gave back. Numbers may be dealt out again when it is gone."""

    number: int
    storage: int
    dtype: str
    shape: str


@dataclass(slots=True)
class Operator:
    """One operator that ran."""

    number: int
    """What the trace calls it; those that began later have larger ones."""
    name: str
    parent: int = NONE
    """The operator that called it."""
    inputs: list[Any] = field(default_factory=list)
    """Tensors, lists with tensors in them, and texts of all other values."""
    outputs: list[Tensor] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    """Operators that it says it comes after, data first; empty where data flow is found by the tensors."""
    record: int = 0
    """Number by which a profile names it, 0 for none."""
    writes: bool = False
    """Whether it writes into what it was given."""
    sequence: int = NONE
    backward: bool = False
    facts: list[str] = field(default_factory=list)
    """What else is worth reading: a collective's kind and size, the file of a kernel."""
    start: int = NONE
    """Nanoseconds, where the trace has times; -1 when it has none."""
    dur: int = NONE
    lane: str = ""
    """The thread or stream that it ran on."""


@dataclass(slots=True)
class Trace:
    """The operators of one process."""

    operators: list[Operator] = field(default_factory=list)
    schema: str = ""
    process: int = NONE
    rank: int = NONE


def tensors(value: Any) -> list[Tensor]:
    """The tensors in an input."""
    if isinstance(value, Tensor):
        return [value]
    return [inner for one in value for inner in tensors(one)] if isinstance(value, list) else []
