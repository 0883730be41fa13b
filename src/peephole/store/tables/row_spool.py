"""Rows of a table other than slices on their way into it: beyond so many bytes they lie in sorted runs on disk.

Memory does not grow with their number. Of rows that are equal in their order the one that came first stays first.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from peephole.model.tables import Table
from peephole.store.tables.arrow import as_array, decoded, encoded, take
from peephole.store.tables.schema import arrow_schema

SPOOLED: Final = frozenset(("counters", "markers", "flows", "buffers", "uses", "messages"))
"""Tables of which there may be many rows, in the order of numbers."""
RUN: Final = 24 << 20
"""Bytes of rows that wait in memory."""
_BATCH: Final = 1 << 15
"""Rows of each run that are in memory while they are merged."""


class RowSpool:
    """Takes the rows of one table in any order and gives them back in its order."""

    def __init__(self, folder: Path, table: Table, run: int | None = None) -> None:
        self._folder, self._table = folder, table
        self._most = RUN if run is None else run
        self._parts: list[pa.Table] = []
        self._bytes = 0
        self._runs: list[IO[bytes]] = []
        self.rows = 0

    def append(self, part: pa.Table) -> None:
        """Adds rows."""
        self._parts.append(part)
        self._bytes += part.nbytes
        self.rows += part.num_rows
        if self._bytes > self._most:
            self._write_run()

    def in_memory(self) -> pa.Table | None:
        """The rows as they came, when none of them went to the disk."""
        if self._runs:
            return None
        if len(self._parts) > 1:
            self._parts = [one_table(self._parts)]
        return self._parts[0] if self._parts else arrow_schema(self._table).empty_table()

    def _write_run(self) -> None:
        rows = _plain(one_table(self._parts), self._table)
        self._parts.clear()
        self._bytes = 0
        order = sorted_order([rows.column(name).to_numpy() for name in self._table.order])
        file = tempfile.TemporaryFile(dir=self._folder, prefix="rows.")  # noqa: SIM115 - until close
        self._runs.append(file)
        with pa.ipc.new_file(file, rows.schema) as writer:
            for at in range(0, rows.num_rows, _BATCH):
                some = rows.slice(at, _BATCH) if order is None else take(rows, as_array(order[at : at + _BATCH]))
                writer.write_table(some)
        file.flush()

    def parts(self) -> Iterator[pa.Table]:
        """All rows in the order of the table, wherever they are."""
        whole = self.in_memory()
        if whole is None:
            yield from self.merged()
        elif whole.num_rows:
            order = sorted_order([whole.column(name).to_numpy() for name in self._table.order])
            yield whole if order is None else take(whole, as_array(order))

    def merged(self) -> Iterator[pa.Table]:
        """All rows in the order of the table, some at a time."""
        if self._parts:
            self._write_run()
        runs = [_Run(file, self._table.order) for file in self._runs]
        while True:
            live = [number for number, run in enumerate(runs) if run.load()]
            if not live:
                return
            # no row beyond what every run is known to: of those that go on, the one that is least far
            bounds = [(runs[number].last(), number) for number in live if runs[number].goes_on()]
            least, own = min(bounds) if bounds else (None, 0)
            pieces = []
            for number in live:
                run = runs[number]
                pieces.append(run.rest() if least is None else run.until(least, number <= own))
            rows = pa.concat_tables(pieces).combine_chunks()
            order = sorted_order([rows.column(name).to_numpy() for name in self._table.order])
            yield _coded(rows if order is None else take(rows, as_array(order)), self._table)

    def close(self) -> None:
        """Lets go of the files."""
        for file in self._runs:
            file.close()
        self._runs.clear()
        self._parts.clear()


class _Run:
    """A sorted run, of which a batch is in memory."""

    def __init__(self, file: IO[bytes], order: tuple[str, ...]) -> None:
        self._reader = pa.ipc.open_file(file)
        self._order = order
        self._next = 0
        self._rows: pa.Table | None = None
        self._keys: list[NDArray[Any]] = []

    def load(self) -> bool:
        """Whether there are rows, of which some are in memory then."""
        while self._rows is None and self._next < self._reader.num_record_batches:
            self._hold(pa.Table.from_batches([self._reader.get_batch(self._next)]))
            self._next += 1
        return self._rows is not None

    def _hold(self, rows: pa.Table) -> None:
        self._rows = rows if rows.num_rows else None
        self._keys = [rows.column(name).to_numpy() for name in self._order]

    def goes_on(self) -> bool:
        """Whether there are more rows than those in memory."""
        return bool(self._next < self._reader.num_record_batches)

    def last(self) -> tuple[int, ...]:
        """Where in the order the last row in memory is."""
        return tuple(int(key[-1]) for key in self._keys)

    def rest(self) -> pa.Table:
        """The rows in memory, which are not kept."""
        rows, self._rows = self._rows, None
        return rows

    def until(self, bound: tuple[int, ...], equal: bool) -> pa.Table:
        """The rows before that place in the order, or (`equal`) up to it, which are not kept."""
        first, past = 0, len(self._keys[0])
        for place, (key, value) in enumerate(zip(self._keys, bound, strict=True)):
            own = key[first:past]
            past = first + int(np.searchsorted(own, value, "right"))
            low = first + int(np.searchsorted(own, value, "left"))
            if place < len(bound) - 1 or not equal:
                first = low
            else:
                first = past
        rows = self.rest()
        self._hold(rows.slice(first))
        return rows.slice(0, first)


def one_table(parts: Sequence[pa.Table]) -> pa.Table:
    """Parts of a table as one, in one piece."""
    return pa.concat_tables(parts).unify_dictionaries().combine_chunks()


def _plain(rows: pa.Table, table: Table) -> pa.Table:
    """Texts as they are instead of numbers into a dictionary, which every run would have another one of."""
    for at, column in enumerate(table.columns):
        if column.type == "str":
            rows = rows.set_column(at, column.name, decoded(rows.column(at)))
    return rows


def _coded(rows: pa.Table, table: Table) -> pa.Table:
    columns = [
        encoded(rows.column(at)) if column.type == "str" else rows.column(at) for at, column in enumerate(table.columns)
    ]
    return pa.table(columns, schema=arrow_schema(table))


def sorted_order(keys: Sequence[NDArray[Any]]) -> NDArray[np.int64] | None:
    """Which row comes when; None when they are in order already: the usual case, and cheaper to see than to sort."""
    equal = np.ones(max(0, len(keys[0]) - 1), np.bool_)
    for key in keys:
        if np.any(equal & (key[1:] < key[:-1])):
            return np.lexsort(keys[::-1])
        equal &= key[1:] == key[:-1]
    return None
