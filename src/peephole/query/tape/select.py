"""A part of a tape: some workers, some time, some operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Final

import numpy as np

from peephole.errors import PeepholeError
from peephole.model.natural import whole_number
from peephole.query.tape.rows import Flags, Ints
from peephole.query.tape.tape import Arrows, Signal, Tape

LIMIT: Final = 9.0e9
"""Seconds that fit into 63 bits of nanoseconds: `--interval 2 inf` is to the end."""


def select(
    tape: Tape,
    workers: Sequence[str] = (),
    interval: tuple[float, float] | None = None,
    ops: Sequence[str] = (),
) -> Tape:
    """The tape with only these workers (names, patterns or numbers from 0), seconds and operations."""
    lanes = _lanes(tape, workers) if workers else list(range(len(tape.lanes)))
    keep = np.isin(tape.lane, lanes)
    signals = tape.signals
    if interval is not None:
        if not interval[0] < interval[1]:
            raise PeepholeError(
                f"--interval needs a beginning before its end, not {interval[0]:g} and {interval[1]:g}."
            )
        a, b = (round(min(max(second, -LIMIT), LIMIT) * 1e9) for second in interval)
        keep &= (tape.time < b) & (tape.time + np.maximum(tape.dur, 0) >= a)
        signals = tuple(
            replace(signal, start=max(signal.start, a), end=None if signal.end is None else min(signal.end, b))
            for signal in signals
            if signal.start < b and (signal.start if signal.end is None else signal.end) >= a
        )
    if ops:
        keep &= _ops(tape, ops)
    return _keep(tape, keep, lanes, signals)


def _lanes(tape: Tape, workers: Sequence[str]) -> list[int]:
    known = tape.of_kind("worker")
    wanted: list[int] = []
    for text in workers:
        exact = [i for i in known if tape.lanes[i].name == text]
        near = exact or [i for i in known if fnmatchcase(tape.lanes[i].name, text)]
        if not near and 0 <= (number := whole_number(text)) < len(known):
            near = [known[number]]
        if not near:
            names = ", ".join(tape.lanes[i].name for i in known[:8]) + (", …" if len(known) > 8 else "")
            raise PeepholeError(f"No worker is named {text!r}; the tape has {names or 'no workers'}.")
        wanted += near
    return [i for i, lane in enumerate(tape.lanes) if lane.kind != "worker" or i in wanted]


def _ops(tape: Tape, ops: Sequence[str]) -> Flags:
    texts = [text.lower() for text in ops]
    good_op = np.array([name.lower() in texts for name in tape.ops], np.bool_)
    good_family = np.array([name.lower() in texts for name in tape.families], np.bool_)
    found: Flags = good_op[tape.op] | good_family[tape.family]
    if not found.any():
        names = ", ".join(sorted({*tape.families, *tape.ops})[:20])
        raise PeepholeError(f"Nothing on the tape is {' or '.join(ops)}; it has {names}.")
    return found


def _keep(tape: Tape, keep: Flags, lanes: list[int], signals: tuple[Signal, ...]) -> Tape:
    rows = np.flatnonzero(keep)
    place = np.full(len(tape) + 1, -1, np.int64)
    place[rows] = np.arange(len(rows))
    lane_at = np.full(len(tape.lanes) + 1, -1, np.int64)
    lane_at[lanes] = np.arange(len(lanes))
    arrows = tape.arrows
    good = np.flatnonzero((lane_at[arrows.source] >= 0) & (lane_at[arrows.target] >= 0) & (place[arrows.event] >= 0))
    return replace(
        tape,
        lanes=tuple(tape.lanes[i] for i in lanes),
        lane=lane_at[tape.lane[rows]],
        time=tape.time[rows],
        dur=tape.dur[rows],
        seq=tape.seq[rows],
        event=tape.event[rows],
        op=tape.op[rows],
        command=tape.command[rows],
        family=tape.family[rows],
        size=tape.size[rows],
        pair=_moved(tape.pair[rows], place),
        of=_moved(tape.of[rows], place),
        reply_first=tape.reply_first[rows],
        failed=tape.failed[rows],
        row=tape.row[rows],
        details=tape.details.take(rows),
        arrows=Arrows(
            lane_at[arrows.source[good]],
            lane_at[arrows.target[good]],
            arrows.start[good],
            arrows.end[good],
            arrows.bytes[good],
            place[arrows.event[good]],
        ),
        signals=signals,
    )


def _moved(rows: Ints, place: Ints) -> Ints:
    return place[rows]  # -1 points at the last entry, which is -1
