"""The figures of a part of a tape's time: how many events, what moved between whom, who was busy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from peephole.query.tape.rows import Flags, Ints
from peephole.query.tape.stats import LaneStats, covered, earliest_start, lane_stats, setup
from peephole.query.tape.tape import Tape


@dataclass(frozen=True, slots=True)
class LaneRange:
    """One lane within the range."""

    lane: int
    events: int
    busy: int
    """ns in which it is known to have worked."""
    busy_most: int
    """ns in which it can have worked at most."""
    there: int
    """ns of the range in which it was there; less than all of it for a worker that came or left within."""


@dataclass(frozen=True, slots=True)
class PairRange:
    """Messages from one lane to another that began within the range."""

    source: int
    target: int
    messages: int
    bytes: int
    unknown: int


@dataclass(frozen=True, slots=True)
class RangeFigures:
    """What a range of time holds, of the events that a filter keeps."""

    start: int
    end: int
    events: int
    failures: int
    bytes: int
    lanes: tuple[LaneRange, ...]
    pairs: tuple[PairRange, ...]
    families: tuple[tuple[int, int], ...]
    """Operations by number with their events, most first."""


def range_figures(tape: Tape, keep: Flags, start: int, end: int) -> RangeFigures:
    """The figures of [start, end], ns since the dispatcher's start."""
    inside = keep & (tape.time >= start) & (tape.time <= end)
    counts = np.bincount(tape.lane[inside], minlength=len(tape.lanes))
    early = earliest_start(tape)
    work = keep & ~setup(tape)
    lanes = tuple(
        LaneRange(
            i,
            int(counts[i]),
            *_busy(tape, np.flatnonzero(work & (tape.lane == i)), early, start, end),
            _there(stats, start, end),
        )
        for i, stats in enumerate(lane_stats(tape))
    )
    pairs = _pairs(tape, keep, start, end)
    families = np.bincount(tape.family[inside], minlength=len(tape.families))
    order = [i for i in np.argsort(-families, kind="stable").tolist() if families[i]]
    return RangeFigures(
        start,
        end,
        events=int(inside.sum()),
        failures=int((inside & tape.failed).sum()),
        bytes=sum(pair.bytes for pair in pairs),
        lanes=lanes,
        pairs=pairs,
        families=tuple((i, int(families[i])) for i in order),
    )


def _busy(tape: Tape, rows: Ints, early: Ints, start: int, end: int) -> tuple[int, int]:
    known, late = rows[tape.dur[rows] > 0], rows[early[rows] >= 0]
    begins, ends = tape.time[known], tape.time[known] + tape.dur[known]
    busy = _covered(begins, ends, start, end)
    most = _covered(np.concatenate((begins, early[late])), np.concatenate((ends, tape.time[late])), start, end)
    return busy, max(busy, most)


def _there(lane: LaneStats, start: int, end: int) -> int:
    came = start if lane.since is None else max(start, lane.since)
    return max(0, (end if lane.until is None else min(end, lane.until)) - came)


def _covered(begins: Ints, ends: Ints, start: int, end: int) -> int:
    touches = np.flatnonzero((begins < end) & (ends > start))
    return covered(np.maximum(begins[touches], start), np.minimum(ends[touches], end))


def _pairs(tape: Tape, keep: Flags, start: int, end: int) -> tuple[PairRange, ...]:
    arrows = tape.arrows
    rows = np.flatnonzero(np.append(keep, False)[arrows.event] & (arrows.start >= start) & (arrows.start <= end))
    lanes = len(tape.lanes)
    key, at, count = np.unique(
        arrows.source[rows] * lanes + arrows.target[rows], return_inverse=True, return_counts=True
    )
    total = np.bincount(at, np.maximum(arrows.bytes[rows], 0), minlength=len(key))
    unknown = np.bincount(at, arrows.bytes[rows] < 0, minlength=len(key))
    return tuple(
        PairRange(k // lanes, k % lanes, int(count[i]), int(total[i]), int(unknown[i]))
        for i, k in enumerate(key.tolist())
    )
