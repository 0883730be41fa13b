"""The part of a tape that a window shows: single marks where they can be told apart, columns where they cannot.

A window is cut for a scale (ns per pixel). Cells begin at multiples of their own length, whatever the window, so that
panning never moves what is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from peephole.query.tape.operations import SIGNAL_COMMANDS
from peephole.query.tape.rows import Flags, Ints
from peephole.query.tape.stats import setup
from peephole.query.tape.tape import Tape

STACK_PX: Final = 6.0
"""px within which marks would hide each other: they stand above each other."""
COLUMN_PX: Final = 2.5
"""Least px of a column."""
ARROW_PX: Final = 6.0
WIDE_ARROW_PX: Final = 30.0
SLANT_PX: Final = 7.0
"""px that a message's two ends must be apart to be drawn with its own slope."""
MOST_SLANTED: Final = 3000
STACK: Final = 16
"""How many marks may stand above each other, as many as GT logs in a millisecond; more of them are a column."""
MUD: Final = 0.15
"""Share of a lane's cells that may be too full before the whole lane is drawn in columns."""
SINGLE: Final = 24
"""How many of the largest messages are marked in a lane of columns."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Events that are drawn one by one."""

    row: Ints
    place: Ints
    """Place in the stack of its moment, from the top."""
    many: Ints
    """How many stand there."""


@dataclass(frozen=True, slots=True)
class Columns:
    """How many events of an operation a cell of a lane holds."""

    start: Ints
    lane: Ints
    family: Ints
    count: Ints
    row: Ints
    """The first of them."""
    cell: int


@dataclass(frozen=True, slots=True)
class Bundles:
    """Arrows: messages of one moment, pair and direction are one."""

    start: Ints
    end: Ints
    source: Ints
    target: Ints
    count: Ints
    bytes: Ints
    cell: int


@dataclass(frozen=True, slots=True)
class Window:
    """What is drawn between two times."""

    marks: Marks
    columns: Columns
    arrows: Bundles
    stacked: int
    """ns within which marks stand above each other."""


def drawn(tape: Tape) -> Flags:
    """The events that get a mark: a signal is a line, and the answer to a registration says nothing new."""
    carries = np.array([name in SIGNAL_COMMANDS for name in tape.commands], np.bool_)[tape.command]
    carries &= ~tape.is_event("WORKER_SEND", "WORKER_RECV", "SIGNAL")
    answers = np.array([name == "RegisterWorker" for name in tape.commands], np.bool_)[tape.command]
    found: Flags = ~carries & ~(answers & tape.is_event("SEND"))
    return found


def work_begins(tape: Tape) -> int | None:
    """When the first client asked for something, if workers had to come first; ns."""
    early = setup(tape)
    if early.all() or not early.any():
        return None
    return min([int(tape.time[~early].min()), *(signal.start for signal in tape.signals)])


def matching(tape: Tape, text: str) -> tuple[Flags, list[int]]:
    """Which events a filter keeps, and the lanes that stay.

    Words with spaces between them must all hold, words with commas are choices. One that is in a worker's name keeps
    those workers and everybody who is no worker; any other keeps the events whose operation, command, event or lane
    has it in its name.
    """
    keep = np.ones(len(tape), np.bool_)
    lanes = list(range(len(tape.lanes)))
    workers = set(tape.of_kind("worker"))
    for word in text.lower().split():
        choices = [choice for choice in word.split(",") if choice]
        named = {i for i in workers if any(choice in tape.lanes[i].name.lower() for choice in choices)}
        if named:
            lanes = [i for i in lanes if i not in workers or i in named]
            continue
        keep &= _named(tape, choices)
    stays = np.zeros(len(tape.lanes) + 1, np.bool_)
    stays[lanes] = True
    return keep & stays[tape.lane], lanes


def _named(tape: Tape, choices: list[str]) -> Flags:
    found = np.zeros(len(tape), np.bool_)
    columns = (
        (tape.op, tape.ops), (tape.family, tape.families), (tape.command, tape.commands), (tape.event, tape.events),
        (tape.lane, tuple(lane.name for lane in tape.lanes)),
    )  # fmt: skip
    for code, names in columns:
        if names:
            found |= np.array([any(choice in name.lower() for choice in choices) for name in names], np.bool_)[code]
    return found


def cut(tape: Tape, keep: Flags, t0: int, t1: int, per: float, shown: Flags | None = None) -> Window:
    """What [t0, t1) shows at `per` ns a pixel, of the events to keep; `shown` is what `drawn` gave."""
    shown = drawn(tape) if shown is None else shown
    inside = keep & shown & (tape.time < t1) & (tape.time + np.maximum(tape.dur, 0) >= t0)
    rows = np.flatnonzero(inside)
    stack = cell_of(tape.resolution, per * STACK_PX)
    full, dense = _crowded(tape, rows, stack)
    single = rows[~full]
    lonely = singles(tape, rows[full & dense[tape.lane[rows]]])
    marks = np.sort(np.concatenate((single, lonely)))
    place, many = _stacks(tape, marks, stack)
    # the few marks above columns stand alone, wherever they are
    alone = np.isin(marks, lonely)
    place[alone], many[alone] = 0, 1
    columns = _columns(tape, rows[full], cell_of(tape.resolution, per * COLUMN_PX))
    return Window(Marks(marks, place, many), columns, _bundles(tape, keep, t0, t1, per), stack)


def cell_of(resolution: int, least: float) -> int:
    """A moment's length in ns: the clock's resolution, doubled until it is at least so long."""
    cell = max(1, resolution)
    while cell < least and cell < 1 << 60:
        cell *= 2
    return cell


def _groups(lane: Ints, moment: Ints) -> tuple[Ints, Ints]:
    """For each row the number of its group, and how many rows each group has."""
    if not len(lane):
        return lane, lane
    key = lane * (int(moment.max()) - int(moment.min()) + 1) + (moment - int(moment.min()))
    _, group, count = np.unique(key, return_inverse=True, return_counts=True)
    return group.astype(np.int64), count.astype(np.int64)


def _crowded(tape: Tape, rows: Ints, stack: int) -> tuple[Flags, Flags]:
    """Which rows go into columns, and which lanes are drawn in columns altogether."""
    lanes = len(tape.lanes)
    dense = np.zeros(lanes, np.bool_)
    if not len(rows):
        return np.zeros(0, np.bool_), dense
    lane = tape.lane[rows]
    group, count = _groups(lane, tape.time[rows] // stack)
    full = count > STACK
    group_lane = np.zeros(len(count), np.int64)
    group_lane[group] = lane
    cells = np.maximum(1, np.bincount(group_lane, minlength=lanes))
    dense = np.bincount(group_lane, full, minlength=lanes) / cells > MUD
    crowded: Flags = full[group] | dense[lane]
    return crowded, dense


def singles(tape: Tape, rows: Ints, besides: Flags | None = None) -> Ints:
    """Events that get a mark even where they are many: what failed, what is rare (and `besides`), what is largest."""
    rare = tape.is_event("CONNECT", "DISCONNECT", "ERROR", "SIGNAL")[rows] | tape.failed[rows]
    if besides is not None:
        rare |= besides[rows]
    size = tape.size[rows]
    order = np.argsort(-size, kind="stable")[: SINGLE + 1]
    # of a size that more of them have than can be marked none stands out
    least = max(4096, int(size[order[-1]]) + 1 if len(order) > SINGLE else 0)
    chosen = np.zeros(len(rows), np.bool_)
    chosen[np.flatnonzero(rare)[: 8 * SINGLE]] = True
    chosen[order[size[order] >= least]] = True
    return rows[chosen]


def _stacks(tape: Tape, rows: Ints, stack: int) -> tuple[Ints, Ints]:
    group, count = _groups(tape.lane[rows], tape.time[rows] // stack)
    order = np.argsort(group, kind="stable")
    begin = np.concatenate((np.zeros(1, np.int64), np.cumsum(count)))[:-1] if len(count) else count
    place = np.empty(len(rows), np.int64)
    place[order] = np.arange(len(rows)) - np.repeat(begin, count)
    return place, count[group] if len(rows) else place.copy()


def _columns(tape: Tape, rows: Ints, cell: int) -> Columns:
    if not len(rows):
        none = np.zeros(0, np.int64)
        return Columns(none, none, none, none, none, cell)
    moment = tape.time[rows] // cell
    least = int(moment.min())
    spread = int(moment.max()) - least + 1
    families = max(1, len(tape.families))
    key = (tape.lane[rows] * spread + moment - least) * families + tape.family[rows]
    unique, first, count = np.unique(key, return_index=True, return_counts=True)
    return Columns(
        (unique // families % spread + least) * cell, unique // families // spread, unique % families, count,
        rows[first], cell,
    )  # fmt: skip


def _bundles(tape: Tape, keep: Flags, t0: int, t1: int, per: float) -> Bundles:
    arrows = tape.arrows
    answers = np.array([name == "RegisterWorker" for name in tape.commands], np.bool_)[tape.command]
    good = np.append(keep & ~(answers & tape.is_event("SEND")), False)
    begin, end = np.minimum(arrows.start, arrows.end), np.maximum(arrows.start, arrows.end)
    rows = np.flatnonzero((arrows.source != arrows.target) & good[arrows.event] & (begin < t1) & (end >= t0))
    pixels = max(1.0, (t1 - t0) / per)
    cell = cell_of(tape.resolution, per * (WIDE_ARROW_PX if len(rows) > 3 * pixels else ARROW_PX))
    if not len(rows):
        none = np.zeros(0, np.int64)
        return Bundles(none, none, none, none, none, none, cell)
    start = arrows.start[rows]
    slanted = np.abs(arrows.end[rows] - start) > per * SLANT_PX
    if int(slanted.sum()) > MOST_SLANTED:
        slanted[:] = False
    moment = start // cell
    least = int(moment.min())
    spread = int(moment.max()) - least + 1
    key = (arrows.source[rows] * len(tape.lanes) + arrows.target[rows]) * spread + moment - least
    key = np.where(slanted, -1 - np.arange(len(key)), key)  # a message that takes its time keeps its own slope
    _, first, group, count = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    size = np.bincount(group, np.maximum(arrows.bytes[rows], 0)).astype(np.int64)
    one = rows[first]
    # the mean of what stands together, counted from the window's begin so that floats keep every ns
    begins = (np.bincount(group, start - t0) / count).astype(np.int64) + t0
    ends = (np.bincount(group, arrows.end[rows] - t0) / count).astype(np.int64) + t0
    return Bundles(begins, ends, arrows.source[one], arrows.target[one], count, size, cell)
