"""Where the time went: slices summed by track and name."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peephole.query.capture.names import tracks as all_tracks
from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class TopRow:
    """All slices of one name on tracks of one name."""

    track: str
    name: str
    total: int
    """ns"""
    count: int
    shortest: int
    longest: int
    share: float
    """Of the time of all rows, 0 … 1."""
    context: int
    """Compilation that produced it, -1 for none."""

    @property
    def mean(self) -> float:
        """ns"""
        return self.total / self.count


@dataclass(frozen=True, slots=True)
class Top:
    """Names by the time that they took, most first, and what the rest adds up to."""

    rows: tuple[TopRow, ...]
    total: int
    count: int
    other_total: int
    other_count: int
    other_names: int


def top(
    capture: Capture,
    limit: int | None = None,
    tracks: Collection[int] | None = None,
    interval: tuple[int, int] | None = None,
) -> Top:
    """The names with the most time. `interval` counts slices that start in it, with their whole length."""
    sums = _Sums(capture)
    columns = ["track", "name", "dur", "context", *(["start"] if interval else [])]
    chosen = None if tracks is None else np.fromiter(tracks, np.int64)
    for frame in capture.scan("slices", columns):
        keep: NDArray[np.bool_] | None = None
        if chosen is not None:
            keep = np.isin(frame["track"], chosen)
        if interval is not None:
            inside = (frame["start"] >= interval[0]) & (frame["start"] < interval[1])
            keep = inside if keep is None else keep & inside
        names = frame.texts("name")
        values = [frame["track"], names.codes, frame["dur"], frame["context"]]
        if keep is not None:
            values = [value[keep] for value in values]
        sums.add(names.values, *values)
    return sums.result(limit)


class _Sums:
    """Adds up parts of the table: each has its own numbering of names."""

    def __init__(self, capture: Capture) -> None:
        self._track_of: dict[int, int] = {}
        numbers: dict[str, int] = {}
        # tracks of one name are one row: the same thread of eight processes
        for track in all_tracks(capture):
            self._track_of[track.id] = numbers.setdefault(track.name, len(numbers))
        self._tracks = list(numbers)
        self._names: dict[str, int] = {}
        self._rows: dict[tuple[int, int], list[int]] = {}

    def add(
        self,
        names: list[str],
        track: NDArray[Any],
        name: NDArray[Any],
        dur: NDArray[Any],
        context: NDArray[Any],
    ) -> None:
        if not len(track):
            return
        # code -1 is a slice without a name
        keys = track.astype(np.int64)
        keys *= len(names) + 1
        keys += name
        keys += 1
        groups, place = _places(keys)
        size = len(groups)
        count = np.bincount(place, minlength=size)
        # float64 holds whole numbers up to 104 days of ns, more than one part can sum to
        total = np.bincount(place, weights=dur, minlength=size)
        shortest = np.full(size, np.iinfo(np.int64).max)
        longest = np.full(size, np.iinfo(np.int64).min)
        np.minimum.at(shortest, place, dur)
        np.maximum.at(longest, place, dur)
        linked = np.full(size, -1, np.int64)
        if context.max() >= 0:
            np.maximum.at(linked, place, context)
        there = np.flatnonzero(count)
        groups, count, total = groups[there], count[there], total[there]
        shortest, longest, linked = shortest[there], longest[there], linked[there]
        columns = zip(
            groups.tolist(),
            count.tolist(),
            total.tolist(),
            shortest.tolist(),
            longest.tolist(),
            linked.tolist(),
            strict=True,
        )
        for key, n, t, low, high, link in columns:
            where, code = divmod(key, len(names) + 1)
            text = names[code - 1] if code else ""
            id = self._names.setdefault(text, len(self._names))
            row = self._rows.get((self._track(where), id))
            if row is None:
                self._rows[self._track(where), id] = [int(t), n, low, high, link]
            else:
                row[:] = [row[0] + int(t), row[1] + n, min(row[2], low), max(row[3], high), max(row[4], link)]

    def _track(self, id: int) -> int:
        if id not in self._track_of:
            self._track_of[id] = len(self._tracks)
            self._tracks.append(f"track {id}")
        return self._track_of[id]

    def result(self, limit: int | None) -> Top:
        names = list(self._names)
        whole = sum(row[0] for row in self._rows.values())
        ordered = sorted(self._rows.items(), key=lambda item: (-item[1][0], item[0]))
        shown = ordered if limit is None else ordered[:limit]
        rest = ordered[len(shown) :]
        rows = tuple(
            TopRow(self._tracks[track], names[name], t, n, low, high, t / whole if whole else 0.0, link)
            for (track, name), (t, n, low, high, link) in shown
        )
        return Top(
            rows,
            whole,
            sum(row[1] for row in self._rows.values()),
            sum(row[0] for _, row in rest),
            sum(row[1] for _, row in rest),
            len(rest),
        )


def _places(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Keys that may occur, and for each row the place of its own among them."""
    low, high = int(keys.min()), int(keys.max())
    if high - low > 4 * len(keys) + 1024:
        return np.unique(keys, return_inverse=True)
    # dense: a key is its own place, which costs a tenth of sorting
    keys -= low
    return np.arange(low, high + 1), keys
