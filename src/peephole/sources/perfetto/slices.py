"""Events to slices and arrows: put into the order of time in a window, matched track by track."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.sink import Sink, Strings, Utf8
from peephole.sources.parted_rows import PartedRows, together
from peephole.sources.perfetto import args_scan, slice_scan
from peephole.sources.perfetto.event_scan import F_BEGINS, F_ENDS, NEXT

WINDOW: Final = 1 << 18
"""Events that wait for others that may come later in the file and earlier in time."""
_OPEN: Final = b'{"open":true}'
Ints = NDArray[np.int64]
Kinds = NDArray[np.int8]


@dataclass(slots=True)
class Events:
    """Columns of some events; their args are pieces of an arena."""

    time: Ints
    track: Ints
    op: Ints
    name: Ints
    args: Ints
    args_end: Ints
    length: Ints
    place: Ints
    """Number among all events, by which flows name them."""

    def __len__(self) -> int:
        return len(self.time)

    def rows(self, chosen: Any) -> Events:
        """Some of them."""
        return Events(*(getattr(self, column.name)[chosen] for column in fields(self)))

    @staticmethod
    def joined(parts: list[Events]) -> Events:
        """Several, one after the other."""
        return Events(*(np.concatenate([getattr(p, column.name) for p in parts]) for column in fields(Events)))


class Slices:
    """Takes events in the order of the file and appends slices; `finish` those that are open and the arrows."""

    def __init__(self, sink: Sink, names: list[str], first_track: int, number: int, window: int = WINDOW) -> None:
        self._sink, self._names, self._first, self._window = sink, names, first_track, window
        self.number = number
        """The correlation number of the next slice."""
        self._held: list[Events] = []
        self._arena: list[NDArray[np.uint8]] = []
        self._size = self._count = 0
        self._events = 0
        self._top = np.full(64, -1, np.int32)
        self._last = np.full(64, -(1 << 62), np.int64)
        self._whole = np.zeros((64, 4), np.int64)
        self._entries = np.zeros((0, slice_scan.ENTRY), np.int64)
        self._free = -1
        self._lone = self._late = 0
        self._flow_points: list[tuple[Ints, Ints, Kinds]] = []
        self._ends = PartedRows(4, getattr(sink, "scratch", None))
        """What flow points are known by, when they are, the slices that they are bound to, and what they do."""
        self._waiting: list[tuple[Ints, Ints, Ints, Kinds]] = []
        """Flow points that are of the next slice of their track, which no window has had yet."""
        self.last = -(1 << 62)

    def take(self, events: Events, arena: NDArray[np.uint8], flows: tuple[Ints, Ints, Kinds]) -> None:
        """Events in file order; `flows`: which event (its place here), id, what it does to the flow."""
        events.args += self._size
        events.args_end += self._size
        events.place += self._events
        if len(flows[0]):
            self._flow_points.append((flows[0] + self._events, flows[1], flows[2]))
        self._events += len(events)
        self._size += len(arena)
        self._arena.append(arena)
        self._held.append(events)
        self._count += len(events)
        if self._count >= self._window + self._window // 2:
            self._match(self._window)

    def _match(self, keep: int) -> None:
        """Matches all events but the latest."""
        if not self._count:
            return
        events = Events.joined(self._held)
        arena = np.concatenate(self._arena)
        order = np.argsort(events.time, kind="stable")
        ready, rest = order[: len(order) - keep], order[len(order) - keep :]
        self._room(int(events.track.max()) + 1, len(ready))
        out = np.empty((len(ready), slice_scan.OUT), np.int64)
        bound = np.zeros(len(events), np.int64)
        made, self._free, self.number, lone, late = slice_scan.match(
            events.time, events.track, events.op, events.name, events.args, events.args_end, events.length, ready,
            self._top, self._last, self._whole, self._entries, self._free, self.number, out, bound,
        )  # fmt: skip
        self._lone += lone
        self._late += late
        if len(ready):
            self.last = max(self.last, int((events.time[ready] + events.length[ready]).max()))
        self._emit(out[:made], arena)
        rest.sort()  # in the order of the file again, so that equals in time stay as they were
        if self._waiting:
            self._bind_waiting()
        if self._flow_points:
            self._bind(events, ready, bound)
        self._keep(events.rows(rest), arena)

    def _room(self, tracks: int, events: int) -> None:
        """Room for so many tracks, and as many open slices more as there are events."""
        if tracks > len(self._top):
            more = max(tracks, 2 * len(self._top)) - len(self._top)
            self._top = np.concatenate([self._top, np.full(more, -1, np.int32)])
            self._last = np.concatenate([self._last, np.full(more, -(1 << 62), np.int64)])
            self._whole = np.concatenate([self._whole, np.zeros((more, 4), np.int64)])
        have = len(self._entries)
        open_ = int((self._entries[:, slice_scan.E_NUMBER] > 0).sum())
        if have - open_ < events:
            new = np.zeros((events + open_ - have, slice_scan.ENTRY), np.int64)
            new[:, slice_scan.E_BELOW] = np.arange(have + 1, have + 1 + len(new))
            new[-1, slice_scan.E_BELOW] = self._free
            self._free = have
            self._entries = np.concatenate([self._entries, new])

    def _emit(self, out: Ints, arena: NDArray[np.uint8]) -> None:
        if not len(out):
            return
        spans = np.ascontiguousarray(out[:, slice_scan.O_BEGIN :])
        sizes = (spans[:, 1] - spans[:, 0]) + (spans[:, 3] - spans[:, 2])
        data = np.empty(int(sizes.sum()), np.uint8)
        offsets = np.empty(len(out) + 1, np.int64)
        args_scan.join(arena, spans, data, offsets)
        self._sink.append(
            "slices",
            {
                "track": out[:, slice_scan.O_TRACK] + self._first,
                "start": out[:, slice_scan.O_START],
                "dur": out[:, slice_scan.O_DUR],
                "name": Strings(np.maximum(out[:, slice_scan.O_NAME], 0), self._names),
                "correlation": out[:, slice_scan.O_NUMBER],
                "args": Utf8(data[: int(offsets[-1])], offsets, sizes == 0),
            },
        )

    def _bind(self, events: Events, ready: Ints, bound: Ints) -> None:
        """Flow points of the events that were matched get their slice; the others wait."""
        place, ids, ends = (np.concatenate(column) for column in zip(*self._flow_points, strict=True))
        by_place = np.argsort(events.place, kind="stable")
        at = by_place[np.searchsorted(events.place[by_place], place)]
        done = np.zeros(len(events), np.bool_)
        done[ready] = True
        now = done[at]
        at_now = at[now]
        good = bound[at_now] > 0
        if good.any():
            self._ends.append(ids[now][good], events.time[at_now][good], bound[at_now][good], ends[now][good])
        next_ = (bound[at_now] <= 0) & (events.op[at_now] == NEXT)
        if next_.any():
            track = events.track[at_now][next_]
            self._whole[track, 3] = -1
            self._waiting.append((track, ids[now][next_], events.time[at_now][next_], ends[now][next_]))
        later = ~now
        self._flow_points = [(place[later], ids[later], ends[later])] if later.any() else []

    def _bind_waiting(self) -> None:
        """Flow points of earlier windows get the first slice that their track had in this one."""
        track, ids, time, ends = (np.concatenate(column) for column in zip(*self._waiting, strict=True))
        number = self._whole[track, 3]
        found = number > 0
        self._ends.append(ids[found], time[found], number[found], ends[found])
        self._waiting = [] if found.all() else [(track[~found], ids[~found], time[~found], ends[~found])]
        self._whole[track[found], 3] = 0

    def _keep(self, rest: Events, arena: NDArray[np.uint8]) -> None:
        """Holds on to the events that wait and to the args of open slices, and to nothing else."""
        live = np.flatnonzero(self._entries[:, slice_scan.E_NUMBER] > 0)
        first = np.concatenate([self._entries[live, slice_scan.E_ARGS], rest.args])
        past = np.concatenate([self._entries[live, slice_scan.E_ARGS_END], rest.args_end])
        data = np.empty(int((past - first).sum()), np.uint8)
        offsets = np.empty(len(first) + 1, np.int64)
        args_scan.gather(arena, first, past, data, offsets)
        self._entries[live, slice_scan.E_ARGS] = offsets[: len(live)]
        self._entries[live, slice_scan.E_ARGS_END] = offsets[1 : len(live) + 1]
        rest.args, rest.args_end = offsets[len(live) : -1].copy(), offsets[len(live) + 1 :].copy()
        self._held, self._arena = [rest], [data]
        self._size, self._count = len(data), len(rest)

    def finish(self) -> None:
        """The file has ended: what is open becomes a slice that says so, and arrows are drawn."""
        self._match(0)
        self._close_all()
        self._arrows()
        if self._lone:
            self._sink.problem("end without a begin", self._lone)
        if self._late:
            self._sink.problem("begin or end that stood far from its place in time", self._late)

    def _close_all(self) -> None:
        live = np.flatnonzero(self._entries[:, slice_scan.E_NUMBER] > 0)
        if not len(live):
            return
        entries = self._entries[live]
        arena = np.concatenate([*self._arena, np.frombuffer(_OPEN, np.uint8)])
        out = np.empty((len(live), slice_scan.OUT), np.int64)
        out[:, slice_scan.O_TRACK] = entries[:, slice_scan.E_TRACK]
        out[:, slice_scan.O_START] = entries[:, slice_scan.E_START]
        out[:, slice_scan.O_DUR] = np.maximum(self.last - entries[:, slice_scan.E_START], 0)
        out[:, slice_scan.O_NAME] = entries[:, slice_scan.E_NAME]
        out[:, slice_scan.O_NUMBER] = entries[:, slice_scan.E_NUMBER]
        out[:, slice_scan.O_BEGIN] = entries[:, slice_scan.E_ARGS]
        out[:, slice_scan.O_BEGIN_END] = entries[:, slice_scan.E_ARGS_END]
        out[:, slice_scan.O_END] = len(arena) - len(_OPEN)
        out[:, slice_scan.O_END_END] = len(arena)
        self._emit(out, arena)
        self._sink.problem("slice that was still open at the end", len(live))

    def _arrows(self) -> None:
        """An arrow goes from each slice of a flow to the next in time, until the flow is ended."""
        alone = 0
        for ((ids, time, number, ends),) in together(self._ends):
            order = np.lexsort((time, ids))
            ids, number, ends = ids[order], number[order], ends[order]
            goes_on = (ids[1:] == ids[:-1]) & (ends[:-1] != F_ENDS) & (ends[1:] != F_BEGINS)
            goes_on &= number[1:] != number[:-1]
            alone += len(np.unique(ids)) - len(np.unique(ids[1:][goes_on]))
            if goes_on.any():
                kinds = Strings(np.zeros(int(goes_on.sum()), np.int32), ["flow"])
                self._sink.append("flows", {"from": number[:-1][goes_on], "to": number[1:][goes_on], "kind": kinds})
        if alone:
            self._sink.problem("flow with only one end", alone)
