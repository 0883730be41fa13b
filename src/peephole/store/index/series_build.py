"""Every series of a capture's tables, for the file that keeps them: one counter at a time, then device by device."""

from __future__ import annotations

import contextlib
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from peephole.errors import CaptureError
from peephole.model.tables import TABLES
from peephole.store.index.series import Series, held
from peephole.store.index.series_file import FILE, SMALLEST, Key, LongSteps, SeriesWriter
from peephole.store.tables.columns import to_frame
from peephole.store.tables.files import open_table, table_path
from peephole.store.tables.lanes import runs
from peephole.store.tables.row_spool import RowSpool
from peephole.store.tables.schema import arrow_table

_COLUMNS: Final = ["device", "alloc", "free", "bytes"]
_LONG: Final = 1 << 19
"""Steps of a series that are in memory, and rows of buffers."""


def write_series(tables: Path, index: Path, end: int) -> None:
    """Writes the series of the tables in a folder; `end` is when the last values stop to hold."""
    writer = SeriesWriter(index / FILE)
    try:
        # a damaged table says so when it is read: it must not keep the others from being looked at
        with contextlib.suppress(CaptureError, pa.ArrowException):
            _counters(writer, tables, index, end)
            _memory(writer, tables, index, end)
        writer.close()
    except BaseException:
        writer.abort()
        raise


def _counters(writer: SeriesWriter, tables: Path, index: Path, end: int) -> None:
    if not table_path(tables, "counters").exists():
        return
    with contextlib.closing(_Steps(writer, index, end)) as steps:
        file = open_table(tables, "counters")
        for group in range(file.metadata.num_row_groups):
            frame = to_frame(TABLES["counters"], file.read_row_group(group))
            track = frame["track"]
            for a, b in pairwise(runs(track).tolist() if len(track) else []):
                value = np.nan_to_num(frame["value"][a:b])
                steps.append(("counter", str(int(track[a]))), frame["time"][a:b], value)
        steps.end_of()


def _memory(writer: SeriesWriter, tables: Path, index: Path, end: int) -> None:
    if not table_path(tables, "buffers").exists():
        return
    file = open_table(tables, "buffers")
    if 2 * file.metadata.num_rows < SMALLEST:
        return
    if file.metadata.num_rows > _LONG:
        _long_memory(writer, file, index, end)
        return
    frame = to_frame(TABLES["buffers"], file.read(columns=_COLUMNS))
    device = frame.texts("device")
    for code, name in enumerate(device.values):
        own = np.flatnonzero(device.codes == code)
        if 2 * len(own) >= SMALLEST:
            writer.add(("memory", name), held(frame["alloc"][own], frame["free"][own], frame["bytes"][own], end))


def _long_memory(writer: SeriesWriter, file: pq.ParquetFile, index: Path, end: int) -> None:
    """The same with what changes put into the order of time on the disk."""
    names: dict[str, int] = {}
    table = TABLES["counters"]
    with (
        contextlib.closing(RowSpool(index, table)) as changes,
        contextlib.closing(_Steps(writer, index, end)) as steps,
    ):
        for group in range(file.metadata.num_row_groups):
            frame = to_frame(TABLES["buffers"], file.read_row_group(group, columns=_COLUMNS))
            device = frame.texts("device")
            own = np.array([names.setdefault(name, len(names)) for name in device.values], np.int32)
            alloc, free, size = frame["alloc"], frame["free"], frame["bytes"]
            known = device.codes >= 0
            for time, change, some in ((alloc, size, known), (free, -size, known & (free >= 0))):
                rows = {"track": own[device.codes[some]], "time": time[some], "value": change[some].astype(np.float64)}
                changes.append(arrow_table(table, rows))
        devices = list(names)
        waiting: tuple[int, int, int] | None = None
        """Device, moment and sum of the last change, after which another one of that moment may come."""
        for part in changes.parts():
            frame = to_frame(table, part)
            track, time, change = frame["track"], frame["time"], frame["value"].astype(np.int64)
            for a, b in pairwise(runs(track).tolist()):
                number = int(track[a])
                before = waiting[2] if waiting is not None and waiting[0] == number else 0
                own_time, total = time[a:b], before + np.cumsum(change[a:b])
                if waiting is not None and (waiting[0] != number or waiting[1] != own_time[0]):
                    steps.append(("memory", devices[waiting[0]]), *_step(waiting[1:]))
                last = np.append(own_time[1:] != own_time[:-1], False)
                steps.append(("memory", devices[number]), own_time[last], total[last].astype(np.float64))
                waiting = number, int(own_time[-1]), int(total[-1])
        if waiting is not None:
            steps.append(("memory", devices[waiting[0]]), *_step(waiting[1:]))
        steps.end_of()


def _step(held_then: tuple[int, int]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    return np.array(held_then[:1], np.int64), np.array(held_then[1:], np.float64)


class _Steps:
    """The steps of one series after the other, in memory while they are few."""

    def __init__(self, writer: SeriesWriter, folder: Path, end: int) -> None:
        self._writer, self._folder, self._end = writer, folder, end
        self._key: Key | None = None
        self._parts: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
        self._count = 0
        self._long: LongSteps | None = None

    def append(self, key: Key, time: NDArray[np.int64], value: NDArray[np.float64]) -> None:
        """Adds steps of a series; those of another one may not come back later."""
        if key != self._key:
            self.end_of()
            self._key = key
        if not len(time):
            return
        self._parts.append((time, value))
        self._count += len(time)
        if self._count > _LONG:
            if self._long is None:
                self._long = LongSteps(self._folder)
            for part in self._parts:
                self._long.append(*part)
            self._parts.clear()

    def end_of(self) -> None:
        """The series has ended."""
        if self._key is not None and self._long is not None:
            self._writer.add_long(self._key, self._long, self._end)
        elif self._key is not None and self._count >= SMALLEST:
            time, value = (np.concatenate(column) for column in zip(*self._parts, strict=True))
            self._writer.add(self._key, Series(time, value, self._end))
        self._parts.clear()
        self._count = 0
        self.close()

    def close(self) -> None:
        """Lets go of the file."""
        if self._long is not None:
            self._long.close()
            self._long = None
