"""Events of a Chrome trace to rows."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peephole.model.sink import ColumnValues, Sink, Strings
from peephole.model.tables import NONE
from peephole.sources.chrome.batch import NO_TIME, EventBatch, Interner
from peephole.sources.chrome.flows import Flows
from peephole.sources.chrome.memory import Memory
from peephole.sources.chrome.pairs import Pairs, Slice
from peephole.sources.chrome.series import Series
from peephole.sources.chrome.tracks import Tracks

_ASYNC, _ASYNC_BEGIN, _ASYNC_INSTANT = b"bSeFnTp", b"bS", b"nTp"
_INSTANT, _IGNORED = b"iIR", b"NODPvVc()a="
_FLOW, _MOMENT, _ASYNC_MOMENT, _PAIR, _ASYNC_PAIR = (
    np.frombuffer(letters, np.uint8) for letters in (b"stf", _INSTANT, _ASYNC_INSTANT, b"BE", b"bSeF")
)


class Mapper:
    """Takes batches in file order and appends rows; `finish` gives what is known only at the end."""

    def __init__(self, sink: Sink, intern: Interner) -> None:
        self._sink = sink
        self._intern = intern
        self.tracks = Tracks()
        self._flows = Flows(getattr(sink, "scratch", None))
        self._memory = Memory()
        self._threads: dict[tuple[int, int], int] = {}
        self._pending: list[Slice] = []
        self._pairs = Pairs(sink, self._pending.append, self._text)
        self._markers: list[tuple[int, str, int, str | None]] = []
        self._counters: list[tuple[int, int, float]] = []
        self._heads: dict[int, str] = {}
        self._series: dict[tuple[int, int, str], int] = {}
        self._correlation = 1
        self._last = 0
        self.offset = 0
        """Added to every time: what aligns this file's clock with that of the first."""

    def new_file(self, number: int) -> None:
        """Another file begins: its processes are others."""
        self._end_file()
        self._threads.clear()
        self._series.clear()
        self.tracks.file = number

    def take(self, batch: EventBatch) -> None:
        """Maps a batch."""
        valid = batch.ts != NO_TIME
        batch.ts[valid] += self.offset
        phases = batch.phase
        timed = valid | (phases == ord("M"))
        nameless = phases == 0
        if (~timed & ~nameless).any():
            row = int(np.flatnonzero(~timed & ~nameless)[0])
            count = int((~timed & ~nameless).sum())
            self._sink.problem("event without a usable time", count, self._name(batch, row))
        self._complete(batch, np.flatnonzero((phases == ord("X")) & valid))
        others = np.flatnonzero((phases != ord("X")) & timed & ~nameless)
        self._others(batch, others)
        self._flush()
        if valid.any():
            self._last = max(self._last, int((batch.ts[valid] + np.maximum(batch.dur[valid], 0)).max()))

    def _name(self, batch: EventBatch, row: int) -> str:
        return self._text(int(batch.name[row]))

    def _text(self, code: int) -> str:
        return self._intern.values[code] if code >= 0 else ""

    def _thread(self, pid: int, tid: int) -> int:
        track = self._threads.get((pid, tid))
        if track is None:
            track = self._threads[pid, tid] = self.tracks.thread(self._text(pid), self._text(tid))
        return track

    def _args(self, batch: EventBatch, row: int) -> str | None:
        """The args with the category, which has no column of its own."""
        return _with_category(self._category(int(batch.category[row])), batch.args[row])

    def _category(self, code: int) -> str | None:
        """How args begin that have a category."""
        if code <= 0:
            return None
        head = self._heads.get(code)
        if head is None:
            head = self._heads[code] = f'{{"cat":{json.dumps(self._text(code), ensure_ascii=False)}'
        return head

    def _complete(self, batch: EventBatch, rows: NDArray[np.int64]) -> None:
        if not len(rows):
            return
        durations = batch.dur[rows]
        absent = durations == NO_TIME
        if absent.any():
            self._sink.problem("X event without a duration, shown with none", int(absent.sum()))
        negative = ~absent & (durations < 0)
        if negative.any():
            self._sink.problem("slice with a negative duration, shown with none", int(negative.sum()))
        durations = np.where(absent | negative, 0, durations)
        tracks = self._lanes(batch.pid[rows], batch.tid[rows])
        args: ColumnValues = batch.packed
        if args is None:
            args = [self._args(batch, row) for row in rows.tolist()]
        self._slices(tracks, batch.ts[rows], durations, np.maximum(batch.name[rows], 0), args)

    def _lanes(self, pid: NDArray[np.int32], tid: NDArray[np.int32]) -> NDArray[np.int32]:
        """The tracks of threads; new ones get their numbers in the order of the texts'."""
        keys = (pid.astype(np.int64) << 32) | (tid.astype(np.int64) & 0xFFFFFFFF)
        heads = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))  # neighbours are often alike
        distinct, inverse = np.unique(keys[heads], return_inverse=True)
        tids = (distinct & 0xFFFFFFFF).astype(np.uint32).astype(np.int32)
        numbers = [self._thread(int(key) >> 32, int(tid)) for key, tid in zip(distinct, tids, strict=True)]
        return np.repeat(np.array(numbers, np.int32)[inverse], np.diff(heads, append=len(keys)))

    def _slices(self, tracks: Any, starts: Any, durations: Any, names: Any, args: ColumnValues) -> None:
        correlations = np.arange(self._correlation, self._correlation + len(starts), dtype=np.int64)
        self._correlation += len(starts)
        self._flows.slices(tracks, starts, durations)
        self._sink.append(
            "slices",
            {
                "track": tracks,
                "start": starts,
                "dur": durations,
                "name": Strings(names, self._intern.values),
                "correlation": correlations,
                "args": args,
            },
        )

    def _others(self, batch: EventBatch, rows: NDArray[np.int64]) -> None:
        """Arrows, moments and counters by columns where that gives the same; the rest, and every track that is new, in
        the order of the file."""
        phase = batch.phase[rows]
        flows = rows[np.isin(phase, _FLOW)]
        moments = rows[np.isin(phase, _MOMENT)]
        memory = bool(len(moments)) and "[memory]" in {
            self._text(code) for code in np.unique(batch.name[moments]).tolist()
        }
        if memory or np.isin(phase, _ASYNC_MOMENT).any():
            moments = moments[:0]
        pairs = rows[np.isin(phase, _PAIR)]
        if np.isin(phase, _ASYNC_PAIR).any():  # these wait in one line with the others
            pairs = pairs[:0]
        values = None if memory or batch.counters is None else Series(batch, batch.counters)
        quick = np.zeros(len(batch), np.bool_)
        quick[flows] = quick[moments] = quick[pairs] = True
        if values is not None:
            quick[rows[phase == ord("C")]] = True
        on_track = np.sort(np.concatenate([flows, pairs, moments[batch.reach[moments] != ord("g")]]))
        new = dict.fromkeys(self._new_threads(batch, on_track), True)
        if values is not None:
            new |= dict.fromkeys(values.new_rows(self._series), False)
        for row in sorted({*rows[~quick[rows]].tolist(), *new}):
            if not quick[row]:
                self._one(batch, row)
            elif new[row]:
                self._thread(int(batch.pid[row]), int(batch.tid[row]))
            elif values is not None:
                values.open(row, self._series, self.tracks, self._text)
        if len(flows):
            self._flows.events(self.tracks.file, batch, flows, self._lanes(batch.pid[flows], batch.tid[flows]))
        if len(pairs):
            self._begins_and_ends(batch, pairs)
        if len(moments):
            self._moments(batch, moments)
        if values is not None and len(values):
            self._sink.append("counters", values.columns(self._series))

    def _new_threads(self, batch: EventBatch, rows: NDArray[np.int64]) -> list[int]:
        """Of these rows the first ones of threads that have no track yet."""
        keys = (batch.pid[rows].astype(np.int64) << 32) | (batch.tid[rows].astype(np.int64) & 0xFFFFFFFF)
        _, first = np.unique(keys, return_index=True)
        found = rows[first].tolist()
        return [row for row in found if (int(batch.pid[row]), int(batch.tid[row])) not in self._threads]

    def _begins_and_ends(self, batch: EventBatch, rows: NDArray[np.int64]) -> None:
        begins = (batch.phase[rows] == ord("B")).tolist()
        tracks = self._lanes(batch.pid[rows], batch.tid[rows]).tolist()
        columns = (batch.ts[rows].tolist(), begins, tracks, batch.name[rows].tolist(), batch.category[rows].tolist())
        self._pairs.take_all(
            [
                (time, True, (track,), track, max(name, 0), _with_category(self._category(category), args))
                if begin
                else (time, False, (track,), track, name, args)
                for time, begin, track, name, category, args in zip(*columns, batch.args.texts(rows), strict=True)
            ]
        )

    def _moments(self, batch: EventBatch, rows: NDArray[np.int64]) -> None:
        everywhere = batch.reach[rows] == ord("g")
        tracks = np.full(len(rows), NONE, np.int32)
        some = rows[~everywhere]
        if len(some):
            tracks[~everywhere] = self._lanes(batch.pid[some], batch.tid[some])
        names = [self._text(code) for code in batch.name[rows].tolist()]
        args: ColumnValues = batch.moments
        if args is None:
            args = [self._args(batch, row) for row in rows.tolist()]
        columns = {"time": batch.ts[rows], "name": names, "kind": ["event"] * len(rows), "track": tracks, "args": args}
        self._sink.append("markers", columns)

    def _one(self, batch: EventBatch, row: int) -> None:
        phase = int(batch.phase[row])
        pid, tid, time = int(batch.pid[row]), int(batch.tid[row]), int(batch.ts[row])
        if phase == ord("M"):
            args = _object(batch.args[row])
            if not self.tracks.metadata(self._name(batch, row), self._text(pid), self._text(tid), args):
                self._sink.problem("metadata that is not used", 1, self._name(batch, row))
        elif phase == ord("B"):
            track = self._thread(pid, tid)
            self._pairs.take(time, True, (track,), track, max(int(batch.name[row]), 0), self._args(batch, row))
        elif phase == ord("E"):
            track = self._thread(pid, tid)
            self._pairs.take(time, False, (track,), track, int(batch.name[row]), batch.args[row])
        elif phase in _ASYNC:
            self._asynchronous(batch, row, phase)
        elif phase == ord("C"):
            self._counter(batch, row)
        elif phase in _INSTANT:
            self._instant(batch, row)
        elif phase not in _IGNORED:
            self._sink.problem(f"event of an unknown phase {chr(phase)!r}", 1, self._name(batch, row))
        else:
            self._sink.problem(f"event of phase {chr(phase)!r}, which has no picture", 1, self._name(batch, row))

    def _asynchronous(self, batch: EventBatch, row: int, phase: int) -> None:
        category, name = int(batch.category[row]), max(int(batch.name[row]), 0)
        track = self.tracks.asynchronous(self._text(int(batch.pid[row])), self._text(category))
        if phase in _ASYNC_INSTANT:
            self._marker(int(batch.ts[row]), self._text(name), track, self._args(batch, row))
            return
        begins = phase in _ASYNC_BEGIN
        key = (category, int(batch.id[row]), int(batch.scope[row]))
        args = self._args(batch, row) if begins else batch.args[row]
        self._pairs.take(int(batch.ts[row]), begins, key, track, name, args)

    def _counter(self, batch: EventBatch, row: int) -> None:
        name, pid = self._name(batch, row), self._text(int(batch.pid[row]))
        values = {k: v for k, v in _object(batch.args[row]).items() if _is_number(v)}
        if not values:
            self._sink.problem("counter without a number", 1, name)
        for series, value in values.items():
            track = self.tracks.counter(pid, name, series)
            self._counters.append((track, int(batch.ts[row]), float(value)))

    def _instant(self, batch: EventBatch, row: int) -> None:
        name, time = self._name(batch, row), int(batch.ts[row])
        pid, tid = int(batch.pid[row]), int(batch.tid[row])
        if name == "[memory]":
            args = _object(batch.args[row])
            total = self._memory.take(time, (self.tracks.file, pid), args)
            if total is not None:
                series = f"Total Allocated {args.get('Device Type', 0)}:{args.get('Device Id', -1)}"
                track = self.tracks.counter(self._text(pid), "memory", series)
                self._counters.append((track, time, float(total)))
                return
        track = NONE if batch.reach[row] == ord("g") else self._thread(pid, tid)
        self._marker(time, name, track, self._args(batch, row))

    def _marker(self, time: int, name: str, track: int, args: str | None) -> None:
        self._markers.append((time, name, track, args))

    def _flush(self) -> None:
        """Appends what came one by one."""
        if self._pending:
            tracks, starts, durations, names, args = (list(column) for column in zip(*self._pending, strict=True))
            self._pending.clear()  # the list is shared with Pairs
            self._slices(tracks, starts, durations, names, args)
        if self._markers:
            times, texts, lanes, facts = (list(column) for column in zip(*self._markers, strict=True))
            self._markers.clear()
            kinds = ["event"] * len(times)
            self._sink.append("markers", {"time": times, "name": texts, "kind": kinds, "track": lanes, "args": facts})
        if self._counters:
            lanes, times, values = (list(column) for column in zip(*self._counters, strict=True))
            self._counters.clear()
            self._sink.append("counters", {"track": lanes, "time": times, "value": values})

    def _end_file(self) -> None:
        self._pairs.finish(self._last)
        self._flush()

    def finish(self) -> None:
        """Appends open slices, arrows, buffers and tracks."""
        self._end_file()
        self._flows.finish(self._sink, self._text)
        self._memory.finish(self._sink)
        self.tracks.finish(self._sink)

    def close(self) -> None:
        """Lets go of temporary files."""
        self._flows.close()


def _with_category(head: str | None, args: str | None) -> str | None:
    if head is None:
        return args
    return f"{head}}}" if args is None else f"{head},{args[1:]}"


def _object(text: str | None) -> dict[str, Any]:
    """The args; none where they only looked like JSON to the compiled scan."""
    try:
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) <= sys.float_info.max
