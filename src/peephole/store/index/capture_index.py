"""What makes a window quick: where each lane's rows are, the list of names, the pyramid. Rebuilt when it is missing."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from peephole.errors import CaptureError
from peephole.model.folder import keep_to_owner
from peephole.model.unfinished import WorkFolder
from peephole.store.index import name_codes, series_file
from peephole.store.index.pyramid import FILE, SMALLEST, Pyramid, PyramidWriter
from peephole.store.tables.arrow import as_array, indices_of
from peephole.store.tables.columns import FURTHEST, bounded
from peephole.store.tables.files import INDEX, LANES_SCHEMA, open_table
from peephole.store.tables.interner import Interner
from peephole.store.tables.lanes import runs

_LANES_FILE: Final = "lanes.parquet"
_NAMES_FILE: Final = "names.parquet"
FILES: Final = (_LANES_FILE, _NAMES_FILE, FILE, name_codes.FILE, series_file.FILE)
"""What the folder of an index holds."""
_NAMES_SCHEMA: Final = pa.schema([("name", pa.string())])


class IndexWriter:
    """Takes the rows of slices in the table's order and writes the index into the capture's folder.

    `tables` is where the other tables are, when that is another folder.
    """

    def __init__(self, folder: Path, names: list[str], tables: Path | None = None) -> None:
        self._tables = folder if tables is None else tables
        self._folder = folder / INDEX
        self._folder.mkdir(exist_ok=True)
        self._names = names
        self._rows = 0
        self._segments: list[list[NDArray[Any]]] = []
        self._pyramid = PyramidWriter(self._folder / FILE)
        try:
            self._codes = name_codes.CodesWriter(self._folder / name_codes.FILE)
        except BaseException:
            self._pyramid.abort()
            raise

    def add(
        self,
        track: NDArray[np.int32],
        depth: NDArray[np.int16],
        start: NDArray[np.int64],
        dur: NDArray[np.int64],
        name: NDArray[np.int32],
        row_group: int,
    ) -> None:
        """Adds rows that begin a row group and are cut into row groups of that many."""
        bounds = runs(track, depth, np.arange(len(track)) // row_group)
        first, last = bounds[:-1], bounds[1:] - 1
        self._segments.append(
            [track[first], depth[first], first + self._rows, last - first + 1, start[first], start[last] + dur[last]]
        )
        for at in range(0, len(name), row_group):
            self._codes.add(name[at : at + row_group])
        lanes = runs(track, depth)
        large = np.diff(lanes) >= SMALLEST
        if len(large):
            # these may go on in the next rows or have begun in those before
            large[0] = large[-1] = True
        for lane in np.flatnonzero(large).tolist():
            a, b = int(lanes[lane]), int(lanes[lane + 1])
            self._pyramid.add(int(track[a]), int(depth[a]), self._rows + a, start[a:b], dur[a:b], name[a:b])
        self._rows += len(track)

    def close(self) -> None:
        """Writes what is left."""
        columns = [np.concatenate(c) for c in zip(*self._segments, strict=True)] if self._segments else None
        lanes = LANES_SCHEMA.empty_table()
        if columns is not None:
            lanes = pa.table([as_array(values) for values in columns], schema=LANES_SCHEMA)
        pq.write_table(lanes, self._folder / _LANES_FILE, compression="zstd")
        names = pa.table([pa.array(self._names, pa.string())], schema=_NAMES_SCHEMA)
        pq.write_table(names, self._folder / _NAMES_FILE, compression="zstd")
        from peephole.store.index.series_build import write_series

        write_series(self._tables, self._folder, int(columns[5].max()) if columns else 0)
        self._codes.close()
        self._pyramid.close(self._rows)

    def abort(self) -> None:
        """Lets go of the files that have not come to their end."""
        self._pyramid.abort()
        self._codes.abort()


class Index:
    """The index of a capture: lanes' segments, names, pyramid."""

    def __init__(self, folder: Path, slices: Sequence[int]) -> None:
        lanes = _read(folder / INDEX / _LANES_FILE, LANES_SCHEMA)
        self.segments: dict[str, NDArray[Any]] = {n: lanes.column(n).to_numpy() for n in LANES_SCHEMA.names}
        self.names: list[str] = _read(folder / INDEX / _NAMES_FILE, _NAMES_SCHEMA).column("name").to_pylist()
        self.codes = name_codes.Codes(folder / INDEX / name_codes.FILE)
        self.pyramid = Pyramid(folder / INDEX / FILE)
        self.series = series_file.SeriesFile(folder / INDEX / series_file.FILE)
        count = self.segments["count"]
        track, depth, start, end = (self.segments[name] for name in ("track", "depth", "start", "end"))
        follow = (
            np.array_equal(self.segments["first"], np.cumsum(count) - count),
            (count > 0).all(),
            in_order(track, depth, start),
            (start <= end).all(),
            start.min(initial=0) >= -FURTHEST and end.max(initial=0) <= 2 * FURTHEST,
            self.codes.rows == list(slices),
        )
        if not all(follow) or {self.pyramid.slices, self.codes.slices, int(count.sum())} != {sum(slices)}:
            self.close()
            raise CaptureError(f"{folder / INDEX} belongs to another capture.")

    def close(self) -> None:
        """Lets go of the files."""
        self.pyramid.close()
        self.codes.close()
        self.series.close()


def _read(path: Path, schema: pa.Schema) -> pa.Table:
    try:
        # not read_table: that loads the whole dataset machinery, half of what a short command takes
        found = pq.ParquetFile(path).read()
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        raise CaptureError(f"{path} is damaged and cannot be read ({error}).") from None
    if not found.schema.equals(schema) or any(column.null_count for column in found.columns):
        raise CaptureError(f"{path} is no part of an index: it has other columns.")
    return found


def in_order(*keys: NDArray[Any]) -> bool:
    """Whether rows are sorted by these keys, the first before the others."""
    equal = np.ones(max(len(keys[0]) - 1, 0), np.bool_)
    for key in keys:
        if (equal & (key[1:] < key[:-1])).any():
            return False
        equal &= key[1:] == key[:-1]
    return True


def open_index(folder: Path, slices: Sequence[int]) -> Index:
    """The index of a capture's folder, given how many slices each row group has.

    It is made anew when it is missing, damaged or not of these slices.
    """
    try:
        return Index(folder, slices)
    except CaptureError:
        return _rebuilt(folder, slices)


def _rebuilt(folder: Path, slices: Sequence[int]) -> Index:
    import shutil
    import tempfile

    place = folder if os.access(folder, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())
    with WorkFolder(place / INDEX, shared=True) as work:
        rebuild_index(folder, work.path)
        if place == folder:
            shutil.rmtree(folder / INDEX, ignore_errors=True)
            with contextlib.suppress(OSError):  # another one was quicker
                (work.path / INDEX).rename(folder / INDEX)
            return Index(folder, slices)
        return Index(work.path, slices)  # what it has open, and read, outlives the folder


def rebuild_index(folder: Path, target: Path) -> None:
    """Writes the index of a folder's slices.parquet into another folder."""
    file = open_table(folder, "slices")
    names = Interner()
    writer = IndexWriter(target, names.values, folder)
    columns = ["track", "depth", "start", "dur", "name"]
    last = np.zeros((0, 3), np.int64)
    try:
        for number in range(file.metadata.num_row_groups):
            data = file.read_row_group(number, columns=columns)
            if not data.num_rows:
                continue
            text = data.column("name").combine_chunks()
            numbers = np.array([names.number(t) for t in text.dictionary.to_pylist()] or [-1], np.int32)
            own = indices_of(text)
            name = np.where(own < 0, -1, numbers[np.maximum(own, 0)]).astype(np.int32)
            track, depth = (data.column(c).to_numpy() for c in columns[:2])
            start, dur = bounded(data.column("start").to_numpy()), bounded(data.column("dur").to_numpy(), 0)
            row = np.array([[track[0], depth[0], start[0]]], np.int64)
            if not in_order(track, depth, start) or not in_order(*np.concatenate([last, row]).T):
                raise CaptureError(f"{folder} is damaged: its slices are not in the order of track, depth and start.")
            last = np.array([[track[-1], depth[-1], start[-1]]], np.int64)
            writer.add(track, depth, start, dur, name, data.num_rows)
        writer.close()
        keep_to_owner(target)
    except (pa.ArrowException, OSError) as error:
        raise CaptureError(f"{folder} is damaged: its slices cannot be read ({error}).") from None
    finally:
        writer.abort()
