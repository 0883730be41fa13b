"""Every series of a capture's tables, for the file that keeps them: one counter at a time, then device by device."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from peephole.errors import CaptureError
from peephole.model.tables import TABLES
from peephole.store.index.series import Series, held
from peephole.store.index.series_file import FILE, SMALLEST, Key, SeriesWriter
from peephole.store.tables.columns import to_frame
from peephole.store.tables.files import open_table, table_path
from peephole.store.tables.lanes import runs


def write_series(tables: Path, index: Path, end: int) -> None:
    """Writes the series of the tables in a folder; `end` is when the last values stop to hold."""
    writer = SeriesWriter(index / FILE)
    try:
        # a damaged table says so when it is read: it must not keep the others from being looked at
        with contextlib.suppress(CaptureError, pa.ArrowException):
            for key, series in every_series(tables, end):
                writer.add(key, series)
        writer.close()
    except BaseException:
        writer.abort()
        raise


def every_series(tables: Path, end: int) -> Iterator[tuple[Key, Series]]:
    """Counters by track, then the memory of devices; those with few rows are left out."""
    yield from _counters(tables, end)
    yield from _memory(tables, end)


def _counters(tables: Path, end: int) -> Iterator[tuple[Key, Series]]:
    if not table_path(tables, "counters").exists():
        return
    file = open_table(tables, "counters")
    parts: list[tuple[int, NDArray[np.int64], NDArray[np.float64]]] = []
    for group in range(file.metadata.num_row_groups):
        frame = to_frame(TABLES["counters"], file.read_row_group(group))
        track = frame["track"]
        bounds = runs(track).tolist() if len(track) else []
        for a, b in pairwise(bounds):
            if parts and parts[0][0] != track[a]:
                yield from _counter(parts, end)
                parts = []
            parts.append((int(track[a]), frame["time"][a:b], frame["value"][a:b]))
    yield from _counter(parts, end)


def _counter(parts: list[tuple[int, NDArray[np.int64], NDArray[np.float64]]], end: int) -> Iterator[tuple[Key, Series]]:
    if sum(len(time) for _, time, _ in parts) >= SMALLEST:
        time = np.concatenate([part[1] for part in parts])
        value = np.concatenate([part[2] for part in parts])
        yield ("counter", str(parts[0][0])), Series(time, np.nan_to_num(value), end)


def _memory(tables: Path, end: int) -> Iterator[tuple[Key, Series]]:
    if not table_path(tables, "buffers").exists():
        return
    file = open_table(tables, "buffers")
    if 2 * file.metadata.num_rows < SMALLEST:
        return
    frame = to_frame(TABLES["buffers"], file.read(columns=["device", "alloc", "free", "bytes"]))
    device = frame.texts("device")
    for code, name in enumerate(device.values):
        own = np.flatnonzero(device.codes == code)
        if 2 * len(own) >= SMALLEST:
            yield ("memory", name), held(frame["alloc"][own], frame["free"][own], frame["bytes"][own], end)
