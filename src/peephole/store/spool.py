"""Slices on their way into the table: sorted in chunks on disk, so that memory does not grow with their number.

    append -> chunk of 1M records, sorted by (lane, start) -> one file of chunks
    parts  <- for a range of lanes, its stretch of every chunk, merged

A stretch of lanes is contiguous in each chunk, so reading a part is one read per chunk.
"""

from __future__ import annotations

import itertools
import mmap
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.store.lanes import Ints, runs

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

CHUNK: Final = 1 << 20
PART: Final = 1 << 20
"""Rows that a part has at least; a lane larger than four of them comes in several pieces."""
_LATEST: Final = 1 << 62

Records = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of the sorted table: whole lanes, or (`piece`) a stretch of one lane that is followed by more."""

    low: int
    high: int
    """Lanes' keys: low <= key < high."""
    begin: int | None = None
    end: int | None = None
    """Starts within the lane, for a piece: begin <= start < end."""
    rows: int = 0


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
        self._memory: Records | None = None
        self._chunks: list[tuple[Ints, Ints]] = []
        self._offsets: list[int] = []
        self._bytes = 0
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
            self._buffer[self._fill : self._fill + some] = records[at : at + some]
            self._fill += some
            at += some

    def _grow(self, more: int) -> None:
        if len(self._buffer) >= CHUNK:
            self._flush(to_file=True)
            return
        size = min(CHUNK, max(2 * len(self._buffer), self._fill + more))
        grown = np.empty(size, RECORD)
        grown[: self._fill] = self._buffer[: self._fill]
        self._buffer = grown

    def _flush(self, to_file: bool) -> None:
        chunk = sort_records(self._buffer[: self._fill])
        keys = lane_keys(chunk["track"], chunk["depth"])
        bounds = runs(keys)
        self._chunks.append((keys[bounds[:-1]], bounds))
        if to_file:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder, prefix="slices.")  # noqa: SIM115 - until close
            self._offsets.append(self._bytes)
            self._bytes += chunk.nbytes
            self._file.seek(0, 2)
            chunk.tofile(self._file)
        else:
            self._memory = chunk
            self._offsets.append(-1)
        self._fill = 0

    def parts(self) -> list[Part]:
        """How the table is cut; call it when everything is in."""
        if self._fill:
            # one chunk alone never sees the disk
            self._flush(to_file=bool(self._chunks))
        if self._file is not None:
            self._file.flush()
        if not self._chunks:
            return []
        all_keys = np.concatenate([keys for keys, _ in self._chunks])
        all_counts = np.concatenate([np.diff(bounds) for _, bounds in self._chunks])
        keys, inverse = np.unique(all_keys, return_inverse=True)
        counts = np.bincount(inverse, all_counts, len(keys)).astype(np.int64)
        found: list[Part] = []
        first = 0
        total = 0
        for i, count in enumerate(counts.tolist()):
            if count > 4 * PART:
                if total:
                    found.append(Part(int(keys[first]), int(keys[i]), rows=total))
                found.extend(self._pieces(int(keys[i]), count))
                first, total = i + 1, 0
                continue
            total += count
            if total >= PART:
                found.append(Part(int(keys[first]), int(keys[i]) + 1, rows=total))
                first, total = i + 1, 0
        if total:
            found.append(Part(int(keys[first]), int(keys[-1]) + 1, rows=total))
        return found

    def _pieces(self, key: int, count: int) -> list[Part]:
        whole = Part(key, key + 1, rows=count)
        samples = [chunk["start"][:: max(1, len(chunk) // 256)] for chunk in self._stretches(whole, copy=False)]
        starts = np.sort(np.concatenate(samples))
        wanted = max(2, count // (2 * PART))
        edges = np.unique(starts[np.linspace(0, len(starts) - 1, wanted + 1).astype(np.int64)[1:-1]]).tolist()
        bounds = [-_LATEST * 2, *edges, _LATEST * 2 - 1]
        pieces = [Part(key, key + 1, a, b) for a, b in itertools.pairwise(bounds)]
        return [
            Part(p.low, p.high, p.begin, p.end, sum(len(s) for s in self._stretches(p, copy=False))) for p in pieces
        ]

    def _stretches(self, part: Part, copy: bool = True) -> Iterator[Records]:
        for (keys, bounds), offset in zip(self._chunks, self._offsets, strict=True):
            low = int(bounds[np.searchsorted(keys, part.low)])
            high = int(bounds[np.searchsorted(keys, part.high)])
            if low == high:
                continue
            if offset < 0 or self._file is None:
                assert self._memory is not None
                chunk = self._memory[low:high]
            elif copy and part.begin is None:
                self._file.seek(offset + low * RECORD.itemsize)
                chunk = np.fromfile(self._file, RECORD, high - low)
            else:
                shape = (high - low,)
                chunk = np.memmap(self._file, RECORD, "r", offset + low * RECORD.itemsize, shape)
            if part.begin is not None:
                a, b = np.searchsorted(chunk["start"], np.array([part.begin, part.end], np.int64))
                chunk = np.array(chunk[a:b]) if copy else chunk[a:b]
            if len(chunk):
                yield chunk

    def read(self, part: Part) -> Records:
        """The records of a part, sorted by lane and start, at equal starts shortest first."""
        stretches = list(self._stretches(part))
        if len(stretches) == 1:
            return stretches[0]
        if not stretches:
            return np.empty(0, RECORD)
        return sort_records(np.concatenate(stretches))

    def close(self) -> None:
        """Lets go of the files."""
        self.extras.close()
        self._memory = None
        if self._file is not None:
            self._file.close()
            self._file = None


def sort_records(records: Records) -> Records:
    """The records by (track, depth, start), at equal starts shortest first: a slice without length precedes."""
    if len(records) < 2:
        return records.copy()
    track, depth = records["track"], records["depth"]
    low, deep = int(track.min()), int(depth.max()) + 1
    if (int(track.max()) - low + 1) * deep <= 1 << 16:
        # numpy sorts 16-bit numbers by radix, several times faster than 64-bit ones
        keys = ((track - low) * deep + depth).astype(np.uint16)
    else:
        keys = lane_keys(track, depth)
    if np.all(keys[1:] >= keys[:-1]):
        records, sorted_keys = records.copy(), keys
    else:
        order = np.argsort(keys, kind="stable")
        records, sorted_keys = records[order], keys[order]
    start = np.ascontiguousarray(records["start"])
    same = sorted_keys[1:] == sorted_keys[:-1]
    wrong = same & (start[1:] <= start[:-1])
    if not wrong.any():
        return records
    bounds = runs(sorted_keys)
    touched = np.unique(np.searchsorted(bounds, np.flatnonzero(wrong), "right") - 1)
    if len(touched) > 256:
        order = np.lexsort((records["dur"], start, sorted_keys))
        return records[order]
    for lane in touched.tolist():
        stretch = slice(int(bounds[lane]), int(bounds[lane + 1]))
        own = start[stretch]
        order = np.argsort(own, kind="stable")
        own = own[order]
        dur = records["dur"][stretch][order]
        if np.any((own[1:] == own[:-1]) & (dur[1:] < dur[:-1])):
            order = np.lexsort((records["dur"][stretch], start[stretch]))
        records[stretch] = records[stretch][order]
    return records
