"""Nodes as lines of text: one line a node, named where it is used more than once or does not fit into one line.

c3 = RANGE(weakint, c2, (0, AxisType.REDUCE))
ast = c1.index(c3*4+c10)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from peephole.replay.pool import Pool

INFIX: Final = {
    "ADD": "+", "MUL": "*", "SUB": "-", "CDIV": "//", "FLOORDIV": "//", "CMOD": "%", "FLOORMOD": "%", "CMPLT": "<",
    "CMPNE": "!=", "CMPEQ": "==", "AND": "&", "OR": "|", "XOR": "^", "SHL": "<<", "SHR": ">>", "FDIV": "/",
    "IDIV": "//", "MOD": "%",
}  # fmt: skip
LONG: Final = 60
LONGEST_ARG: Final = 80
_LEAVES: Final = frozenset(("PARAM", "BUFFER", "RANGE", "SPECIAL", "DEFINE_VAR", "SINK", "CALL", "STAGE", "STORE"))
"""These always get a line of their own."""
_MADE: Final = frozenset(("PARAM", "BUFFER", "RANGE", "SPECIAL", "STACK", "SINK"))
"""Written as calls: their first source is no object that something is done to."""
_DTYPED: Final = frozenset(("PARAM", "BUFFER", "RANGE", "CAST", "BITCAST", "SPECIAL"))


class Listing:
    """Names nodes in the order in which they are written; the same node has the same name in every text it makes."""

    def __init__(self, pool: Pool, uses: Counter[int]) -> None:
        self._pool = pool
        self._uses = uses
        self._names: dict[int, str] = {}
        self._inline: dict[int, str] = {}

    def name(self, node: int) -> str:
        """How other lines call this node."""
        inline = self._inline.get(node)
        if inline is not None:
            return inline
        found = self._names.get(node)
        if found is None:
            found = self._names[node] = f"c{len(self._names)}"
        return found

    def line(self, node: int) -> str | None:
        """The line of this node; None when it is written where it is used."""
        text = self.text(node)
        op = self._pool.op(node)
        if (
            node not in self._names
            and op not in _LEAVES
            and len(text) <= LONG
            and (self._uses[node] <= 1 or op == "CONST")
        ):
            self._inline[node] = text
            return None
        return f"{self.name(node)} = {text}"

    def text(self, node: int) -> str:
        """What the node is, in the names of its sources."""
        pool = self._pool
        op, dtype, arg, tag = pool.texts(node)
        names = [self.name(s) for s in pool.src[node]]
        if op == "CONST" and arg is not None and not names:
            text = arg
        elif op in INFIX and len(names) == 2 and arg is None:
            text = f"({names[0]}{INFIX[op]}{names[1]})"
        else:
            method = bool(names) and op not in _MADE
            rest = names[1:] if method else names
            if arg is not None:
                short = arg if len(arg) <= LONGEST_ARG else arg[:LONGEST_ARG] + "…"
                rest.append(" ".join(short.split()) if "\n" in short else short)  # a source's text: one line a node
            if op in _DTYPED and (arg is None or dtype not in arg):
                rest.insert(0, dtype.removeprefix("dtypes."))
            text = f"{names[0]}.{op.lower()}({', '.join(rest)})" if method else f"{op}({', '.join(rest)})"
        return text if tag is None else f"{text}.rtag({tag})"


def uses(pool: Pool, nodes: Iterable[int]) -> Counter[int]:
    """How often each node is a source of these."""
    count: Counter[int] = Counter()
    for node in nodes:
        count.update(pool.src[node])
    return count
