"""How long compiling took: of each compilation as a whole, and of its phases without those inside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from peephole.query.capture.contexts import Context
from peephole.query.capture.names import tracks
from peephole.store.capture import Capture

PHASES: Final = "compile"
"""Kind of the tracks that show a compiler's phases."""


@dataclass(frozen=True, slots=True)
class PhaseTime:
    """A phase of a compilation: its own time, summed up; `start` is that of the longest."""

    name: str
    own: int
    start: int
    count: int


@dataclass(slots=True)
class CompileTimes:
    """By compilation: the time of all that it did, and of each phase."""

    total: dict[int, int]
    phases: dict[int, list[PhaseTime]]


def compile_times(capture: Capture, owner: Mapping[int, int], known: Mapping[int, Context]) -> CompileTimes:
    """Times by compilation. `owner` gives the compilation that a context belongs to.

    They come from the compiler's phases where the capture has some, else from contexts and steps.
    """
    total: dict[int, int] = {}
    spent: dict[tuple[int, str], list[int]] = {}
    _from_slices(capture, owner, total, spent)
    _from_steps(capture, owner, known, total, spent)
    phases: dict[int, list[PhaseTime]] = {}
    for (context, name), (own, _, start, count) in spent.items():
        phases.setdefault(context, []).append(PhaseTime(name, own, start, count))
    return CompileTimes(total, phases)


def _from_slices(
    capture: Capture, owner: Mapping[int, int], total: dict[int, int], spent: dict[tuple[int, str], list[int]]
) -> None:
    lanes = capture.lanes()
    for track in (track.id for track in tracks(capture) if track.kind == PHASES):
        rows: list[tuple[int, int, str, int]] = []
        for lane in np.flatnonzero(lanes.track == track).tolist():
            first, count = int(lanes.first[lane]), int(lanes.count[lane])
            frame = capture.read("slices", ["start", "dur", "name", "context"], slice(first, first + count))
            columns = (frame["start"].tolist(), frame["dur"].tolist(), frame["context"].tolist())
            texts = [name or "" for name in frame.texts("name")]
            rows += [
                (start, -dur, name, owner.get(context, -1))
                for start, dur, context, name in zip(*columns, texts, strict=True)
            ]
        rows.sort()
        _nested(rows, total, spent)


def _nested(
    rows: list[tuple[int, int, str, int]], total: dict[int, int], spent: dict[tuple[int, str], list[int]]
) -> None:
    """Adds the own time of slices, which come in the order of their begins, the longer first."""
    open_: list[tuple[int, int]] = []  # end and row
    own: dict[int, int] = {}
    for row, (start, negative, _, context) in enumerate(rows):
        end = start - negative
        while open_ and open_[-1][0] <= start:
            open_.pop()
        # what runs at the same time begins inside another and ends outside of it: it belongs to what holds both
        around = next((outer for past, outer in reversed(open_) if past >= end), None)
        if around is not None:
            own[around] -= end - start
        elif context >= 0:
            total[context] = total.get(context, 0) + end - start
        own[row] = end - start
        open_.append((end, row))
    for row, time in own.items():
        start, _, name, context = rows[row]
        if context >= 0:
            sums = spent.setdefault((context, name), [0, -1, start, 0])
            sums[0] += max(time, 0)
            sums[3] += 1
            if time > sums[1]:
                sums[1], sums[2] = time, start


def _from_steps(
    capture: Capture,
    owner: Mapping[int, int],
    known: Mapping[int, Context],
    total: dict[int, int],
    spent: dict[tuple[int, str], list[int]],
) -> None:
    """The same for compilations that no phase tells of."""
    timed = set(total)
    for context in known.values():
        if owner.get(context.id, -1) == context.id and context.id not in timed and context.dur > 0:
            total[context.id] = context.dur
    for context in known.values():
        compilation, parent = owner.get(context.id, -1), known.get(context.parent)
        if compilation < 0 or compilation in timed or parent is None or context.dur <= 0:
            continue
        if context.start >= parent.start + max(parent.dur, 0):  # a backward half is compiled when it first runs
            total[compilation] = total.get(compilation, 0) + context.dur
    frame = capture.read("steps", ["context", "depth", "start", "dur", "name"])
    contexts, depths, durs = (frame[name].tolist() for name in ("context", "depth", "dur"))
    starts, names = frame["start"].tolist(), frame.texts("name")
    for row, context in enumerate(contexts):
        compilation = owner.get(context, -1)
        if compilation < 0 or compilation in timed or durs[row] <= 0:
            continue
        inside = 0
        for below in range(row + 1, len(contexts)):
            if contexts[below] != context or depths[below] <= depths[row]:
                break
            if depths[below] == depths[row] + 1:
                inside += max(durs[below], 0)
        own = max(durs[row] - inside, 0)
        sums = spent.setdefault((compilation, names[row] or ""), [0, -1, starts[row], 0])
        sums[0] += own
        sums[3] += 1
        if own > sums[1]:
            sums[1], sums[2] = own, starts[row]
