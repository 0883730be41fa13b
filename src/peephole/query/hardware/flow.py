"""The control-flow graph of a kernel: straight runs of instructions and the ways between them."""

from __future__ import annotations

from dataclasses import dataclass

from peephole.query.hardware.program import Program

TAKEN, NOT_TAKEN, ALWAYS = "taken", "not taken", "always"


@dataclass(frozen=True, slots=True)
class Edge:
    """A way from the end of one block to the begin of another."""

    source: int
    target: int
    kind: str


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions `first` to `last`, both included, of which only the last may branch."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Flow:
    """Blocks in the order of their addresses, and edges between their numbers."""

    blocks: tuple[Block, ...]
    edges: tuple[Edge, ...]


_ENDS = ("S_ENDPGM", "S_SETPC_B64", "S_TRAP")


def control_flow(program: Program) -> Flow:
    """The graph of a program; a block ends at a branch, at an end of the program, or where another block begins."""
    n = len(program)
    if n == 0:
        return Flow((), ())
    leaders = {0}
    for i in range(n):
        if program.branches[i]:
            if program.target[i] >= 0:
                leaders.add(int(program.target[i]))
            leaders.add(i + 1)
        elif program.op[i].startswith(_ENDS):
            leaders.add(i + 1)
    begins = sorted(leader for leader in leaders if leader < n)
    blocks = tuple(Block(first, (begins[k + 1] if k + 1 < len(begins) else n) - 1) for k, first in enumerate(begins))
    number = {block.first: k for k, block in enumerate(blocks)}
    edges: list[Edge] = []
    for k, block in enumerate(blocks):
        last, after = block.last, block.last + 1
        if program.branches[last]:
            only = program.op[last] == "S_BRANCH"
            if program.target[last] >= 0:
                edges.append(Edge(k, number[int(program.target[last])], ALWAYS if only else TAKEN))
            if not only and after in number:
                edges.append(Edge(k, number[after], NOT_TAKEN))
        elif not program.op[last].startswith(_ENDS) and after in number:
            edges.append(Edge(k, number[after], ALWAYS))
    return Flow(blocks, tuple(edges))
