"""Which context made a graph first: how a difference is handed on from one context to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from peephole.query.compare.by_content.content import content_of
from peephole.query.compare.by_content.hash_loops import Hashes, Ints
from peephole.query.compare.compiled import Compiled

if TYPE_CHECKING:
    from peephole.store.capture import Capture

NEVER: Final = 1 << 62


class Lineage:
    """The nodes of one capture by the context that was being recorded when they first came.

    Nodes are numbered as they come, so those up to the root of a step, or up to what a match left, came with it.
    """

    def __init__(self, capture: Capture, compiled: Compiled) -> None:
        self.content = content_of(capture)
        self.compiled = compiled
        self.place_of = {unit.id: at for at, unit in enumerate(compiled.units)}
        rows = self.content.rows
        steps = capture.read("steps", ["root", "after"])
        matches = capture.read("matches", ["step", "before", "after"])
        self._root, self._came_out = rows(steps["root"]), rows(steps["after"])
        self._before, self._after = rows(matches["before"]), rows(matches["after"])
        begin, end = _times(compiled)
        unit_of_step = np.full(len(self._root), -1, np.int64)
        for at, unit in enumerate(compiled.units):
            unit_of_step[unit.first : unit.past] = at
        step_of_match = np.full(len(self._before), -1, np.int64)
        for step in np.flatnonzero(compiled.step_matches).tolist():
            step_of_match[compiled.match_rows(step)] = step
        steps_of = [np.arange(len(self._root)), np.arange(len(self._root)), step_of_match, step_of_match]
        anchors = np.concatenate([self._root, self._came_out, self._before, self._after])
        owners = np.concatenate(steps_of)
        times = np.concatenate([times[step] for times, step in zip((begin, end, begin, end), steps_of, strict=True)])
        order = np.lexsort((times, anchors))
        order = order[(anchors[order] >= 0) & (owners[order] >= 0)]
        # the first anchor at or behind a node is what it came with
        place = np.searchsorted(anchors[order], np.arange(len(self.content.ids)))
        known = place < len(order)
        place = order[np.minimum(place, len(order) - 1)] if len(order) else np.zeros(0, np.int64)
        self._begin = begin
        made_in, made_at = np.full(len(known), -1, np.int64), np.full(len(known), NEVER, np.int64)
        if len(order):
            made_in, made_at = np.where(known, unit_of_step[owners[place]], -1), np.where(known, times[place], NEVER)
        by_hash = np.lexsort((made_at, self.content.base))
        hashes = self.content.base[by_hash]
        new = np.append(True, hashes[1:] != hashes[:-1]) if len(hashes) else np.zeros(0, np.bool_)
        first = by_hash[new]
        self._hashes: Hashes = hashes[new]
        self._unit: Ints = made_in[first]
        self._time: Ints = made_at[first]

    def maker(self, row: int) -> tuple[int, int]:
        """The unit in which this content first came, by its place (-1 when none shows it), and when."""
        at = int(np.searchsorted(self._hashes, self.content.base[row]))
        return int(self._unit[at]), int(self._time[at])

    def begin(self, step: int) -> int:
        """When a step began, as near as is known."""
        return int(self._begin[step]) if 0 <= step < len(self._begin) else 0

    def root(self, step: int) -> int:
        """The row of the root of a step's graph, -1 for none."""
        return int(self._root[step]) if 0 <= step < len(self._root) else -1

    def result(self, step: int, match: int) -> int:
        """The row of what a match, from 1, left; of match 0 the graph that went in. -1 when there is none."""
        if step < 0 or match == 0:
            return self.root(step)
        rows = self.compiled.match_rows(step)
        at = rows.start + match - 1
        return int(self._after[at]) if at < rows.stop else -1

    def came_out(self, step: int) -> int:
        """The row of the root of the graph that came out of a step, -1 where it is replayed."""
        return int(self._came_out[step]) if 0 <= step < len(self._came_out) else -1

    def anchors(self, unit: int) -> Ints:
        """The rows that a context shows: roots of its steps, and what its matches took and left."""
        own = self.compiled.units[unit]
        steps = range(own.first, own.past)
        parts = [self._root[own.first : own.past], self._came_out[own.first : own.past]]
        for step in steps:
            rows = self.compiled.match_rows(step)
            parts += [self._before[rows], self._after[rows]]
        return np.concatenate(parts)

    def graph(self, unit: int, row: int) -> tuple[Ints, Hashes]:
        """The nodes of the graph of that root, ascending, and their hashes as this context sees them."""
        if row < 0:
            return np.zeros(0, np.int64), np.zeros(0, np.uint64)
        every = np.ones(len(self.content.ids), np.bool_)
        rows = self.content.loops.reach(np.array([row], np.int64), every)
        return rows, self.content.in_context(self.anchors(unit))(rows)


def _times(compiled: Compiled) -> tuple[Ints, Ints]:
    """When each step began and ended. One that does not say began with the one before it and ended who knows when."""
    begin, end = compiled.step_start.astype(np.int64), compiled.step_end.astype(np.int64)
    for order, unit in enumerate(compiled.units):
        last = unit.start if unit.start >= 0 else order
        for step in range(unit.first, unit.past):
            last = begin[step] = max(int(begin[step]), last) if begin[step] >= 0 else last
            end[step] = max(int(end[step]), last) if end[step] >= 0 else NEVER
    return begin, end


def only_in(rows: Ints, hashes: Hashes, others: Hashes) -> Ints:
    """Of these nodes those that the other graph does not have."""
    return rows[~np.isin(hashes, others)]


def least(content_offsets: Ints, content_sources: Ints, only: Ints) -> Ints:
    """Of these nodes those whose sources are none of them: where a difference begins."""
    inside = set(only.tolist())
    return np.array(
        [
            row
            for row in only.tolist()
            if not inside.intersection(content_sources[content_offsets[row] : content_offsets[row + 1]].tolist())
        ],
        np.int64,
    )
