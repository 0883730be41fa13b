"""Where the time went: slices summed by track and name."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

import numpy as np

from peephole.model.plain_names import plain
from peephole.model.tables import NONE
from peephole.query.calls.functions import Functions
from peephole.query.calls.titles import Titles, track_titles
from peephole.query.calls.tree import CallTree, FunctionSums, Ints, by_function, call_tree
from peephole.query.capture.names import tracks as every_track
from peephole.query.timeline.context_runs import context_serials
from peephole.query.timeline.group_tracks import group_tracks
from peephole.query.timeline.kernel_sums import kernels_apart
from peephole.query.timeline.rates import rates_by_track
from peephole.query.timeline.track_groups import HOST, group_of
from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class TopRow:
    """All slices of one name on a track, or on tracks of one name."""

    track: str
    """Its title: the name, and what tells it from others of that name where they are kept apart."""
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
    serial: int = 0
    """2 for a kernel that is the second context of its name; 0 where slices of one name are one row."""
    rates: dict[str, float] = field(default_factory=dict)
    """Of a kernel that is kept apart: what it did a second, as far as that is known."""

    @property
    def label(self) -> str:
        """What a user calls it: its plain name, with `#2` behind it for the second kernel of that name."""
        return f"{plain(self.name)}#{self.serial}" if self.serial > 1 else plain(self.name)


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
    *,
    apart: bool = False,
) -> Top:
    """The names with the most time. Of an interval, slices that overlap it count with the part that lies in it.

    With a limit each group of tracks has its part of it: neither hides the kernels of devices behind the host's code,
    which is nested, nor the other way round. `apart`: tracks of one name are several, as are kernels of one name that
    several contexts made.
    """
    titled = track_titles(capture, apart)
    if apart and kernels_apart(capture):
        return _apart(capture, limit, tracks, interval, titled)
    return _by_name(capture, limit, tracks, interval, titled)


def _by_name(
    capture: Capture,
    limit: int | None,
    tracks: Collection[int] | None,
    interval: tuple[int, int] | None,
    titled: Titles,
) -> Top:
    tree = call_tree(capture, tracks, interval, titled=titled)
    found = by_function(tree)
    order = np.argsort(-found.sums.total, kind="stable")
    groups = _groups(capture, titled)
    shown = order if limit is None else order[_fair([groups[at] for at in found.title[order].tolist()], limit)]
    sums, busy = found.sums, tree.sums.total
    rows = [_row(tree, found, at, groups, int(sums.context[at])) for at in shown.tolist()]
    others = np.ones(len(found), np.bool_)
    others[shown] = False
    left = (*(int(column[others].sum()) for column in (sums.total, sums.self, sums.count)), int(others.sum()))
    return Top(tuple(rows), int(busy[: len(tree.titles)].sum()), int(sums.count.sum()), *left)


def _row(tree: CallTree, found: FunctionSums, at: int, groups: list[str], context: int) -> TopRow:
    """One of a tree's functions as a row."""
    title, sums = int(found.title[at]), found.sums
    total, count, whole = int(sums.total[at]), int(sums.count[at]), int(tree.sums.total[title])
    return TopRow(
        tree.titles[title], tree.functions[int(found.function[at])][0], groups[title], total, int(sums.self[at]), count,
        int(sums.shortest[at]), int(sums.longest[at]), total / whole if whole else 0.0, int(found.length[at]) / count,
        context,
    )  # fmt: skip


def _apart(
    capture: Capture,
    limit: int | None,
    tracks: Collection[int] | None,
    interval: tuple[int, int] | None,
    titled: Titles,
) -> Top:
    """Tracks of kernels by kernel, all others by name."""
    devices = {row.id for row in group_tracks(capture, "kernels")}
    chosen = [track.id for track in every_track(capture) if tracks is None or track.id in tracks]
    host = _by_name(capture, None, [track for track in chosen if track not in devices], interval, titled)
    own = [track for track in chosen if track in devices]
    functions = Functions(capture, by_kernel=True)
    tree = call_tree(capture, own, interval, functions=functions, titled=titled)
    found, groups, serials = by_function(tree), _groups(capture, titled), context_serials(capture)
    speeds = rates_by_track(capture, functions, own, interval)
    contexts = {number: context for (_, context), number in functions.kernels.items()}
    sums, busy, rows = found.sums, tree.sums.total, list(host.rows)
    for at in range(len(found)):
        number = int(found.function[at])
        context, speed = contexts.get(number, NONE), speeds.get((tree.titles[int(found.title[at])], number), {})
        rows.append(replace(_row(tree, found, at, groups, context), serial=serials.get(context, 1), rates=speed))
    rows.sort(key=lambda row: -row.total)
    shown = range(len(rows)) if limit is None else _fair([row.group for row in rows], limit).tolist()
    kept = set(shown)
    left = [row for at, row in enumerate(rows) if at not in kept]
    return Top(
        tuple(rows[at] for at in shown),
        host.total + int(busy[: len(tree.titles)].sum()),
        host.count + int(sums.count.sum()),
        sum(row.total for row in left),
        sum(row.self for row in left),
        sum(row.count for row in left),
        len(left),
    )


def _groups(capture: Capture, titled: Titles) -> list[str]:
    frame = capture.read("tracks", ["name", "kind"])
    name, kind = frame.texts("name"), frame.texts("kind")
    kinds = {
        name.values[a]: kind.values[b]
        for a, b in zip(name.codes.tolist()[::-1], kind.codes.tolist()[::-1], strict=True)
        if a >= 0 and b >= 0
    }
    group = {kind: group_of(kind) for kind in kind.values}
    return [group.get(kinds.get(titled.name(at), ""), HOST) for at in range(len(titled.titles))]


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
