"""An open capture: the one way to its rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from peephole.errors import CaptureError
from peephole.model.tables import TABLES
from peephole.store.build import Progress
from peephole.store.columns import to_frame
from peephole.store.files import INDEX, open_table, table_path
from peephole.store.frame import Frame
from peephole.store.lanes import Lanes, runs
from peephole.store.live import LiveJournal
from peephole.store.manifest import Manifest, read_manifest
from peephole.store.opening import check_folder, is_live, sealed_folder
from peephole.store.pack import unpack
from peephole.store.schema import arrow_schema


def open_capture(path: str | os.PathLike[str], progress: Progress | None = None) -> Capture:
    """The capture at that path, sealed or not, folder or packed; CaptureError says why when it cannot be opened.

    One that was left unsealed is sealed first, which `progress` may show.
    """
    folder = Path(path)
    if not folder.exists():
        raise CaptureError(f"There is no capture at {folder}.")
    if folder.is_file():
        unpacked = unpack(folder)
        return Capture(folder, unpacked, read_manifest(unpacked))
    if not folder.is_dir():
        raise CaptureError(f"{folder} is no capture: it is neither a folder nor a file.")
    check_folder(folder)
    if is_live(folder):
        journal = LiveJournal(folder)
        journal.advance()
        tables, manifest = journal.snapshot()
        return Capture(folder, tables, manifest, journal)
    tables = sealed_folder(folder, progress)
    return Capture(folder, tables, read_manifest(tables))


class Capture:
    """Reads the tables of one capture. Row numbers are positions in a table's order."""

    def __init__(self, path: Path, folder: Path, manifest: Manifest, journal: LiveJournal | None = None) -> None:
        self.path = path
        self.manifest = manifest
        self._folder = folder
        self._journal = journal
        self._files: dict[str, pq.ParquetFile] = {}
        self._lanes: Lanes | None = None
        self._segments: dict[str, Any] | None = None
        self._first_rows: dict[str, np.ndarray[Any, np.dtype[np.int64]]] = {}
        for table in TABLES:
            if self.manifest.tables.get(table, 0) > 0 and not table_path(folder, table).exists():
                raise CaptureError(f"{path} is incomplete: the table {table}.parquet is missing.")

    @property
    def name(self) -> str:
        """What the user calls it."""
        return self.manifest.name or self.path.name.removesuffix(".zip").removesuffix(".peep")

    @property
    def live(self) -> bool:
        """Whether its program still writes."""
        return self._journal is not None

    def refresh(self) -> bool:
        """Picks up what is new in a live capture; True when rows have changed. Cheap when called too often."""
        journal = self._journal
        if journal is None or not journal.due():
            return False
        if not journal.alive():
            self._switch(sealed_folder(self.path), None)
            journal.close()
            return True
        if not journal.advance():
            return False
        folder, manifest = journal.snapshot()
        self._switch(folder, manifest)
        return True

    def _switch(self, folder: Path, manifest: Manifest | None) -> None:
        self._forget()
        self._folder = folder
        if manifest is None:
            manifest = read_manifest(folder)
            self._journal = None
        self.manifest = manifest

    def _forget(self) -> None:
        for file in self._files.values():
            file.close()
        self._files = {}
        self._lanes = None
        self._segments = None
        self._first_rows = {}

    def count(self, table: str) -> int:
        """How many rows a table has."""
        return int(self._file(table).metadata.num_rows)

    def file(self, table: str) -> Path:
        """The Parquet file of a table, for readers that take files."""
        return table_path(self._folder, table)

    def read(self, table: str, columns: Sequence[str] | None = None, rows: slice | None = None) -> Frame:
        """Columns of a table, all rows or a range of them."""
        declared = TABLES[table]
        names = [column.name for column in declared.columns] if columns is None else list(columns)
        for name in names:
            declared.column(name)
        first, last = 0, self.count(table)
        if rows is not None:
            first, last, step = rows.indices(last)
            if step != 1:
                raise ValueError("rows are read in steps of one")
        return to_frame(declared, self._arrow(table, names, first, last))

    def scan(
        self, table: str, columns: Sequence[str] | None = None, rows: slice | None = None, size: int = 1 << 20
    ) -> Iterator[Frame]:
        """The same in parts of at most `size` rows, for those who must not hold a whole table."""
        first, last, _ = (rows or slice(None)).indices(self.count(table))
        for begin in range(first, last, size):
            yield self.read(table, columns, slice(begin, min(begin + size, last)))

    def lanes(self) -> Lanes:
        """The lanes of the timeline, sorted by track and depth."""
        if self._lanes is None:
            seg = self._lane_segments()
            bounds = runs(seg["track"], seg["depth"])
            first, last = bounds[:-1], bounds[1:] - 1
            count = np.add.reduceat(seg["count"], first) if len(first) else np.zeros(0, np.int64)
            self._lanes = Lanes(
                seg["track"][first],
                seg["depth"][first],
                seg["first"][first],
                count,
                seg["start"][first],
                seg["end"][last],
            )
        return self._lanes

    def slices(
        self, track: int, depth: int, t0: int, t1: int, columns: Sequence[str] = ("start", "dur", "name")
    ) -> tuple[Frame, int]:
        """The slices of a lane that overlap [t0, t1), and the row number of the first."""
        lanes = self.lanes()
        lane = lanes.find(track, depth)
        names = list(columns)
        if lane < 0:
            return to_frame(TABLES["slices"], self._empty("slices", names)), 0
        seg = self._lane_segments()
        begin = int(np.searchsorted(seg["first"], lanes.first[lane]))
        end = int(np.searchsorted(seg["first"], lanes.first[lane] + lanes.count[lane]))
        low = begin + int(np.searchsorted(seg["end"][begin:end], t0, "left"))
        high = begin + int(np.searchsorted(seg["start"][begin:end], t1, "left"))
        if low >= high:
            return to_frame(TABLES["slices"], self._empty("slices", names)), int(lanes.first[lane])
        first = int(seg["first"][low])
        last = int(seg["first"][high - 1] + seg["count"][high - 1])
        extra = [c for c in ("start", "dur") if c not in names]
        data = self._arrow("slices", names + extra, first, last)
        start, dur = data.column("start").to_numpy(), data.column("dur").to_numpy()
        stop = int(np.searchsorted(start, t1, "left"))
        # a slice without length belongs to the window in which it lies
        ends = np.maximum(start + dur, start + 1)
        skip = min(int(np.searchsorted(ends, t0, "right")), stop)
        return to_frame(TABLES["slices"], data.select(names).slice(skip, stop - skip)), first + skip

    def close(self) -> None:
        """Lets go of the files."""
        self._forget()
        if self._journal is not None:
            self._journal.close()

    def _file(self, table: str) -> pq.ParquetFile:
        if table not in self._files:
            self._files[table] = open_table(self._folder, table)
        return self._files[table]

    def _empty(self, table: str, names: list[str]) -> pa.Table:
        schema = arrow_schema(TABLES[table])
        return pa.schema([schema.field(name) for name in names]).empty_table()

    def _arrow(self, table: str, names: list[str], first: int, last: int) -> pa.Table:
        file = self._file(table)
        if first >= last:
            return self._empty(table, names)
        if table not in self._first_rows:
            counts = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
            self._first_rows[table] = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        bounds = self._first_rows[table]
        low = int(np.searchsorted(bounds, first, "right")) - 1
        high = int(np.searchsorted(bounds, last, "left"))
        try:
            data = file.read_row_groups(list(range(low, high)), columns=names)
        except (pa.ArrowException, OSError) as error:
            raise CaptureError(f"{self.file(table)} is damaged and cannot be read ({error}).") from None
        return data.select(names).slice(first - int(bounds[low]), last - first)

    def _lane_segments(self) -> dict[str, Any]:
        if self._segments is None:
            path = self._folder / INDEX / "lanes.parquet"
            try:
                data = pq.read_table(path)
            except (pa.ArrowException, OSError) as error:
                raise CaptureError(f"{path} is damaged and cannot be read ({error}).") from None
            self._segments = {name: data.column(name).to_numpy() for name in data.column_names}
        return self._segments
