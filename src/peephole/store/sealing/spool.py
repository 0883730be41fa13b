"""Slices on their way into the table: sorted in chunks on disk, so that memory does not grow with their number.

    append -> chunk of 256K records, sorted by (lane, start) -> its columns, as narrow as they may be
    parts  <- lane by lane, its stretch of every chunk

Journals hold the slices of a lane in order. Where that is so (a clean lane) its stretches are read one after the other
and nothing is sorted twice; else the lane is read as a whole and sorted, or in windows of time when it is long.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.store.sealing.chunks import STORED, Chunk, Slices
from peephole.store.sealing.context_args import Extras
from peephole.store.tables.lanes import Ints, overlapping, runs

RECORD: Final = np.dtype(
    [
        ("start", "<i8"),
        ("dur", "<i8"),
        ("correlation", "<i8"),
        ("track", "<i4"),
        ("name", "<i4"),
        ("extra", "<u4"),
        ("depth", "<i2"),
        ("open", "<i2"),
    ]
)
"""A slice; `extra` is the number of its context and args in Extras plus one, 0 for neither; `open` is 1 for
one that had not ended when it was written and waits for the row that says when it did."""

_RAW: Final = np.dtype((np.void, RECORD.itemsize))
"""The same bytes without fields: numpy picks these several times faster."""
CHUNK: Final = 1 << 18
"""10 MB, three times at once: arrays below 32 MB come from memory that the allocator keeps, which saves a page fault
per 4 KB."""
IN_MEMORY: Final = 16 << 20
"""Bytes of sorted chunks that need not go to the disk."""
PART: Final = 1 << 17
"""Rows of a part of clean lanes; up to three are on their way into the table."""
SHORT_LANE: Final = 1 << 12
"""Rows up to which a lane that is not clean is read together with its neighbours."""

_EACH: Final = 256
"""Of so many slices of a lane one is looked at to cut it into windows."""

Records = NDArray[Any]


@dataclass(slots=True)
class Part:
    """A stretch of the table: clean lanes, sorted, or (not `clean`) lanes whose slices are in any order.

    Of the latter there is one, or several short ones.
    """

    clean: bool
    rows: int = 0
    lanes: int = 1
    """How many there are, unless they are clean."""
    extents: list[list[int]] = field(default_factory=list)
    """[chunk, first, last + 1] of records."""

    def add(self, chunk: int, first: int, last: int) -> None:
        """Appends records; what lies together is read together."""
        self.rows += last - first
        if self.extents and self.extents[-1][0] == chunk and self.extents[-1][2] == first:
            self.extents[-1][2] = last
        else:
            self.extents.append([chunk, first, last])


@dataclass(frozen=True, slots=True)
class Runs:
    """The lanes of one chunk."""

    key: Ints
    bounds: Ints
    """Lane i has the records bounds[i] … bounds[i + 1] - 1."""
    start: Ints
    end: Ints
    clean: NDArray[np.bool_]
    """No two slices overlap and none is open."""


def find_runs(chunk: Records, settled: bool = False) -> Runs:
    """The lanes of sorted records; `settled`: an open slice is one like the others."""
    keys = lane_keys(chunk["track"], chunk["depth"])
    start, dur = np.ascontiguousarray(chunk["start"]), np.ascontiguousarray(chunk["dur"])
    bounds = runs(keys)
    dirty = overlapping(start, dur)
    np.logical_and(dirty, keys[1:] == keys[:-1], out=dirty)
    clean = np.ones(len(bounds) - 1, np.bool_)
    if dirty.any():
        clean[np.searchsorted(bounds, np.flatnonzero(dirty), "right") - 1] = False
    is_open = chunk["open"] > 0
    if not settled and is_open.any():
        clean[np.searchsorted(bounds, np.flatnonzero(is_open), "right") - 1] = False
    last = bounds[1:] - 1
    return Runs(keys[bounds[:-1]], bounds, start[bounds[:-1]], start[last] + dur[last], clean)


def lane_keys(track: NDArray[Any], depth: NDArray[Any]) -> Ints:
    """One number per lane that sorts like (track, depth)."""
    return (track.astype(np.int64) << 16) + depth.astype(np.int64)


class SliceSpool:
    """Takes slices in any order and gives them back by lane and start.

    Chunks beyond so many bytes `in_memory` go to the disk; `settled`: no open slice waits for its end any more.
    """

    def __init__(self, folder: Path, in_memory: int = IN_MEMORY, settled: bool = False) -> None:
        self._room = in_memory
        self._settled = settled
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._buffer: Records = np.empty(1 << 14, RECORD)
        self._fill = 0
        self._spare: Records | None = None
        self._runs: list[Runs] = []
        self._chunks: list[Chunk] = []
        self._in_memory = 0
        self._in_file = 0
        self._worker: ThreadPoolExecutor | None = None
        self._sorting: Future[None] | None = None
        self.rows = 0
        self.extras = Extras(folder)

    def append(self, records: Records) -> None:
        """Adds records; they are copied."""
        at = 0
        self.rows += len(records)
        while at < len(records):
            if self._fill == len(self._buffer):
                self._grow(len(records) - at)
            some = min(len(records) - at, len(self._buffer) - self._fill)
            _words(self._buffer[self._fill : self._fill + some])[:] = _words(records[at : at + some])
            self._fill += some
            at += some

    def _grow(self, more: int) -> None:
        if len(self._buffer) >= CHUNK:
            self._flush()
            return
        size = min(CHUNK, max(2 * len(self._buffer), self._fill + more))
        grown = np.empty(size, RECORD)
        _words(grown[: self._fill])[:] = _words(self._buffer[: self._fill])
        self._buffer = grown

    def _flush(self) -> None:
        """Sorts the full buffer in another thread while the spare one fills."""
        self._wait()
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, "peephole-spool")
        full = self._buffer
        self._sorting = self._worker.submit(self._store, full[: self._fill])
        self._buffer = np.empty(len(full), RECORD) if self._spare is None else self._spare
        self._spare = full
        self._fill = 0

    def _wait(self) -> None:
        if self._sorting is not None:
            self._sorting.result()
            self._sorting = None

    def _store(self, records: Records) -> None:
        chunk = sort_records(records)
        found = find_runs(chunk, self._settled)
        stored = Chunk(chunk)
        if self._in_memory + stored.nbytes <= self._room:
            self._in_memory += stored.nbytes
        else:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder, prefix="slices.", buffering=0)  # noqa: SIM115 - until close
            self._in_file = stored.move(self._file, self._in_file)
        self._chunks.append(stored)
        self._runs.append(found)

    def parts(self) -> Iterator[Part]:
        """How the table is cut, in its order; call it when everything is in."""
        self._wait()
        if self._fill:
            self._store(self._buffer[: self._fill])
            self._fill = 0
        self._spare = None
        all_runs = self._runs
        key = np.concatenate([c.key for c in all_runs]) if all_runs else np.zeros(0, np.int64)
        if not len(key):
            return
        chunk = np.repeat(np.arange(len(all_runs)), [len(c.key) for c in all_runs])
        first = np.concatenate([c.bounds[:-1] for c in all_runs])
        last = np.concatenate([c.bounds[1:] for c in all_runs])
        start = np.concatenate([c.start for c in all_runs])
        end = np.concatenate([c.end for c in all_runs])
        order = np.lexsort((end, start, key))
        key, chunk, first, last = key[order], chunk[order], first[order], last[order]
        start, end = start[order], end[order]
        bad = ~np.concatenate([c.clean for c in all_runs])[order]
        bad[1:] |= (key[1:] == key[:-1]) & (start[1:] < end[:-1])
        lanes = runs(key)
        bad_lane = np.logical_or.reduceat(bad, lanes[:-1]).tolist()
        bounds = lanes.tolist()
        chunks, firsts, lasts = chunk.tolist(), first.tolist(), last.tolist()
        sizes = np.add.reduceat(last - first, lanes[:-1]).tolist()
        part = Part(clean=True)
        for lane, is_bad in enumerate(bad_lane):
            # short lanes that need a look go together, and those behind them: a stretch for each would take for ever
            short = sizes[lane] <= SHORT_LANE
            together = short and not part.clean and part.rows + sizes[lane] <= PART
            if part.rows and not together and (is_bad or not part.clean):
                yield part
                part = Part(clean=True)
            if together:
                part.lanes += 1
            elif is_bad:
                part.clean = False
            for run in range(bounds[lane], bounds[lane + 1]):
                a, b = firsts[run], lasts[run]
                while part.clean and part.rows + b - a >= PART:
                    cut = a + PART - part.rows
                    part.add(chunks[run], a, cut)
                    yield part
                    part, a = Part(clean=True), cut
                if a < b:
                    part.add(chunks[run], a, b)
            if not part.clean and not short:
                yield part
                part = Part(clean=True)
        if part.rows:
            yield part

    def read(self, part: Part) -> Slices:
        """The slices of a part: clean lanes sorted by lane and start, or others in the order of their chunks."""
        columns = [
            np.concatenate([self._chunks[chunk].column(name, first, last) for chunk, first, last in part.extents])
            for name in STORED
        ]
        keys, counts = [], []
        for chunk, first, last in part.extents:
            own = self._runs[chunk]
            low, high = np.searchsorted(own.bounds, first, "right") - 1, np.searchsorted(own.bounds, last, "left")
            keys.append(own.key[low:high])
            counts.append(np.diff(np.clip(own.bounds[low : high + 1], first, last)))
        key = np.repeat(np.concatenate(keys), np.concatenate(counts))
        return Slices((key >> 16).astype(np.int32), (key & 0xFFFF).astype(np.int16), *columns)

    def track(self, part: Part) -> int:
        """The track of a part's first slice."""
        chunk, first, _ = part.extents[0]
        own = self._runs[chunk]
        return int(own.key[np.searchsorted(own.bounds, first, "right") - 1]) >> 16

    def windows(self, part: Part, rows: int) -> Iterator[Slices]:
        """The slices of one lane, about so many at a time: each window holds all that begin in a stretch of time."""
        begins = [self._chunks[chunk].column("start", first, last)[::_EACH] for chunk, first, last in part.extents]
        cuts = np.unique(np.sort(np.concatenate(begins))[rows // _EACH :: rows // _EACH])
        places = []
        for chunk, first, last in part.extents:
            inside = np.searchsorted(self._chunks[chunk].column("start", first, last), cuts, "left")
            places.append([first, *(first + inside).tolist(), last])
        for window in range(len(cuts) + 1):
            own = Part(clean=False)
            for (chunk, _, _), bounds in zip(part.extents, places, strict=True):
                if bounds[window] < bounds[window + 1]:
                    own.add(chunk, bounds[window], bounds[window + 1])
            if own.rows:
                yield self.read(own)

    def close(self) -> None:
        """Lets go of the files."""
        if self._worker is not None:
            self._worker.shutdown()
            self._worker = None
        self.extras.close()
        self._chunks = []
        if self._file is not None:
            self._file.close()
            self._file = None


def _words(records: Records) -> Ints:
    """The same bytes as plain numbers, which numpy copies at once instead of field by field."""
    return records.view(np.int64)


def pick(records: Records, rows: NDArray[Any]) -> Records:
    """The records of those rows."""
    return records.view(_RAW).take(rows).view(RECORD)


def sort_records(records: Records) -> Records:
    """The records by (track, depth, start), at equal starts shortest first: a slice without length precedes."""
    if len(records) < 2:
        return _words(records).copy().view(RECORD)
    track, depth = records["track"], records["depth"]
    low, deep = int(track.min()), int(depth.max()) + 1
    if (int(track.max()) - low + 1) * deep <= 1 << 16:
        # numpy sorts 16-bit numbers by radix, several times faster than 64-bit ones
        keys = ((track - low) * deep + depth).astype(np.uint16)
    else:
        keys = lane_keys(track, depth)
    if np.all(keys[1:] >= keys[:-1]):
        records, sorted_keys = _words(records).copy().view(RECORD), keys
    else:
        order = np.argsort(keys, kind="stable")
        records, sorted_keys = pick(records, order), keys[order]
    start = np.ascontiguousarray(records["start"])
    same = sorted_keys[1:] == sorted_keys[:-1]
    wrong = same & (start[1:] <= start[:-1])
    if not wrong.any():
        return records
    bounds = runs(sorted_keys)
    touched = np.flatnonzero(np.bincount(np.searchsorted(bounds, np.flatnonzero(wrong), "right") - 1))
    if len(touched) > 256:
        order = np.lexsort((records["dur"], start, sorted_keys))
        return pick(records, order)
    for lane in touched.tolist():
        stretch = slice(int(bounds[lane]), int(bounds[lane + 1]))
        own = start[stretch]
        order = np.argsort(own, kind="stable")
        own = own[order]
        dur = records["dur"][stretch][order]
        if np.any((own[1:] == own[:-1]) & (dur[1:] < dur[:-1])):
            order = np.lexsort((records["dur"][stretch], start[stretch]))
        _words(records[stretch])[:] = _words(pick(records[stretch], order))
    return records
