"""An open capture: the one way to its rows."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from peephole.errors import CaptureError
from peephole.model.tables import TABLES, Column
from peephole.store.index.capture_index import Index, open_index
from peephole.store.index.row_groups import RowGroups, Sums
from peephole.store.index.series import Series, held
from peephole.store.index.series_file import Key, StoredSeries
from peephole.store.index.windows import Buckets, lane_window, stored_level
from peephole.store.journal.state import is_live, is_sealed
from peephole.store.manifest import Manifest, read_manifest
from peephole.store.opening import check_folder, sealed_folder
from peephole.store.tables.arrow import as_array, take
from peephole.store.tables.columns import to_frame
from peephole.store.tables.files import open_table, table_path
from peephole.store.tables.frame import Frame, Texts
from peephole.store.tables.lanes import Ints, Lanes, lanes_of
from peephole.store.tables.schema import arrow_column, arrow_schema

if TYPE_CHECKING:
    from peephole.store.journal.live import LiveJournal
    from peephole.store.sealing.build import Progress

_FURTHEST: Final = 1 << 62


def open_capture(path: str | os.PathLike[str], progress: Progress | None = None) -> Capture:
    """The capture at that path, sealed or not, folder or packed; CaptureError says why when it cannot be opened.

    One that was left unsealed is sealed first, which `progress` may show.
    """
    folder = Path(path)
    if not folder.exists():
        raise CaptureError(f"There is no capture at {folder}.")
    if folder.is_file():
        from peephole.store.pack import unpack

        unpacked = unpack(folder)
        return Capture(folder, unpacked, read_manifest(unpacked))
    if not folder.is_dir():
        raise CaptureError(f"{folder} is not a capture: it is neither a folder nor a file.")
    check_folder(folder)
    while not is_live(folder):
        tables = sealed_folder(folder, progress)
        if is_sealed(tables):
            return Capture(folder, tables, read_manifest(tables))
        # else a process has joined meanwhile, and nobody may take its journal from it
    from peephole.store.journal.live import LiveJournal  # all of sealing: not for a capture that is sealed

    journal = LiveJournal(folder)
    journal.advance()
    tables, manifest = journal.snapshot()
    return Capture(folder, tables, manifest, journal)


class Capture:
    """Reads the tables of one capture. Row numbers are positions in a table's order."""

    def __init__(self, path: Path, folder: Path, manifest: Manifest, journal: LiveJournal | None = None) -> None:
        self.path = path
        self.manifest = manifest
        self._folder = folder
        self._journal = journal
        self._files: dict[str, pq.ParquetFile] = {}
        self._lanes: Lanes | None = None
        self._index: Index | None = None
        self._first_rows: dict[str, Ints] = {}
        self._series: dict[Key, Series] = {}
        self._stored: dict[Key, Series | StoredSeries] = {}
        self._groups: RowGroups | None = None
        self._lock = threading.RLock()
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

    @property
    def notes_folder(self) -> Path:
        """Where its notes are: its folder, of a packed one what was unpacked."""
        return self._folder if self.path.is_file() else self.path

    def refresh(self) -> bool:
        """Picks up what is new in a live capture; True when rows have changed. Cheap when called too often."""
        journal = self._journal
        if journal is None or not journal.due():
            return False
        if not journal.alive():
            folder = sealed_folder(self.path)
            if is_sealed(folder):
                self._switch(folder, read_manifest(folder))
                self._journal = None  # last: who sees that it grows no more may read it at once
                journal.close()
                return True
        if not journal.advance():
            return False
        self._switch(*journal.snapshot())
        return True

    def _switch(self, folder: Path, manifest: Manifest) -> None:
        self._forget()
        self._folder = folder
        self.manifest = manifest

    def _forget(self) -> None:
        for file in self._files.values():
            file.close()
        if self._groups is not None:
            self._groups.close()
        if self._index is not None:
            self._index.close()
        self._files = {}
        self._lanes = None
        self._index = None
        self._first_rows = {}
        self._series = {}
        self._stored = {}
        self._groups = None

    def count(self, table: str) -> int:
        """How many rows a table has."""
        known = self.manifest.tables.get(table)
        if known == 0:
            return 0
        if known is None and self.manifest.tables and not self.file(table).exists():
            return 0  # a table that the version that made this capture did not have
        return int(self._file(table).metadata.num_rows)

    def later_columns(self, table: str) -> list[Column]:
        """The columns that the version of the format that this capture has did not have yet."""
        have = self._file(table).schema_arrow if self.count(table) else None
        return [column for column in TABLES[table].columns if have is not None and column.name not in have.names]

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

    def table(self, name: str) -> pa.Table:
        """A whole table as Arrow has it, which pandas, Polars and DuckDB take without a copy."""
        if name not in TABLES:
            raise CaptureError(f"There is no table {name!r}; a capture has {', '.join(TABLES)}.")
        return self._arrow(name, [column.name for column in TABLES[name].columns], 0, self.count(name))

    def pyramid_levels(self, track: int, depth: int) -> tuple[int, ...]:
        """The levels (buckets of 2**level ns) at which zoomed-out windows of a lane are kept, finest first."""
        return self._indexed().pyramid.levels(track, depth)

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
            self._lanes = lanes_of(self._indexed().segments)
        return self._lanes

    def lanes_in(self, t0: int, t1: int) -> Lanes:
        """The lanes that may have slices in [t0, t1], each with the rows that have to be looked at for it."""
        seg = self._indexed().segments
        near = (seg["start"] <= t1) & (seg["end"] >= t0)
        return lanes_of({name: column[near] for name, column in seg.items()})

    def slice_rows(
        self, first: int, past: int, context: bool = False
    ) -> tuple[Ints, Ints, NDArray[np.int32], Ints | None]:
        """Start, duration, name's number (-1 for none) and, when asked for, context of the slices of these rows."""
        return self._slices().rows(first, past, context)

    def span(self) -> tuple[int, int]:
        """First begin and last end of all slices, ns; (0, 0) when there are none."""
        lanes = self.lanes()
        return (int(lanes.start.min()), int(lanes.end.max())) if len(lanes) else (0, 0)

    def names(self) -> list[str]:
        """All names of slices; `Buckets.name` counts in it."""
        return self._indexed().names

    def slices(
        self, track: int, depth: int, t0: int, t1: int, columns: Sequence[str] = ("start", "dur", "name")
    ) -> tuple[Frame, int]:
        """The slices of a lane that overlap [t0, t1), and the row number of the first."""
        start, dur, name, first = self._slices().lane(track, depth, *_clamped(t0, t1))
        names = list(columns)
        if set(names) <= {"start", "dur", "name"}:
            have: dict[str, NDArray[np.int64] | Texts] = {"start": start, "dur": dur, "name": Texts(name, self.names())}
            return Frame("slices", len(start), {column: have[column] for column in names}), first
        return self.read("slices", names, slice(first, first + len(start))), first

    def buckets(self, track: int, depth: int, t0: int, t1: int, pixels: int) -> Buckets:
        """The window [t0, t1) of a lane as it is drawn on that many pixels."""
        t0, t1 = _clamped(t0, max(t1, t0 + 1))
        return lane_window(self._indexed().pyramid, self._slices().lane, track, depth, t0, t1, pixels)

    def windows(self, lanes: Iterable[tuple[int, int]], t0: int, t1: int, pixels: int) -> list[Buckets]:
        """`buckets` of many lanes (track, depth); what must be decoded for them is decoded at once."""
        t0, t1 = _clamped(t0, max(t1, t0 + 1))
        wanted = list(lanes)
        pyramid = self._indexed().pyramid
        slices = self._slices()
        slices.load((lane for lane in wanted if stored_level(pyramid, *lane, t0, t1, pixels) is None), t0, t1)
        return [lane_window(pyramid, slices.lane, track, depth, t0, t1, pixels) for track, depth in wanted]

    def sums(self, lanes: Sequence[tuple[int, int]], kinds: Sequence[int], t0: int, t1: int) -> Sums:
        """What slices take of [t0, t1): by lane (track, depth), and by name for each kind of lane (0, 1, …)."""
        return self._slices().sums(lanes, kinds, *_clamped(t0, max(t1, t0 + 1)))

    def args_numbers(self, rows: Ints, keys: Sequence[str]) -> dict[str, NDArray[np.float64]]:
        """The numbers that slices of these rows, ascending, have in their args under these keys, NaN for none."""
        from peephole.store.tables.args_numbers import numbers_in

        first = int(rows[0])
        args = self._arrow("slices", ["args"], first, int(rows[-1]) + 1).column("args")
        return numbers_in(take(args, as_array(rows - first)), keys)

    def counter(self, track: int) -> Series | StoredSeries:
        """The values of a counter over time."""
        return self._a_series(("counter", str(track)), lambda: self._counted(track))

    def memory(self, device: str) -> Series | StoredSeries:
        """The bytes that are allocated on a device over time."""
        return self._a_series(("memory", device), lambda: self._held(device))

    def _counted(self, track: int) -> Series:
        times, values = [np.zeros(0, np.int64)], [np.zeros(0)]
        for part in self.scan("counters", ["track", "time", "value"]):
            own = part["track"] == track
            if own.any():
                times.append(part["time"][own])
                values.append(part["value"][own])
        return Series(np.concatenate(times), np.nan_to_num(np.concatenate(values)), self.span()[1])

    def _held(self, device: str) -> Series:
        frame = self.read("buffers", ["device", "alloc", "free", "bytes"])
        texts = frame.texts("device")
        own = texts.codes == texts.code(device)
        return held(frame["alloc"][own], frame["free"][own], frame["bytes"][own], self.span()[1])

    def _a_series(self, key: Key, make: Callable[[], Series]) -> Series | StoredSeries:
        def read() -> Series:
            with self._lock:
                if key not in self._series:
                    self._series[key] = make()
                return self._series[key]

        with self._lock:
            if key not in self._stored:
                self._stored[key] = self._indexed().series.get(key, read) or read()
            return self._stored[key]

    def _slices(self) -> RowGroups:
        with self._lock:
            if self._groups is None:
                version = self.manifest.format
                self._groups = RowGroups(lambda: open_table(self._folder, "slices", version), self._indexed())
            return self._groups

    def close(self) -> None:
        """Lets go of the files."""
        self._forget()
        if self._journal is not None:
            self._journal.close()

    def _file(self, table: str) -> pq.ParquetFile:
        with self._lock:
            if table not in self._files:
                self._files[table] = open_table(self._folder, table, self.manifest.format)
            return self._files[table]

    def _empty(self, table: str, names: list[str]) -> pa.Table:
        schema = arrow_schema(TABLES[table])
        return pa.schema([schema.field(name) for name in names]).empty_table()

    def _bounds(self, table: str) -> Ints:
        """First row of each row group, and the number of rows."""
        if table not in self._first_rows:
            metadata = self._file(table).metadata
            counts = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
            self._first_rows[table] = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return self._first_rows[table]

    def _arrow(self, table: str, names: list[str], first: int, last: int) -> pa.Table:
        if first >= last:
            return self._empty(table, names)
        with self._lock:
            bounds = self._bounds(table)
            low = int(np.searchsorted(bounds, first, "right")) - 1
            high = int(np.searchsorted(bounds, last, "left"))
            data = self._decode(table, list(range(low, high)), names)
        return data.select(names).slice(first - int(bounds[low]), last - first)

    def _decode(self, table: str, groups: list[int], names: list[str]) -> pa.Table:
        later = {column.name: column for column in self.later_columns(table) if column.name in names}
        there = [name for name in names if name not in later]
        try:
            data = self._file(table).read_row_groups(groups, columns=there, use_threads=len(groups) > 1)
        except (pa.ArrowException, OSError) as error:
            raise CaptureError(f"{self.file(table)} is damaged and cannot be read ({error}).") from None
        rows = sum(self._file(table).metadata.row_group(group).num_rows for group in groups) if later else 0
        if not there:
            return pa.table({name: arrow_column(column, None, rows) for name, column in later.items()})
        for name, column in later.items():
            data = data.append_column(name, arrow_column(column, None, rows))
        return data

    def _indexed(self) -> Index:
        with self._lock:
            if self._index is None:
                groups = np.diff(self._bounds("slices")).tolist() if self.count("slices") else []
                self._index = open_index(self._folder, groups)
            return self._index


def _clamped(t0: int, t1: int) -> tuple[int, int]:
    """A window that fits into 64 bits whatever a caller asks for; no slice lies outside."""
    return max(-_FURTHEST, min(t0, _FURTHEST)), max(-_FURTHEST, min(t1, _FURTHEST))
