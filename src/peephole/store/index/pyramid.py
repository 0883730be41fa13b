"""The level-of-detail pyramid: entries (see buckets.py) of every larger lane at every fourth power of two of ns.

`index/pyramid.bin`: magic | chunks of at most 4096 entries, columns of small integers, zstd | directory | footer.
Levels end where raw slices are as quick, so a lane's finest level has about a fifth as many entries as it has slices.
"""

from __future__ import annotations

import itertools
import struct
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.store.index.buckets import Entries, choose_level, fold, join, of_slices
from peephole.store.index.byte_planes import from_planes, to_planes, width_of
from peephole.store.index.cache import Cache
from peephole.store.index.index_file import COARSEST, LAST_LEVEL, STEP, IndexFile, IndexFileWriter

Ints = NDArray[np.int64]
MAGIC: Final = b"PEEPPYR1"
FILE: Final = "pyramid.bin"
SMALLEST: Final = 2048
"""Lanes with fewer slices have no pyramid: reading them whole is as quick."""
CHUNK: Final = 4096
_SHARE: Final = 5.0
"""Slices of a lane for each entry of its finest level."""
_SAMPLE: Final = 1 << 16
_WAITING: Final = 1 << 16
"""Entries of a level that wait for each other."""
_LARGEST: Final = 1 << 32
"""Bytes of a directory that we are willing to unpack."""
_FOOTER: Final = struct.Struct("<QQQQ")
"""Slices that it was built of, offset, packed and unpacked size of the directory."""
_DIRECTORY: Final = np.dtype(
    [
        ("track", "<i4"),
        ("depth", "<i2"),
        ("level", "<i2"),
        ("low", "<i8"),
        ("high", "<i8"),
        ("row", "<i8"),
        ("offset", "<u8"),
        ("packed", "<u4"),
        ("bytes", "<u4"),
        ("entries", "<u4"),
    ]
)
"""One per chunk, by track, depth, level and time; `row`: slices of the capture before its first entry."""


@dataclass(slots=True)
class _Level:
    """A level of the lane at hand: entries that are not in the file yet, since others may join them."""

    level: int
    row: int
    """Slices of the capture before those that begin in the held ones."""
    held: list[Entries] = field(default_factory=list)
    waiting: int = 0
    written: int = 0


class PyramidWriter:
    """Takes the slices of the table in its order and writes the pyramid, chunk by chunk of all levels of a lane."""

    def __init__(self, path: Path) -> None:
        self._file = IndexFileWriter(path, MAGIC)
        self._directory: list[tuple[int, ...]] = []
        self._lane: tuple[int, int] | None = None
        self._levels: list[_Level] = []
        self._chunks: list[tuple[int, ...]] = []
        """Those of the lane at hand."""
        self._first = self._count = 0

    def add(self, track: int, depth: int, first: int, start: Ints, dur: Ints, name: NDArray[np.int32]) -> None:
        """Adds slices of a lane, the rows from `first` on. Lanes come in order, small ones may be left out."""
        if self._lane != (track, depth):
            self._finish_lane()
            self._lane = (track, depth)
            self._first, self._count = first, 0
            # a sample is enough: the level says how much detail there is, not what is true
            some = slice(0, _SAMPLE)
            self._levels = [_Level(choose_level(start[some], dur[some], len(start[some]) / _SHARE), first)]
        self._take(0, of_slices(start, dur, name, first, self._levels[0].level))
        self._count += len(start)

    def _take(self, place: int, entries: Entries) -> None:
        """Adds entries to a level of the lane; what nothing can join any more is written, and folded into the next."""
        own = self._levels[place]
        own.held.append(entries)
        own.waiting += len(entries)
        if own.waiting < _WAITING:
            return
        whole = join(own.held)
        done = (len(whole) - 1) // CHUNK * CHUNK
        own.held, own.waiting = [whole.part(done, len(whole))], len(whole) - done
        if done:
            self._fold(place, whole.part(0, done))

    def _fold(self, place: int, entries: Entries) -> None:
        """Writes entries of a level and takes them to the one above."""
        own = self._levels[place]
        self._write(own, entries)
        if own.level + STEP > LAST_LEVEL:
            return
        if place + 1 == len(self._levels):
            self._levels.append(_Level(own.level + STEP, self._first))
        self._take(place + 1, fold(entries, STEP, 1 << own.level))

    def _finish_lane(self) -> None:
        if self._lane is None or self._count < SMALLEST:
            self._levels, self._chunks = [], []
            return
        for place in itertools.count():
            own = self._levels[place]
            self._fold(place, join(own.held))
            if own.written <= COARSEST or own.level + STEP > LAST_LEVEL:
                break
        self._directory += sorted(self._chunks, key=lambda chunk: chunk[2])
        self._levels, self._chunks = [], []

    def _write(self, own: _Level, entries: Entries) -> None:
        assert self._lane is not None
        own.written += len(entries)
        for at in range(0, len(entries), CHUNK):
            part = entries.part(at, at + CHUNK)
            data = pack_entries(part, own.row)
            at, packed = self._file.at, self._file.chunk(data)
            low, high = int(part.low[0]), int(part.high[-1])
            self._chunks.append((*self._lane, own.level, low, high, own.row, at, packed, len(data), len(part)))
            own.row += int(part.count.sum())

    def close(self, rows: int) -> None:
        """Writes the directory; `rows` is how many slices the table has."""
        self._finish_lane()
        data = np.array(self._directory, _DIRECTORY).tobytes()
        at, packed = self._file.at, self._file.chunk(data) if data else 0
        self._file.end(b"", _FOOTER.pack(rows, at, packed, len(data)))

    def abort(self) -> None:
        """Lets go of the file if it has not come to its end."""
        self._file.abort()


def pack_entries(entries: Entries, row: int) -> bytes:
    """Entries as bytes; `row` is the number of slices of the table that begin before them."""
    began = row + np.cumsum(entries.count) - entries.count
    place = entries.row - began + 1
    # only an entry in which nothing begins can be a run, and its slice is always the one before: 1 says so
    run = (entries.count == 0) & (entries.high > entries.low + 1)
    place = np.where(run, 1, place)
    delta = np.diff(entries.low, prepend=entries.low[0])
    columns = (delta, entries.count, np.where(run, 0, entries.busy), place, entries.name.astype(np.int64) + 1)
    return b"".join(_pack(column) for column in columns)


def _pack(values: Ints) -> bytes:
    width = width_of(int(values.max()))
    return bytes([width]) + to_planes(values, width)


def unpack_entries(data: bytes, count: int, level: int, low: int, high: int, row: int) -> Entries:
    """The entries of a chunk; ValueError when it is damaged."""
    columns: list[Ints] = []
    at = 0
    for _ in range(5):
        width = data[at] if at < len(data) else 0
        if width not in (1, 2, 4, 8) or at + 1 + width * count > len(data):
            raise ValueError("wrong size")
        columns.append(from_planes(data, count, width, at + 1).astype(np.int64))
        at += 1 + width * count
    delta, begun, busy, place, name = columns
    lows = low + np.cumsum(delta)
    began = row + np.cumsum(begun) - begun
    run = (begun == 0) & (place == 1)
    ends = np.append(lows[1:], high)
    highs = np.where(run, ends, lows + 1)
    busy = np.where(run, (highs - lows) << level, busy)
    rows = began + np.where(run, 0, place) - 1
    return Entries(lows, highs, busy, begun, rows, np.zeros(0, np.int64), (name - 1).astype(np.int32))


@dataclass(frozen=True, slots=True)
class Level:
    """The chunks of one level of a lane."""

    first: int
    """The first one's place in the directory."""
    low: list[int]
    high: list[int]


class Pyramid:
    """Reads a pyramid; chunks that were used lately stay in memory."""

    def __init__(self, path: Path) -> None:
        self._cache: Cache[int, Entries] = Cache(64 << 20)
        self._file = IndexFile(path, MAGIC, _FOOTER)
        with self._file.checked():
            self.slices, self._directory = self._read_directory()
        self._lanes: dict[tuple[int, int], dict[int, Level]] = {}
        d = self._directory
        if len(d):
            change = (d["track"][1:] != d["track"][:-1]) | (d["depth"][1:] != d["depth"][:-1])
            change |= d["level"][1:] != d["level"][:-1]
            bounds = [0, *(np.flatnonzero(change) + 1).tolist(), len(d)]
            for a, b in itertools.pairwise(bounds):
                lane = self._lanes.setdefault((int(d["track"][a]), int(d["depth"][a])), {})
                lane[int(d["level"][a])] = Level(a, d["low"][a:b].tolist(), d["high"][a:b].tolist())

    def _read_directory(self) -> tuple[int, NDArray[np.void]]:
        slices, at, packed, size = self._file.footer
        if at + packed != self._file.footer_at or size > _LARGEST:
            raise ValueError("wrong footer")
        return slices, np.frombuffer(self._file.chunk(at, packed, size) if size else b"", _DIRECTORY)

    def levels(self, track: int, depth: int) -> tuple[int, ...]:
        """The levels that a lane has, finest first; none when it is small."""
        return tuple(self._lanes.get((track, depth), ()))

    def window(self, track: int, depth: int, level: int, t0: int, t1: int) -> Entries:
        """The entries of a lane's level that touch [t0, t1); their `dur` is empty."""
        chunks = self._lanes[track, depth][level]
        low, high = t0 >> level, ((t1 - 1) >> level) + 1
        first = bisect_right(chunks.high, low)
        last = bisect_left(chunks.low, high)
        parts = [self._chunk(chunks.first + i) for i in range(first, last)]
        if not parts:
            return _nothing()
        whole = parts[0] if len(parts) == 1 else _concatenate(parts)
        i = int(whole.high.searchsorted(low, "right"))
        j = int(whole.low.searchsorted(high, "left"))
        return whole if i == 0 and j == len(whole) else whole.part(i, max(i, j))

    def _chunk(self, number: int) -> Entries:
        found = self._cache.get(number)
        if found is None:
            _, _, level, low, high, row, at, packed, size, count = self._directory[number].item()
            with self._file.checked():
                found = unpack_entries(self._file.chunk(at, packed, size), count, level, low, high, row)
            self._cache.put(number, found, 44 * count)
        return found

    def close(self) -> None:
        """Lets go of the file."""
        self._file.close()


def _nothing() -> Entries:
    zero = np.zeros(0, np.int64)
    return Entries(zero, zero, zero, zero, zero, zero, np.zeros(0, np.int32))


def _concatenate(parts: list[Entries]) -> Entries:
    return Entries(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Entries)))
