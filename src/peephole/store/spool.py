"""Slices on their way into the table: sorted in chunks on disk, so that memory does not grow with their number.

    append -> chunk of 512K records, sorted by (lane, start) -> one file of chunks
    parts  <- lane by lane, its stretch of every chunk

Journals hold the slices of a lane in order. Where that is so (a clean lane) its stretches are read one after the other
and nothing is sorted twice; else the lane is read as a whole and sorted.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.store.lanes import Ints, overlapping, runs

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
CHUNK: Final = 1 << 19
"""20 MB: arrays below 32 MB come from memory that the allocator keeps, which saves a page fault per 4 KB."""
IN_MEMORY: Final = 512 << 20
"""Bytes of sorted chunks that need not go to the disk."""
PART: Final = 1 << 19
"""Rows of a part of clean lanes."""

Records = NDArray[Any]


@dataclass(slots=True)
class Part:
    """A stretch of the table: clean lanes, sorted, or (not `clean`) one lane whose slices are in any order."""

    clean: bool
    rows: int = 0
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


def find_runs(chunk: Records) -> Runs:
    """The lanes of sorted records."""
    keys = lane_keys(chunk["track"], chunk["depth"])
    start, dur = np.ascontiguousarray(chunk["start"]), np.ascontiguousarray(chunk["dur"])
    bounds = runs(keys)
    dirty = overlapping(start, dur)
    np.logical_and(dirty, keys[1:] == keys[:-1], out=dirty)
    clean = np.ones(len(bounds) - 1, np.bool_)
    if dirty.any():
        clean[np.searchsorted(bounds, np.flatnonzero(dirty), "right") - 1] = False
    is_open = chunk["open"] > 0
    if is_open.any():
        clean[np.searchsorted(bounds, np.flatnonzero(is_open), "right") - 1] = False
    last = bounds[1:] - 1
    return Runs(keys[bounds[:-1]], bounds, start[bounds[:-1]], start[last] + dur[last], clean)


def lane_keys(track: NDArray[Any], depth: NDArray[Any]) -> Ints:
    """One number per lane that sorts like (track, depth)."""
    return (track.astype(np.int64) << 16) + depth.astype(np.int64)


class Extras:
    """Context and args of the slices that have any; the args wait in a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._parts: list[tuple[Ints, Ints, Ints]] = []
        self._rows = 0
        self._bytes = 0
        self._view: mmap.mmap | None = None

    def append(self, context: Ints, args: list[str | None] | None) -> Ints:
        """Keeps rows and gives the `extra` of each."""
        rows = len(context)
        lengths = np.full(rows, -1, np.int64)
        if args is not None and any(a is not None for a in args):
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder, prefix="args.")  # noqa: SIM115 - until close
            coded = [b"" if a is None else a.encode("utf-8", "backslashreplace") for a in args]
            lengths = np.fromiter((len(c) for c in coded), np.int64, rows)
            self._file.write(b"".join(coded))
            lengths[[a is None for a in args]] = -1
        size = np.maximum(lengths, 0)
        offsets = self._bytes + np.cumsum(size) - size
        self._bytes += int(size.sum())
        self._parts.append((context, offsets, lengths))
        numbers = np.arange(self._rows + 1, self._rows + rows + 1)
        self._rows += rows
        return numbers

    def take(self, extra: NDArray[np.uint32]) -> tuple[Ints, list[str | None] | None]:
        """Contexts and args (None when no row has any) of slices."""
        if self._rows == 0:
            return np.full(len(extra), -1, np.int64), None
        if len(self._parts) > 1:
            context, offsets, lengths = (np.concatenate(c) for c in zip(*self._parts, strict=True))
            self._parts = [(context, offsets, lengths)]
        all_context, all_offsets, all_lengths = self._parts[0]
        has = np.flatnonzero(extra)
        at = extra[has].astype(np.int64) - 1
        contexts = np.full(len(extra), -1, np.int64)
        contexts[has] = all_context[at]
        with_args = all_lengths[at] >= 0
        if self._file is None or not with_args.any():
            return contexts, None
        if self._view is None and self._bytes:
            self._file.flush()
            self._view = mmap.mmap(self._file.fileno(), self._bytes, access=mmap.ACCESS_READ)
        args: list[str | None] = [None] * len(extra)
        view = self._view
        for row, offset, length in zip(
            has[with_args].tolist(),
            all_offsets[at[with_args]].tolist(),
            all_lengths[at[with_args]].tolist(),
            strict=True,
        ):
            args[row] = view[offset : offset + length].decode("utf-8", "replace") if view and length else ""
        return contexts, args

    def close(self) -> None:
        """Lets go of the file."""
        if self._view is not None:
            self._view.close()
            self._view = None
        if self._file is not None:
            self._file.close()
            self._file = None


class SliceSpool:
    """Takes slices in any order and gives them back by lane and start."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._buffer: Records = np.empty(1 << 14, RECORD)
        self._fill = 0
        self._spare: Records | None = None
        self._chunks: list[Runs] = []
        self._data: list[Records | int] = []
        self._in_memory = 0
        self._in_file = 0
        self._worker: ThreadPoolExecutor | None = None
        self._sorting: Future[None] | None = None
        self._scratch: Records = np.empty(0, RECORD)
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
        found = find_runs(chunk)
        if self._in_memory + chunk.nbytes <= IN_MEMORY:
            self._data.append(chunk)
            self._in_memory += chunk.nbytes
        else:
            self._data.append(self._written(chunk))
        self._chunks.append(found)

    def _written(self, chunk: Records) -> int:
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder, prefix="slices.", buffering=0)  # noqa: SIM115 - closed by close()
        offset = self._in_file
        view = _words(chunk).data.cast("B")
        while len(view):
            view = view[self._file.write(view) :]
        self._in_file += chunk.nbytes
        return offset

    def parts(self) -> Iterator[Part]:
        """How the table is cut, in its order; call it when everything is in."""
        self._wait()
        if self._fill:
            self._store(self._buffer[: self._fill])
            self._fill = 0
        self._spare = None
        key = np.concatenate([c.key for c in self._chunks]) if self._chunks else np.zeros(0, np.int64)
        if not len(key):
            return
        chunk = np.repeat(np.arange(len(self._chunks)), [len(c.key) for c in self._chunks])
        first = np.concatenate([c.bounds[:-1] for c in self._chunks])
        last = np.concatenate([c.bounds[1:] for c in self._chunks])
        start = np.concatenate([c.start for c in self._chunks])
        end = np.concatenate([c.end for c in self._chunks])
        order = np.lexsort((end, start, key))
        key, chunk, first, last = key[order], chunk[order], first[order], last[order]
        start, end = start[order], end[order]
        bad = ~np.concatenate([c.clean for c in self._chunks])[order]
        bad[1:] |= (key[1:] == key[:-1]) & (start[1:] < end[:-1])
        lanes = runs(key)
        bad_lane = np.logical_or.reduceat(bad, lanes[:-1]).tolist()
        bounds = lanes.tolist()
        chunks, firsts, lasts = chunk.tolist(), first.tolist(), last.tolist()
        part = Part(clean=True)
        for lane, is_bad in enumerate(bad_lane):
            if is_bad and part.rows:
                yield part
                part = Part(clean=True)
            if is_bad:
                part.clean = False
            for run in range(bounds[lane], bounds[lane + 1]):
                a, b = firsts[run], lasts[run]
                while not is_bad and part.rows + b - a >= PART:
                    cut = a + PART - part.rows
                    part.add(chunks[run], a, cut)
                    yield part
                    part, a = Part(clean=True), cut
                if a < b:
                    part.add(chunks[run], a, b)
            if is_bad:
                yield part
                part = Part(clean=True)
        if part.rows:
            yield part

    def read(self, part: Part) -> Records:
        """The records of a part, sorted by lane and start. They are valid until the next part is read."""
        if len(self._scratch) < part.rows:
            self._scratch = np.empty(max(part.rows, min(self.rows, PART)), RECORD)
        out = self._scratch[: part.rows]
        at = 0
        for chunk, first, last in part.extents:
            into = out[at : at + last - first]
            data = self._data[chunk]
            if isinstance(data, int):
                self._read_into(into, data + first * RECORD.itemsize)
            else:
                _words(into)[:] = _words(data[first:last])
            at += last - first
        return out if part.clean else sort_records(out)

    def _read_into(self, records: Records, offset: int) -> None:
        assert self._file is not None
        view = _words(records).data.cast("B")
        while len(view):
            got = os.preadv(self._file.fileno(), [view], offset)
            if got <= 0:
                raise OSError("a temporary file is shorter than it was")
            view = view[got:]
            offset += got

    def close(self) -> None:
        """Lets go of the files."""
        if self._worker is not None:
            self._worker.shutdown()
            self._worker = None
        self.extras.close()
        self._data = []
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
    touched = np.unique(np.searchsorted(bounds, np.flatnonzero(wrong), "right") - 1)
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
