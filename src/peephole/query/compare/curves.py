"""Memory over time, call trees and lanes of both sides, as they are drawn above or over each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from peephole.model.plain_names import plain
from peephole.query.calls.tree import call_tree
from peephole.query.capture.info import span
from peephole.query.compare.paired_names import PairedNames
from peephole.query.memory.buffers import devices, memory
from peephole.query.timeline.group_tracks import group_tracks
from peephole.query.timeline.tracks import timeline_tracks

if TYPE_CHECKING:
    from peephole.store.capture import Capture

_POINTS: Final = 400
_NODES: Final = 4000
_LANES: Final = 10


@dataclass(frozen=True, slots=True)
class Curve:
    """What a device held: times in ns since the capture's first moment, bytes from then on."""

    device: str
    time: list[int]
    bytes: list[int]
    peak: int
    end: int


def curves(capture: Capture) -> list[Curve]:
    """The memory of each device, the highest value of each stretch where there are many."""
    begin, end = span(capture) or (0, 0)
    found = []
    for device in devices(capture):
        own = memory(capture, device)
        time, total = own.time, own.total
        if len(time) > _POINTS:
            edges = np.linspace(0, len(time), _POINTS + 1).astype(np.int64)[:-1]
            total = np.maximum.reduceat(total, edges)
            time = time[edges]
        found.append(Curve(device, (time - begin).tolist(), total.tolist(), own.peak, end - begin))
    return found


@dataclass(frozen=True, slots=True)
class CallRow:
    """A function under its callers, on both sides; ns."""

    name: str
    name_b: str
    depth: int
    total_a: int
    total_b: int
    self_a: int
    self_b: int
    calls_a: int
    calls_b: int


@dataclass(frozen=True, slots=True)
class CallRows:
    """Both call trees as one, outermost first."""

    rows: list[CallRow]
    left_out: int
    """Functions under their callers that took least time on either side, beyond so many rows."""


def call_rows(a: Capture, b: Capture, called: PairedNames, most: int = 1000) -> CallRows:
    """The call trees of both hosts as one, what differs most first among those that one function calls."""
    sums: dict[tuple[str, ...], list[int]] = {}
    unseen = 0
    for side, capture in enumerate((a, b)):
        paths, light = _paths(capture, called.in_a if side else str)
        unseen = max(unseen, light)
        for path, figures in paths.items():
            row = sums.setdefault(path, [0] * 6)
            for at, figure in enumerate(figures):
                row[2 * at + side] += figure
    heavy: set[tuple[str, ...]] = set()
    for path in sorted(sums, key=lambda path: (-max(sums[path][:2]), len(path))):
        if path[:-1] in heavy or len(path) == 1:
            heavy.add(path)
        if len(heavy) == most:
            break
    below: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for path in sums:
        if path in heavy:
            below.setdefault(path[:-1], []).append(path)
    rows: list[CallRow] = []
    stack = _by_difference(below.get((), []), sums)
    while stack:
        path = stack.pop()
        total_a, total_b, self_a, self_b, calls_a, calls_b = sums[path]
        rows.append(
            CallRow(path[-1], called.in_b(path[-1]), len(path) - 1, total_a, total_b, self_a, self_b, calls_a, calls_b)
        )
        stack += _by_difference(below.get(path, []), sums)
    return CallRows(rows, len(sums) - len(rows) + unseen)


def _by_difference(paths: list[tuple[str, ...]], sums: dict[tuple[str, ...], list[int]]) -> list[tuple[str, ...]]:
    """The one that differs most last, since it is taken first."""
    return sorted(paths, key=lambda path: (abs(sums[path][1] - sums[path][0]), max(sums[path][:2])))


def _paths(capture: Capture, called: Callable[[str], str]) -> tuple[dict[tuple[str, ...], tuple[int, int, int]], int]:
    """Total, self and calls of the heaviest nodes of the hosts' call tree, by the names from the outermost on, and how
    many others there are."""
    tracks = [row.id for row in group_tracks(capture, "host")]
    if not tracks:
        return {}, 0
    tree = call_tree(capture, tracks, None, together="host")
    heavy = np.argsort(-tree.sums.total, kind="stable")[:_NODES]
    keep = set(heavy.tolist())
    found: dict[tuple[str, ...], tuple[int, int, int]] = {}
    names: dict[int, tuple[str, ...]] = dict.fromkeys(range(len(tree.titles)), ())
    for node in np.argsort(tree.depth, kind="stable").tolist():
        parent = int(tree.parent[node])
        if node < len(tree.titles) or node not in keep or parent not in names:
            continue
        path = names[node] = (*names[parent], called(plain(tree.name(node))))
        before = found.get(path, (0, 0, 0))
        own = (int(tree.sums.total[node]), int(tree.sums.self[node]), int(tree.sums.count[node]))
        found[path] = tuple(x + y for x, y in zip(before, own, strict=True))  # type: ignore[assignment]
    return found, len(tree.depth) - len(heavy)


@dataclass(frozen=True, slots=True)
class LaneWindow:
    """A lane in a window; times in ns since the capture's first moment."""

    title: str
    kind: str
    start: list[int]
    end: list[int]
    name: list[int]
    """Numbers in `Lanes.names`."""
    count: list[int]


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes of one side in a window."""

    lanes: tuple[LaneWindow, ...]
    names: tuple[str, ...]
    length: int
    """ns of the whole capture."""
    left_out: int
    """Tracks that are not among the lanes."""


def lanes(capture: Capture, t0: int, t1: int, pixels: int) -> Lanes:
    """The outermost lanes of a capture's devices and hosts, t0 and t1 in ns since its first moment."""
    begin, end = span(capture, contexts=False) or (0, 0)
    rows = [row for row in timeline_tracks(capture) if row.depths]
    left_out = max(0, len(rows) - _LANES)
    rows = sorted(rows, key=lambda row: row.kind not in ("device", "copy", "worker"))[:_LANES]
    windows = capture.windows([(row.id, row.depths[0]) for row in rows], begin + t0, begin + t1, pixels)
    texts, numbers = capture.names(), dict[int, int]()
    found = []
    for row, window in zip(rows, windows, strict=True):
        name = [numbers.setdefault(int(code), len(numbers)) for code in window.name.tolist()]
        start, past = (window.start - begin).tolist(), (window.end - begin).tolist()
        found.append(LaneWindow(row.title, row.kind, start, past, name, window.count.tolist()))
    return Lanes(
        tuple(found), tuple(plain(texts[code]) if code >= 0 else "" for code in numbers), end - begin, left_out
    )
