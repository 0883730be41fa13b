"""Track descriptors, processes and threads of a trace as tracks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.sink import Sink
from peephole.model.tables import NONE
from peephole.sources.perfetto.event_scan import BY_SEQUENCE, BY_THREAD, BY_UUID, COUNTED
from peephole.sources.scans.pair_table import PairTable
from peephole.sources.scans.wire import Value, fields, signed, text

_DEVICE_LABELS: Final = ("gpu", "cuda", "device:", "stream", "agent [", "queue [")
_UNITS: Final = {1: "ns", 2: "count", 3: "bytes"}
_BUILT_IN: Final = {1: ("thread_time", "ns"), 2: ("thread_instruction_count", "count")}
_THREAD: Final = 0xFFFF_FFFF
_DEEPEST: Final = 200
"""Parents above a track; a chain that is longer goes round in a circle."""


@dataclass(slots=True)
class Descriptor:
    """What the trace says of a track."""

    name: str = ""
    parent: int = 0
    pid: int = NONE
    tid: int | None = None
    process: str | None = None
    """Name of the process that it is; None when it is none."""
    counter: bool = False
    unit: str = ""
    multiplier: int = 1
    incremental: bool = False
    order: int | None = None


@dataclass(slots=True)
class _Row:
    name: str
    kind: str
    parent: int
    order: int
    pid: int
    unit: str | None = None
    rank: int = NONE


@dataclass
class Tracks:
    """Tracks of one file by what names them; rows are made when the file has ended, since names may come late."""

    first: int = 0
    """Number of this file's first track."""
    table: PairTable = field(default_factory=PairTable)
    """Track numbers are the entries of this table, plus `first`."""

    def __post_init__(self) -> None:
        self.described: dict[int, Descriptor] = {}
        self._processes: dict[int, str] = {}
        self._threads: dict[tuple[int, int], str] = {}
        self._texts: list[str] = [""]
        self._rows: dict[int, _Row] = {}
        self._more: dict[Any, int] = {}

    def descriptor(self, message: bytes) -> int:
        """Takes a TrackDescriptor; later ones add to earlier ones. Gives its uuid."""
        found = dict(fields(message))
        uuid = found.get(1, 0)
        if not isinstance(uuid, int):
            return 0
        track = self.described.setdefault(uuid, Descriptor())
        for number in (2, 10, 13):
            if number in found and (name := text(found[number])):
                track.name = name
        if isinstance(found.get(5), int):
            track.parent = int(found[5])
        if isinstance(rank := found.get(12), int):
            track.order = signed(rank, 32)
        if isinstance(process := found.get(3), bytes):
            track.pid, track.process = self.process(process)
        if isinstance(thread := found.get(4), bytes):
            track.pid, track.tid, _, order = self.thread(thread)
            track.order = order if track.order is None else track.order
        if isinstance(counter := found.get(8), bytes):
            _counter(track, counter)
        return uuid

    def process(self, message: bytes) -> tuple[int, str]:
        """Takes a ProcessDescriptor: its number and name."""
        pid, name, line = NONE, "", ""
        for number, value in fields(message):
            if number == 1:
                pid = signed(value, 32)
            elif number == 6:
                name = text(value)
            elif number == 2 and not line:
                line = text(value)
        if name or line:
            self._processes[pid] = name or line
        self._processes.setdefault(pid, "")
        return pid, self._processes[pid]

    def thread(self, message: bytes) -> tuple[int, int, int, int | None]:
        """Takes a ThreadDescriptor: process, thread, reference time in µs, place."""
        pid = tid = reference = 0
        order = None
        name = ""
        for number, value in fields(message):
            if number == 1:
                pid = signed(value, 32)
            elif number == 2:
                tid = signed(value)
            elif number == 3:
                order = signed(value, 32)
            elif number == 5:
                name = text(value)
            elif number == 6:
                reference = signed(value)
        if name:
            self._threads[pid, tid & _THREAD] = name
        return pid, tid, reference, order

    def process_tree(self, message: bytes) -> None:
        """Takes a ProcessTree: names of processes and threads."""
        for number, value in fields(message):
            if not isinstance(value, bytes) or number not in (1, 2):
                continue
            found: dict[int, Value] = {}
            for inner, held in fields(value):
                found.setdefault(inner, held)
            if number == 1 and 3 in found:
                self._processes.setdefault(signed(found.get(1, 0), 32), text(found[3]))
            elif number == 2 and 2 in found:
                key = signed(found.get(3, 0), 32), signed(found.get(1, 0), 32) & _THREAD
                self._threads.setdefault(key, text(found[2]))

    def counter_of(self, number: int) -> Descriptor | None:
        """What is said of the counter with that number in the table."""
        return self.described.get(int(self.table.keys[number, 1]) & 0xFFFF_FFFF_FFFF_FFFF)

    def finish(self, sink: Sink, texts: list[str]) -> int:
        """Appends the rows; gives the number of the next track. `texts` has the names of events by their number."""
        self._texts = texts
        for number in range(self.table.count):
            kind, key = int(self.table.keys[number, 0]), int(self.table.keys[number, 1]) & 0xFFFF_FFFF_FFFF_FFFF
            self._rows[number] = self._row(number, kind, key)
        self.described.clear()  # there may be hundreds of thousands
        # a parent may have a larger number than its child
        places = sorted(self._rows)
        rows = [self._rows[number] for number in places]
        for row in rows:
            if row.kind == "thread" and any(label in name for name in self._lineage(row) for label in _DEVICE_LABELS):
                row.kind = "device"
        sink.append(
            "tracks",
            {
                "id": np.array(places, np.int64) + self.first,
                "name": [row.name for row in rows],
                "kind": [row.kind for row in rows],
                "parent": [row.parent + self.first if row.parent >= 0 else NONE for row in rows],
                "order": [row.order for row in rows],
                "process": [row.pid if row.pid >= 0 else NONE for row in rows],
                "unit": [row.unit for row in rows],
            },
        )
        return self.first + max(places, default=-1) + 1

    def _lineage(self, row: _Row) -> list[str]:
        names: list[str] = []
        while len(names) < _DEEPEST:
            names.append(row.name.lower())
            if row.parent < 0:
                break
            row = self._rows[row.parent]
        return names

    def _row(self, number: int, kind: int, key: int) -> _Row:
        if kind in (BY_UUID, COUNTED):
            return self._described(number, key, kind == COUNTED)
        if kind == BY_SEQUENCE:
            return _Row(f"sequence {key}" if key else "events", "thread", NONE, 1000 + number, NONE)
        if kind == BY_THREAD:
            pid, tid = signed(key >> 32, 32), key & _THREAD
            return _Row(self._threads.get((pid, tid)) or f"thread {tid}", "thread", self._host(pid), 1000 + number, pid)
        return _Row(self._first_event(number) or "async", "thread", NONE, 500_000, NONE)

    def _first_event(self, number: int) -> str:
        """What a track that has no name is known by."""
        return self._texts[int(self.table.values[number])] if 0 <= number < self.table.count else ""

    def _described(self, number: int, uuid: int, counter: bool) -> _Row:
        track = self.described.get(uuid)
        if track is None:
            name = "events" if not uuid else (not counter and self._first_event(number)) or f"track {uuid:#x}"
            return _Row(name, "counter" if counter else "thread", NONE, 900_000 if counter else 1000 + number, NONE)
        order = track.order if track.order is not None else (900_000 if counter else 1000) + number
        parent, pid = self._parent(track, 0)
        name = track.name
        if not name and track.tid is not None:
            name = self._threads.get((track.pid, track.tid & _THREAD)) or f"thread {track.tid}"
        elif not name and track.process is not None:
            name = track.process or f"process {track.pid}"
        name = name or (f"counter {uuid:#x}" if counter else self._first_event(number) or f"track {uuid:#x}")
        return _Row(name, "counter" if counter else "thread", parent, order, pid, track.unit or None)

    def _parent(self, track: Descriptor, depth: int) -> tuple[int, int]:
        """Track that another one is shown under, and the process that it belongs to."""
        if track.tid is not None or track.process is not None:
            return self._host(track.pid), track.pid
        above = self.described.get(track.parent)
        if above is None or not track.parent or depth > _DEEPEST:
            return NONE, NONE
        if above.process is not None:
            return self._host(above.pid), above.pid
        _, pid = self._parent(above, depth + 1)
        return self._own(track.parent, depth + 1), pid

    def _own(self, uuid: int, depth: int) -> int:
        """The track of a descriptor on which nothing need happen."""
        signed_uuid = uuid - (1 << 64) if uuid >> 63 else uuid
        for kind in (BY_UUID, COUNTED):
            from peephole.sources.scans import pair_numbers

            entry = int(pair_numbers.find(np.int64(kind), np.int64(signed_uuid), self.table.slots, self.table.keys))
            if entry >= 0:
                return entry
        if ("u", uuid) not in self._more:
            number = self._new(("u", uuid))
            if depth <= _DEEPEST:
                self._rows[number] = self._described(number, uuid, False)
        return self._more["u", uuid]

    def _host(self, pid: int) -> int:
        if ("p", pid) not in self._more:
            number = self._new(("p", pid))
            name = self._processes.get(pid, "")
            label = (f"{name} ({pid})" if name else f"process {pid}") if pid >= 0 else name or "unnamed process"
            self._rows[number] = _Row(label, "host", NONE, number, pid)
        return self._more["p", pid]

    def _new(self, key: Any) -> int:
        self._more[key] = self.table.count + len(self._more)
        self._rows[self._more[key]] = _Row("", "host", NONE, 0, NONE)
        return self._more[key]


def _counter(track: Descriptor, message: bytes) -> None:
    track.counter = True
    for number, value in fields(message):
        if number == 1 and value in _BUILT_IN and isinstance(value, int):
            name, unit = _BUILT_IN[value]
            track.name, track.unit = track.name or name, track.unit or unit
        elif number == 3 and isinstance(value, int):
            track.unit = track.unit or _UNITS.get(value, "")
        elif number == 6:
            track.unit = text(value)
        elif number == 4:
            track.multiplier = signed(value) or 1
        elif number == 5:
            track.incremental = bool(value)


class Increments:
    """Values of counters that are told as differences, summed up."""

    def __init__(self) -> None:
        self._sums: dict[int, float] = {}

    def take(self, track: int, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The values themselves."""
        sums = np.cumsum(values) + self._sums.get(track, 0.0)
        if len(sums):
            self._sums[track] = float(sums[-1])
        return sums
