"""The rows of a profile for a file that holds all of them, a part at a time: never a whole table in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.tables import TABLES, Column
from peephole.store.capture import Capture
from peephole.store.tables.frame import Frame, Texts

_EVENTS: Final = 1 << 17
"""Rows of a part that become texts."""
_ROWS: Final = 1 << 18
"""Rows of a part that stay columns."""


@dataclass(frozen=True, slots=True)
class SlicePart:
    """Some slices, in the order of their lanes."""

    lane: NDArray[np.int64]
    """Number of each slice's lane, counted by track and depth."""
    start: NDArray[np.int64]
    dur: NDArray[np.int64]
    name: Texts
    args: Texts


@dataclass(frozen=True, slots=True)
class MarkerPart:
    """Some markers."""

    time: NDArray[np.int64]
    name: Texts
    track: NDArray[np.int64]
    args: Texts


@dataclass(frozen=True, slots=True)
class CounterPart:
    """Some values of counters."""

    track: NDArray[np.int64]
    time: NDArray[np.int64]
    value: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FlowPart:
    """Some flows; the ends are correlations of slices."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    kind: Texts


def slice_parts(capture: Capture) -> Iterator[SlicePart]:
    """All slices."""
    first_rows = capture.lanes().first
    row = 0
    for frame in capture.scan("slices", ["start", "dur", "name", "args"], size=_EVENTS):
        lane = np.searchsorted(first_rows, np.arange(row, row + len(frame)), "right") - 1
        row += len(frame)
        yield SlicePart(lane, frame["start"], frame["dur"], frame.texts("name"), frame.texts("args"))


def marker_parts(capture: Capture) -> Iterator[MarkerPart]:
    """All markers."""
    for frame in capture.scan("markers", ["time", "name", "track", "args"], size=_EVENTS):
        yield MarkerPart(frame["time"], frame.texts("name"), frame["track"], frame.texts("args"))


def counter_parts(capture: Capture) -> Iterator[CounterPart]:
    """All values of counters."""
    for frame in capture.scan("counters", ["track", "time", "value"], size=_EVENTS):
        yield CounterPart(frame["track"], frame["time"], frame["value"])


def flow_parts(capture: Capture) -> Iterator[FlowPart]:
    """All flows."""
    for frame in capture.scan("flows", ["from", "to", "kind"], size=_EVENTS):
        yield FlowPart(frame["from"], frame["to"], frame.texts("kind"))


@dataclass(frozen=True, slots=True)
class ColumnPart:
    """One column of some rows: numbers, or texts as codes."""

    column: Column
    values: NDArray[np.generic] | Texts


@dataclass(frozen=True, slots=True)
class TablePart:
    """Some rows of a table, with all of its columns."""

    table: str
    rows: int
    columns: tuple[ColumnPart, ...]


def table_parts(capture: Capture, tables: Iterable[str]) -> Iterator[TablePart]:
    """These tables, one after the other; a part of slices is of one lane, so that its differences are small."""
    for table in tables:
        for frame in _frames(capture, table):
            yield TablePart(table, len(frame), tuple(_column(frame, column) for column in TABLES[table].columns))


def _frames(capture: Capture, table: str) -> Iterator[Frame]:
    if table != "slices":
        yield from capture.scan(table, size=_ROWS)
        return
    lanes = capture.lanes()
    for first, count in zip(lanes.first.tolist(), lanes.count.tolist(), strict=True):
        yield from capture.scan(table, rows=slice(first, first + count), size=_ROWS)


def _column(frame: Frame, column: Column) -> ColumnPart:
    return ColumnPart(column, frame.texts(column.name) if column.type in ("str", "text") else frame[column.name])
