"""Where the time went: slices summed by track and name."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from peephole.query.calls.tree import Ints, by_function, call_tree
from peephole.query.timeline.track_groups import HOST, group_of
from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class TopRow:
    """All slices of one name on tracks of one name."""

    track: str
    name: str
    group: str
    """What these tracks are: one of `track_groups`."""
    total: int
    """ns in which it ran; what lies within a slice of its own name is not counted twice."""
    self: int
    """ns in which it ran and nothing that it called"""
    count: int
    shortest: int
    longest: int
    share: float
    """Of the time in which anything ran on the track, 0 … 1."""
    mean: float
    """ns"""
    context: int
    """Compilation that produced it, -1 for none."""


@dataclass(frozen=True, slots=True)
class Top:
    """Names by the time that they took, most first, and what the rest adds up to."""

    rows: tuple[TopRow, ...]
    total: int
    """ns in which anything ran, added up over the tracks"""
    count: int
    other_total: int
    other_self: int
    other_count: int
    other_names: int


def top(
    capture: Capture,
    limit: int | None = None,
    tracks: Collection[int] | None = None,
    interval: tuple[int, int] | None = None,
) -> Top:
    """The names with the most time. Of an interval, slices that overlap it count with the part that lies in it.

    With a limit each group of tracks has its part of it: neither hides the kernels of devices behind the host's code,
    which is nested, nor the other way round.
    """
    tree = call_tree(capture, tracks, interval)
    found = by_function(tree)
    order = np.argsort(-found.sums.total, kind="stable")
    groups = _groups(capture, tree.titles)
    shown = order if limit is None else order[_fair([groups[at] for at in found.title[order].tolist()], limit)]
    sums, busy = found.sums, tree.sums.total
    rows = []
    for at in shown.tolist():
        title, total, count = int(found.title[at]), int(sums.total[at]), int(sums.count[at])
        whole = int(busy[title])
        rows.append(
            TopRow(
                tree.titles[title], tree.functions[int(found.function[at])][0], groups[title], total,
                int(sums.self[at]), count, int(sums.shortest[at]), int(sums.longest[at]),
                total / whole if whole else 0.0, int(found.length[at]) / count, int(sums.context[at]),
            )
        )  # fmt: skip
    others = np.ones(len(found), np.bool_)
    others[shown] = False
    left = (*(int(column[others].sum()) for column in (sums.total, sums.self, sums.count)), int(others.sum()))
    return Top(tuple(rows), int(busy[: len(tree.titles)].sum()), int(sums.count.sum()), *left)


def _groups(capture: Capture, titles: tuple[str, ...]) -> list[str]:
    frame = capture.read("tracks", ["name", "kind"])
    name, kind = frame.texts("name"), frame.texts("kind")
    kinds = {
        name.values[a]: kind.values[b]
        for a, b in zip(name.codes.tolist()[::-1], kind.codes.tolist()[::-1], strict=True)
        if a >= 0 and b >= 0
    }
    group = {kind: group_of(kind) for kind in kind.values}
    return [group.get(kinds.get(title, ""), HOST) for title in titles]


def _fair(groups: list[str], limit: int) -> Ints:
    """The places of the first rows of each group, as many of each as there is room for."""
    places: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        places.setdefault(group, []).append(place)
    room, kept = limit, []
    for number, own in enumerate(sorted(places.values(), key=len)):
        take = min(len(own), -(-room // (len(places) - number)))
        kept += own[:take]
        room -= take
    return np.array(sorted(kept), np.int64)
