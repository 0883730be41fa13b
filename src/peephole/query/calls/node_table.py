"""The nodes of call trees while they are made: a function under the functions that called it, with its sums."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
_MOST: Final = int(np.iinfo(np.int64).max)
_FEW: Final = 4
"""Slices up to which each is added by itself: of a stack of 30,000 calls each level has one."""
_LONGEST: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Sums:
    """What the slices of each node sum up to."""

    count: Ints
    total: Ints
    """ns"""
    self: Ints
    """ns in which none of what it called ran"""
    shortest: Ints
    longest: Ints
    row: Ints
    """The longest slice's row, -1 for none."""
    context: Ints
    """The last compilation that produced one, -1 for none."""

    def __len__(self_) -> int:
        return len(self_.count)

    def pick(self_, some: NDArray[Any] | slice) -> Sums:
        """A copy of some of them."""
        return Sums(*(getattr(self_, one.name)[some].copy() for one in fields(Sums)))


def no_sums(size: int) -> Sums:
    """Sums of nothing."""
    count, total, own = (np.zeros(size, np.int64) for _ in range(3))
    longest, row, context = (np.full(size, -1, np.int64) for _ in range(3))
    return Sums(count, total, own, np.full(size, _MOST), longest, row, context)


class NodeTable:
    """Nodes by number, callers before those they call. The first ones, without a caller, stand for tracks."""

    def __init__(self, roots: int, functions: int) -> None:
        self.functions = functions
        self.size = roots
        self.parent, self.function = np.full(roots, -1, np.int64), np.full(roots, -1, np.int64)
        self.depth = np.zeros(roots, np.int64)
        self.sums = no_sums(roots)
        # ascending; the last one is larger than any
        self._keys, self._nodes = np.array([_MOST]), np.array([-1], np.int32)
        self._recent: dict[int, int] = {}
        """Nodes by key that are not among these yet: making room among many for each would take most of the time."""

    def add(
        self,
        parent: NDArray[np.int32],
        function: NDArray[np.int32],
        dur: Ints,
        row: Ints,
        context: Ints | None,
        nested: bool,
    ) -> NDArray[np.int32]:
        """Adds slices under these callers and gives their nodes; their time is theirs until others take of it.

        `nested`: each lies within a slice of its caller, and takes its time from that.
        """
        if len(parent) <= _FEW:
            contexts = [-1] * len(parent) if context is None else context.tolist()
            columns = (parent.tolist(), function.tolist(), dur.tolist(), row.tolist(), contexts)
            return np.array([self._add_one(*one, nested) for one in zip(*columns, strict=True)], np.int32)
        keys, place = distinct(parent.astype(np.int64) * self.functions + function)
        nodes = self._numbered(keys)
        size = len(nodes)
        # float64 holds whole numbers up to 104 days of ns, more than a part of a trace can sum to
        total = np.bincount(place, dur, size).clip(max=float(_LONGEST)).astype(np.int64)
        shortest, longest, rows = np.full(size, _MOST), np.full(size, -1, np.int64), np.empty(size, np.int64)
        np.minimum.at(shortest, place, dur)
        np.maximum.at(longest, place, dur)
        most = np.flatnonzero(dur == longest[place])[::-1]
        rows[place[most]] = row[most]
        linked = np.full(size, -1, np.int64)
        if context is not None:
            np.maximum.at(linked, place, context)
        self._join(nodes, Sums(np.bincount(place, minlength=size), total, total, shortest, longest, rows, linked))
        if nested:
            self.take(self.parent[nodes], total)
        node: NDArray[np.int32] = nodes[place]
        return node

    def _add_one(self, parent: int, function: int, dur: int, row: int, context: int, nested: bool) -> int:
        key = parent * self.functions + function
        node = self._recent.get(key, -1)
        if node < 0:
            at = int(np.searchsorted(self._keys, key))
            if self._keys[at] == key:
                node = int(self._nodes[at])
            else:
                node = self._recent[key] = self.size
                self._grow(1)
                self.parent[node], self.function[node], self.depth[node] = parent, function, self.depth[parent] + 1
        sums, time = self.sums, min(dur, _LONGEST)
        sums.count[node] += 1
        sums.total[node] += time
        sums.self[node] += time
        sums.shortest[node] = min(dur, sums.shortest[node])
        if dur > sums.longest[node]:
            sums.longest[node], sums.row[node] = dur, row
        sums.context[node] = max(context, sums.context[node])
        if nested:
            sums.self[parent] -= time
        return node

    def merge(self, parent: Ints, function: Ints, sums: Sums) -> Ints:
        """Adds sums of functions under these callers and gives their nodes."""
        keys, place = distinct(parent * self.functions + function)
        nodes, found = self._numbered(keys), no_sums(len(keys))
        for own, more in ((found.count, sums.count), (found.total, sums.total), (found.self, sums.self)):
            np.add.at(own, place, more)
        np.minimum.at(found.shortest, place, sums.shortest)
        np.maximum.at(found.longest, place, sums.longest)
        np.maximum.at(found.context, place, sums.context)
        most = np.flatnonzero(sums.longest == found.longest[place])[::-1]
        found.row[place[most]] = sums.row[most]
        self._join(nodes, found)
        node: Ints = nodes[place].astype(np.int64)
        return node

    def take(self, node: NDArray[Any], dur: Ints) -> None:
        """Takes time away that others have of it."""
        np.subtract.at(self.sums.self, node, dur)

    def result(self) -> tuple[Ints, Ints, Ints, Sums]:
        """Caller, function, depth and sums of every node."""
        own = slice(self.size)
        return self.parent[own], self.function[own], self.depth[own], self.sums.pick(own)

    def _join(self, nodes: NDArray[np.int32], more: Sums) -> None:
        """Adds to nodes that are all different."""
        sums = self.sums
        sums.count[nodes] += more.count
        sums.total[nodes] += more.total
        sums.self[nodes] += more.self
        sums.shortest[nodes] = np.minimum(sums.shortest[nodes], more.shortest)
        longer = more.longest > sums.longest[nodes]
        sums.longest[nodes[longer]], sums.row[nodes[longer]] = more.longest[longer], more.row[longer]
        sums.context[nodes] = np.maximum(sums.context[nodes], more.context)

    def _numbered(self, keys: Ints) -> NDArray[np.int32]:
        """The nodes of these pairs of caller and function, all different; new ones are made."""
        if self._recent:
            recent = np.array(sorted(self._recent.items()), np.int64)
            at = np.searchsorted(self._keys, recent[:, 0])
            self._keys, self._nodes = np.insert(self._keys, at, recent[:, 0]), np.insert(self._nodes, at, recent[:, 1])
            self._recent.clear()
        at = np.searchsorted(self._keys, keys)
        there = self._keys[np.minimum(at, len(self._keys) - 1)] == keys
        found = np.empty(len(keys), np.int32)
        found[there] = self._nodes[at[there]]
        new = ~there
        if new.any():
            first, more = self.size, keys[new]
            self._grow(len(more))
            found[new] = np.arange(first, self.size)
            parent, function = np.divmod(more, self.functions)
            own = slice(first, self.size)
            self.parent[own], self.function[own], self.depth[own] = parent, function, self.depth[parent] + 1
            self._keys, self._nodes = np.insert(self._keys, at[new], more), np.insert(self._nodes, at[new], found[new])
        return found

    def _grow(self, by: int) -> None:
        self.size += by
        have = len(self.parent)
        if self.size > have:
            more = max(self.size, 2 * have) - have
            space = np.zeros(more, np.int64)
            self.parent, self.function, self.depth = (
                np.concatenate([column, space]) for column in (self.parent, self.function, self.depth)
            )
            blank = no_sums(more)
            names = [one.name for one in fields(Sums)]
            self.sums = Sums(*(np.concatenate([getattr(self.sums, name), getattr(blank, name)]) for name in names))


def distinct(keys: Ints) -> tuple[Ints, NDArray[Any]]:
    """The keys that occur, ascending, and for each row the place of its own among them."""
    if not len(keys):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    low, high = int(keys.min()), int(keys.max())
    if high - low > 8 * len(keys) + (1 << 16):
        found, place = np.unique(keys, return_inverse=True)
        return found, place
    # dense: marking costs a tenth of sorting
    own = keys - low
    there = np.zeros(high - low + 1, np.bool_)
    there[own] = True
    found = np.flatnonzero(there)
    places = np.empty(len(there), np.int32)
    places[found] = np.arange(len(found), dtype=np.int32)
    return found + low, places[own]
