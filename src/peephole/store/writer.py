"""CaptureWriter: a sink whose rows become a sealed capture, all of it or nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from peephole.errors import CaptureError, PeepholeError
from peephole.model.sink import ColumnValues
from peephole.model.tables import TABLES
from peephole.store.files import INDEX, LANES_SCHEMA, ROW_GROUP, open_writer, table_path
from peephole.store.lanes import overlaps, runs, sublanes
from peephole.store.manifest import FILE, Manifest
from peephole.store.schema import arrow_table


class CaptureWriter:
    """Takes rows of any table in any order and leaves a sealed capture at `path` when it is closed without error."""

    def __init__(self, path: str | os.PathLike[str], replace: bool = True) -> None:
        self.path = Path(path)
        self.manifest = Manifest(name=self.path.name.removesuffix(".peep"))
        self.manifest.created = datetime.now(UTC).isoformat(timespec="seconds")
        if self.path.exists() and not (replace and ((self.path / FILE).is_file() or _is_empty(self.path))):
            raise CaptureError(f"{self.path} is there already and is no capture: choose another name.")
        self._folder = self._temporary()
        self._parts: dict[str, list[pa.Table]] = {name: [] for name in TABLES}
        self._closed = False

    def _temporary(self) -> Path:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(prefix=f".{self.path.name}.", dir=self.path.parent))
        except OSError as error:
            raise PeepholeError(f"{self.path} cannot be written: {error.strerror or error}.") from None

    def append(self, table: str, columns: Mapping[str, ColumnValues]) -> None:
        """Adds rows; a column that is left out gets its default."""
        part = arrow_table(TABLES[table], columns)
        if part.num_rows:
            self._parts[table].append(part)

    def problem(self, reason: str, count: int = 1, example: str = "") -> None:
        """Counts something that was not understood or was lost."""
        self.manifest.problem(reason, count, example)

    def describe(self, **facts: Any) -> None:
        """Adds facts to the manifest."""
        self.manifest.describe(facts)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def abort(self) -> None:
        """Leaves nothing behind."""
        self._closed = True
        shutil.rmtree(self._folder, ignore_errors=True)

    def close(self) -> None:
        """Sorts, writes and moves the capture to its place."""
        if self._closed:
            return
        self._closed = True
        try:
            (self._folder / INDEX).mkdir()
            for name in TABLES:
                self._write(name)
            self.manifest.state = "sealed"
            self.manifest.write(self._folder)
            self._folder.chmod(0o755)
            if self.path.exists():
                old = Path(tempfile.mkdtemp(prefix=f".{self.path.name}.", dir=self.path.parent))
                self.path.rename(old / "old")
                self._folder.rename(self.path)
                shutil.rmtree(old, ignore_errors=True)
            else:
                self._folder.rename(self.path)
        except OSError as error:
            self.abort()
            raise PeepholeError(f"{self.path} cannot be written: {error.strerror or error}.") from None
        except BaseException:
            self.abort()
            raise

    def _write(self, name: str) -> None:
        table = TABLES[name]
        parts = self._parts.pop(name)
        with open_writer(table_path(self._folder, name), table) as writer:
            if parts:
                data = pa.concat_tables(parts).unify_dictionaries().combine_chunks()
                data = self._sorted_slices(data) if name == "slices" else _sorted(data, table.order)
                self.manifest.tables[name] = data.num_rows
                if name == "slices":
                    _write_lanes(self._folder, data)
                writer.write_table(data, row_group_size=ROW_GROUP)
            else:
                self.manifest.tables[name] = 0
                if name == "slices":
                    pq.write_table(LANES_SCHEMA.empty_table(), self._folder / INDEX / "lanes.parquet")

    def _sorted_slices(self, data: pa.Table) -> pa.Table:
        track, depth, start, dur = (data.column(c).to_numpy() for c in ("track", "depth", "start", "dur"))
        order = np.lexsort((-dur, start, depth, track))
        data = data.take(pa.array(order))
        track, depth, start, dur = track[order], depth[order].copy(), start[order], dur[order]
        bounds = runs(track, depth)
        moved = False
        shift = 0
        for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            if a == 0 or track[a] != track[a - 1]:
                shift = 0
            own = shift
            if overlaps(start[a:b], dur[a:b]):
                rows = sublanes(start[a:b], dur[a:b])
                depth[a:b] += rows.astype(np.int16)
                shift += int(rows.max())
                moved = True
            depth[a:b] += np.int16(own)
            moved = moved or own > 0
        if moved:
            order = np.lexsort((start, depth, track))
            data = data.set_column(1, data.schema.field(1), pa.array(depth)).take(pa.array(order))
        return data


def _sorted(data: pa.Table, order: tuple[str, ...]) -> pa.Table:
    keys = [data.column(name) for name in order]
    numbers = [
        k.combine_chunks().indices.fill_null(-1).to_numpy() if pa.types.is_dictionary(k.type) else k.to_numpy()
        for k in keys
    ]
    rank = np.lexsort(numbers[::-1])
    if np.array_equal(rank, np.arange(len(rank))):
        return data
    return data.take(pa.array(rank))


def _write_lanes(folder: Path, data: pa.Table) -> None:
    track, depth, start, dur = (data.column(c).to_numpy() for c in ("track", "depth", "start", "dur"))
    bounds = runs(track, depth, np.arange(len(track)) // ROW_GROUP)
    first, last = bounds[:-1], bounds[1:] - 1
    columns = [track[first], depth[first], first, last - first + 1, start[first], start[last] + dur[last]]
    lanes = pa.table([pa.array(c) for c in columns], schema=LANES_SCHEMA)
    pq.write_table(lanes, folder / INDEX / "lanes.parquet", compression="zstd")


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())
