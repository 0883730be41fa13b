"""Counters and the memory of devices from afar: smallest, largest and mean of buckets of time, kept on disk.

`index/series.bin`: magic | chunks, one per series and level, zstd | directory in JSON | its length (u64) and the magic.
Time is cut into buckets of 2**level ns, on the pyramid's grid. A bucket in which the value changes has an entry; in any
other the value is the last one of the entry before. A series' finest level has at most an eighth as many entries as the
series has steps, each further one is four times as wide; short series have none and are read from their table.
"""

from __future__ import annotations

import json
import os
import struct
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from peephole.errors import CaptureError
from peephole.store.series import Series, SeriesWindow

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MAGIC: Final = b"PEEPSER1"
FILE: Final = "series.bin"
SMALLEST: Final = 4096
"""Series with fewer steps are quick to read whole."""
_STEP: Final = 2
_SHARE: Final = 8
_COARSEST: Final = 128
_TAIL: Final = struct.Struct("<Q8s")
_LARGEST: Final = 64 << 20
"""Bytes of a directory that we are willing to read."""

Key = tuple[str, str]
"""("counter", number of its track) or ("memory", name of the device)."""


@dataclass(frozen=True, slots=True)
class Buckets:
    """Entries of one level: number of the bucket, smallest, largest, integral (value times ns) and last value."""

    bucket: Ints
    low: Floats
    high: Floats
    area: Floats
    last: Floats

    def __len__(self) -> int:
        return len(self.bucket)


def of_steps(time: Ints, value: Floats, end: int, level: int) -> Buckets:
    """The buckets of a step function whose last value holds until `end`."""
    bucket = time >> level
    first = np.flatnonzero(np.append(True, bucket[1:] != bucket[:-1]))
    low, high = np.minimum.reduceat(value, first), np.maximum.reduceat(value, first)
    numbers = bucket[first]
    begin, stop = numbers << level, np.minimum((numbers + 1) << level, end)
    last = value[np.append(first[1:], len(value)) - 1]
    # what held when the bucket began; in the first one nothing did
    before = np.append(value[:1], last[:-1])
    carried = time[first] > begin
    carried[0] = False
    low = np.where(carried, np.minimum(low, before), low)
    high = np.where(carried, np.maximum(high, before), high)
    until = np.minimum(np.append(time[1:], end), (bucket + 1) << level)
    area = np.add.reduceat(value * (np.minimum(until, end) - time), first)
    area += np.where(carried, before * (np.minimum(time[first], stop) - begin), 0.0)
    return Buckets(numbers, low, high, area, last)


def fold(fine: Buckets, level: int, end: int) -> Buckets:
    """The level above: buckets of four of these, at `level`."""
    bucket = fine.bucket >> _STEP
    first = np.flatnonzero(np.append(True, bucket[1:] != bucket[:-1]))
    width = 1 << (level - _STEP)
    # between two entries, and up to the end of the coarser bucket, the last value goes on
    here = np.minimum((fine.bucket + 1) * width, end)
    stop = np.minimum(np.append(fine.bucket[1:] * width, end), np.minimum((bucket + 1) << level, end))
    area = fine.area + fine.last * np.maximum(stop - here, 0)
    low, high = np.minimum.reduceat(fine.low, first), np.maximum.reduceat(fine.high, first)
    last = fine.last[np.append(first[1:], len(fine)) - 1]
    before = np.append(fine.last[:1], last[:-1])
    gap = fine.bucket[first] * width - (bucket[first] << level)
    gap[0] = 0
    carried = gap > 0
    low = np.where(carried, np.minimum(low, before), low)
    high = np.where(carried, np.maximum(high, before), high)
    whole = np.add.reduceat(area, first) + np.where(carried, before * gap, 0.0)
    return Buckets(bucket[first], low, high, whole, last)


class SeriesWriter:
    """Writes the series of a capture, one after the other."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("wb")
        self._file.write(MAGIC)
        self._at = len(MAGIC)
        self._codec = pa.Codec("zstd", 3)
        self._directory: list[dict[str, Any]] = []

    def add(self, key: Key, series: Series) -> None:
        """Adds a series when it is long enough to earn it."""
        if len(series) < SMALLEST:
            return
        level, many = 0, len(series)
        while many > len(series) // _SHARE and level < 62:
            level += 1
            many = 1 + int(np.count_nonzero(np.diff(series.time >> level)))
        entries = of_steps(series.time, series.value, series.end, level)
        peak_time, peak = series.peak()
        facts = {"kind": key[0], "name": key[1], "steps": len(series), "first": int(series.time[0]), "end": series.end}
        levels = []
        while True:
            levels.append({"level": level, "entries": len(entries), **self._write(entries)})
            if len(entries) <= _COARSEST or level + _STEP > 62:
                break
            level += _STEP
            entries = fold(entries, level, series.end)
        about = {"peak": peak, "peak_time": peak_time, "least": series.least()}
        self._directory.append({**facts, **about, "levels": levels})

    def _write(self, entries: Buckets) -> dict[str, int]:
        numbers = [np.diff(entries.bucket, prepend=0), entries.low, entries.high, entries.area, entries.last]
        # byte by byte: the high bytes are nearly all alike
        data = b"".join(column.view(np.uint8).reshape(-1, 8).T.tobytes() for column in numbers)
        packed = self._codec.compress(data, asbytes=True)
        self._file.write(packed)
        at, self._at = self._at, self._at + len(packed)
        return {"at": at, "packed": len(packed)}

    def close(self) -> None:
        """Writes the directory."""
        text = json.dumps(self._directory).encode()
        self._file.write(text)
        self._file.write(_TAIL.pack(len(text), MAGIC))
        self._file.close()

    def abort(self) -> None:
        """Lets go of the file."""
        self._file.close()


class StoredSeries:
    """A series of which zoomed-out windows come from the file; the rest is read when somebody comes near."""

    def __init__(self, file: SeriesFile, facts: dict[str, Any], read: Callable[[], Series]) -> None:
        self._file = file
        self._facts = facts
        self._read = read
        self._levels: dict[int, Buckets] = {}

    def __len__(self) -> int:
        return int(self._facts["steps"])

    def peak(self) -> tuple[int, float]:
        """When the value was largest for the first time, and what it was."""
        return int(self._facts["peak_time"]), float(self._facts["peak"])

    def least(self) -> float:
        """The smallest value."""
        return float(self._facts["least"])

    def window(self, t0: int, t1: int, pixels: int) -> SeriesWindow:
        """The window [t0, t1) on about that many pixels: buckets between half a pixel and two pixels wide."""
        finest = max(1, (t1 - t0) // max(1, pixels)).bit_length()
        fitting = [one for one in self._facts["levels"] if one["level"] <= finest]
        if not fitting:
            return self._read().window(t0, t1, pixels)
        level = fitting[-1]["level"]
        if level not in self._levels:
            self._levels[level] = self._file.level(fitting[-1])
        return _window(self._levels[level], level, t0, t1, self._facts["first"], self._facts["end"])


def _window(entries: Buckets, level: int, t0: int, t1: int, first: int, end: int) -> SeriesWindow:
    width = 1 << level
    low = max(t0 >> level, first >> level)
    high = min((t1 - 1) >> level, (end - 1) >> level) + 1
    numbers = np.arange(low, max(low, high), dtype=np.int64)
    place = np.searchsorted(entries.bucket, numbers, "right") - 1
    place = np.maximum(place, 0)
    own = entries.bucket[place] == numbers
    last = entries.last[place]
    begin = np.maximum(numbers * width, first)
    length = np.maximum(np.minimum((numbers + 1) * width, end) - begin, 1)
    lows, highs = np.where(own, entries.low[place], last), np.where(own, entries.high[place], last)
    mean = np.where(own, entries.area[place] / length, last)
    return SeriesWindow(float(width), np.maximum(begin, t0), lows, highs, np.clip(mean, lows, highs))


class SeriesFile:
    """Reads the series of a capture."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._codec = pa.Codec("zstd", 3)
        try:
            self._fd = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise CaptureError(f"{path} cannot be read: {error.strerror}.") from None
        self._close = weakref.finalize(self, os.close, self._fd)
        try:
            size = os.fstat(self._fd).st_size
            length, magic = _TAIL.unpack(os.pread(self._fd, _TAIL.size, size - _TAIL.size))
            if magic != MAGIC or length > min(size, _LARGEST):
                raise ValueError("wrong end")
            found = json.loads(os.pread(self._fd, length, size - _TAIL.size - length))
            self._facts: dict[Key, dict[str, Any]] = {(one["kind"], one["name"]): one for one in found}
        except (struct.error, ValueError, KeyError, TypeError, OSError) as error:
            self.close()
            raise CaptureError(f"{path} is damaged: {error}.") from None

    def get(self, key: Key, read: Callable[[], Series]) -> StoredSeries | None:
        """A series, None when it is not in the file; `read` gives all of it."""
        facts = self._facts.get(key)
        return None if facts is None else StoredSeries(self, facts, read)

    def level(self, facts: dict[str, Any]) -> Buckets:
        """The entries of one level."""
        count = int(facts["entries"])
        try:
            data = os.pread(self._fd, int(facts["packed"]), int(facts["at"]))
            raw = np.frombuffer(self._codec.decompress(data, 40 * count, asbytes=True), np.uint8)
        except (ValueError, OSError, pa.ArrowException) as error:
            raise CaptureError(f"{self.path} is damaged: {error}.") from None
        planes = raw.reshape(5, 8, count)
        columns = [np.ascontiguousarray(planes[i].T).view("<i8" if i == 0 else "<f8")[:, 0] for i in range(5)]
        return Buckets(np.cumsum(columns[0]), *columns[1:])

    def close(self) -> None:
        """Lets go of the file."""
        self._close()
