"""Places labels greedily, important ones first: one that would touch another is left out and counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from peephole.render.tape.text import width


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in px, y downwards."""

    x0: float
    y0: float
    x1: float
    y1: float

    def touches(self, other: Box) -> bool:
        """Whether the two overlap."""
        return self.x0 < other.x1 and other.x0 < self.x1 and self.y0 < other.y1 and other.y0 < self.y1


@dataclass(frozen=True, slots=True)
class Label:
    """A text with the left end of its middle line, its font size in px and what it is."""

    x: float
    y: float
    text: str
    size: float
    colour: str
    bold: bool = False
    anchor: str = "left"
    role: str = ""
    leader: float | None = None
    """y down to which a thin line leads from the label, None for none."""

    @property
    def box(self) -> Box:
        """The room that it takes."""
        w = width(self.text, self.size, self.bold)
        x0 = self.x if self.anchor == "left" else self.x - w if self.anchor == "right" else self.x - w / 2
        return Box(x0, self.y - self.size * 0.6, x0 + w, self.y + self.size * 0.6)


class Space:
    """The free room of a picture: boxes already taken, found by columns of 200 px."""

    def __init__(self, left: float, right: float, taken: Iterable[Box] = ()) -> None:
        self._left, self._right = left, right
        self._columns: dict[int, list[Box]] = {}
        self.left_out = 0
        for box in taken:
            self.take(box)

    def take(self, box: Box) -> None:
        """Makes a rectangle unavailable."""
        for column in range(int(box.x0 // 200), int(box.x1 // 200) + 1):
            self._columns.setdefault(column, []).append(box)

    def free(self, box: Box) -> bool:
        """Whether nothing is there and it is inside."""
        if box.x0 < self._left or box.x1 > self._right:
            return False
        columns = range(int(box.x0 // 200), int(box.x1 // 200) + 1)
        return not any(box.touches(other) for column in columns for other in self._columns.get(column, ()))

    def place(self, choices: Sequence[Label]) -> Label | None:
        """The first choice that is free, taken; None and counted when none is."""
        for label in choices:
            if self.free(label.box):
                self.take(label.box)
                return label
        self.left_out += 1
        return None
