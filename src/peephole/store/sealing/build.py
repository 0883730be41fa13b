"""Builder: rows of any table in, a folder of sealed tables out. The engine of CaptureWriter and of sealing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from peephole.model.folder import keep_to_owner
from peephole.model.tables import SLICES, TABLES
from peephole.store.allocator import give_back
from peephole.store.manifest import Manifest
from peephole.store.sealing.context_args import text_array
from peephole.store.sealing.resolve import resolve
from peephole.store.sealing.slice_table import COMPILE_FROM, SliceTable
from peephole.store.sealing.spool import RECORD, SliceSpool
from peephole.store.tables.arrow import as_array, indices_of, take, valid
from peephole.store.tables.columns import FURTHEST as _FURTHEST
from peephole.store.tables.compiled_loops import warm
from peephole.store.tables.files import INDEX, TableWriter, table_path
from peephole.store.tables.interner import Interner
from peephole.store.tables.lanes import MAX_DEPTH
from peephole.store.tables.row_spool import SPOOLED, RowSpool, one_table, sorted_order
from peephole.store.tables.schema import arrow_schema, arrow_table, length_of, numbers

Progress = Callable[[int, int], None]
"""Called with (done, total) slices."""
_GROUP: Final = 1 << 17
"""Rows of a row group at most."""
_NUMBERS: Final = {name: SLICES.column(name) for name in ("track", "depth", "start", "dur", "correlation", "context")}


class Builder:
    """Takes rows and, at `finish`, leaves all tables in the folder, sorted."""

    def __init__(self, folder: Path, manifest: Manifest, bounded: bool = False) -> None:
        """`bounded`: rows of tables that may be long wait on the disk, which only the last `finish` can take."""
        self.folder = folder
        self.manifest = manifest
        self.names = Interner()
        self.spool = SliceSpool(folder)
        self._parts: dict[str, list[pa.Table]] = {name: [] for name in TABLES}
        self._spools = {name: RowSpool(folder, TABLES[name]) for name in SPOOLED} if bounded else {}
        self._frees: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []

    def append(self, table: str, columns: Mapping[str, Any]) -> None:
        """Adds rows; a column that is left out gets its default."""
        if table == "slices":
            self._slices(columns)
            return
        part = arrow_table(TABLES[table], columns)
        if part.num_rows and table in self._spools:
            self._spools[table].append(part)
        elif part.num_rows:
            self._parts[table].append(part)

    def _slices(self, columns: Mapping[str, Any]) -> None:
        for name in columns:
            SLICES.column(name)
        rows = length_of(columns)
        if rows == 0:
            return
        records = np.zeros(rows, RECORD)
        records["name"] = -1
        for name, column in _NUMBERS.items():
            if name in columns and name != "context":
                values = numbers(column, columns[name])
                records[name] = values
        if "name" in columns:
            records["name"] = self.names.numbers(columns["name"])
        context = numbers(_NUMBERS["context"], columns["context"]) if "context" in columns else None
        self.records(records, context, columns.get("args"))

    def records(self, records: NDArray[Any], context: NDArray[np.int64] | None, args: Any) -> None:
        """Adds slices as spool records; `context` and `args` of each row, or None for none at all."""
        self._mend(records)
        texts = text_array(args)
        has = np.zeros(len(records), np.bool_)
        if context is not None:
            has |= context != -1
        if texts is not None:
            has |= valid(texts)
        at = np.flatnonzero(has)
        if len(at):
            own = np.full(len(at), -1, np.int64) if context is None else context[at]
            some = texts if texts is None or len(at) == len(records) else take(texts, as_array(at))
            records["extra"][at] = self.spool.extras.append(own, some)
        before = self.spool.rows
        self.spool.append(records)
        if before <= COMPILE_FROM < self.spool.rows:
            threading.Thread(target=warm, name="peephole-warm", daemon=True).start()

    def frees(self, buffers: NDArray[np.int64], times: NDArray[np.int64]) -> None:
        """Adds when buffers were freed, whose rows may come earlier or later."""
        self._frees.append((buffers, times))

    def _mend(self, records: NDArray[Any]) -> None:
        dur, start, depth = records["dur"], records["start"], records["depth"]
        if len(dur) == 0:
            return
        if dur.min() < 0 or dur.max() > _FURTHEST:
            wrong = (dur < 0) | (dur > _FURTHEST)
            self.manifest.problem("slices with an impossible duration, shown without length", int(wrong.sum()))
            dur[wrong] = 0
        if start.min() < -_FURTHEST or start.max() > _FURTHEST:
            wrong = (start < -_FURTHEST) | (start > _FURTHEST)
            self.manifest.problem("slices at an impossible time, moved to the nearest possible one", int(wrong.sum()))
            np.clip(start, -_FURTHEST, _FURTHEST, out=start)
        if depth.min() < 0 or depth.max() > MAX_DEPTH:
            np.clip(depth, 0, MAX_DEPTH, out=depth)

    def finish(
        self,
        progress: Progress | None = None,
        folder: Path | None = None,
        owners: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        """Writes every table and the indexes. `owners`, process and number of every track, asks for `resolve` first.

        With a `folder` more rows may be added and all be written to another one afterwards.
        """
        target = self.folder if folder is None else folder
        give_back()
        (target / INDEX).mkdir(exist_ok=True)
        tables = {name: self._table(name) for name in TABLES if name != "slices"}
        if folder is None:  # the last time: each table goes as soon as it is written
            self._parts = {name: [] for name in TABLES}
        if owners is not None:
            resolve(tables, self._frees, owners, self.manifest)
        with (
            # a second thread for what leaves Python's lock alone: coding Parquet, compressing
            ThreadPoolExecutor(1, "peephole-tables") as beside,
            SliceTable(target, self.names.values, self.manifest) as table,
        ):
            others = beside.submit(self._write_all, target, tables)
            table.write(self.spool, others.result, progress)
        keep_to_owner(target)

    def _write_all(self, folder: Path, tables: dict[str, pa.Table]) -> None:
        for name in list(tables):
            data = tables.pop(name)
            if name not in self._spools:
                self._write(folder, name, data)
            elif (rows := self._spools[name].in_memory()) is not None:
                self._write(folder, name, rows)
            else:
                self._write_merged(folder, name, self._spools[name])

    def _write_merged(self, folder: Path, name: str, spool: RowSpool) -> None:
        with TableWriter(table_path(folder, name), TABLES[name]) as writer:
            for rows in _in_groups(spool.merged()):
                _write_bounded(writer, rows, None)
        self.manifest.tables[name] = spool.rows

    def _table(self, name: str) -> pa.Table:
        parts = self._parts[name]
        if len(parts) > 1:
            self._parts[name] = parts = [one_table(parts)]
        return parts[0] if parts else arrow_schema(TABLES[name]).empty_table()

    def close(self) -> None:
        """Lets go of temporary files."""
        self.spool.close()
        for spool in self._spools.values():
            spool.close()

    def _write(self, folder: Path, name: str, data: pa.Table) -> None:
        table = TABLES[name]
        with TableWriter(table_path(folder, name), table) as writer:
            if data.num_rows:
                data = data.unify_dictionaries().combine_chunks()
                _write_bounded(writer, data, _order(data, table.order))
        self.manifest.tables[name] = data.num_rows


def _write_bounded(writer: TableWriter, data: pa.Table, order: NDArray[np.int64] | None) -> None:
    """Row groups of at most 64 MiB, so that one long artifact does not make its neighbours expensive to read.

    Rows are put into their order group by group: a sorted copy of a large table would double what it takes.
    """
    each = max(1, data.nbytes // max(1, data.num_rows))
    size = min(_GROUP, max(16, (64 << 20) // each))
    for at in range(0, data.num_rows, size):
        rows = data.slice(at, size) if order is None else take(data, as_array(order[at : at + size]))
        writer.write_table(rows, row_group_size=size)


def _in_groups(parts: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The same in fewer parts, where they are small."""
    held: list[pa.Table] = []
    rows = 0
    for part in parts:
        held.append(part)
        rows += part.num_rows
        if rows >= _GROUP:
            yield one_table(held)
            held, rows = [], 0
    if held:
        yield one_table(held)


def _order(data: pa.Table, order: tuple[str, ...]) -> NDArray[np.int64] | None:
    """Which row comes when; None when they are in order already."""
    keys = []
    for name in order:
        column = data.column(name).combine_chunks()
        if pa.types.is_dictionary(column.type):
            # by text, not by the number that it happens to have
            rank = np.empty(len(column.dictionary) + 1, np.int64)
            rank[-1] = -1
            rank[np.argsort(np.array(column.dictionary.to_pylist(), object), kind="stable")] = np.arange(len(rank) - 1)
            keys.append(rank[indices_of(column)])
        else:
            keys.append(column.to_numpy())
    return sorted_order(keys)
