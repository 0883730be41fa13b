"""Where instructions came from, as their metadata says it: `jit(f)/mul@prog.py:9 norm < prog.py:24 block`.

That is the operation of the program, and the calls that it was traced on, innermost first; a function may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from peephole.compilers.answers import Operation

if TYPE_CHECKING:
    from peephole.replay.trace import RewriteTrace

_CALL: Final = re.compile(r"(.*):(-?\d+)(?: (.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Call:
    """A place in the program."""

    file: str
    line: int
    function: str

    @property
    def place(self) -> str:
        """`file:line`."""
        return f"{self.file}:{self.line}"


def parse(metadata: str | None) -> tuple[str, list[Call]]:
    """The operation of the program that an instruction is of, and the calls that it was traced on, innermost first."""
    name, _, stack = (metadata or "").partition("@")
    calls = []
    for part in stack.split(" < ") if stack else ():
        if found := _CALL.fullmatch(part):
            calls.append(Call(found[1], int(found[2]), found[3] or ""))
    return name, calls


def operations(trace: RewriteTrace, rows: Iterable[int], dull: Container[str]) -> list[Operation]:
    """The operations of the program that these nodes came from, in order, each with its line; `dull` opcodes are left
    out."""
    table, nodes = trace.table, trace.instructions()
    found: dict[tuple[str, Call | None], list[int]] = {}
    for row in rows:
        op = table.texts(table.own(row))[0]
        metadata = nodes.metadata(row)
        if op in dull or metadata is None:
            continue
        name, calls = parse(metadata)
        call = Call(calls[0].file, calls[0].line, "") if calls else None
        found.setdefault((name or op, call), []).append(int(table.ids[row]))
    return [
        Operation(name, call.place if call else None, trace.places.line(call.file, call.line) if call else None, ids)
        for (name, call), ids in found.items()
    ]
