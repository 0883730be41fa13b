"""The slices of a capture as nodes of call trees: lane after lane, in parts, so that a trace of any size is read."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.query.calls.nesting import Level, callers, far_callers, taken
from peephole.query.calls.node_table import NodeTable
from peephole.query.timeline.interval import part_in
from peephole.store.capture import Capture
from peephole.store.tables.lanes import Lanes, runs

Ints = NDArray[np.int64]
_FURTHEST: Final = 1 << 62
PART: Final = 1 << 16
"""Rows that are read at once; tracks with fewer are taken together."""
_CODES: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Part:
    """Some slices of one depth, by track and time. `start` and `end` place each track behind the one before it."""

    root: NDArray[np.int32]
    """The node of the track."""
    start: Ints
    end: Ints
    dur: Ints
    function: NDArray[np.int32]
    row: Ints
    context: Ints | None

    def pick(self, some: NDArray[np.bool_] | NDArray[np.intp] | slice) -> Part:
        """Some of them."""
        return Part(
            self.root[some],
            self.start[some],
            self.end[some],
            self.dur[some],
            self.function[some],
            self.row[some],
            None if self.context is None else self.context[some],
        )


Numbering = Callable[[NDArray[np.int32], int, int, Ints | None], NDArray[np.int32]]


def scan_nodes(
    capture: Capture,
    table: NodeTable,
    roots: Callable[[Ints], NDArray[np.int32]],
    functions: Numbering,
    tracks: Collection[int] | None = None,
    interval: tuple[int, int] | None = None,
) -> None:
    """Adds the slices of these tracks, or of all, to the table; of an interval, with the part that lies in it.

    `roots` says which node stands for a track, `functions` which function a name (and its row) is.
    """
    Scan(capture, table, roots, functions, interval).run(tracks)


class Scan:
    """One reading of a capture."""

    def __init__(
        self,
        capture: Capture,
        table: NodeTable,
        roots: Callable[[Ints], NDArray[np.int32]],
        functions: Numbering,
        interval: tuple[int, int] | None,
    ) -> None:
        self._capture = capture
        self._table = table
        self._roots = roots
        self._functions = functions
        self._interval = interval
        self._linked = capture.count("contexts") > 0
        self._lanes = capture.lanes() if interval is None else capture.lanes_in(interval[0], max(interval))

    def run(self, tracks: Collection[int] | None) -> None:
        """Reads it."""
        lanes = self._lanes
        own = np.arange(len(lanes))
        if tracks is not None:
            own = np.flatnonzero(np.isin(lanes.track, np.fromiter(tracks, np.int64)))
        for some in _batches(lanes, own):
            if int(lanes.count[some].sum()) <= PART:
                self._small(some)
            else:
                self._large(some)

    def _read(self, first: int, past: int) -> Part:
        start, dur, name, context = self._capture.slice_rows(first, past, self._linked)
        function = self._functions(name, first, past, context)
        root, row = np.zeros(len(start), np.int32), np.arange(first, past)
        part = Part(root, start, start + dur, dur, function, row, context)
        if self._interval is None:
            return part
        inside, length = part_in(start, dur, self._interval)
        begin = np.maximum(start, self._interval[0])
        return Part(root, begin, begin + length, length, function, row, context).pick(inside)

    def _small(self, some: NDArray[np.intp]) -> None:
        """Tracks that are read whole, all of them at once."""
        lanes = self._lanes
        first, past = lanes.first[some], lanes.first[some] + lanes.count[some]
        apart = np.flatnonzero(first[1:] != past[:-1])
        begins, ends = np.append(first[0], first[1:][apart]), np.append(past[:-1][apart], past[-1])
        parts = [self._read(a, b) for a, b in zip(begins.tolist(), ends.tolist(), strict=True)]
        part = parts[0] if len(parts) == 1 else _joined(parts)
        if not len(part.row):
            return
        lane = some[np.searchsorted(first, part.row, "right") - 1]
        track, depth = lanes.track[lane], lanes.depth[lane]
        bounds = runs(track)
        rank = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        low, high = int(part.start.min()), int(part.end.max())
        if len(bounds) > 2 and (high - low + 1) * (len(bounds) - 1) >= _FURTHEST:
            # clocks so far apart that the tracks cannot be laid one behind the other
            for number in np.unique(lanes.track[some]).tolist():
                self._small(some[lanes.track[some] == number])
            return
        shift = rank * (high - low + 1) - low
        root = self._roots(track.astype(np.int64))
        part = Part(root, part.start + shift, part.end + shift, part.dur, part.function, part.row, part.context)
        if depth.any():
            order = np.argsort(depth, kind="stable")
            part, depth = part.pick(order), depth[order]
        above: Level | None = None
        bounds = runs(depth)
        for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            level = part.pick(slice(a, b)) if len(bounds) > 2 else part
            above = Level(level.start, level.end, self._place(above, level), above)

    def _large(self, some: NDArray[np.intp]) -> None:
        """One track, lane by lane; what nothing lies in is not kept."""
        lanes = self._lanes
        above: Level | None = None
        root = self._roots(lanes.track[some[:1]].astype(np.int64))
        for lane in some.tolist():
            starts, ends, nodes = [], [], []
            first, last = int(lanes.first[lane]), int(lanes.first[lane] + lanes.count[lane])
            for row in range(first, last, PART):
                part = self._read(row, min(row + PART, last))
                part.root[:] = root
                node = self._place(above, part)
                if lane != some[-1]:
                    starts.append(part.start)
                    ends.append(part.end)
                    nodes.append(node)
            if any(map(len, starts)):  # of a range a row may have nothing between two that have something
                above = Level(np.concatenate(starts), np.concatenate(ends), np.concatenate(nodes), above)

    def _place(self, above: Level | None, part: Part) -> NDArray[np.int32]:
        """Adds slices of one depth and gives their nodes."""
        if above is None:
            return self._add(part, part.root, nested=False)
        place = callers(above, part.start, part.end)
        inside = place >= 0
        if inside.all():
            return self._add(part, above.node[place], nested=True)
        node = np.empty(len(part.row), np.int32)
        node[inside] = self._add(part.pick(inside), above.node[place[inside]], nested=True)
        beside = part.pick(~inside)
        parent = beside.root
        if above.above is not None:
            far = far_callers(above.above, beside.start, beside.end)
            parent = np.where(far >= 0, far, parent)
        for other, time in taken(above, beside.start, beside.end):
            self._table.take(other, time)
        node[~inside] = self._add(beside, parent, nested=False)
        return node

    def _add(self, part: Part, parent: NDArray[np.int32], nested: bool) -> NDArray[np.int32]:
        return self._table.add(parent, part.function, part.dur, part.row, part.context, nested)


def _batches(lanes: Lanes, own: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Lanes of whole tracks, about PART rows of them at a time."""
    if not len(own):
        return []
    bounds = runs(lanes.track[own])
    rows = np.concatenate([[0], np.cumsum(lanes.count[own])])[bounds]
    length = int(lanes.end[own].max()) - int(lanes.start[own].min()) + 1
    most = max(1, _CODES // length)
    found, track, tracks = [], 0, len(bounds) - 1
    while track < tracks:
        past = int(np.searchsorted(rows, rows[track] + PART, "right")) - 1
        past = max(track + 1, min(past, track + most))
        found.append(own[bounds[track] : bounds[past]])
        track = past
    return found


def _joined(parts: list[Part]) -> Part:
    contexts = [part.context for part in parts if part.context is not None]
    return Part(
        np.concatenate([part.root for part in parts]),
        np.concatenate([part.start for part in parts]),
        np.concatenate([part.end for part in parts]),
        np.concatenate([part.dur for part in parts]),
        np.concatenate([part.function for part in parts]),
        np.concatenate([part.row for part in parts]),
        np.concatenate(contexts) if contexts else None,
    )
