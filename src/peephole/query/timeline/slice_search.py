"""Slices by their name, over a whole trace: how many, and the next one from any moment."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.plain_names import plain
from peephole.model.tables import NONE
from peephole.query.capture.grammar import Query, parse
from peephole.query.timeline.group_tracks import group_tracks
from peephole.store.capture import Capture

Ints = NDArray[np.int64]
_FACTS: Final = {"track": "name", "kind": "kind"}
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
    end: int = -1
    """When the last of them ended, of `group_runs`."""

    def __len__(self) -> int:
        return len(self.start)

    def at(self, place: int) -> int:
        """The row of the hit at that place, counted around; -1 when there are none."""
        return int(self.row[place % len(self.row)]) if len(self.row) else -1

    def after(self, time: int) -> int:
        """The place of the first hit that starts at or after a time."""
        return int(np.searchsorted(self.start, time, "left"))


def _matching_names(capture: Capture, query: Query) -> Ints:
    """Numbers of the names that the query, tracks and their kinds apart, holds for."""
    if not query.terms:
        return np.zeros(0, np.int64)
    apart = Query(tuple(term for term in query.terms if term.field not in ("track", "kind")))
    return np.flatnonzero(apart.mask([plain(name) for name in capture.names()], {})).astype(np.int64)


def _wanted_tracks(capture: Capture, query: Query) -> NDArray[np.int64] | None:
    """The tracks that the query names, by their name or kind; None when it names none."""
    terms = query.of("track") + query.of("kind")
    if not terms:
        return None
    frame = capture.read("tracks", ["id", "name", "kind"])
    facts = {field: [plain(text or "") for text in frame.texts(column)] for field, column in _FACTS.items()}
    wanted: NDArray[np.int64] = frame["id"][Query(terms).mask(facts["track"], facts)]
    return wanted


def find_slices(capture: Capture, query: str) -> FoundSlices:
    """The slices that a query holds for (`query/capture/grammar.py`); PeepholeError when it has no right pattern."""
    nothing = np.zeros(0, np.int64)
    parsed = parse(query)
    names = _matching_names(capture, parsed)
    tracks = _wanted_tracks(capture, parsed)
    if not len(names):
        known = [plain(name) for name in capture.names()[:_NEAR]]
        near = tuple(difflib.get_close_matches(query, known, 3, 0.5)) if query.strip() else ()
        return FoundSlices(query, names, nothing, nothing, near)
    wanted = {capture.names()[i] for i in names.tolist()}
    starts, rows, first = [nothing], [nothing], 0
    columns = ["start", "name"] if tracks is None else ["start", "name", "track"]
    for frame in capture.scan("slices", columns):
        texts = frame.texts("name")
        # the last place is for slices without a name, whose code is -1
        is_hit = np.array([*(value in wanted for value in texts.values), False])
        hit = is_hit[texts.codes]
        own = np.flatnonzero(hit if tracks is None else hit & np.isin(frame["track"], tracks))
        starts.append(frame["start"][own])
        rows.append(own + first)
        first += len(frame)
    start, row = np.concatenate(starts), np.concatenate(rows)
    order = np.argsort(start, kind="stable")
    return FoundSlices(query, names, start[order], row[order], ())


def group_runs(capture: Capture, group: str, number: int | None, context: int | None) -> FoundSlices:
    """The slices that a row of Top stands for: of a name, of a context, or both, on the tracks of the group.

    Of a kernel these are its runs on devices, and never its compilation. IndexError with how many names there are.
    """
    names = capture.names()
    if number is not None and not 0 <= number < len(names):
        raise IndexError(len(names))
    lanes = capture.lanes()
    starts, rows, seen = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], {number} - {None}
    end = -1
    for track in group_tracks(capture, group):
        own = lanes.of_track(track.id)
        if own.start == own.stop:
            continue
        first, past = int(lanes.first[own.start]), int(lanes.first[own.stop - 1] + lanes.count[own.stop - 1])
        start, dur, name, contexts = capture.slice_rows(first, past, capture.count("contexts") > 0)
        keep = np.ones(len(start), np.bool_) if number is None else name == number
        if context is not None:
            keep &= contexts == context if contexts is not None else context == NONE
        at = np.flatnonzero(keep)
        if len(at):
            starts.append(start[at])
            rows.append(at + first)
            seen |= set(np.unique(name[at]).tolist())
            end = max(end, int((start[at] + dur[at]).max()))
    start, row = np.concatenate(starts), np.concatenate(rows)
    order = np.argsort(start, kind="stable")
    numbers = np.array(sorted(one for one in seen if one is not None and one >= 0), np.int64)
    return FoundSlices("", numbers, start[order], row[order], (), end)
