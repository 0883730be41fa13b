"""A call tree as a page shows it: one thread or all of them, a part of it large, what is too small to see folded."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.plain_names import plain
from peephole.query.calls.functions import places_of
from peephole.query.calls.tree import CallTree, by_function
from peephole.query.timeline.interval import part_in
from peephole.query.timeline.top_table import Run
from peephole.query.timeline.track_groups import HOST
from peephole.query.timeline.tracks import TimelineTrack
from peephole.store.capture import Capture

Ints = NDArray[np.int64]
NODES: Final = 20_000
"""Nodes that are given at most; the smallest are folded."""
_LOCATED: Final = 400
"""Functions, most time first, whose slices are asked for their place."""
_PART: Final = 1 << 16
_LITTLE: Final = 10
"""A thread with less than this part of the most slices is not the one to begin with."""


def call_threads(rows: Sequence[TimelineTrack]) -> list[TimelineTrack]:
    """The tracks that have a call tree: those on which slices nest and the host's; if there are none, all."""
    used = [row for row in rows if row.depths]
    found = [row for row in used if row.group == HOST or len(row.depths) > 1]
    return found or used


def first_thread(threads: Sequence[TimelineTrack]) -> TimelineTrack:
    """The thread to begin with: the first on which calls nest, as the program's own stands before those that help it,
    unless it has little beside the one with most slices."""
    nested = [row for row in threads if len(row.depths) > 1] or threads
    most = max(row.slices for row in nested)
    return next(row for row in nested if row.slices * _LITTLE >= most)


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """A function over all places that call it."""

    name: str
    place: str
    number: int
    """Of its name in `Capture.names()`, -1 for none."""
    total: int
    self: int
    count: int


@dataclass(frozen=True, slots=True)
class CallsView:
    """Nodes as a tree is read, the first one at the top of it; `function` counts in `functions`, -1 is the thread."""

    depth: Ints
    function: Ints
    count: Ints
    total: Ints
    self: Ints
    width: Ints
    row: Ints
    context: Ints
    folded: Ints
    """Nodes below that are too small to be given."""
    functions: tuple[FunctionFacts, ...]
    path: tuple[tuple[int, int], ...]
    """Callers of the top: function and total, the outermost first."""
    busy: int
    """ns in which anything ran"""
    slices: int
    known: int
    """Functions of the whole thread."""
    found: bool
    """Whether the part that was asked for is there; else the whole tree is given."""


def calls_view(capture: Capture, tree: CallTree, focus: Sequence[str] = (), most: int = NODES) -> CallsView:
    """The part of a tree of one title that begins with the functions of these names, at most so many nodes of it."""
    order = tree.order()
    order = order[tree.title[order] == 0]
    depth, width = tree.depth[order], tree.width()[order]
    at, path = 0, [0]
    for name in focus:
        past = _past(depth, at)
        inner = np.flatnonzero(depth[at + 1 : past] == depth[at] + 1) + at + 1
        same = [int(i) for i in inner.tolist() if plain(tree.name(int(order[i]))) == name]
        if not same:
            at, path = 0, [0]
            break
        at = same[0]
        path.append(at)
    own = np.arange(at, _past(depth, at))
    kept = own
    if len(own) > most:
        least = np.partition(width[own], len(own) - most)[len(own) - most]
        keep = width[own] > least
        keep[0] = True
        kept = own[keep]
    functions, facts = _facts(capture, tree, order[np.append(kept, path)])
    nodes, sums = order[kept], tree.sums
    return CallsView(
        depth[kept] - depth[at],
        functions[: len(kept)],
        sums.count[nodes],
        sums.total[nodes],
        sums.self[nodes],
        width[kept],
        sums.row[nodes],
        sums.context[nodes],
        _folded(depth, own, kept),
        facts,
        tuple(
            (int(number), int(sums.total[order[place]]))
            for number, place in zip(functions[len(kept) :].tolist()[:-1], path[:-1], strict=True)
        ),
        int(sums.total[0]),
        int(sums.count[0]),
        len(set(tree.function[1:].tolist())),
        len(path) == len(focus) + 1,
    )


def _past(depth: Ints, at: int) -> int:
    """The end of what stands below a place of a tree as it is read."""
    below = np.flatnonzero(depth[at + 1 :] <= depth[at])
    return at + 1 + int(below[0]) if len(below) else len(depth)


def _folded(depth: Ints, own: Ints, kept: Ints) -> Ints:
    """For each that is kept how many of those that are not have it as the nearest one above."""
    missing = np.ones(len(own), np.bool_)
    missing[kept - own[0]] = False
    found = np.zeros(len(kept), np.int64)
    if missing.any():
        # what stands behind a kept one and before the next is below it or below one of those above it
        place = np.cumsum(~missing) - 1
        stack: list[int] = []
        nearest = np.zeros(len(own), np.int64)
        for at in range(len(own)):
            while stack and depth[own[stack[-1]]] >= depth[own[at]]:
                stack.pop()
            nearest[at] = place[stack[-1]] if stack else 0
            if not missing[at]:
                stack.append(at)
        np.add.at(found, nearest[missing], 1)
    return found


def _facts(capture: Capture, tree: CallTree, nodes: Ints) -> tuple[Ints, tuple[FunctionFacts, ...]]:
    """The functions of these nodes, numbered anew, and what is known of each."""
    used = sorted(set(tree.function[nodes].tolist()) - {-1})
    number = np.full(len(tree.functions) + 1, -1, np.int64)
    number[used] = np.arange(len(used))
    flat = by_function(tree) if not tree.inverted else None
    rows: dict[int, int] = {}
    figures: dict[int, tuple[int, int, int]] = {}
    if flat is not None:
        columns = (flat.function, flat.sums.row, flat.sums.total, flat.sums.self, flat.sums.count)
        order = np.argsort(-flat.sums.total, kind="stable")
        for function, row, *own in zip(*(column[order].tolist() for column in columns), strict=True):
            rows[function], figures[function] = row, (own[0], own[1], own[2])
    else:
        for node in np.flatnonzero(tree.depth == 1).tolist():
            function = int(tree.function[node])
            rows[function] = int(tree.sums.row[node])
            figures[function] = (int(tree.sums.total[node]), int(tree.sums.self[node]), int(tree.sums.count[node]))
    known = set(used)
    asked = [row for function, row in rows.items() if function in known and not tree.functions[function][1]]
    places = places_of(capture, asked[:_LOCATED])
    names = {name: at for at, name in enumerate(capture.names())}
    facts = []
    for function in used:
        name, place = tree.functions[function]
        place = place or places.get(rows.get(function, -1), "")
        facts.append(FunctionFacts(name, place, names.get(name, -1), *figures.get(function, (0, 0, 0))))
    return number[tree.function[nodes]], tuple(facts)


def longest_slices(
    capture: Capture,
    name: int,
    tracks: Collection[int],
    interval: tuple[int, int] | None = None,
    most: int = 6,
) -> list[Run]:
    """The longest slices of the name of that number on these tracks, of an interval with the part that lies in it."""
    lanes = capture.lanes() if interval is None else capture.lanes_in(interval[0], max(interval))
    own = np.flatnonzero(np.isin(lanes.track, np.fromiter(tracks, np.int64)))
    found: list[Run] = []
    for lane in own.tolist():
        first, past = int(lanes.first[lane]), int(lanes.first[lane] + lanes.count[lane])
        for row in range(first, past, _PART):
            start, dur, names, _ = capture.slice_rows(row, min(row + _PART, past))
            same = names == name
            if interval is not None:
                inside, dur = part_in(start, dur, interval)
                same &= inside
            at = np.flatnonzero(same)
            for best in at[np.argsort(-dur[at], kind="stable")[:most]].tolist():
                found.append(Run(row + best, int(lanes.track[lane]), int(start[best]), int(dur[best])))
    found.sort(key=lambda run: (-run.dur, run.start))
    return found[:most]
