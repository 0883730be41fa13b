"""The slices of a capture as columns of a copy: all of them, or only what they look like from afar."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peephole.store.capture import Capture
from peephole.store.index.buckets import Entries, of_slices
from peephole.store.tables.lanes import Lanes

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CopiedSlices:
    """Lanes one after the other. `level` 0: slices; else entries of buckets of 2**level ns (`store/index/buckets`)."""

    level: int
    track: Ints
    depth: Ints
    count: Ints
    """Rows of each lane."""
    levels: list[tuple[int, ...]]
    """Of each lane: those that the pyramid has."""
    gap: Ints
    """From the end of the one before it on its lane, of the first from the origin; ns, or buckets."""
    dur: Ints
    name: Ints
    context: Ints | None
    """Of slices, where anything was compiled; -1 for none."""
    correlation: Ints | None
    """Of slices, where flows or uses name any; 0 for none."""
    entries: dict[str, Ints] | None
    """Of buckets: `busy`, `begun`, `row`, `longest`."""


@dataclass(frozen=True, slots=True)
class CopiedTexts:
    """A text for each slice: its place in the list, -1 for none."""

    code: Ints
    texts: list[str]


def copied_slices(capture: Capture, origin: int) -> CopiedSlices:
    """All slices; times count from the origin."""
    lanes = capture.lanes()
    rows = capture.count("slices")
    linked = capture.count("contexts") > 0
    start, dur, name, context = capture.slice_rows(0, rows, linked) if rows else _nothing()
    named = capture.count("flows") + capture.count("uses") > 0
    correlation = capture.read("slices", ["correlation"])["correlation"] if named and rows else None
    gap = _gaps(start - origin, dur, lanes.first)
    track, depth = lanes.track.astype(np.int64), lanes.depth.astype(np.int64)
    columns = (gap, dur, name.astype(np.int64), context if linked else None, correlation)
    return CopiedSlices(0, track, depth, lanes.count, _levels(capture, lanes), *columns, None)


def copied_buckets(capture: Capture, origin: int, level: int) -> CopiedSlices:
    """What the slices look like where a pixel is 2**level ns."""
    lanes = capture.lanes()
    parts = [_lane(capture, lanes, lane, level) for lane in range(len(lanes))]
    counts = np.array([len(part) for part in parts], np.int64)
    low, high, busy, begun, row, longest, name = (
        np.concatenate([getattr(part, column) for part in parts]).astype(np.int64)
        for column in ("low", "high", "busy", "count", "row", "dur", "name")
    )
    low, high = low - (origin >> level), high - (origin >> level)
    gap = _gaps(low, high - low, np.cumsum(counts) - counts)
    entries = {"busy": busy, "begun": begun, "row": row, "longest": longest}
    track, depth = lanes.track.astype(np.int64), lanes.depth.astype(np.int64)
    return CopiedSlices(
        level, track, depth, counts, _levels(capture, lanes), gap, high - low, name, None, None, entries
    )


def coarse_levels(capture: Capture, span: int) -> Iterator[int]:
    """Levels to try when all slices are too many: from a fine picture to one of about a thousand pixels."""
    coarsest = max(1, (max(1, span) >> 10).bit_length())
    yield from range(max(1, coarsest - 12), coarsest + 1, 2)


def copied_args(capture: Capture) -> CopiedTexts:
    """What slices were recorded with, as JSON."""
    texts = capture.read("slices", ["args"]).texts("args")
    return CopiedTexts(texts.codes.astype(np.int64), list(texts.values))


def _lane(capture: Capture, lanes: Lanes, lane: int, level: int) -> Entries:
    first, count = int(lanes.first[lane]), int(lanes.count[lane])
    start, dur, name, _ = capture.slice_rows(first, first + count)
    return of_slices(start, dur, name, first, level)


def _levels(capture: Capture, lanes: Lanes) -> list[tuple[int, ...]]:
    places = zip(lanes.track.tolist(), lanes.depth.tolist(), strict=True)
    return [capture.pyramid_levels(track, depth) for track, depth in places]


def _gaps(start: Ints, dur: Ints, first: Ints) -> Ints:
    """The time between the end of each and the begin of the next of its lane: small numbers, which pack well."""
    gap = start.copy()
    if len(start):
        gap[1:] -= start[:-1] + dur[:-1]
        gap[first] = start[first]
    return gap


def _nothing() -> tuple[Ints, Ints, NDArray[np.int32], Ints]:
    zero = np.zeros(0, np.int64)
    return zero, zero, np.zeros(0, np.int32), zero
