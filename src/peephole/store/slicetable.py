"""Writes slices.parquet and its lane index out of a spool: sorted, laid out on lanes, in bounded memory."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from peephole.model.tables import SLICES
from peephole.store.files import ROW_GROUP, open_writer, table_path
from peephole.store.index import IndexWriter
from peephole.store.kernels import warm
from peephole.store.lanes import MAX_DEPTH, overlapping, runs, sublanes
from peephole.store.manifest import Manifest
from peephole.store.schema import arrow_schema
from peephole.store.spool import Records, SliceSpool, lane_keys, pick

_FEW: Final = 1 << 20
"""Names up to which a table of all of them is quicker than sorting those of a row group."""
COMPILE_FROM: Final = 1_500_000
"""Slices from which loading numba takes less time than it saves."""


class SliceTable:
    """Writes one slices.parquet. Parquet is coded in a second thread while the next part is sorted."""

    def __init__(self, folder: Path, names: list[str], manifest: Manifest) -> None:
        self._folder = folder
        self._manifest = manifest
        self._names = pa.array(names, pa.string())
        self._rows = 0
        self._shift: dict[int, int] = {}
        self._squeezed = 0
        self._queue: queue.Queue[pa.Table | None] = queue.Queue(maxsize=1)
        self._error: BaseException | None = None
        self._schema = arrow_schema(SLICES)
        self._index = IndexWriter(folder, names)
        self._writer = open_writer(table_path(folder, "slices"), SLICES)
        self._thread = threading.Thread(target=self._encode, name="peephole-seal", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._queue.put(None)
        self._thread.join()
        self._writer.close()
        if kind is not None or self._error is not None:
            self._index.abort()
        if kind is None and self._error is not None:
            raise self._error

    def _encode(self) -> None:
        while (data := self._queue.get()) is not None:
            if self._error is None:
                try:
                    for at in range(0, data.num_rows, ROW_GROUP):
                        self._write_group(data.slice(at, ROW_GROUP))
                except BaseException as error:  # handed to the thread that waits for it
                    self._error = error

    def write(self, spool: SliceSpool, progress: Callable[[int, int], None] | None = None) -> None:
        """Writes all slices of the spool and the indexes."""
        if spool.rows > COMPILE_FROM:
            warm()
        for records in self._laid_out(spool):
            self._emit(records, spool)
            if progress is not None:
                progress(self._rows, spool.rows)
            if self._error is not None:
                raise self._error
        self._manifest.tables["slices"] = self._rows
        if self._squeezed:
            reason = "slices that overlap more than 32,000 others of their track, cut short"
            self._manifest.problem(reason, self._squeezed)
        self._index.close()

    def _laid_out(self, spool: SliceSpool) -> Iterator[Records]:
        for part in spool.parts():
            records = spool.read(part)
            yield self._lay_out(records if part.clean else self._ended(records), part.clean)

    def _ended(self, records: Records) -> Records:
        """Without the open slices of which a later row says when they ended; of several open ones the longest."""
        is_open = records["open"] > 0
        if not is_open.any():
            return records
        bounds = runs(records["track"], records["depth"], records["start"])
        group = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        closed = np.zeros(len(bounds) - 1, np.bool_)
        closed[group[~is_open]] = True
        # within a group rows are sorted by duration
        last = np.zeros(len(records), np.bool_)
        last[bounds[1:] - 1] = True
        return pick(records, np.flatnonzero(~is_open | (last & ~closed[group])))

    def _lay_out(self, records: Records, clean: bool) -> Records:
        """Depths such that slices of a lane never overlap: as recorded where possible, else on sub-lanes."""
        track = records["track"]
        if not len(records):
            return records
        if clean and not any(np.any(track == number) for number in self._shift):
            return records
        start, dur = np.ascontiguousarray(records["start"]), np.ascontiguousarray(records["dur"])
        bounds = runs(track, records["depth"])
        changed = False
        for lane in range(len(bounds) - 1):
            a, b = int(bounds[lane]), int(bounds[lane + 1])
            number = int(track[a])
            shift = self._shift.get(number, 0)
            depth = records["depth"][a:b].astype(np.int64) + shift
            if not clean and overlapping(start[a:b], dur[a:b]).any():
                order = np.lexsort((-dur[a:b], start[a:b]))
                records[a:b] = pick(records[a:b], order)
                rows = sublanes(start[a:b][order], dur[a:b][order])
                # deeper lanes of the track move down by as many rows as this one needs more
                self._shift = {number: shift + int(rows.max())}
                depth += rows
                changed = True
            records["depth"][a:b] = np.minimum(depth, MAX_DEPTH)
        if changed:
            keys = lane_keys(records["track"], records["depth"])
            records = pick(records, np.lexsort((records["dur"], records["start"], keys)))
        self._squeeze(records)
        return records

    def _squeeze(self, records: Records) -> None:
        deep = np.flatnonzero(records["depth"] == MAX_DEPTH)
        if len(deep) < 2:
            return
        a, b = deep[:-1], deep[1:]
        room = records["start"][b] - records["start"][a]
        cut = (records["track"][a] == records["track"][b]) & (records["dur"][a] > room)
        records["dur"][a[cut]] = room[cut]
        self._squeezed += int(cut.sum())

    def _emit(self, records: Records, spool: SliceSpool) -> None:
        if not len(records):
            return
        track, depth = np.ascontiguousarray(records["track"]), np.ascontiguousarray(records["depth"])
        start, dur = np.ascontiguousarray(records["start"]), np.ascontiguousarray(records["dur"])
        name = np.ascontiguousarray(records["name"])
        context, args = spool.extras.take(records["extra"])
        args = _with_open(args, records["open"])
        columns = {
            "track": pa.array(track),
            "depth": pa.array(depth),
            "start": pa.array(start),
            "dur": pa.array(dur),
            "name": pa.array(name),
            "context": pa.array(context),
            "correlation": pa.array(np.ascontiguousarray(records["correlation"])),
            "args": pa.nulls(len(records), pa.large_string()) if args is None else pa.array(args, pa.large_string()),
        }
        self._queue.put(pa.table([columns[name] for name in self._schema.names], self._schema.names))
        self._index.add(track, depth, start, dur, name, ROW_GROUP)
        self._rows += len(records)

    def _write_group(self, data: pa.Table) -> None:
        """Writes a row group whose dictionary holds its own names alone: they take fewer bits, and less to read."""
        at = self._schema.get_field_index("name")
        codes = data.column(at).combine_chunks().to_numpy()
        mask = codes < 0
        safe = np.where(mask, 0, codes)
        used = np.flatnonzero(np.bincount(safe)) if len(self._names) <= _FEW else np.unique(safe)
        if len(used) and used[-1] < len(self._names):
            names = self._names.take(pa.array(used))
        else:  # no names at all
            names = pa.array([], pa.string())
        if len(used) and used[-1] + 1 <= _FEW:
            place = np.zeros(int(used[-1]) + 1, np.int32)
            place[used] = np.arange(len(used), dtype=np.int32)
            indices = place[safe]
        else:
            indices = np.searchsorted(used, safe).astype(np.int32)
        texts = pa.DictionaryArray.from_arrays(pa.array(indices, mask=mask), names)
        columns = [texts if i == at else data.column(i) for i in range(data.num_columns)]
        self._writer.write_table(pa.table(columns, schema=self._schema))


def _with_open(args: list[str | None] | None, is_open: NDArray[np.int16]) -> list[str | None] | None:
    """Args that say which slices had not ended."""
    rows = np.flatnonzero(is_open).tolist()
    if not rows:
        return args
    if args is None:
        args = [None] * len(is_open)
    for row in rows:
        text = args[row]
        rest = text.strip()[1:] if text is not None and text.strip().startswith("{") else "}"
        args[row] = '{"open":true' + (rest if rest.strip() == "}" else "," + rest)
    return args
