"""Where the ends of flows and uses lie on the timeline: built once, then quick at any size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from peephole.model.plain_names import plain
from peephole.store.capture import Capture

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SliceAt:
    """A slice and its place."""

    row: int
    correlation: int
    track: int
    depth: int
    start: int
    dur: int
    name: str


@dataclass(frozen=True, slots=True)
class Use:
    """A slice that read or wrote a buffer."""

    slice: SliceAt
    mode: str
    position: int


@dataclass(frozen=True, slots=True)
class Arrow:
    """A flow between two slices."""

    source: SliceAt
    target: SliceAt
    bytes: int
    kind: str


class Links:
    """The slices that flows and uses name, found in one pass over the capture."""

    def __init__(self, capture: Capture) -> None:
        self._flows = capture.read("flows", ["from", "to", "bytes", "kind"])
        self._uses = capture.read("uses", ["buffer", "slice", "mode", "position"])
        named = [self._flows["from"], self._flows["to"], self._uses["slice"]]
        self._numbers: Ints = np.unique(np.concatenate(named).astype(np.int64))
        rows = np.full(len(self._numbers), -1, np.int64)
        columns = {name: np.zeros(len(rows), np.int64) for name in ("track", "depth", "start", "dur")}
        self._names = np.full(len(rows), -1, np.int64)
        texts: dict[str, int] = {}
        first = 0
        wanted = ["correlation", "track", "depth", "start", "dur", "name"]
        for frame in capture.scan("slices", wanted) if len(rows) else ():
            own = frame["correlation"]
            at = np.searchsorted(self._numbers, own).clip(0, len(rows) - 1)
            hit = np.flatnonzero((own != 0) & (self._numbers[at] == own))
            place = at[hit]
            rows[place] = hit + first
            for name, column in columns.items():
                column[place] = frame[name][hit]
            names = frame.texts("name")
            codes = names.codes[hit]
            table = np.array([texts.setdefault(text, len(texts)) for text in names.values] or [-1], np.int64)
            self._names[place] = np.where(codes < 0, -1, table[np.maximum(codes, 0)])
            first += len(frame)
        self._rows, self._columns, self._texts = rows, columns, list(texts)
        self._flow_ends = (self._place(self._flows["from"]), self._place(self._flows["to"]))

    def _place(self, numbers: Ints) -> Ints:
        """Where these correlations are in our columns; -1 for a slice that is not there."""
        if not len(self._numbers):
            return np.full(len(numbers), -1, np.int64)
        at = np.searchsorted(self._numbers, numbers).clip(0, len(self._numbers) - 1)
        there = (self._numbers[at] == numbers) & (self._rows[at] >= 0)
        return np.where(there, at, -1)

    def _slice(self, place: int) -> SliceAt:
        track, depth, start, dur = (int(self._columns[name][place]) for name in ("track", "depth", "start", "dur"))
        code = int(self._names[place])
        name = plain(self._texts[code]) if code >= 0 else ""
        return SliceAt(int(self._rows[place]), int(self._numbers[place]), track, depth, start, dur, name)

    def _arrows(self, flows: Ints) -> list[Arrow]:
        source, target = self._flow_ends
        kinds = self._flows.texts("kind")
        return [
            Arrow(
                self._slice(int(source[flow])),
                self._slice(int(target[flow])),
                int(self._flows["bytes"][flow]),
                kinds[flow] or "",
            )
            for flow in flows.tolist()
        ]

    def flows_of(self, correlation: int, most: int = 200) -> list[Arrow]:
        """The arrows that begin or end at a slice."""
        if not correlation:
            return []
        source, target = self._flow_ends
        own = (self._flows["from"] == correlation) | (self._flows["to"] == correlation)
        return self._arrows(np.flatnonzero(own & (source >= 0) & (target >= 0))[:most])

    def flows_in(self, t0: int, t1: int, most: int) -> tuple[list[Arrow], int]:
        """The arrows that cross a window, and how many there are: none are given when they are too many to read."""
        source, target = self._flow_ends
        known = np.flatnonzero((source >= 0) & (target >= 0))
        if not len(known):
            return [], 0
        start, dur = self._columns["start"], self._columns["dur"]
        leaves = start[source[known]] + dur[source[known]]
        arrives = start[target[known]]
        inside = known[(np.minimum(leaves, arrives) < t1) & (np.maximum(leaves, arrives) >= t0)]
        return (self._arrows(inside) if len(inside) <= most else []), len(inside)

    def uses_of(self, correlation: int) -> list[tuple[int, str, int]]:
        """Buffer, mode and position of what a slice used."""
        if not correlation:
            return []
        modes = self._uses.texts("mode")
        rows = np.flatnonzero(self._uses["slice"] == correlation).tolist()
        return [(int(self._uses["buffer"][row]), modes[row] or "", int(self._uses["position"][row])) for row in rows]

    def users_of(self, buffer: int) -> tuple[list[Use], int]:
        """The uses of a buffer by the time of the slice, and how many more name a slice that is not there."""
        owners = self._uses["buffer"]
        first, last = (int(np.searchsorted(owners, buffer, side)) for side in ("left", "right"))
        modes, places = self._uses.texts("mode"), self._place(self._uses["slice"][first:last])
        found = [
            Use(self._slice(place), modes[first + i] or "", int(self._uses["position"][first + i]))
            for i, place in enumerate(places.tolist())
            if place >= 0
        ]
        found.sort(key=lambda use: (use.slice.start, use.slice.row, use.position))
        return found, last - first - len(found)

    @cached_property
    def _makers(self) -> tuple[Ints, Ints]:
        """The buffers that a known slice wrote, sorted, and the place of the first that did."""
        modes = self._uses.texts("mode")
        writing = np.array(["write" in mode for mode in modes.values] + [False], np.bool_)
        places = self._place(self._uses["slice"])
        uses = np.flatnonzero(writing[modes.codes] & (places >= 0))
        places, owners = places[uses], self._uses["buffer"][uses]
        order = np.lexsort((self._uses["position"][uses], self._rows[places], self._columns["start"][places], owners))
        buffers, first = np.unique(owners[order], return_index=True)
        return buffers, places[order][first]

    def maker_of(self, buffer: int) -> str:
        """The name of the slice that wrote a buffer first; empty when none is known."""
        buffers, places = self._makers
        at = int(np.searchsorted(buffers, buffer))
        return self._slice(int(places[at])).name if at < len(buffers) and buffers[at] == buffer else ""
