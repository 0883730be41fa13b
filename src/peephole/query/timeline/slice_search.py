"""Slices by their name, over a whole trace: how many, and the next one from any moment."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.plain_names import plain
from peephole.store.capture import Capture

Ints = NDArray[np.int64]
_NEAR: Final = 20_000
"""Names up to which close ones are looked for: each is compared by itself."""


@dataclass(frozen=True, slots=True)
class FoundSlices:
    """All slices whose name has the text, by their start."""

    query: str
    names: Ints
    """Numbers of the names in `Capture.names()`."""
    start: Ints
    row: Ints
    near: tuple[str, ...]
    """Close names when there is no hit."""

    def __len__(self) -> int:
        return len(self.start)

    def at(self, place: int) -> int:
        """The row of the hit at that place, counted around; -1 when there are none."""
        return int(self.row[place % len(self.row)]) if len(self.row) else -1

    def after(self, time: int) -> int:
        """The place of the first hit that starts at or after a time."""
        return int(np.searchsorted(self.start, time, "left"))


def matching_names(capture: Capture, query: str) -> Ints:
    """Numbers of the names in which every word of the query occurs, whatever its case."""
    words = query.lower().split()
    found = [i for i, name in enumerate(capture.names()) if words and all(w in plain(name).lower() for w in words)]
    return np.array(found, np.int64)


def find_slices(capture: Capture, query: str) -> FoundSlices:
    """The slices whose name has every word of the query."""
    nothing = np.zeros(0, np.int64)
    names = matching_names(capture, query)
    if not len(names):
        known = [plain(name) for name in capture.names()[:_NEAR]]
        near = tuple(difflib.get_close_matches(query, known, 3, 0.5)) if query.strip() else ()
        return FoundSlices(query, names, nothing, nothing, near)
    wanted = {capture.names()[i] for i in names.tolist()}
    starts, rows, first = [nothing], [nothing], 0
    for frame in capture.scan("slices", ["start", "name"]):
        texts = frame.texts("name")
        # the last place is for slices without a name, whose code is -1
        is_hit = np.array([*(value in wanted for value in texts.values), False])
        own = np.flatnonzero(is_hit[texts.codes])
        starts.append(frame["start"][own])
        rows.append(own + first)
        first += len(frame)
    start, row = np.concatenate(starts), np.concatenate(rows)
    order = np.argsort(start, kind="stable")
    return FoundSlices(query, names, start[order], row[order], ())
