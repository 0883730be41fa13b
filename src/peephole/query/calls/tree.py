"""Call trees: functions under those that called them, with total and self time; the same for every output."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.plain_names import plain
from peephole.query.calls.cut import DEEPEST, cut_tracks
from peephole.query.calls.functions import Functions
from peephole.query.calls.node_table import NodeTable, Sums
from peephole.query.calls.scan import scan_nodes
from peephole.query.calls.titles import Titles, track_titles
from peephole.query.capture.grammar import parse
from peephole.store.capture import Capture
from peephole.store.tables.lanes import runs

Ints = NDArray[np.int64]
_INVERTED: Final = 20_000_000
"""Callers of callers that an inverted tree is made of; further ones are left out."""


@dataclass(frozen=True, slots=True)
class CallTree:
    """Nodes, callers before those that they call; the first `len(titles)` stand for the tracks themselves.

    `total` of a node is the length of its slices, that of a track the time in which anything ran on it. Of recursion
    each level is a node of its own; `recursive` says of which a caller is the same function.
    """

    titles: tuple[str, ...]
    """Names of tracks; those of one name are one: the same thread of eight processes."""
    functions: list[tuple[str, str]]
    """Name and place, by number."""
    parent: Ints
    function: Ints
    depth: Ints
    """0 for a track, 1 for what nothing called."""
    sums: Sums
    inverted: bool = False
    left_out: int = 0
    """Of an inverted tree: callers further up than is shown."""
    outer: NDArray[np.bool_] | None = None
    """Of a searched tree: which nodes are there only because they call what was looked for."""
    cut: frozenset[int] = frozenset()
    """Titles of tracks whose calls are deeper than a tree can be: what is deeper stands at its last level."""
    title: Ints = field(init=False)
    """Number of the track."""

    def __post_init__(self) -> None:
        title = np.arange(len(self.parent))
        for nodes in self.levels():
            title[nodes] = title[self.parent[nodes]]
        object.__setattr__(self, "title", title)

    def __len__(self) -> int:
        return len(self.parent)

    def name(self, node: int) -> str:
        """The name of a function; of a track, its own."""
        number = int(self.function[node])
        return self.titles[node] if number < 0 else self.functions[number][0]

    def place(self, node: int) -> str:
        """Where the function is, as far as its name or the tree tells; empty when unknown."""
        number = int(self.function[node])
        return "" if number < 0 else self.functions[number][1]

    def recursive(self) -> NDArray[np.bool_]:
        """Which nodes are called, however indirectly, by their own function."""
        found = np.zeros(len(self), np.bool_)
        above, own = self.parent.copy(), np.arange(len(self))
        while len(own):
            keep = (above[own] >= len(self.titles)) & ~found[own]
            own = own[keep]
            found[own] = self.function[above[own]] == self.function[own]
            above[own] = self.parent[above[own]]
        return found

    def depth_cut(self, title: int) -> int | None:
        """The depth at which the tree of a track ends though calls, or callers, do not; 0 is what nothing called."""
        ends = [DEEPEST] if title in self.cut else []
        last = int(self.depth.max())
        if self.left_out and int(self.depth[self.title == title].max()) == last:
            ends.append(last - 1)
        return min(ends, default=None)

    def levels(self) -> list[Ints]:
        """The nodes that have a caller, by depth."""
        order = np.argsort(self.depth, kind="stable")[len(self.titles) :]
        bounds = runs(self.depth[order])
        return [order[a:b] for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)]

    def order(self) -> Ints:
        """All nodes as a tree is read: each before those that it calls, the longest of them first."""
        size, roots = len(self), len(self.titles)
        below = np.ones(size, np.int64)
        levels = self.levels()
        for nodes in reversed(levels):
            np.add.at(below, self.parent[nodes], below[nodes])
        place = np.zeros(size, np.int64)
        place[:roots] = np.cumsum(below[:roots]) - below[:roots]
        for nodes in levels:
            nodes = nodes[np.lexsort((nodes, -self.weight()[nodes], self.parent[nodes]))]
            parent, before = self.parent[nodes], np.cumsum(below[nodes]) - below[nodes]
            first = np.flatnonzero(np.append(True, parent[1:] != parent[:-1]))
            group = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(nodes))))
            place[nodes] = place[parent] + 1 + before - before[first][group]
        return np.argsort(place)

    def weight(self) -> Ints:
        """What nodes are compared by: time in all, of an inverted tree the function's own time."""
        return self.sums.self if self.inverted else self.sums.total

    def width(self) -> Ints:
        """How wide a flame graph draws each node: its own time and that of all below it, so that nothing overlaps."""
        if self.inverted:
            return self.sums.self
        width = self.sums.self.copy()
        for nodes in reversed(self.levels()):
            np.add.at(width, self.parent[nodes], width[nodes])
        return width

    def pick(self, keep: NDArray[np.bool_], sums: Sums | None = None) -> CallTree:
        """The tree of some nodes, with all of their callers, and of all tracks."""
        keep = keep.copy()
        keep[: len(self.titles)] = True
        number = np.cumsum(keep) - 1
        parent = self.parent[keep]
        return replace(
            self,
            parent=np.where(parent >= 0, number[parent], -1),
            function=self.function[keep],
            depth=self.depth[keep],
            sums=(sums or self.sums).pick(keep),
            outer=None if self.outer is None else self.outer[keep],
        )


def call_tree(
    capture: Capture,
    tracks: Collection[int] | None = None,
    interval: tuple[int, int] | None = None,
    by_place: bool = False,
    together: str | None = None,
    functions: Functions | None = None,
    titled: Titles | None = None,
) -> CallTree:
    """The calls on these tracks, or on all. Of an interval, slices count with the part that lies in it.

    `together`: one tree of that title for all tracks, instead of one for each name of a track, or for each of `titled`.
    `functions`: what is one function, when not what has one name.
    """
    known = titled or track_titles(capture)
    ids, titles, title_of = known.ids, known.titles, known.title_of
    if together is not None:
        titles, title_of = [together], np.zeros_like(title_of)
    functions = functions or Functions(capture, by_place)
    table = NodeTable(len(titles), functions.limit)
    scan_nodes(capture, table, lambda track: title_of[np.searchsorted(ids, track)], functions.numbers, tracks, interval)
    parent, function, depth, sums = table.result()
    deep = cut_tracks(capture, capture.lanes() if interval is None else capture.lanes_in(interval[0], max(interval)))
    deep = deep if tracks is None else deep[np.isin(deep, np.fromiter(tracks, np.int64))]
    cut = frozenset(title_of[np.searchsorted(ids, deep)].tolist())
    tree = CallTree(tuple(titles), functions.known(), parent, function, depth, sums, cut=cut)
    roots = len(titles)
    np.add.at(sums.total, tree.title[roots:], sums.self[roots:])
    np.add.at(sums.count, tree.title[roots:], sums.count[roots:])
    return tree


def inverted(tree: CallTree) -> CallTree:
    """Functions by their own time, and under each those that called it, with their part of that time.

    A node's count, total and self are those of the function at the top of its branch when called that way; its total
    counts recursion once.
    """
    roots = len(tree.titles)
    table = NodeTable(roots, max(1, len(tree.functions)))
    nodes = np.arange(roots, len(tree))
    if tree.outer is not None:
        nodes = nodes[~tree.outer[nodes]]  # these have no time of their own that was looked for
    sums = tree.sums.pick(nodes)
    sums.total[tree.recursive()[nodes]] = 0
    above, at, budget = nodes, tree.title[nodes], _INVERTED
    while len(nodes) and budget > 0:
        at = table.merge(at, tree.function[above], sums)
        above, budget = tree.parent[above], budget - len(nodes)
        keep = above >= roots
        nodes, above, at, sums = nodes[keep], above[keep], at[keep], sums.pick(keep)
    parent, function, depth, found = table.result()
    found.count[:roots] = tree.sums.count[:roots]
    found.total[:roots] = found.self[:roots] = tree.sums.total[:roots]
    return CallTree(tree.titles, tree.functions, parent, function, depth, found, True, len(nodes), cut=tree.cut)


@dataclass(frozen=True, slots=True)
class FunctionSums:
    """What each function took on each track, over all places that call it."""

    title: Ints
    function: Ints
    sums: Sums
    """`total` counts recursion once: a slice within one of its own function adds nothing."""
    length: Ints
    """ns of all slices, those within their like too"""

    def __len__(self) -> int:
        return len(self.title)


def by_function(tree: CallTree) -> FunctionSums:
    """The functions of a call tree."""
    roots = len(tree.titles)
    table = NodeTable(roots, max(1, len(tree.functions)))
    nodes = np.arange(roots, len(tree))
    sums = tree.sums.pick(nodes)
    sums.total[tree.recursive()[nodes]] = 0
    place = table.merge(tree.title[nodes], tree.function[nodes], sums)
    title, function, _, found = table.result()
    length = np.zeros(len(title), np.int64)
    np.add.at(length, place, tree.sums.total[nodes])
    return FunctionSums(title[roots:], function[roots:], found.pick(slice(roots, None)), length[roots:])


def searched(tree: CallTree, text: str) -> CallTree:
    """What calls functions that a query holds for, and what they call; callers count with that part only.

    PeepholeError when a pattern of the query (`query/capture/grammar.py`) is not right.
    """
    hits = parse(text).mask([plain(name) for name, _ in tree.functions] or [""], {})
    roots = len(tree.titles)
    hit = np.zeros(len(tree), np.bool_)
    hit[roots:] = hits[tree.function[roots:]]
    levels = tree.levels()
    below = hit.copy()
    for nodes in levels:
        below[nodes] |= below[tree.parent[nodes]]
    keep, sums = below.copy(), tree.sums.pick(np.arange(len(tree)))
    outer = ~below
    sums.total[outer] = sums.self[outer] = 0
    for nodes in reversed(levels):
        np.logical_or.at(keep, tree.parent[nodes], keep[nodes])
        onto = nodes[outer[tree.parent[nodes]]]
        np.add.at(sums.total, tree.parent[onto], sums.total[onto])
    before = np.zeros(len(tree), np.bool_) if tree.outer is None else tree.outer
    return replace(tree, outer=outer | before).pick(keep, sums)
