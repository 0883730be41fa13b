"""Where everything of a tape's picture goes. Pure geometry: the same tape gives the same numbers on every machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from peephole.query.tape import axis as tape_axis
from peephole.query.tape.axis import Axis
from peephole.query.tape.operations import SIGNAL_COMMANDS
from peephole.query.tape.style import OUTLINED, SHAPES, UNKNOWN_SHAPE, colours_of, radii
from peephole.query.tape.tape import Signal, Tape
from peephole.query.tape.window import singles
from peephole.render.tape.arrows import arrows
from peephole.render.tape.density import density
from peephole.render.tape.events import REGISTER, of_commands, registered
from peephole.render.tape.labels import Box, Label, Space
from peephole.render.tape.legend import legend, legend_height
from peephole.render.tape.picture import Ints, LaneBox, Marks, Picture, Rects, SignalLine
from peephole.render.tape.text import shorten, size_text, visible, width, wrap

PX: Final = 96.0
"""Units of the picture per inch."""
MOST_PIXELS: Final = 20_000
"""A picture is never wider or higher than that, whatever a tape's clock says."""
SIGNAL_ROW: Final = 17.0
SIGNAL_ROWS: Final = 3
RIGHT: Final = 24.0
WIDEST: Final = 2900.0
WIDEST_DENSE: Final = 1800.0
"""px of time: more single marks need more room, densities do not."""
APART: Final = 8.0
"""px within which the marks of a finer clock stand above each other."""
LABEL_ROWS: Final = 3
LABEL_STEP: Final = 12.0
LABEL_ROOM: Final = LABEL_ROWS * LABEL_STEP
LOWEST: Final = 12.0
"""A lane that is no higher has no room for labels above it."""
BELOW: Final = 200.0
"""For the axis and the notes."""
LABEL_SIZE: Final = 10.0
INK, DIM, FAINT, RED, BROWN = "#0f172a", "#475569", "#64748b", "#c8102e", "#8a4b08"


@dataclass(frozen=True, slots=True)
class Options:
    """How the picture is made."""

    dpi: float = 150.0
    fold: bool = True


def layout(tape: Tape, options: Options = Options()) -> Picture:
    """The picture of a tape that has at least one event."""
    limit = MOST_PIXELS / options.dpi * PX
    drawn = _drawn(tape)
    lead = _work_begins(tape)
    long = np.flatnonzero(tape.dur > 0)
    running = tape.time[long], tape.time[long] + tape.dur[long]
    parts = tape_axis.fold(_times(tape), lead, options.fold, running)
    has_lead = lead is not None and len(parts) > 1 and parts[1][0] == lead
    left = _left(tape)
    colours = colours_of(_family_counts(tape, drawn))
    slots = len(np.unique(tape.time[drawn][tape.time[drawn] >= parts[has_lead][0]] // 1_000_000))
    seconds = sum(b - a for a, b in parts[has_lead:]) / 1e9
    content = float(np.clip(max(10.5 * slots, 1080 + 12 * seconds), 1080, WIDEST))
    dense = _is_dense(tape, drawn, content)
    if dense:
        content = min(content, WIDEST_DENSE)
    total = min(max(left + content + RIGHT, 1440.0), limit)
    axis = tape_axis.layout(parts, left, total - RIGHT, has_lead)
    signal_labels, signal_rows, rows, missing = _signal_names(tape, axis, total - RIGHT)
    items, item_rows = legend(tape, drawn, colours, left, total - RIGHT)
    top = 74.0
    lanes, bottom = _lanes(tape, top + SIGNAL_ROW * max(rows, 1) + 4, limit - legend_height(item_rows) - BELOW, dense)
    marks = _marks(tape, singles(tape, drawn, of_commands(tape, REGISTER)) if dense else drawn, axis, lanes, colours)
    fill = density(tape, drawn, axis, lanes, colours) if dense else Rects()
    bars = Rects() if dense else _bars(tape, axis, lanes, colours)
    found_arrows, per, ends_only = arrows(tape, axis, lanes, 64.0 if dense else 11.0)
    lines, spans = _signal_lines(tape.signals, axis, signal_rows, top, lanes[0].y0 - 3)
    labels = [replace(label, y=label.y + top) for label in signal_labels]
    space = Space(left - 4, total - 6, (label.box for label in labels))
    labels += _lane_names(lanes, left)
    labels += _fold_notes(tape, axis, top, space, has_lead, lanes)
    if not dense:
        labels += _event_labels(tape, marks, lanes, space)
        labels += _size_labels(tape, marks, space, 24)
    left_out = missing + space.left_out
    labelled, small = _ticks(axis)
    axis_y = bottom + 8
    y = axis_y + 62
    note = _note(tape, per, ends_only, left_out, dense, len(marks.x) > 0, total - left - RIGHT)
    return Picture(
        width=total,
        height=y + legend_height(item_rows) + 18 * len(note) + 10,
        title=_title(tape, total - left - RIGHT),
        subtitle=_subtitle(tape),
        lanes=lanes,
        axis=axis,
        axis_y=axis_y,
        axis_title=(
            "seconds since the dispatcher started" if tape.engine == "gt" else "seconds since the recording started"
        ),
        ticks=labelled,
        small_ticks=small,
        top=top,
        marks=marks,
        bars=bars,
        density=fill,
        arrows=found_arrows,
        lines=lines,
        spans=spans,
        labels=labels,
        legend=[replace(item, y=item.y + y) for item in items],
        note=note,
        dense=dense,
        left_out=left_out,
    )


def _family_counts(tape: Tape, rows: Ints) -> dict[str, int]:
    count = np.bincount(tape.family[rows], minlength=len(tape.families)).tolist()
    return {name: n for name, n in zip(tape.families, count, strict=True) if n}


def _drawn(tape: Tape) -> Ints:
    """The events that get a mark: a signal is a line, and the answer to a registration says nothing new."""
    drawn = ~of_commands(tape, SIGNAL_COMMANDS) | tape.is_event("WORKER_SEND", "WORKER_RECV", "SIGNAL")
    found: Ints = np.flatnonzero(drawn & ~registered(tape))
    return found if len(found) else np.arange(len(tape))


def _times(tape: Tape) -> Ints:
    more = [t for signal in tape.signals for t in (signal.start, signal.end) if t is not None]
    ends = (tape.time + tape.dur)[tape.dur > 0]
    return np.concatenate((tape.time, ends, np.array(more, np.int64)))


def _work_begins(tape: Tape) -> int | None:
    """When the first client asked for something, if workers had to come first."""
    work = np.flatnonzero(~of_commands(tape, ("RegisterWorker", "CLIENT", "WORKER")))
    if not len(work) or len(work) == len(tape):
        return None
    return min([int(tape.time[work].min()), *(signal.start for signal in tape.signals)])


def _left(tape: Tape) -> float:
    names = [width(shorten(lane.name, 26), 13, bold=True) for lane in tape.lanes]
    return float(np.clip(max(names, default=60) + 26, 96, 300))


def _is_dense(tape: Tape, drawn: Ints, content: float) -> bool:
    """Whether a lane has so many events that single marks would be mud."""
    counts = np.bincount(tape.lane[drawn], minlength=1)
    return bool(counts.max() > content / 1.6)


def _lanes(tape: Tape, top: float, limit: float, dense: bool) -> tuple[list[LaneBox], float]:
    """The lanes from top to bottom; above each client there is room for the labels of its commands."""
    clients = sum(lane.kind == "client" for lane in tape.lanes)
    crowded = LABEL_ROOM * clients + LOWEST * len(tape.lanes) > limit - top
    room = 0.0 if dense or crowded else LABEL_ROOM
    height = (88.0 if dense else 74.0) if len(tape.lanes) <= 12 else 54.0 if len(tape.lanes) <= 40 else 34.0
    height = min(height, (limit - top - room * clients) / len(tape.lanes))
    found = []
    y = top
    for lane in tape.lanes:
        extra = room if lane.kind == "client" else 0.0
        found.append(LaneBox(lane.name, lane.kind, y, y + height + extra, y + extra + height / 2))
        y += height + extra
    return found, y


def _marks(tape: Tape, rows: Ints, axis: Axis, lanes: list[LaneBox], colours: dict[str, str]) -> Marks:
    """A mark per event; those of one moment stand above each other in the order of their numbers."""
    x = axis.x(tape.time[rows])
    lane = tape.lane[rows]
    ys = np.array([box.y for box in lanes])
    half = np.array([(box.y1 - box.y) for box in lanes])
    # one moment is what the tape's clock calls one, or what the picture cannot show apart
    moment = tape.time[rows] if tape.resolution >= 1_000_000 else np.floor(x / APART).astype(np.int64)
    order = np.lexsort((np.arange(len(rows)), moment, lane))
    key = lane[order] * (1 << 53) + moment[order] // (1_000_000 if tape.resolution >= 1_000_000 else 1)
    begin = np.flatnonzero(np.diff(key, prepend=key[0] - 1 if len(key) else 0))
    count = np.diff(np.append(begin, len(key)))
    place = np.arange(len(key)) - np.repeat(begin, count)
    many = np.repeat(count, count)
    spread = np.minimum(9.5, (2 * half[lane[order]] - 26) / np.maximum(1, many - 1))
    y = np.empty(len(rows))
    y[order] = ys[lane[order]] + (place - (many - 1) / 2) * np.maximum(spread, 0.5)
    families = [tape.families[i] for i in tape.family[rows].tolist()]
    events = [tape.events[i] for i in tape.event[rows].tolist()]
    return Marks(
        x,
        y,
        radii(tape.size[rows], int(tape.size.max(initial=0))),
        [SHAPES.get(event, UNKNOWN_SHAPE) for event in events],
        [colours[family] for family in families],
        np.array([family in OUTLINED for family in families], np.bool_),
        rows,
    )


def _bars(tape: Tape, axis: Axis, lanes: list[LaneBox], colours: dict[str, str]) -> Rects:
    """Durations that the tape knows, on the workers' lanes."""
    found = Rects()
    workers = np.array([lane.kind == "worker" for lane in tape.lanes], np.bool_)
    rows = np.flatnonzero((tape.dur > 0) & workers[tape.lane] & ~of_commands(tape, REGISTER))
    for i, x0, x1 in zip(
        rows.tolist(), axis.x(tape.time[rows]).tolist(), axis.x(tape.time[rows] + tape.dur[rows]).tolist(), strict=True
    ):
        box = lanes[int(tape.lane[i])]
        height = min(14.0, 0.3 * (box.y1 - box.y0))
        found.add(
            x0, box.y - height / 2, max(x1 - x0, 0.7), height, colours.get(tape.families[int(tape.family[i])], DIM)
        )
    return found


def _signal_lines(
    signals: tuple[Signal, ...], axis: Axis, rows: list[int], top: float, below: float
) -> tuple[list[SignalLine], list[tuple[float, float]]]:
    """The lines: a start rises to its name, an end only to where the names stand, so that none goes through a word."""
    lines, spans = [], []
    for signal, row in zip(signals, rows, strict=True):
        x = axis.x_of(signal.start)
        lines.append(SignalLine(x, signal.ending, below if row < 0 else top + SIGNAL_ROW * row))
        if signal.end is not None:
            end = axis.x_of(signal.end)
            lines.append(SignalLine(end, True, below))
            spans.append((x, end))
    return lines, spans


def _signal_names(tape: Tape, axis: Axis, right: float) -> tuple[list[Label], list[int], int, int]:
    """The names beside their lines, the row of each signal's (-1: no room), how many rows, how many are missing.

    A name stands below those that reach over its line, for the line must not go through them.
    """
    ends = [-1e9] * SIGNAL_ROWS
    found, missing = [], 0
    rows = [-1] * len(tape.signals)
    for i in sorted(range(len(tape.signals)), key=lambda i: tape.signals[i].start):
        text = shorten(tape.signals[i].name, 32)
        line = axis.x_of(tape.signals[i].start)
        w = width(text, 11, bold=True)
        turned = line + 4 + w > right + 18
        x = line - w - 4 if turned else line + 4
        row = next((k + 1 for k in reversed(range(SIGNAL_ROWS)) if ends[k] > min(x, line)), 0)
        if row == SIGNAL_ROWS:
            # rather a line through a word than a name that is missing
            row = next((k for k in range(SIGNAL_ROWS) if ends[k] <= min(x, line)), SIGNAL_ROWS)
        if row == SIGNAL_ROWS:
            missing += 1
            continue
        rows[i] = row
        ends[row] = max(x + w, line) + 6
        found.append(Label(x, SIGNAL_ROW * row + 8, text, 11, RED, bold=True, role="signal"))
    return found, rows, max(rows, default=-1) + 1, missing


def _lane_names(lanes: list[LaneBox], left: float) -> list[Label]:
    found = []
    size = float(np.clip(0.5 * (lanes[0].y1 - lanes[0].y0), 5, 13)) if len(lanes) > 40 else 13.0
    end = -1e9
    for lane in lanes:
        label = Label(
            left - 12, lane.y, shorten(lane.name, 26), size, INK, lane.kind != "worker", anchor="right", role="lane"
        )
        if label.box.y0 >= end:
            found.append(label)
            end = label.box.y1
    return found


def _fold_notes(tape: Tape, axis: Axis, top: float, space: Space, has_lead: bool, lanes: list[LaneBox]) -> list[Label]:
    found = []
    for before, after in zip(axis.stretches, axis.stretches[1:], strict=False):
        idle = after.start - before.end
        text = (f"{idle / 1e9:,.2f} s" if idle >= 10_000_000 else _milliseconds(idle)) + " folded"
        middle = (before.x1 + after.x0) / 2
        choices = [
            Label(after.x0 - 2, top + 8, text, 10, FAINT, anchor="right", role="fold"),
            Label(middle, top - 6, text, 10, FAINT, anchor="middle", role="fold"),
            Label(after.x1, top - 6, text, 10, FAINT, anchor="right", role="fold"),
        ]
        if (placed := space.place(choices)) is not None:
            found.append(placed)
    first = axis.stretches[0]
    if has_lead and len(lanes) > 1:
        text = "workers register" if tape.engine == "gt" else "workers join"
        middle = (first.x0 + first.x1) / 2
        label = Label(middle, lanes[0].y - 24, text, 10, DIM, anchor="middle", role="phase")
        if label.box.x0 >= first.x0:
            space.take(label.box)
            found.append(label)
    return found


def _event_labels(tape: Tape, marks: Marks, lanes: list[LaneBox], space: Space) -> list[Label]:
    """`#12 randn` above the client that asked for it: what computes first, then what is large, then the rest."""
    wanted = []
    asks = tape.is_event("RECV")
    for i, row in enumerate(marks.event.tolist()):
        lane = lanes[int(tape.lane[row])]
        if lane.kind != "client" or not asks[row]:
            continue
        if lane.y - lane.y0 < LABEL_ROOM:
            space.left_out += 1
            continue
        name = tape.families[int(tape.family[row])]
        rank = 2 if name == "FreeTensor" else 0 if name in ("MatMul", "Sum", "Mean", "GatherShards") else 1
        wanted.append((rank, -int(tape.size[row]) if tape.size[row] > 4096 else 0, i, row, lane))
    found = []
    for _, _, i, row, lane in sorted(wanted, key=lambda item: item[:3]):
        text = f"#{int(tape.seq[row])} {shorten(tape.ops[int(tape.op[row])], 18)}"
        x = float(marks.x[i])
        choices = [
            Label(
                x - 1, lane.y0 + LABEL_STEP * (LABEL_ROWS - level) - 1, text, LABEL_SIZE, INK, role="event",
                leader=float(marks.y[i]) - float(marks.radius[i]),
            )
            for level in range(LABEL_ROWS)
        ]  # fmt: skip
        if (label := space.place(choices)) is not None:
            found.append(label)
    return found


def _size_labels(tape: Tape, marks: Marks, space: Space, most: int) -> list[Label]:
    """The sizes of the largest messages, next to their marks."""
    sizes = tape.size[marks.event]
    large = np.flatnonzero(sizes >= max(4096, int(sizes.max(initial=0)) // 64))
    for i in large.tolist():
        r = float(marks.radius[i]) * 0.9
        space.take(Box(marks.x[i] - r, marks.y[i] - r, marks.x[i] + r, marks.y[i] + r))
    found = []
    before = space.left_out
    for i in _some(large[np.argsort(-sizes[large], kind="stable")], sizes, most):
        text, x, y, r = size_text(int(sizes[i])), float(marks.x[i]), float(marks.y[i]), float(marks.radius[i])
        middle = Label(x, y + r + 8, text, LABEL_SIZE, BROWN, anchor="middle", role="size")
        choices = [
            middle,
            Label(x + r + 4, y, text, LABEL_SIZE, BROWN, role="size"),
            Label(x, y - r - 8, text, LABEL_SIZE, BROWN, anchor="middle", role="size"),
            Label(x, y + r + 19, text, LABEL_SIZE, BROWN, anchor="middle", role="size"),
        ]
        if (label := space.place(choices)) is not None:
            found.append(label)
    space.left_out = before  # a size is a bonus: only names are missed
    return found


def _some(order: Ints, sizes: Ints, most: int) -> list[int]:
    """So many of what is sorted by size; where equals are too many, some from everywhere instead of the first ones."""
    if len(order) <= most:
        return list(order.tolist())
    least = sizes[order[most]]
    larger, equal = order[sizes[order] > least], order[sizes[order] == least]
    spread = equal[np.linspace(0, len(equal) - 1, most - len(larger)).astype(np.int64)]
    return [*larger.tolist(), *spread.tolist()]


def _ticks(axis: Axis) -> tuple[list[tuple[float, str]], list[float]]:
    labelled: list[tuple[float, str]] = []
    small: list[float] = []
    end = -1e9
    for stretch in axis.stretches:
        spacing = 44.0 if stretch.x1 - stretch.x0 < 260 else 105.0
        more, less = tape_axis.ticks(stretch, spacing)
        for x, text in more:
            w = width(text, 11) / 2
            if x - w > end:
                labelled.append((x, text))
                end = x + w + 6
        small += less
    return labelled, small


def _title(tape: Tape, room: float) -> str:
    """The tape's name, cut where it would touch what stands to its right."""
    room -= width(_subtitle(tape), 12) + 30
    length = 70
    while length > 8 and width(shorten(tape.name, length), 17, bold=True) > room:
        length -= 1
    return shorten(tape.name, length)


def _subtitle(tape: Tape) -> str:
    clients, workers = len(tape.of_kind("client")), len(tape.of_kind("worker"))
    first, last = float(tape.time.min()) / 1e9, float((tape.time + tape.dur).max()) / 1e9
    run = f" · {visible(tape.session.name)}" if tape.session.name else ""
    return (
        f"{len(tape):,} events · {_plural(clients, 'client')} · {_plural(workers, 'worker')} · "
        f"{first:,.3f} s to {last:,.3f} s{run}"
    )


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def _note(tape: Tape, per: int, ends_only: bool, left_out: int, dense: bool, marked: bool, room: float) -> list[str]:
    """What the picture cannot show, said in words."""
    said = []
    if dense:
        said.append("Height is the number of events per moment, colour their operations.")
        if marked:
            said.append("Single marks stand for the largest and the rare.")
    elif tape.resolution >= 1_000_000:
        said.append("Events of one millisecond stand above each other in the order of their numbers.")
    else:
        said.append("Events that would hide each other stand above each other in their order.")
    if len(tape.arrows):
        said.append(f"Arrows are summed per {_milliseconds(max(per, tape.resolution))}; wider means more.")
    if ends_only:
        said.append("Only the workers' ends of arrows are drawn: the lanes between would be covered.")
    if left_out:
        said.append(f"{_plural(left_out, 'label')} left out for space.")
    more = []
    gathers = int(of_commands(tape, ("GatherShards",)).sum())
    if gathers and tape.engine == "gt":
        more.append(
            f"GT does not log what moves between workers: the data of {_plural(gathers, 'gather')} is not drawn."
        )
    if tape.reply_first.any():
        more.append("Batches are logged when they are done: how long each took is not known.")
    if len(tape.sessions) > 1:
        more.append(f"The tape holds {len(tape.sessions)} runs; --run draws another.")
    if tape.problems:
        reason, count, _ = max(tape.problems, key=lambda problem: problem[1])
        more.append(
            f"{_plural(len(tape.problems), 'problem')} with the tape, first of all {count:,} × {visible(reason)}."
        )
    return [line for part in (said, more) if part for line in wrap(" ".join(part), 10, room)]


def _milliseconds(ns: int) -> str:
    value = ns / 1e6
    return f"{value:,.1f} ms" if value >= 0.1 else f"{ns / 1e3:,.1f} µs"
