"""The tables of one run in a rocpd database: dispatches, regions, copies, allocations, counters."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.sink import ColumnValues, Sink, Strings
from peephole.model.tables import NONE
from peephole.sources.allocation_rows import AllocationRows
from peephole.sources.database_rows import Launches, Names, SliceRows, TableReader, distinct_pairs, facts, last_of
from peephole.sources.parted_rows import Ints, PartedRows, together
from peephole.sources.sqlite_file import SqliteFile
from peephole.sources.track_rows import TrackRow, TrackRows

_SUFFIX: Final = re.compile(
    r"rocpd_(?:string|region|kernel_dispatch|memory_copy|event|info_process)(_[0-9A-Fa-f_-]{16,})?"
)
_DISPATCH: Final = {
    "workgroup": ("workgroup_size_x", "workgroup_size_y", "workgroup_size_z"),
    "grid": ("grid_size_x", "grid_size_y", "grid_size_z"),
    "lds": ("group_segment_size",), "scratch": ("private_segment_size",), "dispatch": ("dispatch_id",),
}  # fmt: skip
_COUNTER: Final = ("symbol", "name", "agent_id", "pid", "units")
_KINDS: Final = ("region", "kernel_dispatch", "memory_copy", "memory_allocate", "pmc_event", "sample")
_READ: Final = (*_KINDS, "string", "event", "arg", "track", "metadata", "info_")


def suffixes(file: SqliteFile) -> list[str]:
    """How the tables of each run that the database holds end; empty texts for tables of plain names."""
    found = {match[1] or "" for name in file.columns if (match := _SUFFIX.fullmatch(name))}
    return sorted(found)


class Session:
    """Reads the tables with one ending."""

    def __init__(
        self, file: SqliteFile, sink: Sink, suffix: str, first_track: int, number: int, first_buffer: int
    ) -> None:
        self._file, self._sink, self._suffix = file, sink, suffix
        self._tables = TableReader(file, sink)
        self._rows = TrackRows(first_track)
        self._slices = SliceRows(sink, number)
        folder = self._tables.folder
        self._launches = Launches(folder)
        self._of_events = PartedRows(3, folder)
        """Events, the moments at which they began, and the slices made of them: launches, or (negative) work."""
        self._calls, self._values = PartedRows(2, folder), PartedRows(3, folder)
        self._strings, self._kernels = Names(), Names()
        self._buffer = first_buffer
        self._agents: dict[int, str] = {}
        self._processes: dict[int, tuple[int, str]] = {}
        self._threads: dict[int, tuple[int, str]] = {}
        self._known: dict[int, list[str]] = {}
        """What is told of each counter."""

    def _table(self, name: str) -> str:
        return f"rocpd_{name}{self._suffix}"

    def _texts(self, name: str, *columns: str) -> Any:
        return self._tables.texts(self._table(name), ["id", *columns])

    def read_all(self) -> tuple[int, int, int]:
        """Appends everything; gives the numbers of the next track, slice and buffer."""
        self._read_names()
        self._read_events()
        self._regions()
        self._dispatches()
        self._copies()
        self._allocations()
        self._read_counters()
        self._join_events()
        self._launches.finish(self._sink)
        expected = ("string", "region", "kernel_dispatch", "event")
        absent = [name for name in expected if self._table(name) not in self._file.columns]
        if absent:
            self._sink.problem(f"tables that this database does not have: {', '.join(f'rocpd_{a}' for a in absent)}")
        own = [name for name in self._file.columns if name.startswith("rocpd_") and name.endswith(self._suffix)]
        for name in sorted(own):
            if not name.startswith(tuple(f"rocpd_{known}" for known in _READ)):
                self._sink.problem(f"table that is not shown: {name.removesuffix(self._suffix)}")
        return self._rows.finish(self._sink), self._slices.next, self._buffer

    def _read_names(self) -> None:
        for number, text in self._texts("string", "string"):
            self._strings.put(number, text)
        for number, display, plain in self._texts("info_kernel_symbol", "display_name", "kernel_name"):
            self._kernels.put(number, display or plain.removesuffix(".kd"))
        for number, kind, index, model, name in self._texts("info_agent", "type", "type_index", "product_name", "name"):
            label = f"{kind or 'agent'} {index}".strip()
            self._agents[number] = f"{label} · {model or name}" if model or name else label
        for number, pid, command in self._texts("info_process", "pid", "command"):
            program = command.split(" ")[0].rpartition("/")[2]
            self._processes[number] = _number(pid, number), program
        for number, tid, name in self._texts("info_thread", "tid", "name"):
            self._threads[number] = _number(tid, number), name

    def _read_events(self) -> None:
        """Which call an event belongs to: its place on the stack of calls, else the number that others gave it."""
        for rows in self._tables.numbers(self._table("event"), ["id"], ["stack_id", "correlation_id"]):
            call = np.where(rows["stack_id"] > 0, rows["stack_id"] << 1, (rows["correlation_id"] << 1) | 1)
            some = (rows["stack_id"] > 0) | (rows["correlation_id"] > 0)
            self._calls.append(rows["id"][some], call[some])

    def _join_events(self) -> None:
        """Slices get the calls of their events, counters the times."""
        lost = 0
        for (events, calls), (own, times, slices), (wanted, counters, bits) in together(
            self._calls, self._of_events, self._values
        ):
            if len(events) and len(own):
                at, good = last_of(events, own)
                call = np.where(good, calls[at], 0)
                self._launches.asked(call[slices > 0], slices[slices > 0])
                self._launches.done(call[slices < 0], -slices[slices < 0])
            if len(wanted):
                at, good = last_of(own, wanted) if len(own) else (wanted, np.zeros(len(wanted), np.bool_))
                lost += int((~good).sum())
                self._counters(counters[good], times[at[good]], bits[good].view(np.float64))
        if lost:
            self._sink.problem("value of a counter whose event has no time", lost)

    def _process(self, number: int) -> int:
        pid, name = self._processes.get(number, (number, ""))
        label = f"{name} ({pid})" if name else f"process {pid}"
        return self._rows.get(("p", number), TrackRow(label, "host", order=len(self._rows), process=pid))

    def _on_threads(self, process: Ints, thread: Ints) -> NDArray[np.int32]:
        pairs, which = distinct_pairs(process, thread)
        found = []
        for own, number in pairs:
            tid, name = self._threads.get(number, (number, ""))
            parent = self._process(own)
            row = TrackRow(
                name or f"thread {tid}", "thread", parent, 1000 + len(self._rows), self._rows.row(parent).process
            )
            found.append(self._rows.get(("t", own, number), row))
        return np.array(found, np.int32)[which]

    def _on_agents(self, process: Ints, agent: Ints, lane: Ints, word: str, copy: bool = False) -> NDArray[np.int32]:
        """Tracks of queues or streams of an agent."""
        pairs, which = distinct_pairs(np.maximum(process, 0) << 24 | (agent & 0xFFFFFF), lane)
        found = []
        for both, queue in pairs:
            own, number = both >> 24, both & 0xFFFFFF
            parent = self._process(own)
            device = self._agents.get(number, f"agent {number}")
            name = f"{device} · {word} {queue}" if queue >= 0 else device
            pid = self._rows.row(parent).process
            row = TrackRow(name, "copy" if copy else "device", parent, 10_000 + len(self._rows), pid)
            found.append(self._rows.get(("c" if copy else "d", both, word, queue), row))
        return np.array(found, np.int32)[which]

    def _put(
        self, rows: dict[str, Ints], tracks: NDArray[np.int32], names: Strings, args: ColumnValues | None, asks: bool
    ) -> None:
        numbers = self._slices.append(tracks, rows["start"], rows["end"], names, args)
        self._of_events.append(rows["event_id"], rows["start"], numbers if asks else -numbers)

    def _regions(self) -> None:
        wanted = ["start", "end", "pid", "tid", "name_id", "event_id"]
        for rows in self._tables.numbers(self._table("region"), wanted):
            tracks = self._on_threads(rows["pid"], rows["tid"])
            self._put(rows, tracks, self._strings.column(rows["name_id"]), None, asks=True)

    def _dispatches(self) -> None:
        wanted = ["start", "end", "pid", "agent_id", "kernel_id", "queue_id", "event_id"]
        optional = [name for names in _DISPATCH.values() for name in names] + ["stream_id"]
        for rows in self._tables.numbers(self._table("kernel_dispatch"), wanted, optional):
            tracks = self._on_agents(rows["pid"], rows["agent_id"], rows["queue_id"], "queue")
            names = self._kernels.column(rows["kernel_id"])
            self._put(rows, tracks, names, facts(rows, {**_DISPATCH, "stream": ("stream_id",)}), asks=False)

    def _copies(self) -> None:
        wanted = ["start", "end", "pid", "name_id", "dst_agent_id", "src_agent_id", "size", "event_id"]
        for rows in self._tables.numbers(self._table("memory_copy"), wanted, ["queue_id", "stream_id"]):
            lane = np.where(rows["stream_id"] >= 0, rows["stream_id"], rows["queue_id"])
            tracks = self._on_agents(rows["pid"], rows["dst_agent_id"], lane, "copies to stream", copy=True)
            known = {"bytes": ("size",), "from_agent": ("src_agent_id",), "to_agent": ("dst_agent_id",)}
            self._put(rows, tracks, self._strings.column(rows["name_id"]), facts(rows, known), asks=False)

    def _allocations(self) -> None:
        """Memory from its allocation to its release, by address: a release may not say of whose memory it is."""
        rows_of = AllocationRows(self._tables.folder, taken_again=True)
        wanted = ["start", "end", "agent_id", "address", "size"]
        for rows, kinds in self._tables.with_text(self._table("memory_allocate"), wanted, [], "type"):
            agents, which = np.unique(rows["agent_id"], return_inverse=True)
            names = [self._agents.get(agent, f"agent {agent}") for agent in agents.tolist()]
            freed = [kind in ("FREE", "RECLAIM") for kind in kinds] if kinds else [False] * len(which)
            rows_of.append(
                np.zeros(len(freed), np.int64), rows["address"], rows["start"], np.maximum(rows["start"], rows["end"]),
                rows["size"], Strings(which.reshape(-1), names), np.array(freed, np.bool_),
            )  # fmt: skip
        reason = "memory freed that was allocated before the trace began"
        self._buffer = rows_of.finish(self._sink, self._buffer, reason)

    def _read_counters(self) -> None:
        for block, values in self._tables.decimals(self._table("pmc_event"), ["event_id", "pmc_id"], "value"):
            self._values.append(block[0], block[1], values.view(np.int64))
        self._known = {number: told for number, *told in self._texts("info_pmc", *_COUNTER)}
        for rows in self._tables.numbers(self._table("sample"), ["timestamp", "event_id"], ["track_id"]):
            self._of_events.append(rows["event_id"], rows["timestamp"], np.zeros_like(rows["timestamp"]))

    def _counters(self, number: Ints, time: Ints, value: NDArray[np.float64]) -> None:
        """Values of hardware counters, at the time of the event that they belong to."""
        if not len(number):
            return
        counters, which = np.unique(number, return_inverse=True)
        tracks = [self._counter(one, self._known.get(one)) for one in counters.tolist()]
        columns = {"track": np.array(tracks, np.int32)[which.reshape(-1)], "time": time, "value": value}
        self._sink.append("counters", columns)

    def _counter(self, number: int, told: list[str] | None) -> int:
        """The track of a counter: of one agent, in the process that asked for it."""
        if told is None:
            return self._rows.get(("m", number), TrackRow(f"counter {number}", "counter", order=900_000))
        symbol, name, agent, process, unit = told
        device = self._agents.get(_number(agent, NONE))
        label = f"{device} · {symbol or name}" if device else symbol or name
        own = _number(process, NONE)
        parent = self._process(own) if own in self._processes else NONE
        pid = self._rows.row(parent).process if parent >= 0 else NONE
        return self._rows.get(("m", number), TrackRow(label, "counter", parent, 900_000, pid, unit or None))


def _number(text: str, otherwise: int) -> int:
    return int(text) if text.isdigit() and len(text) < 10 else otherwise
