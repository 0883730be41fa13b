"""The tables of one session: what ran on the devices, what the threads did, ranges and marks, memory, metrics."""

from __future__ import annotations

import json
from typing import Any, Final

import numpy as np

from peephole.model.sink import Sink, Strings
from peephole.sources.database_rows import (
    Launches,
    Names,
    SliceRows,
    TableReader,
    distinct_pairs,
    distinct_texts,
    facts,
)
from peephole.sources.nsight.lanes import Lanes, process_of
from peephole.sources.nsight.memory import append_buffers
from peephole.sources.parted_rows import Ints
from peephole.sources.sqlite_file import SqliteFile

_KERNEL, _GRAPH = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
_COPY, _SET, _CALLS, _RANGES = (
    "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS",
)  # fmt: skip
_EXPECTED: Final = (_KERNEL, _COPY, _SET, _CALLS, _RANGES)
_COPIES: Final = {
    0: "Memcpy", 1: "Memcpy HtoD", 2: "Memcpy DtoH", 3: "Memcpy HtoA", 4: "Memcpy AtoH", 5: "Memcpy AtoA",
    6: "Memcpy AtoD", 7: "Memcpy DtoA", 8: "Memcpy DtoD", 9: "Memcpy HtoH", 10: "Memcpy PtoP",
    11: "Unified memory HtoD", 12: "Unified memory DtoH", 13: "Unified memory DtoD",
}  # fmt: skip
_MARK, _THREAD_NAME, _PUSH, _RANGE, _DOMAIN = 34, 39, 59, 60, 75
_KERNEL_FACTS: Final = {
    "grid": ("gridX", "gridY", "gridZ"), "block": ("blockX", "blockY", "blockZ"), "registers": ("registersPerThread",),
    "shared_static": ("staticSharedMemory",), "shared_dynamic": ("dynamicSharedMemory",),
    "context": ("contextId",), "correlation": ("correlationId",), "graph_node": ("graphNodeId",),
}  # fmt: skip
_CALL_FACTS: Final = {
    "correlation": ("correlationId",), "returned": ("returnValue",), "bytes": ("size",), "tag": ("tag",),
    "remote_rank": ("remoteRank",), "root_rank": ("rootRank",),
}  # fmt: skip
_QUIET: Final = ("StringIds", "TARGET_INFO_", "ENUM_", "META_DATA_", "ANALYSIS_", "EXPORT_", "sqlite_", "PROCESS",
                 "ThreadNames", "DIAGNOSTIC_EVENT")  # fmt: skip


class Session:
    """Reads one file. Times are nanoseconds since the session began; `base` is its time of day, when that is known."""

    def __init__(
        self, file: SqliteFile, sink: Sink, first_track: int, number: int, first_buffer: int, base: int | None
    ) -> None:
        self._sink, self._buffer = sink, first_buffer
        self._tables = TableReader(file, sink)
        self._names = Names()
        self._lanes = Lanes(self._tables, self._names, first_track)
        self._slices = SliceRows(sink, number)
        self._launches = Launches(self._tables.folder)
        self._callers: set[int] = set()
        """Processes that made calls."""
        self._file = file
        own = next((int(time) for (time,) in self._tables.texts("TARGET_INFO_SESSION_START_TIME", ["utcEpochNs"])), 0)
        self.base = own if own > 0 else None
        self._shift = own - base if base is not None and own > 0 else 0
        """What sets this file on the clock of the first one."""

    def read_all(self) -> tuple[int, int, int]:
        """Appends everything; gives the numbers of the next track, slice and buffer."""
        for number, text in self._tables.texts("StringIds", ["id", "value"]):
            self._names.put(number, text)
        self._lanes.read_names()
        self._calls(_CALLS)
        for table, columns in self._file.columns.items():
            for name in ("nameId", "textId"):  # textId in those of MPI and UCX
                if table not in (_CALLS, _RANGES) and {"start", "end", name, "globalTid"} <= set(columns):
                    self._calls(table, name)
                    break
        self._kernels()
        self._memory_operations()
        self._nvtx()
        self._metrics()
        buffer = append_buffers(self._tables, self._shift, self._sink, self._buffer)
        self._launches.finish(self._sink)
        self._said()
        return self._lanes.rows.finish(self._sink), self._slices.next, buffer

    def _key(self, process: Ints, correlation: Ints) -> Ints:
        """A launch is known by its number within its process."""
        return np.where(correlation > 0, process_of(process) << 34 | (correlation & 0x3_FFFF_FFFF), 0)

    def _calls(self, table: str, name: str = "nameId") -> None:
        have = self._file.columns.get(table, ())
        optional = [
            "correlationId",
            *(one for (one,) in _CALL_FACTS.values() if one in have and one != "correlationId"),
        ]
        for rows in self._tables.numbers(table, ["start", "end", name, "globalTid"], optional):
            tracks = self._lanes.threads(rows["globalTid"])
            if table == _CALLS:
                self._callers.update(np.unique(process_of(rows["globalTid"])).tolist())
            numbers = self._slices.append(
                tracks, rows["start"] + self._shift, rows["end"] + self._shift, self._names.column(rows[name]),
                facts(rows, _CALL_FACTS),
            )  # fmt: skip
            if table == _CALLS:
                self._launches.asked(self._key(rows["globalTid"], rows["correlationId"]), numbers)

    def _kernels(self) -> None:
        wanted = ["start", "end", "deviceId", "streamId", "correlationId", "globalPid"]
        inner = [name for names in _KERNEL_FACTS.values() for name in names if name != "correlationId"]
        for rows in self._tables.numbers(_KERNEL, wanted, [*inner, "demangledName", "shortName", "mangledName"]):
            name = rows["demangledName"]
            for other in ("shortName", "mangledName"):
                name = np.where(name < 0, rows[other], name)
            self._on_device(rows, self._names.column(name), facts(rows, _KERNEL_FACTS), copy=False)
        for rows in self._tables.numbers(_GRAPH, wanted, ["graphId", "graphExecId"]):
            graphs, at = np.unique(rows["graphId"], return_inverse=True)
            names = Strings(at.reshape(-1).astype(np.int32), [f"CUDA graph {graph}" for graph in graphs.tolist()])
            self._on_device(rows, names, facts(rows, {"graph": ("graphId",), "exec": ("graphExecId",)}), copy=False)

    def _memory_operations(self) -> None:
        wanted = ["start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes"]
        told = dict(_COPIES)
        labels = self._tables.texts("ENUM_CUDA_MEMCPY_OPER", ["id", "label"])
        told |= {number: f"Memcpy {label}" for number, label in labels if label and number not in _COPIES}
        known = {"bytes": ("bytes",), "correlation": ("correlationId",), "graph_node": ("graphNodeId",)}
        for rows in self._tables.numbers(_COPY, [*wanted, "copyKind"], ["graphNodeId", "srcDeviceId", "dstDeviceId"]):
            kinds, at = np.unique(rows["copyKind"], return_inverse=True)
            names = Strings(at.reshape(-1).astype(np.int32), [told.get(kind, "Memcpy") for kind in kinds.tolist()])
            more = {**known, "from_device": ("srcDeviceId",), "to_device": ("dstDeviceId",)}
            self._on_device(rows, names, facts(rows, more), copy=True)
        for rows in self._tables.numbers(_SET, wanted, ["graphNodeId", "value"]):
            names = Strings(np.zeros(len(rows["start"]), np.int32), ["Memset"])
            self._on_device(rows, names, facts(rows, {**known, "value": ("value",)}), copy=True)

    def _on_device(self, rows: dict[str, Ints], names: Strings, args: Any, copy: bool) -> None:
        if len(self._callers) == 1:  # work of which nobody said whose it is
            rows["globalPid"] = np.where(rows["globalPid"] < 0, min(self._callers) << 24, rows["globalPid"])
        tracks = self._lanes.streams(rows["globalPid"], rows["deviceId"], rows["streamId"], copy)
        numbers = self._slices.append(tracks, rows["start"] + self._shift, rows["end"] + self._shift, names, args)
        self._launches.done(self._key(rows["globalPid"], rows["correlationId"]), numbers)

    def _nvtx(self) -> None:
        domains: dict[tuple[int, int], str] = {}
        optional = ["eventType", "textId", "globalTid", "domainId", "color"]
        for rows, texts in self._tables.with_text(_RANGES, ["start", "end"], optional, "text"):
            unknown = np.where(rows["end"] < 0, _MARK, _PUSH)
            kind = np.where(rows["eventType"] < 0, unknown, rows["eventType"])
            thread = np.maximum(rows["globalTid"], 0)
            names = self._names.column(rows["textId"])
            if texts is not None:
                inline, own = distinct_texts(texts)  # there may be a million of them: they are not kept
                known = len(own) + np.asarray(names.codes)
                names = Strings(np.where(inline > 0, inline, known), [*own, *names.values])
            for at in np.flatnonzero((kind == _DOMAIN) | (kind == _THREAD_NAME)).tolist():
                text = names.values[int(names.codes[at])]
                if kind[at] == _DOMAIN:
                    domains[int(process_of(thread[at : at + 1])[0]), int(rows["domainId"][at])] = text
                else:
                    self._lanes.name_thread(int(thread[at]), text)
            self._marks(rows, np.flatnonzero(kind == _MARK), thread, names)
            for own, apart in ((kind == _PUSH, False), (kind == _RANGE, True)):
                self._ranges(rows, np.flatnonzero(own), thread, names, domains, apart)

    def _marks(self, rows: dict[str, Ints], at: Ints, thread: Ints, names: Strings) -> None:
        if not len(at):
            return
        colours = rows["color"][at]
        columns = {
            "time": rows["start"][at] + self._shift,
            "name": Strings(np.asarray(names.codes)[at], names.values),
            "kind": Strings(np.zeros(len(at), np.int32), ["marker"]),
            "track": self._lanes.threads(thread[at]),
            "colour": [f"#{colour & 0xFFFFFF:06x}" if colour > 0 else None for colour in colours.tolist()],
        }
        self._sink.append("markers", columns)

    def _ranges(
        self, rows: dict[str, Ints], at: Ints, thread: Ints, names: Strings, domains: dict[Any, str], apart: bool
    ) -> None:
        if not len(at):
            return
        tracks = self._lanes.ranges(thread[at]) if apart else self._lanes.threads(thread[at])
        start, end = rows["start"][at], rows["end"][at]
        open_ = end < start
        if open_.any():
            self._sink.problem("range that was still open at the end", int(open_.sum()))
        end = np.where(open_, np.maximum(self._slices.last - self._shift, start), end)
        pairs, which = distinct_pairs(process_of(thread[at]), rows["domainId"][at])
        known = [domains.get(pair, "") for pair in pairs]
        heads = [f'{{"domain":{json.dumps(name)}}}' if name else None for name in known]
        args = [heads[pair] for pair in which.tolist()]
        for row in np.flatnonzero(open_).tolist():
            args[row] = '{"open":true}' if args[row] is None else f'{str(args[row])[:-1]},"open":true}}'
        codes = Strings(np.asarray(names.codes)[at], names.values)
        self._slices.append(tracks, start + self._shift, end + self._shift, codes, args)

    def _metrics(self) -> None:
        names = {
            (int(kind), int(metric or -1)): name
            for kind, metric, name in self._tables.texts(
                "TARGET_INFO_GPU_METRICS", ["typeId", "metricId", "metricName"]
            )
        }
        for block, values in self._tables.decimals("GPU_METRICS", ["timestamp", "typeId", "metricId"], "value"):
            pairs, which = distinct_pairs(block[1], block[2])
            tracks = [self._lanes.metric(*pair, names.get(pair, f"metric {pair[1]}")) for pair in pairs]
            times = block[0] + self._shift
            self._sink.append("counters", {"track": np.array(tracks, np.int32)[which], "time": times, "value": values})

    def _said(self) -> None:
        """What this file does not have, and what of it is not shown."""
        have = self._file.columns
        absent = [table for table in _EXPECTED if table not in have]
        if absent:
            self._sink.problem(f"tables that this export does not have: {', '.join(absent)}")
        for table in sorted(have):
            if table in self._tables.read or table.startswith(_QUIET):
                continue
            if not self._file.empty(table):  # an export with all tables (--lazy=false) has many without rows
                self._sink.problem(f"table that is not shown: {table}")
        if self._file.unfinished():
            self._sink.problem("the database was still being written: what lies beside it in its log is not read")
