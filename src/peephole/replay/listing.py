"""Nodes as lines of text: one line a node, named where it is used more than once or does not fit into one line.

c3 = Mul(c1, c2)
ast = Add(c3, Neg(c3))

How a node is written is up to the compiler's rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from peephole.replay.pool import Pool

LONG: Final = 60


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
        rules = self._pool.rules
        short = node not in self._names and not rules.own_line(op) and len(text) <= LONG
        if short and (self._uses[node] <= 1 or rules.in_place(op)):
            self._inline[node] = text
            return None
        return f"{self.name(node)} = {text}"

    def text(self, node: int) -> str:
        """What the node is, in the names of its sources."""
        pool = self._pool
        return pool.rules.written(*pool.texts(node), [self.name(s) for s in pool.src[node]])


def uses(pool: Pool, nodes: Iterable[int]) -> Counter[int]:
    """How often each node is a source of these."""
    count: Counter[int] = Counter()
    for node in nodes:
        count.update(pool.src[node])
    return count
