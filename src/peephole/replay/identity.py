"""Which node of one graph is the same box in the next.

Nodes are immutable, so one replacement gives every user of it, and their users up to the root, a new node. A box is
named by the earliest node of the same op that became it: a node of the graph that went in, or of a replacement.

Where a pass can only be stepped through, the old and the new graph are walked side by side from their roots instead,
and a node that has come takes the identity of the one in its place, if that one has gone and has the same op.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from peephole.replay.pool import Pool
from peephole.replay.substitute import Outcome

INSIDE: Final = 1 << 40
"""Added to the number of a node inside a call's body whose box is what the same node became outside."""


def identities(pool: Pool, outcome: Outcome, nodes: Sequence[int]) -> dict[int, int]:
    """The box of every node of a graph that one substitution made."""
    own, radix, value = pool.own, pool.table.op_radix, outcome.value
    found: dict[int, int] = {}
    for node, holder in chain(zip(outcome.visited, outcome.visited, strict=True), outcome.chased):
        new = value.get(holder)
        if new is None:
            continue
        best = found.get(new)
        if (best is None or node < best) and (node == new or own[node] // radix == own[new] // radix):
            found[new] = node
    for node in nodes:
        # below what no match has touched nothing was visited: it is what it was
        if value.get(node, node) == node:
            best = found.get(node)
            if best is None or node < best:
                found[node] = node
    taken = {found[node] for node in nodes if node in found}
    # the rest stands inside the body of a call, where it stays, and was replaced elsewhere
    return {node: found[node] if node in found else node + INSIDE * (node in taken) for node in nodes}


class Reached:
    """What can be reached while the ways change: costs what comes and goes, not what stays."""

    def __init__(self) -> None:
        self._count: dict[int, int] = {}
        """How many ways lead to each node."""

    def __contains__(self, node: int) -> bool:
        return node in self._count

    def __iter__(self) -> Iterator[int]:
        return iter(self._count)

    def enter(self, nodes: Iterable[int], ways: Callable[[int], Iterable[int]]) -> list[int]:
        """Adds a way to each of these; gives the nodes that came, of which `ways` says where one gets from there."""
        came: list[int] = []
        count, stack = self._count, list(nodes)
        while stack:
            node = stack.pop()
            if node in count:
                count[node] += 1
            else:
                count[node] = 1
                came.append(node)
                stack.extend(ways(node))
        return came

    def leave(self, nodes: Iterable[int], ways: Callable[[int], Iterable[int]]) -> list[int]:
        """Takes a way to each of these away; gives the nodes that went."""
        went: list[int] = []
        count, stack = self._count, list(nodes)
        while stack:
            node = stack.pop()
            left = count[node] - 1
            if left:
                count[node] = left
            else:
                del count[node]
                went.append(node)
                stack.extend(ways(node))
        return went


class Presence:
    """The nodes of one graph, kept while the root moves on."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._reached = Reached()

    def __contains__(self, node: int) -> bool:
        return node in self._reached

    def move(self, old: int | None, new: int) -> tuple[list[int], list[int]]:
        """Makes `new` the root; gives the nodes that came, users first, and those that went."""
        if old == new:
            return [], []
        sources = self._pool.src.__getitem__
        came = self._reached.enter([new], sources)
        return came, [] if old is None else self._reached.leave([old], sources)


class Identities:
    """The identity of every node in every graph of a step, worked out match by match."""

    def __init__(self, pool: Pool, root: int) -> None:
        self._pool = pool
        self._presence = Presence(pool)
        self._root = root
        self._match = 0
        self._latest: dict[int, int] = {}
        self._history: dict[int, list[tuple[int, int]]] = {}
        """Nodes that came back as another box: (match, identity), ascending."""
        came, _ = self._presence.move(None, root)
        # the same as for a pass that need not be stepped through
        self._latest.update((node, node) for node in came)
        self.count = len(pool)
        self.born: dict[int, int] = {}
        """The match that made a box which was not in the graph that went in."""

    def advance(self, root: int) -> None:
        """Takes the graph after the next match."""
        self._match += 1
        if root == self._root:
            return
        came, went = self._presence.move(self._root, root)
        fresh, gone = set(came), set(went)
        claimed: dict[int, int] = {}
        taken: set[int] = set()
        for old, new in self._pairs(self._root, root, fresh):
            if new not in claimed and old in gone and old not in taken:
                claimed[new] = self._latest[old]
                taken.add(old)
        self._root = root
        for node in came:
            identity = claimed.get(node)
            if identity is None:
                identity, self.count = self.count, self.count + 1
                self.born[identity] = self._match
            self._assign(node, identity)

    def of(self, node: int, match: int) -> int:
        """The identity that the node had in the graph after that match."""
        history = self._history.get(node)
        if history is None:
            return self._latest[node]
        return history[bisect_right(history, match, key=lambda pair: pair[0]) - 1][1]

    def _assign(self, node: int, identity: int) -> None:
        known = self._latest.get(node)
        if known is not None and known != identity:
            self._history.setdefault(node, [(0, known)]).append((self._match, identity))
        self._latest[node] = identity

    def _pairs(self, old: int, new: int, fresh: set[int]) -> Iterator[tuple[int, int]]:
        """Nodes that stand in the same place and have the same op, the second one new."""
        pool, radix = self._pool, self._pool.table.op_radix
        seen: set[tuple[int, int]] = set()
        stack = [(old, new)]
        while stack:
            pair = stack.pop()
            o, n = pair
            if o == n or n not in fresh or pair in seen or pool.own[o] // radix != pool.own[n] // radix:
                continue
            seen.add(pair)
            yield pair
            stack.extend(aligned(pool.src[o], pool.src[n]))


def aligned(old: Sequence[int], new: Sequence[int]) -> list[tuple[int, int]]:
    """Sources in the same place that differ; where their number differs, equal ones at both ends are left out first."""
    if len(old) == len(new):
        return [(o, n) for o, n in zip(old, new, strict=True) if o != n]
    head = 0
    short = min(len(old), len(new))
    while head < short and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < short - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return list(zip(old[head : len(old) - tail], new[head : len(new) - tail], strict=False))
