"""Slices of lanes out of their row groups: what was decoded lately stays in memory, the rest comes from two cores."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, overload

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from peephole.errors import CaptureError
from peephole.store.index.cache import Cache
from peephole.store.index.capture_index import Index
from peephole.store.tables.columns import bounded
from peephole.store.tables.lanes import Ints, runs

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Group = tuple[Ints, Ints, NDArray[np.int32]]
"""Starts, durations and names' numbers of a row group."""
_BYTES: Final = 192 << 20
"""Decoded row groups that stay in memory for the next window."""
_TOGETHER: Final = 8
"""Row groups of one read: they share memory, so that few of them hold on to few others."""
_ALONE: Final = 4
"""Row groups up to which a second thread is not worth its while."""
_DEPTHS: Final = 1 << 16
_NOTHING: Final = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32))


@dataclass(frozen=True, slots=True)
class _Lane:
    """A lane's stretches of rows, one per row group that it touches, in order of time."""

    start: list[int]
    end: list[int]
    group: list[int]
    place: list[int]
    """First row of the stretch within its row group."""
    count: list[int]
    row: list[int]


@dataclass(frozen=True, slots=True)
class Sums:
    """What slices take of a stretch of time."""

    time: Ints
    """By lane, ns."""
    count: Ints
    name_time: Ints
    """By kind of lane and number of the name; the last is for those without."""
    name_count: Ints

    def columns(self) -> tuple[Ints, Ints, Ints, Ints]:
        """All of them."""
        return self.time, self.count, self.name_time, self.name_count

    def add(self, lane: int, kind: int, dur: Ints, name: NDArray[np.int32]) -> None:
        """Adds slices of a lane."""
        self.time[lane] += int(dur.sum())
        self.count[lane] += len(dur)
        size = self.name_time.shape[1]
        if size > 4 * len(dur):
            # number -1, for no name, is the last
            np.add.at(self.name_time[kind], name, dur)
            np.add.at(self.name_count[kind], name, 1)
            return
        code = np.where(name < 0, size - 1, name)
        # float64 holds whole numbers up to 104 days of ns, more than a row group can sum to
        self.name_time[kind] += np.bincount(code, weights=dur, minlength=size).clip(max=float(1 << 62)).astype(np.int64)
        self.name_count[kind] += np.bincount(code, minlength=size)


class RowGroups:
    """Reads start, duration and name of slices. Safe to share between threads."""

    def __init__(self, open_file: Callable[[], pq.ParquetFile], index: Index) -> None:
        self._files = [open_file(), open_file()]
        self._pool: ThreadPoolExecutor | None = None
        self._locks = [threading.Lock(), threading.Lock()]
        self._index = index
        self._known = len(index.names)
        self._cache: Cache[int, Group] = Cache(_BYTES)
        metadata = self._files[0].metadata
        counts = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self._rows = counts
        self._first = bounds
        seg = index.segments
        self._bounds = runs(seg["track"], seg["depth"])
        first = self._bounds[:-1]
        # a lane is found by its number: of a million of them few are ever looked at
        self._keys = _key(seg["track"][first].astype(np.int64), seg["depth"][first].astype(np.int64))
        self._lanes: dict[tuple[int, int], _Lane | None] = {}

    def _beside(self) -> ThreadPoolExecutor:
        """A second thread, from the first time on that one is worth its while."""
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(1, "peephole-decode")
        return self._pool

    def _lane(self, track: int, depth: int) -> _Lane | None:
        """Where a lane's rows are; None when there is none."""
        place = track, depth
        if place not in self._lanes:
            key = _key(track, depth)
            at = int(self._keys.searchsorted(key))
            found = at < len(self._keys) and self._keys[at] == key and 0 <= depth < _DEPTHS
            self._lanes[place] = self._stretches(at) if found else None
        return self._lanes[place]

    def _stretches(self, lane: int) -> _Lane:
        seg = self._index.segments
        own = slice(int(self._bounds[lane]), int(self._bounds[lane + 1]))
        first = seg["first"][own]
        group = self._first.searchsorted(first, "right") - 1
        columns = (seg["start"][own], seg["end"][own], group, first - self._first[group], seg["count"][own], first)
        return _Lane(*(column.tolist() for column in columns))

    def lane(self, track: int, depth: int, t0: int, t1: int) -> tuple[Ints, Ints, NDArray[np.int32], int]:
        """Start, duration and name of the slices of a lane that overlap [t0, t1), and the first one's row."""
        lane = self._lane(track, depth)
        if lane is None:
            return *_NOTHING, 0
        low, high = bisect_left(lane.end, t0), bisect_left(lane.start, t1)
        if low >= high:  # nothing there: the row that would be the next
            return *_NOTHING, lane.row[low] if low < len(lane.row) else lane.row[-1] + lane.count[-1]
        if high - low == 1:
            start, dur, name = self._stretch(lane, low)
        else:
            self._load(lane.group[low:high])
            parts = [self._stretch(lane, number) for number in range(low, high)]
            start, dur = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
            name = np.concatenate([part[2] for part in parts])
        skip, last = _within(start, dur, t0, t1)
        return start[skip:last], dur[skip:last], name[skip:last], lane.row[low] + skip

    def sums(self, lanes: Sequence[tuple[int, int]], kinds: Sequence[int], t0: int, t1: int) -> Sums:
        """What slices take of [t0, t1) and how many they are: by lane, and by name for each kind of lane (0, 1, …).

        Nothing that is decoded for it is kept: it may be the whole trace.
        """
        result = self._no_sums(lanes, kinds)
        whole: dict[int, list[tuple[int, int, int]]] = {}
        for number, place in enumerate(lanes):
            lane = self._lane(*place)
            if lane is None:
                continue
            for i in range(bisect_left(lane.end, t0), bisect_left(lane.start, t1)):
                if lane.start[i] >= t0 and lane.end[i] <= t1:
                    whole.setdefault(lane.group[i], []).append((number, lane.place[i], lane.count[i]))
                    continue
                start, dur, name = self._stretch(lane, i)
                a, b = _within(start, dur, t0, t1)
                inside = np.minimum(start[a:b] + dur[a:b], t1) - np.maximum(start[a:b], t0)
                result.add(number, kinds[number], inside, name[a:b])
        groups = sorted(whole)
        if len(groups) <= _ALONE:
            parts = [self._sum(0, groups, whole, lanes, kinds)]
        else:
            half = len(groups) // 2
            other = self._beside().submit(self._sum, 1, groups[half:], whole, lanes, kinds)
            parts = [self._sum(0, groups[:half], whole, lanes, kinds), other.result()]
        for found in parts:
            for own, more in zip(result.columns(), found.columns(), strict=True):
                own += more
        return result

    def _no_sums(self, lanes: Sequence[tuple[int, int]], kinds: Sequence[int]) -> Sums:
        shapes = (len(lanes), len(lanes), (max(kinds, default=0) + 1, self._known + 1))
        return Sums(*(np.zeros(shape, np.int64) for shape in (*shapes, shapes[2])))

    def _sum(
        self,
        which: int,
        groups: list[int],
        whole: dict[int, list[tuple[int, int, int]]],
        lanes: Sequence[tuple[int, int]],
        kinds: Sequence[int],
    ) -> Sums:
        """Sums of the stretches of whole row groups."""
        found = self._no_sums(lanes, kinds)
        for at in range(0, len(groups), _TOGETHER):
            some = groups[at : at + _TOGETHER]
            dur = self._read(which, some, ["dur"]).column("dur").to_numpy()
            dur = bounded(dur, 0)
            row = 0
            for group in some:
                name = self._names(group)
                for number, place, count in whole[group]:
                    own = dur[row + place : row + place + count]
                    found.add(number, kinds[number], own, name[place : place + count])
                row += self._rows[group]
        return found

    def rows(self, first: int, past: int, context: bool = False) -> tuple[Ints, Ints, NDArray[np.int32], Ints | None]:
        """Start, duration, name and, when asked for, context of the slices of these rows. Nothing of it is kept."""
        low, high = int(self._first.searchsorted(first, "right")) - 1, int(self._first.searchsorted(past, "left"))
        which = 0 if self._locks[1].locked() else 1
        data = self._read(which, list(range(low, high)), ["start", "dur", *(["context"] if context else [])])
        names = [self._names(group) for group in range(low, high)]
        name = names[0] if len(names) == 1 else np.concatenate(names)
        own = slice(first - int(self._first[low]), past - int(self._first[low]))
        columns = [data.column(column).to_numpy()[own] for column in data.column_names]
        columns[:2] = [bounded(columns[0]), bounded(columns[1], 0)]
        return columns[0], columns[1], name[own], columns[2] if context else None

    def load(self, lanes: Iterable[tuple[int, int]], t0: int, t1: int) -> None:
        """Decodes at once what windows of many lanes need."""
        groups: set[int] = set()
        for place in lanes:
            lane = self._lane(*place)
            if lane is not None:
                groups.update(lane.group[bisect_left(lane.end, t0) : bisect_left(lane.start, t1)])
        self._load(groups)

    def _stretch(self, lane: _Lane, number: int) -> Group:
        group = lane.group[number]
        found = self._cache.get(group)
        if found is None:
            found = self._decode(0, [group])[group]
        a = lane.place[number]
        b = a + lane.count[number]
        return found[0][a:b], found[1][a:b], found[2][a:b]

    def _load(self, groups: Iterable[int]) -> None:
        missing = [group for group in sorted(set(groups)) if self._cache.get(group) is None]
        if len(missing) <= _ALONE:
            if missing:
                self._decode(0, missing)
            return
        half = len(missing) // 2
        other = self._beside().submit(self._decode, 1, missing[half:])
        try:
            self._decode(0, missing[:half])
        finally:
            other.result()

    def _decode(self, which: int, groups: list[int]) -> dict[int, Group]:
        """Decodes row groups with one of the two files and keeps them."""
        found: dict[int, Group] = {}
        for at in range(0, len(groups), _TOGETHER):
            some = groups[at : at + _TOGETHER]
            data = self._read(which, some, ["start", "dur"])
            start, dur = bounded(data.column("start").to_numpy()), bounded(data.column("dur").to_numpy(), 0)
            row = 0
            for group in some:
                rows = slice(row, row + self._rows[group])
                row = rows.stop
                name = self._names(group)
                found[group] = start[rows], dur[rows], name
                self._cache.put(group, found[group], 20 * len(name))
        return found

    def _read(self, which: int, groups: list[int], columns: list[str]) -> pa.Table:
        try:
            with self._locks[which]:
                return self._files[which].read_row_groups(groups, columns=columns, use_threads=False)
        except (pa.ArrowException, OSError) as error:
            raise CaptureError(f"slices.parquet is damaged and cannot be read ({error}).") from None

    def _names(self, group: int) -> NDArray[np.int32]:
        name = self._index.codes.group(group)
        if len(name) != self._rows[group] or int(name.max(initial=-1)) >= self._known:
            raise CaptureError(f"{self._index.codes.path} belongs to another capture: remove its folder.")
        return name

    def close(self) -> None:
        """Lets go of the files."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)
        for file in self._files:
            file.close()


@overload
def _key(track: int, depth: int) -> int: ...
@overload
def _key(track: Ints, depth: Ints) -> Ints: ...
def _key(track: Any, depth: Any) -> Any:
    """Number of a lane; in the order of tracks and depths."""
    return track * _DEPTHS + depth


def _within(start: Ints, dur: Ints, t0: int, t1: int) -> tuple[int, int]:
    """First and past-the-last of the slices of a lane that overlap [t0, t1)."""
    last = int(start.searchsorted(t1, "left"))
    # ends are sorted like starts; the one slice that may reach into the window is the last that begins before it
    skip = int(start.searchsorted(t0, "left"))
    while skip > 0 and start[skip - 1] + dur[skip - 1] > t0:
        skip -= 1
    return min(skip, last), last
