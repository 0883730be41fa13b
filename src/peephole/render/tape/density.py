"""Where single marks would be mud: how many events of which operation, moment by moment."""

from __future__ import annotations

from typing import Final

import numpy as np

from peephole.query.tape.axis import Axis
from peephole.query.tape.tape import Tape
from peephole.render.tape.events import REGISTER, of_commands
from peephole.render.tape.picture import Ints, LaneBox, Rects

BIN: Final = 3.0
"""px of a moment."""


def density(tape: Tape, rows: Ints, axis: Axis, lanes: list[LaneBox], colours: dict[str, str]) -> Rects:
    """Stacked columns per lane and moment: how high by how many, in the colours of what they are."""
    found = Rects()
    rows = rows[~of_commands(tape, REGISTER)[rows]]
    x = axis.x(tape.time[rows])
    bins = np.floor(x / BIN).astype(np.int64)
    families = len(tape.families)
    key = (tape.lane[rows] * (1 << 30) + bins) * families + tape.family[rows]
    unique, count = np.unique(key, return_counts=True)
    lane = unique // families // (1 << 30)
    at = (unique // families) % (1 << 30)
    family = unique % families
    column = unique // families
    _, inverse = np.unique(column, return_inverse=True)
    total = np.bincount(inverse, count)
    for i, box in enumerate(lanes):
        mine = np.flatnonzero(lane == i)
        if not len(mine):
            continue
        most = float(total[inverse[mine]].max())
        room = min(60.0, 0.62 * 2 * (box.y1 - box.y))
        base = box.y + room / 2
        heights = np.maximum(3.0, room * np.sqrt(total / most))
        before = -1
        y = base
        for k in mine.tolist():
            c = int(inverse[k])
            if c != before:
                y = base
                before = c
            h = float(heights[c] * count[k] / total[c])
            found.add(float(at[k]) * BIN, y - h, BIN - 0.4, h, colours[tape.families[int(family[k])]])
            y -= h
    return found
