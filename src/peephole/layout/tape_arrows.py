"""Messages as arrows between lanes: those of one pair, direction and little while become one."""

from __future__ import annotations

from typing import Final

import numpy as np

from peephole.layout.tape_axis import Axis
from peephole.layout.tape_events import registered
from peephole.layout.tape_picture import Arrow, LaneBox
from peephole.query.tape import Tape

CLEAR: Final = 0.38
"""Share of a lane's height that an arrow keeps from its line, so that it never hides a mark."""
APART: Final = 2.4
"""px between what goes down and what comes up."""
SLANT: Final = 7.0
"""px that a message's two ends must be apart to be drawn slanted."""


def arrows(tape: Tape, axis: Axis, lanes: list[LaneBox], bin_px: float) -> tuple[list[Arrow], int]:
    """The arrows, and how many ns of messages one of them sums up."""
    many = tape.arrows
    longest = max(axis.stretches, key=lambda stretch: stretch.x1 - stretch.x0)
    per = (longest.end - longest.start) / max(1.0, longest.x1 - longest.x0 - 28) * bin_px
    if not len(many):
        return [], round(per)
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
    return found, round(per)
