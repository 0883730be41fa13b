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
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.store.index.byte_planes import from_planes, to_planes
from peephole.store.index.index_file import COARSEST, LAST_LEVEL, STEP, IndexFile, IndexFileWriter
from peephole.store.index.series import LARGEST, Series, SeriesWindow

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MAGIC: Final = b"PEEPSER1"
FILE: Final = "series.bin"
SMALLEST: Final = 4096
"""Series with fewer steps are quick to read whole."""
_SHARE: Final = 8
"""Steps of a series for each entry of its finest level, or more."""
_MOST: Final = 1 << 19
"""Entries of the finest level of a series that is not in memory."""
_CHUNK: Final = 1 << 18
_POWERS: Final = np.array([1 << bit for bit in range(63)], np.int64)
_FOOTER: Final = struct.Struct("<Q")
"""Length of the directory."""
_LARGEST: Final = 64 << 20
"""Bytes of a directory that we are willing to read."""

Key = tuple[str, str]
"""("counter", number of its track) or ("memory", name of the device)."""


@dataclass(frozen=True, slots=True)
class Level:
    """Where the entries of one level are in the file."""

    level: int
    entries: int
    at: int
    packed: int


@dataclass(frozen=True, slots=True)
class Facts:
    """What the directory says of a series."""

    kind: str
    name: str
    steps: int
    first: int
    end: int
    peak: float
    peak_time: int
    least: float
    levels: tuple[Level, ...]
    """Finest first."""


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
    entries, begun = _begun(time, value, end, end, level)
    return _carried(entries, begun, value[:1], end, level)


def _begun(time: Ints, value: Floats, following: int, end: int, level: int) -> tuple[Buckets, Ints]:
    """The buckets of steps, of which the last one lasts until the `following` one, without what held when each began;
    and when the first step in each is."""
    bucket = time >> level
    first = np.flatnonzero(np.append(True, bucket[1:] != bucket[:-1]))
    low, high = np.minimum.reduceat(value, first), np.maximum.reduceat(value, first)
    until = np.minimum(np.append(time[1:], following), (bucket + 1) << level)
    area = np.add.reduceat(value * (np.minimum(until, end) - time), first)
    last = value[np.append(first[1:], len(value)) - 1]
    return Buckets(bucket[first], low, high, area, last), time[first]


def _carried(found: Buckets, begun: Ints, foremost: Floats, end: int, level: int) -> Buckets:
    """The buckets with what held when each began; in the first one nothing did."""
    begin, stop = found.bucket << level, np.minimum((found.bucket + 1) << level, end)
    before = np.append(foremost, found.last[:-1])
    carried = begun > begin
    carried[0] = False
    low = np.where(carried, np.minimum(found.low, before), found.low)
    high = np.where(carried, np.maximum(found.high, before), found.high)
    area = found.area + np.where(carried, before * (np.minimum(begun, stop) - begin), 0.0)
    return Buckets(found.bucket, low, high, area, found.last)


def fold(fine: Buckets, level: int, end: int) -> Buckets:
    """The level above: buckets of four of these, at `level`."""
    bucket = fine.bucket >> STEP
    first = np.flatnonzero(np.append(True, bucket[1:] != bucket[:-1]))
    width = 1 << (level - STEP)
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


class LongSteps:
    """A step function that lies in a file: its steps come in the order of time, some at a time."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder, prefix="series.", buffering=0)  # noqa: SIM115 - until close
        self._count = 0
        self._wide = np.zeros(65, np.int64)
        """How many neighbours differ in so many of the last bits of their times, and in no more."""
        self.first = self.latest = self.peak_time = 0
        self.peak = self.least = 0.0

    def __len__(self) -> int:
        return self._count

    def append(self, time: Ints, value: Floats) -> None:
        """Adds steps, at least one, which are later than those before."""
        value = np.clip(value, -LARGEST, LARGEST)
        best = int(np.argmax(value))
        if not self._count:
            self.first = int(time[0])
        if not self._count or value[best] > self.peak:
            self.peak, self.peak_time = float(value[best]), int(time[best])
        self.least = float(value.min()) if not self._count else min(self.least, float(value.min()))
        differ = time[1:] ^ time[:-1]
        if self._count:
            differ = np.append(differ, time[0] ^ self.latest)
        self._wide += np.bincount(_bits(differ), minlength=65)
        self.latest = int(time[-1])
        self._count += len(time)
        left = memoryview(np.stack([time, value.view(np.int64)], axis=1).data).cast("B")
        while left:
            left = left[self._file.write(left) :]

    def level_of(self, most: int) -> int:
        """The finest level at which the steps lie in so many buckets at most."""
        level, many = 0, self._count
        while many > most and level < LAST_LEVEL:
            level += 1
            many = 1 + int(self._wide[level + 1 :].sum())
        return level

    def buckets(self, end: int, level: int) -> Buckets:
        """The buckets of that level."""
        done: list[tuple[Buckets, Ints]] = []
        for time, value, following in self._chunks(end):
            entries, begun = _begun(time, value, following, end, level)
            if done and done[-1][0].bucket[-1] == entries.bucket[0]:
                before = done[-1][0]
                before.low[-1] = min(before.low[-1], entries.low[0])
                before.high[-1] = max(before.high[-1], entries.high[0])
                before.area[-1] += entries.area[0]
                before.last[-1] = entries.last[0]
                entries = Buckets(*(getattr(entries, column.name)[1:] for column in fields(entries)))
                begun = begun[1:]
            if len(entries):
                done.append((entries, begun))
        whole = Buckets(*(np.concatenate([getattr(part, c.name) for part, _ in done]) for c in fields(Buckets)))
        foremost = next(self._chunks(end))[1][:1]
        return _carried(whole, np.concatenate([begun for _, begun in done]), foremost, end, level)

    def _chunks(self, end: int) -> Iterator[tuple[Ints, Floats, int]]:
        """The steps, and when the one after the last of them is."""
        at = 0
        while at < self._count:
            many = min(_CHUNK, self._count - at)
            raw = os.pread(self._file.fileno(), (many + 1) * 16, at * 16)
            rows = np.frombuffer(raw, np.int64).reshape(-1, 2)
            at += many
            following = int(rows[many, 0]) if at < self._count else end
            yield np.ascontiguousarray(rows[:many, 0]), np.ascontiguousarray(rows[:many, 1]).view(np.float64), following

    def close(self) -> None:
        """Lets go of the file."""
        self._file.close()


def _bits(values: Ints) -> Ints:
    """How many bits each number has; 64 for those below 0."""
    found = np.searchsorted(_POWERS, values, "right")
    return np.where(values < 0, 64, found)


class SeriesWriter:
    """Writes the series of a capture, one after the other."""

    def __init__(self, path: Path) -> None:
        self._file = IndexFileWriter(path, MAGIC)
        self._directory: list[Facts] = []

    def add(self, key: Key, series: Series) -> None:
        """Adds a series when it is long enough to earn it."""
        if len(series) < SMALLEST:
            return
        level, many = 0, len(series)
        while many > len(series) // _SHARE and level < LAST_LEVEL:
            level += 1
            many = 1 + int(np.count_nonzero(np.diff(series.time >> level)))
        levels = self._write_all(level, of_steps(series.time, series.value, series.end, level), series.end)
        peak_time, peak = series.peak()
        first = int(series.time[0])
        facts = Facts(*key, len(series), first, series.end, peak, peak_time, series.least(), levels)
        self._directory.append(facts)

    def add_long(self, key: Key, steps: LongSteps, end: int) -> None:
        """Adds a series that is not in memory."""
        if len(steps) < SMALLEST:
            return
        end = max(end, steps.latest + 1)
        level = steps.level_of(min(len(steps) // _SHARE, _MOST))
        levels = self._write_all(level, steps.buckets(end, level), end)
        facts = Facts(*key, len(steps), steps.first, end, steps.peak, steps.peak_time, steps.least, levels)
        self._directory.append(facts)

    def _write_all(self, level: int, entries: Buckets, end: int) -> tuple[Level, ...]:
        """Writes the finest level and those above it."""
        levels = []
        while True:
            levels.append(self._write(level, entries))
            if len(entries) <= COARSEST or level + STEP > LAST_LEVEL:
                return tuple(levels)
            level += STEP
            entries = fold(entries, level, end)

    def _write(self, level: int, entries: Buckets) -> Level:
        numbers = [np.diff(entries.bucket, prepend=0), entries.low, entries.high, entries.area, entries.last]
        data = b"".join(to_planes(column.view(np.uint64), 8) for column in numbers)
        return Level(level, len(entries), self._file.at, self._file.chunk(data))

    def close(self) -> None:
        """Writes the directory."""
        text = json.dumps([asdict(facts) for facts in self._directory]).encode()
        self._file.end(text, _FOOTER.pack(len(text)))

    def abort(self) -> None:
        """Lets go of the file."""
        self._file.abort()


class StoredSeries:
    """A series of which zoomed-out windows come from the file; the rest is read when somebody comes near."""

    def __init__(self, file: SeriesFile, facts: Facts, read: Callable[[], Series]) -> None:
        self._file = file
        self._facts = facts
        self._read = read
        self._levels: dict[int, Buckets] = {}

    def __len__(self) -> int:
        return self._facts.steps

    def peak(self) -> tuple[int, float]:
        """When the value was largest for the first time, and what it was."""
        return self._facts.peak_time, self._facts.peak

    def least(self) -> float:
        """The smallest value."""
        return self._facts.least

    def window(self, t0: int, t1: int, pixels: int) -> SeriesWindow:
        """The window [t0, t1) on about that many pixels: buckets between half a pixel and two pixels wide."""
        finest = max(1, (t1 - t0) // max(1, pixels)).bit_length()
        fitting = [one for one in self._facts.levels if one.level <= finest]
        if not fitting:
            return self._read().window(t0, t1, pixels)
        level = fitting[-1].level
        if level not in self._levels:
            self._levels[level] = self._file.level(fitting[-1])
        if len(fitting) == len(self._facts.levels):
            # it has few entries, and may still be far too fine for a trace in which the value rests for long
            while level + STEP <= min(finest, LAST_LEVEL):
                coarser = level + STEP
                if coarser not in self._levels:
                    self._levels[coarser] = fold(self._levels[level], coarser, self._facts.end)
                level = coarser
        return _window(self._levels[level], level, t0, t1, self._facts.first, self._facts.end)


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
        self._file = IndexFile(path, MAGIC, _FOOTER)
        with self._file.checked():
            (length,) = self._file.footer
            if length > min(self._file.footer_at, _LARGEST):
                raise ValueError("wrong footer")
            found = json.loads(self._file.read(self._file.footer_at - length, length))
            self._facts = {(one["kind"], one["name"]): _facts(one) for one in found}

    def get(self, key: Key, read: Callable[[], Series]) -> StoredSeries | None:
        """A series, None when it is not in the file; `read` gives all of it."""
        facts = self._facts.get(key)
        return None if facts is None else StoredSeries(self, facts, read)

    def level(self, level: Level) -> Buckets:
        """The entries of one level."""
        count = level.entries
        with self._file.checked():
            data = self._file.chunk(level.at, level.packed, 40 * count)
            columns = [from_planes(data, count, 8, 8 * count * i) for i in range(5)]
            return Buckets(np.cumsum(columns[0].view("<i8")), *(column.view("<f8") for column in columns[1:]))

    def close(self) -> None:
        """Lets go of the file."""
        self._file.close()


def _facts(found: dict[str, Any]) -> Facts:
    """An entry of the directory; ValueError, KeyError or TypeError when it is damaged."""
    levels = tuple(
        Level(*(_number(one[name]) for name in ("level", "entries", "at", "packed"))) for one in found["levels"]
    )
    if not levels or any(not 0 <= level.level <= LAST_LEVEL or level.entries < 1 for level in levels):
        raise ValueError("wrong levels")
    steps, first, end, peak_time = (_number(found[name]) for name in ("steps", "first", "end", "peak_time"))
    peak, least = float(found["peak"]), float(found["least"])
    return Facts(str(found["kind"]), str(found["name"]), steps, first, end, peak, peak_time, least, levels)


def _number(value: Any) -> int:
    if type(value) is not int or abs(value) > 1 << 63:
        raise ValueError("a number is none")
    return value
