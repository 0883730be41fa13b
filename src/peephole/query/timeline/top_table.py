"""Names with the distribution of their durations: what the Top page shows of kernels, copies or host ranges."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.query.calls.functions import Functions
from peephole.query.calls.tree import by_function, call_tree
from peephole.query.timeline.context_runs import context_serials
from peephole.query.timeline.group_tracks import GROUPS, group_tracks
from peephole.query.timeline.interval import part_in
from peephole.query.timeline.rates import rates_by_function
from peephole.query.timeline.time_sums import Ints, slice_times
from peephole.query.timeline.tracks import TimelineTrack
from peephole.store.capture import Capture

__all__ = ["BINS", "GROUPS", "NameRow", "TopTable", "group_tracks", "name_runs", "top_table"]

BINS: Final = 16
EXACT: Final = 3_000_000
"""Slices up to which percentiles are exact; beyond, they come from 512 bins between the least and the largest."""
_FINE: Final = 512
_CELLS: Final = 16_000_000
"""Counts that may be held for it: with very many names there are fewer bins."""


@dataclass(frozen=True, slots=True)
class NameRow:
    """All slices of one name on the chosen tracks; of kernels, those that one context produced."""

    name: str
    serial: int
    """2 for a kernel that is the second context of its name, as everywhere; 1 for the first, and what is none."""
    number: int
    """Of the name in `Capture.names()`."""
    total: int
    """ns in which it ran; what lies within a slice of its own name is not counted twice."""
    self: int
    """ns in which it ran and nothing that it called"""
    count: int
    shortest: int
    longest: int
    mean: float
    """ns"""
    median: float
    p95: float
    context: int
    histogram: tuple[int, ...]
    """BINS counts from the shortest to the longest."""
    rates: dict[str, float]
    """Of a kernel: what it did a second, as far as that is known."""


@dataclass(frozen=True, slots=True)
class TopTable:
    """Rows by total time, most first."""

    rows: tuple[NameRow, ...]
    total: int
    """ns in which anything ran on the tracks, added up: what shares are of"""
    count: int
    tracks: tuple[TimelineTrack, ...]
    """Tracks that the group has."""
    exact: bool


def top_table(
    capture: Capture,
    group: str = "kernels",
    tracks: Collection[int] | None = None,
    interval: tuple[int, int] | None = None,
) -> TopTable:
    """The names of a group. Of an interval, slices that overlap it count with the part of them that lies in it."""
    every = group_tracks(capture, group)
    chosen = [row for row in every if tracks is None or row.id in tracks]
    exact = sum(row.slices for row in chosen) <= EXACT
    wanted = [row.id for row in chosen]
    kernels = group == "kernels"
    functions = Functions(capture, by_kernel=kernels)
    tree = call_tree(capture, wanted, interval, together=group, functions=functions)
    found = by_function(tree)
    sums, nameless = found.sums, len(functions.names) - 1
    name_of = functions.name_numbers()
    size = len(name_of)
    rates = rates_by_function(capture, functions, wanted, interval) if kernels else {}
    serials = context_serials(capture) if kernels else {}

    def slices() -> Iterator[tuple[Ints, Ints]]:
        for part in slice_times(capture, wanted, interval):
            name = np.where(part.name == nameless, -1, part.name).astype(np.int32)
            yield functions.numbers(name, 0, 0, part.context).astype(np.int64), part.dur

    kept = list(slices()) if exact else []
    shortest, longest = np.zeros(size, np.int64), np.zeros(size, np.int64)
    shortest[found.function], longest[found.function] = sums.shortest, sums.longest
    bins = np.zeros((size, BINS), np.int64)
    parts = 1 if exact else max(BINS, min(_FINE, _CELLS // size))
    fine = np.zeros((size, parts), np.int64)
    length = np.maximum(longest - shortest, 1)
    for name, dur in kept if exact else slices():
        where = np.clip((dur - shortest[name]) / length[name], 0, 1)  # within, however damaged the times are
        np.add.at(bins, (name, np.minimum((where * BINS).astype(np.int64), BINS - 1)), 1)
        if not exact:
            np.add.at(fine, (name, np.minimum((where * parts).astype(np.int64), parts - 1)), 1)
    median, p95 = _exact(kept, size) if exact else _rough(fine, shortest, length)
    rows = []
    for at in np.argsort(-sums.total, kind="stable").tolist():
        number = int(found.function[at])
        text = int(name_of[number])
        context = int(sums.context[at])
        rows.append(
            NameRow(
                functions.names[text],
                serials.get(context, 1),
                text if text < nameless else -1,
                int(sums.total[at]),
                int(sums.self[at]),
                int(sums.count[at]),
                int(sums.shortest[at]),
                int(sums.longest[at]),
                int(found.length[at]) / int(sums.count[at]),
                float(median[number]),
                float(p95[number]),
                context,
                tuple(bins[number].tolist()),
                rates.get(number, {}),
            )
        )
    return TopTable(tuple(rows), int(tree.sums.total[0]), int(sums.count.sum()), tuple(every), exact)


def _exact(kept: list[tuple[Ints, Ints]], size: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    code = np.concatenate([part[0] for part in kept] or [np.zeros(0, np.int64)])
    dur = np.concatenate([part[1] for part in kept] or [np.zeros(0, np.int64)])
    order = np.lexsort((dur, code))
    dur = dur[order]
    count = np.bincount(code, minlength=size)
    first = np.cumsum(count) - count
    there = count > 0
    result = []
    for share in (0.5, 0.95):
        place = np.zeros(size)
        place[there] = dur[first[there] + np.ceil(share * count[there]).astype(np.int64) - 1]
        result.append(place)
    return result[0], result[1]


def _rough(fine: Ints, shortest: Ints, length: Ints) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    below = np.cumsum(fine, axis=1)
    whole = below[:, -1:]
    middle, high = ((below < share * whole).sum(axis=1) + 0.5 for share in (0.5, 0.95))
    return shortest + length * (middle / fine.shape[1]), shortest + length * (high / fine.shape[1])


@dataclass(frozen=True, slots=True)
class Run:
    """One slice of a name."""

    row: int
    track: int
    start: int
    dur: int


@dataclass(frozen=True, slots=True)
class TrackRuns:
    """The slices of a name on one track."""

    track: int
    name: str
    count: int
    total: int


@dataclass(frozen=True, slots=True)
class NameRuns:
    """A name on each of its tracks, and its slowest runs."""

    tracks: tuple[TrackRuns, ...]
    slowest: tuple[Run, ...]


def name_runs(
    capture: Capture,
    number: int,
    group: str,
    interval: tuple[int, int] | None = None,
    most: int = 8,
    context: int | None = None,
) -> NameRuns:
    """The runs of a name, slowest first; of an interval, with the part of them that lies in it.

    With a context those that it produced; with -1 those that none did.
    """
    name = capture.names()[number]
    lanes = capture.lanes()
    sums: list[TrackRuns] = []
    slowest: list[Run] = []
    for track in group_tracks(capture, group):
        count = total = 0
        own = lanes.of_track(track.id)
        for lane in range(own.start, own.stop):
            first, past = int(lanes.first[lane]), int(lanes.first[lane] + lanes.count[lane])
            for frame in capture.scan("slices", ["start", "dur", "name", "context"], rows=slice(first, past)):
                texts = frame.texts("name")
                same, dur = texts.codes == texts.code(name), frame["dur"]
                if context is not None:
                    same &= frame["context"] == context
                if interval is not None:
                    inside, dur = part_in(frame["start"], dur, interval)
                    same &= inside
                at = np.flatnonzero(same)
                dur = dur[at]
                count += len(at)
                total += int(dur.sum())
                for best in np.argsort(-dur, kind="stable")[:most].tolist():
                    where = int(at[best])
                    slowest.append(Run(first + where, track.id, int(frame["start"][where]), int(dur[best])))
                first += len(frame)
        if count:
            sums.append(TrackRuns(track.id, track.title, count, total))
    slowest.sort(key=lambda run: (-run.dur, run.start))
    return NameRuns(tuple(sums), tuple(slowest[:most]))
