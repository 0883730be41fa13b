"""What a match was about, in a few words: the node that it took, and what that reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from peephole.compilers.labels import CONSTANT, NodeText, cut, look_of
from peephole.compilers.traces import trace_of
from peephole.query.rewrites.graph_labels import compiler_of_step

if TYPE_CHECKING:
    from peephole.compilers.protocol import Compiler
    from peephole.replay.nodes import NodeTable
    from peephole.store.capture import Capture

MOST_SOURCES = 4
LONGEST = 110


def match_words(capture: Capture, step: int, nodes: Sequence[int]) -> list[str]:
    """`ADD(MUL(RANGE 0, 4), RANGE 1)` for each of these nodes, two levels deep; empty for one that is not known."""
    table = trace_of(capture).table
    compiler = compiler_of_step(capture, step)
    kept: dict[tuple[int, int], str] = {}
    return [_words(table, compiler, row, 2, kept) if row >= 0 else "" for row in table.rows(nodes).tolist()]


def _words(table: NodeTable, compiler: Compiler, row: int, depth: int, kept: dict[tuple[int, int], str]) -> str:
    known = kept.get((row, depth))
    if known is not None:
        return known
    op, dtype, arg, _ = table.texts(table.own(row))
    look = look_of(compiler, NodeText(op, dtype, arg or ""))
    own = f"{look.name} {look.arg}".rstrip()
    if look.fold & CONSTANT and look.arg:
        own = look.arg
    sources = table.sources(row)
    if sources and depth > 0:
        inner = [_words(table, compiler, source, depth - 1, kept) for source in sources[:MOST_SOURCES]]
        more = ["…"] if len(sources) > MOST_SOURCES else []
        own = f"{own}({', '.join(inner + more)})"
    kept[row, depth] = found = cut(own, LONGEST)
    return found
