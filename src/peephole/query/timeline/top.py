"""Where the time went: slices summed by track and name."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from peephole.query.capture.names import tracks as all_tracks
from peephole.query.timeline.time_sums import Ints, TimeSums, slice_times
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
    """The names with the most time. Of an interval, slices that overlap it count with the part that lies in it."""
    texts = [*capture.names(), ""]
    nameless = len(texts) - 1
    # a slice without a name is shown like one whose name is empty
    blank = texts.index("")
    ids, titles, title_of = _titles(capture)
    sums = TimeSums()
    for part in slice_times(capture, tracks, interval):
        name = np.where(part.name == nameless, blank, part.name)
        sums.add(title_of[np.searchsorted(ids, part.track)] * len(texts) + name, part.dur, part.context)
    found = sums.result()
    order = np.argsort(-found.total, kind="stable")
    shown, rest = (order, order[:0]) if limit is None else (order[:limit], order[limit:])
    whole = int(found.total.sum())
    rows = []
    for at in shown.tolist():
        title, name_number = divmod(int(found.key[at]), len(texts))
        total = int(found.total[at])
        rows.append(
            TopRow(
                titles[title], texts[name_number], total, int(found.count[at]), int(found.shortest[at]),
                int(found.longest[at]), total / whole if whole else 0.0, int(found.context[at]),
            )
        )  # fmt: skip
    others = (int(found.total[rest].sum()), int(found.count[rest].sum()), len(rest))
    return Top(tuple(rows), whole, int(found.count.sum()), *others)


def _titles(capture: Capture) -> tuple[Ints, list[str], Ints]:
    """The tracks' ids, ascending; their names; and for each id the place of its name.

    Tracks of one name are one row: the same thread of eight processes.
    """
    names: dict[str, int] = {}
    known = {track.id: names.setdefault(track.name, len(names)) for track in all_tracks(capture)}
    for id in sorted(set(capture.lanes().track.tolist())):  # not np.unique: that loads numpy.ma
        if id not in known:
            known[id] = names.setdefault(f"track {id}", len(names))
    ids = sorted(known)
    return np.array(ids, np.int64), list(names), np.array([known[id] for id in ids], np.int64)
