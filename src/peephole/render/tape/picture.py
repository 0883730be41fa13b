"""What a tape's picture consists of, in px of 1/96 inch with y downwards: everything that a drawing needs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from peephole.query.tape.axis import Axis
from peephole.render.tape.labels import Label

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LaneBox:
    """A lane's band from `y0` to `y1`, its line at `y`."""

    name: str
    kind: str
    y0: float
    y1: float
    y: float


@dataclass(slots=True)
class Marks:
    """Single events. `event` is the row on the tape."""

    x: Floats
    y: Floats
    radius: Floats
    shape: list[str]
    colour: list[str]
    outlined: NDArray[np.bool_]
    event: Ints


@dataclass(slots=True)
class Rects:
    """Rectangles of a colour each: durations, and densities where single marks would be mud."""

    x: list[float] = field(default_factory=list)
    y: list[float] = field(default_factory=list)
    width: list[float] = field(default_factory=list)
    height: list[float] = field(default_factory=list)
    colour: list[str] = field(default_factory=list)

    def add(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """Adds one."""
        self.x.append(x)
        self.y.append(y)
        self.width.append(width)
        self.height.append(height)
        self.colour.append(colour)

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True, slots=True)
class Arrow:
    """Messages from one lane to another within a little while, as one arrow."""

    x0: float
    y0: float
    x1: float
    y1: float
    count: int
    bytes: int
    source: int
    target: int

    @property
    def width(self) -> float:
        """px of its line: wider means more."""
        return 0.9 + min(1.8, 0.3 * float(np.log2(self.count)))


@dataclass(frozen=True, slots=True)
class SignalLine:
    """A red line, dashed where something ends."""

    x: float
    ending: bool
    y: float
    """Where it begins; it ends at the axis."""


@dataclass(frozen=True, slots=True)
class LegendItem:
    """A word of the legend with its sign: a colour square, a marker, a line or a size."""

    x: float
    y: float
    text: str
    sign: str
    """`square`, `line`, `dashed`, or a marker letter."""
    colour: str
    radius: float = 5.0
    outlined: bool = False


@dataclass(slots=True)
class Picture:
    """A tape, drawn in numbers."""

    width: float
    height: float
    title: str
    subtitle: str
    lanes: list[LaneBox]
    axis: Axis
    axis_y: float
    axis_title: str
    ticks: list[tuple[float, str]]
    small_ticks: list[float]
    top: float
    """y where the signal lines begin."""
    marks: Marks
    bars: Rects
    density: Rects
    arrows: list[Arrow]
    lines: list[SignalLine]
    spans: list[tuple[float, float]]
    labels: list[Label]
    legend: list[LegendItem]
    note: list[str]
    dense: bool
    left_out: int

    @property
    def texts(self) -> list[str]:
        """Everything that is written in it."""
        words = [self.title, self.subtitle, self.axis_title, *self.note, *(text for _, text in self.ticks)]
        return [*words, *(label.text for label in self.labels), *(item.text for item in self.legend)]
