"""Writes slices.parquet and its lane index out of a spool: sorted, laid out on lanes, in bounded memory."""

from __future__ import annotations

import contextlib
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
from peephole.store.allocator import give_back
from peephole.store.index.capture_index import IndexWriter
from peephole.store.manifest import Manifest
from peephole.store.sealing.chunks import Slices, joined
from peephole.store.sealing.long_lanes import LONG, ended, lay_out_long
from peephole.store.sealing.spool import PART, Part, SliceSpool
from peephole.store.tables.arrow import as_array, take
from peephole.store.tables.compiled_loops import warm
from peephole.store.tables.files import ROW_GROUP, TableWriter, table_path
from peephole.store.tables.lanes import CUT_SHORT, MAX_DEPTH, overlapping, runs, sublanes
from peephole.store.tables.schema import arrow_schema

_FEW: Final = 1 << 20
"""Names up to which a table of all of them is quicker than sorting those of a row group."""
_ARGS: Final = 8 << 20
"""Bytes of args that go into the table at once."""
_TRIM: Final = 1 << 19
"""Slices after which memory that the C library keeps for parts of other sizes goes back to the system."""
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
        self._cut_short = 0
        self._queue: queue.Queue[pa.Table | None] = queue.Queue(maxsize=1)
        self._error: BaseException | None = None
        self._schema = arrow_schema(SLICES)
        self._index = IndexWriter(folder, names)
        try:
            self._writer = TableWriter(table_path(folder, "slices"), SLICES)
        except BaseException:
            self._index.abort()
            raise
        self._thread = threading.Thread(target=self._encode, name="peephole-seal", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._queue.put(None)
        self._thread.join()
        try:
            self._writer.close()
        finally:
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

    def write(
        self, spool: SliceSpool, others: Callable[[], None], progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Writes all slices of the spool and the indexes; the last of these need the other tables, which are waited
        for."""
        if spool.rows > COMPILE_FROM:
            warm()
        trimmed = 0
        # args are copied a few times on their way into the table
        groups = max(1, _ARGS // max(1, spool.extras.mean_bytes * ROW_GROUP))
        for slices in _in_parts(self._squeezed(_gathered(self._laid_out(spool))), min(PART, groups * ROW_GROUP)):
            self._emit(slices, spool)
            if self._rows - trimmed > _TRIM:
                trimmed = self._rows
                give_back()
            if progress is not None:
                progress(self._rows, spool.rows)
            if self._error is not None:
                raise self._error
        self._manifest.tables["slices"] = self._rows
        if self._cut_short:
            self._manifest.problem(CUT_SHORT, self._cut_short)
        others()
        self._index.close()

    def _laid_out(self, spool: SliceSpool) -> Iterator[Slices]:
        for part in spool.parts():
            if part.clean:
                yield self._shifted(spool.read(part))
            elif part.lanes > 1:
                yield from self._lay_out_lanes(ended(spool.read(part)))
            elif part.rows <= LONG:
                yield self._lay_out(ended(spool.read(part)))
            else:
                yield from self._long(spool, part)

    def _long(self, spool: SliceSpool, part: Part) -> Iterator[Slices]:
        """One lane of many slices, which are not all in memory at once."""
        number = spool.track(part)
        shift = self._shift.get(number, 0)
        found = lay_out_long(spool, part, shift, self._folder)
        if found is None:
            yield self._lay_out(ended(spool.read(part)))
            return
        laid, more = found
        self._shift = {number: shift + more}
        with contextlib.closing(laid):
            for own in laid.parts():
                yield laid.read(own)

    def _shifted(self, slices: Slices) -> Slices:
        """Clean lanes as they are, or lower where lanes above them in their track needed more rows."""
        for number, shift in self._shift.items():
            own = slices.track == number
            if own.any():
                slices.depth[own] = np.minimum(slices.depth[own].astype(np.int64) + shift, MAX_DEPTH)
        return slices

    def _lay_out_lanes(self, slices: Slices) -> Iterator[Slices]:
        """Several lanes; those between two whose slices overlap together."""
        slices = slices.take(np.lexsort((slices.dur, slices.start, slices.depth, slices.track)))
        bounds = runs(slices.track, slices.depth)
        crossed = np.append(False, overlapping(slices.start, slices.dur))
        crossed[bounds[:-1]] = False
        done = 0
        for lane in np.flatnonzero(np.add.reduceat(crossed, bounds[:-1])).tolist():
            begin, end = int(bounds[lane]), int(bounds[lane + 1])
            if done < begin:
                yield self._shifted(slices.take(np.arange(done, begin)))
            yield self._lay_out(slices.take(np.arange(begin, end)))
            done = end
        if done < len(slices):
            yield self._shifted(slices.take(np.arange(done, len(slices))))

    def _lay_out(self, slices: Slices) -> Slices:
        """One lane, on sub-lanes where its slices overlap."""
        slices = slices.take(np.lexsort((slices.dur, slices.start)))
        if not overlapping(slices.start, slices.dur).any():
            return self._shifted(slices)
        slices = slices.take(np.lexsort((-slices.dur, slices.start)))
        number = int(slices.track[0])
        shift = self._shift.get(number, 0)
        rows = sublanes(slices.start, slices.dur)
        # deeper lanes of the track move down by as many rows as this one needs more
        self._shift = {number: shift + int(rows.max())}
        slices.depth[:] = np.minimum(slices.depth.astype(np.int64) + shift + rows, MAX_DEPTH)
        return slices.take(np.lexsort((slices.dur, slices.start, slices.depth)))

    def _squeezed(self, parts: Iterator[Slices]) -> Iterator[Slices]:
        """The same with the last row that a depth can name, where all that is deeper ends up, as a lane like others.

        Several lanes, and parts, may have come to lie there, so it is held back until its track ends.
        """
        held: Slices | None = None
        for slices in parts:
            if held is None and int(slices.depth.max(initial=0)) < MAX_DEPTH:
                yield slices
                continue
            whole = slices if held is None else held.followed_by(slices)
            deep = np.flatnonzero(whole.depth == MAX_DEPTH)
            order = np.arange(len(whole))
            order[deep] = deep[np.lexsort((whole.dur[deep], whole.start[deep], whole.track[deep]))]
            whole = whole.take(order)
            more = deep[whole.track[deep] == whole.track[-1]]
            end = int(more[0]) if len(more) else len(whole)
            yield self._cut(whole.take(np.arange(end)))
            held = whole.take(more) if len(more) else None
        if held is not None:
            yield self._cut(held)

    def _cut(self, slices: Slices) -> Slices:
        """Without overlaps in the last row that a depth can name."""
        deep = np.flatnonzero(slices.depth == MAX_DEPTH)
        a, b = deep[:-1], deep[1:]
        room = slices.start[b] - slices.start[a]
        cut = (slices.track[a] == slices.track[b]) & (slices.dur[a] > room)
        slices.dur[a[cut]] = room[cut]
        self._cut_short += int(cut.sum())
        return slices

    def _emit(self, slices: Slices, spool: SliceSpool) -> None:
        if not len(slices):
            return
        context, args = spool.extras.take(slices.extra)
        args = _with_open(args, slices.open)
        columns = {
            "track": as_array(slices.track),
            "depth": as_array(slices.depth),
            "start": as_array(slices.start),
            "dur": as_array(slices.dur),
            "name": as_array(slices.name),
            "context": as_array(context),
            "correlation": as_array(slices.correlation),
            "args": pa.nulls(len(slices), pa.large_string()) if args is None else args,
        }
        self._queue.put(pa.table([columns[name] for name in self._schema.names], self._schema.names))
        self._index.add(slices.track, slices.depth, slices.start, slices.dur, slices.name, ROW_GROUP)
        self._rows += len(slices)

    def _write_group(self, data: pa.Table) -> None:
        """Writes a row group whose dictionary holds its own names alone: they take fewer bits, and less to read."""
        at = self._schema.get_field_index("name")
        codes = data.column(at).combine_chunks().to_numpy()
        mask = codes < 0
        safe = np.where(mask, 0, codes)
        used = np.flatnonzero(np.bincount(safe)) if len(self._names) <= _FEW else np.unique(safe)
        if len(used) and used[-1] < len(self._names):
            names = take(self._names, as_array(used))
        else:  # no names at all
            names = pa.array([], pa.string())
        if len(used) and used[-1] + 1 <= _FEW:
            place = np.zeros(int(used[-1]) + 1, np.int32)
            place[used] = np.arange(len(used), dtype=np.int32)
            indices = place[safe]
        else:
            indices = np.searchsorted(used, safe).astype(np.int32)
        texts = pa.DictionaryArray.from_arrays(as_array(indices, mask), names)
        columns = [texts if i == at else data.column(i) for i in range(data.num_columns)]
        self._writer.write_table(pa.table(columns, schema=self._schema))


def _gathered(parts: Iterator[Slices]) -> Iterator[Slices]:
    """The same in fewer parts, where they are small: each is a row group at least."""
    held: list[Slices] = []
    rows = 0
    for slices in parts:
        held.append(slices)
        rows += len(slices)
        if rows >= ROW_GROUP:
            yield joined(held)
            held, rows = [], 0
    if held:
        yield joined(held)


def _in_parts(several: Iterator[Slices], most: int) -> Iterator[Slices]:
    """The same in parts of so many rows at most, each of whole row groups but the last of what comes together."""
    for slices in several:
        if len(slices) <= most:
            yield slices
            continue
        for at in range(0, len(slices), most):
            yield slices.take(np.arange(at, min(at + most, len(slices))))


def _with_open(args: pa.Array | None, is_open: NDArray[np.int16]) -> pa.Array | None:
    """Args that say which slices had not ended."""
    rows = np.flatnonzero(is_open).tolist()
    if not rows:
        return args
    texts: list[str | None] = [None] * len(is_open) if args is None else args.to_pylist()
    for row in rows:
        text = texts[row]
        rest = text.strip()[1:] if text is not None and text.strip().startswith("{") else "}"
        texts[row] = '{"open":true' + (rest if rest.strip() == "}" else "," + rest)
    return pa.array(texts, pa.large_string())
