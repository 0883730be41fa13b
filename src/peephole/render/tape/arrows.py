"""Messages as arrows between lanes: those of one pair, direction and little while become one."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from peephole.query.tape.axis import Axis
from peephole.query.tape.tape import Tape
from peephole.render.tape.events import registered
from peephole.render.tape.picture import Arrow, LaneBox

CLEAR: Final = 0.38
"""Share of a lane's height that an arrow keeps from its line, so that it never hides a mark."""
APART: Final = 2.4
"""px between what goes down and what comes up."""
MOST_INK: Final = 0.2
"""Share of the lanes' area that arrows may cover."""
SLANT: Final = 7.0
"""px that a message's two ends must be apart to be drawn slanted."""


def arrows(tape: Tape, axis: Axis, lanes: list[LaneBox], bin_px: float) -> tuple[list[Arrow], int, bool]:
    """The arrows, how many ns of messages one of them sums up, and whether only their ends are drawn."""
    many = tape.arrows
    longest = max(axis.stretches, key=lambda stretch: stretch.x1 - stretch.x0)
    per = (longest.end - longest.start) / max(1.0, longest.x1 - longest.x0 - 28) * bin_px
    if not len(many):
        return [], round(per), False
    keep = np.flatnonzero((many.source != many.target) & ~np.append(registered(tape), False)[many.event])
    x0, x1 = axis.x(many.start[keep]), axis.x(many.end[keep])
    slanted = np.abs(x1 - x0) > SLANT
    source, target, size = many.source[keep], many.target[keep], np.maximum(many.bytes[keep], 0)
    key = (source * len(lanes) + target) * (1 << 40) + np.floor(x0 / bin_px).astype(np.int64)
    # a message that takes its time keeps its own slope
    key = np.where(slanted, -1 - np.arange(len(key)), key)
    _, first, inverse, count = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    mean0 = np.bincount(inverse, x0) / count
    mean1 = np.bincount(inverse, x1) / count
    total = np.bincount(inverse, size)
    found = []
    for i, row in enumerate(first.tolist()):
        a, b = lanes[int(source[row])], lanes[int(target[row])]
        down = b.y > a.y
        shift = -APART if down else APART
        sign = 1.0 if down else -1.0
        gap_a, gap_b = CLEAR * 2 * (a.y1 - a.y), CLEAR * 2 * (b.y1 - b.y)
        y0, y1 = a.y + sign * gap_a * 0.5, b.y - sign * gap_b * 0.5
        if abs(y1 - y0) < 6 or (y1 - y0) * sign < 0:
            y0, y1 = a.y, b.y
        found.append(
            Arrow(float(mean0[i]) + shift, y0, float(mean1[i]) + shift, y1, int(count[i]), int(total[i]),
                  int(source[row]), int(target[row]))
        )  # fmt: skip
    wall = _is_wall(found, axis, lanes)
    return (_ends(found, lanes) if wall else found), round(per), wall


def _is_wall(found: list[Arrow], axis: Axis, lanes: list[LaneBox]) -> bool:
    """Whether the arrows would cover the lanes, as those of hundreds of workers do."""
    ink = sum(abs(arrow.y1 - arrow.y0) * arrow.width for arrow in found)
    return ink > MOST_INK * (axis.stretches[-1].x1 - axis.stretches[0].x0) * (lanes[-1].y1 - lanes[0].y0)


def _ends(found: list[Arrow], lanes: list[LaneBox]) -> list[Arrow]:
    """The arrows' ends far from the dispatcher, too short to reach the next lane's line."""
    ends = []
    for arrow in found:
        length = arrow.y1 - arrow.y0
        part = min(1.0, (lanes[-1].y1 - lanes[-1].y0) / 2 / abs(length))
        across = arrow.x1 - arrow.x0
        if lanes[arrow.target].kind == "dispatcher":
            ends.append(replace(arrow, x1=arrow.x0 + part * across, y1=arrow.y0 + part * length))
        else:
            ends.append(replace(arrow, x0=arrow.x1 - part * across, y0=arrow.y1 - part * length))
    return ends
