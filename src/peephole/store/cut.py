"""A part of a capture as a capture of its own: what happened in an interval, with everything that was compiled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from peephole.model.tables import FORMAT_VERSION, NONE, TABLES
from peephole.store.capture import Capture, open_capture
from peephole.store.tables.arrow import as_array
from peephole.store.tables.files import ROW_GROUP, TableWriter, table_path

_LEFT_OUT = ("hardware", "messages")
"""Tables whose rows have no place in an interval."""


def cut_capture(capture: Capture, interval: tuple[int, int], folder: Path) -> Capture:
    """The interval of a capture, written into an empty folder: what lies over its edges is cut there."""
    begin, end = interval
    cutters = {"slices": _slices, "counters": _counters, "markers": _markers, "buffers": _buffers}
    counts = {}
    correlations: NDArray[np.int64] = np.zeros(0, np.int64)
    for name, table in TABLES.items():
        data = capture.table(name) if name not in _LEFT_OUT else capture.table(name).slice(0, 0)
        if name in cutters and len(data):
            data = cutters[name](data, begin, end)
        if name == "slices":
            correlations = np.unique(_numbers(data, "correlation"))
        elif name == "flows" and len(data):
            data = _keep(
                data, np.isin(_numbers(data, "from"), correlations) & np.isin(_numbers(data, "to"), correlations)
            )
        elif name == "uses" and len(data):
            data = _keep(data, np.isin(_numbers(data, "slice"), correlations))
        counts[name] = len(data)
        with TableWriter(table_path(folder, name), table) as writer:
            writer.write_table(data, row_group_size=ROW_GROUP)
    replace(capture.manifest, format=FORMAT_VERSION, state="sealed", name=capture.name, tables=counts).write(folder)
    return open_capture(folder)


def _numbers(data: pa.Table, column: str) -> NDArray[Any]:
    values: NDArray[Any] = data.column(column).to_numpy()
    return values


def _keep(data: pa.Table, rows: NDArray[np.bool_]) -> pa.Table:
    return data.filter(as_array(rows))


def _put(data: pa.Table, column: str, values: NDArray[Any]) -> pa.Table:
    at = data.schema.get_field_index(column)
    return data.set_column(at, data.schema.field(at), as_array(values))


def _slices(data: pa.Table, begin: int, end: int) -> pa.Table:
    start, dur = _numbers(data, "start"), _numbers(data, "dur")
    data = _keep(data, (start < end) & ((start >= begin) | (start + dur > begin)))
    start, dur = _numbers(data, "start"), _numbers(data, "dur")
    first = np.maximum(start, begin)
    return _put(_put(data, "dur", np.minimum(start + dur, end) - first), "start", first)


def _counters(data: pa.Table, begin: int, end: int) -> pa.Table:
    """The values inside, and the one that holds when the interval begins."""
    time, track = _numbers(data, "time"), _numbers(data, "track")
    last = np.append((track[1:] != track[:-1]) | (time[1:] > begin), True)
    data = _keep(data, (time < end) & ((time > begin) | last))
    return _put(data, "time", np.maximum(_numbers(data, "time"), begin))


def _markers(data: pa.Table, begin: int, end: int) -> pa.Table:
    time = _numbers(data, "time")
    return _keep(data, (time >= begin) & (time < end))


def _buffers(data: pa.Table, begin: int, end: int) -> pa.Table:
    alloc, free = _numbers(data, "alloc"), _numbers(data, "free")
    data = _keep(data, (alloc < end) & ((free == NONE) | (free > begin)))
    alloc, free = _numbers(data, "alloc"), _numbers(data, "free")
    return _put(_put(data, "free", np.where(free >= end, NONE, free)), "alloc", np.maximum(alloc, begin))
