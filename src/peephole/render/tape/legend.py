"""The legend of a tape's picture: only what occurs in it."""

from __future__ import annotations

from typing import Final

import numpy as np

from peephole.query.tape.operations import FAMILIES
from peephole.query.tape.style import OTHER, OUTLINED, SHAPE_NAMES, SHAPES, UNKNOWN_SHAPE, radius
from peephole.query.tape.tape import Tape
from peephole.render.tape.picture import Ints, LegendItem
from peephole.render.tape.text import shorten, size_text, width

ROW: Final = 27.0
SIZE: Final = 11.0
SIGN: Final = "#475569"
PALE: Final = "#9ca3af"


def legend_height(rows: int) -> float:
    """px that the legend takes."""
    return ROW * rows


def legend(tape: Tape, drawn: Ints, colours: dict[str, str], left: float, right: float) -> tuple[list[LegendItem], int]:
    """The items with y from 0, and in how many rows they stand."""
    flow = _Flow(left + 6, right)
    count = np.bincount(tape.family[drawn], minlength=len(tape.families))
    occurring = [name for i, name in enumerate(tape.families) if count[i]]
    known = [name for name in FAMILIES if name in occurring]
    more = sorted((name for name in occurring if name not in FAMILIES and colours[name] != OTHER),
                  key=lambda name: -count[tape.families.index(name)])  # fmt: skip
    for name in [*known, *more]:
        flow.add(shorten(name, 24), "square", colours[name], outlined=name in OUTLINED)
    if any(colours[name] == OTHER for name in occurring):
        flow.add("other", "square", OTHER)
    flow.next_row()
    present = np.unique(tape.event[drawn])
    names = [tape.events[i] for i in present.tolist()]
    order = [*SHAPES, *(name for name in names if name not in SHAPES)]
    for name in sorted(names, key=order.index):
        flow.add(shorten(SHAPE_NAMES.get(name, name), 24), SHAPES.get(name, UNKNOWN_SHAPE), SIGN)
    if tape.signals:
        flow.add("signal start", "line", "#c8102e")
    if any(signal.end is not None or signal.ending for signal in tape.signals):
        flow.add("signal end", "dashed", "#c8102e")
    sizes = tape.size[drawn]
    sizes = sizes[sizes > 0]
    if len(sizes):
        least, most = int(sizes.min()), int(sizes.max())
        round_sizes = (1 << 10, 1 << 16, 1 << 20, 1 << 26, 1 << 30)
        steps = sorted({least, *(step for step in round_sizes if least * 2 < step < most / 2), most})
        flow.gap(24)
        for step in steps:
            flow.add(size_text(step), "o", PALE, radius(step, int(tape.size.max())))
    return flow.items, flow.rows


class _Flow:
    """Puts items next to each other and begins a new row where one does not fit."""

    def __init__(self, left: float, right: float) -> None:
        self._left, self._right = left, right
        self._x, self._row = left, 0
        self.items: list[LegendItem] = []

    @property
    def rows(self) -> int:
        return self._row + 1

    def add(self, text: str, sign: str, colour: str, size: float = 5.0, outlined: bool = False) -> None:
        wide = 22.0 if sign in ("line", "dashed") else 2 * max(size, 5.0) + 2
        need = wide + 6 + width(text, SIZE) + 12
        if self._x + need > self._right and self._x > self._left:
            self.next_row()
        self.items.append(LegendItem(self._x + wide / 2, self._row * ROW + 10, text, sign, colour, size, outlined))
        self._x += need

    def gap(self, px: float) -> None:
        if self._x > self._left:
            self._x += px

    def next_row(self) -> None:
        if self._x > self._left:
            self._x = self._left
            self._row += 1
