"""Threads, streams and metrics of a session as tracks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from peephole.sources.database_rows import Names, TableReader, distinct_pairs
from peephole.sources.parted_rows import Ints
from peephole.sources.track_rows import TrackRow, TrackRows


def process_of(number: Ints) -> Ints:
    """The process in a globalPid or globalTid."""
    found: Ints = number // 0x1000000 % 0x1000000
    return found


def thread_of(number: Ints) -> Ints:
    """The thread in a globalTid."""
    found: Ints = number % 0x1000000
    return found


class Lanes:
    """Tracks of one session."""

    def __init__(self, tables: TableReader, names: Names, first: int) -> None:
        self._tables, self._names = tables, names
        self.rows = TrackRows(first)
        self._processes: dict[int, str] = {}
        self._threads: dict[tuple[int, int], str] = {}
        self._devices: dict[int, str] = {}
        self._chosen: dict[tuple[int, int], int] = {}
        """The device that a process knows by a number, where it was given only some (CUDA_VISIBLE_DEVICES)."""

    def read_names(self) -> None:
        """What the file says of processes, threads and devices; texts by number must be known."""
        for number, name in self._tables.texts("PROCESSES", ["globalPid", "name"]):
            self._processes[int(number) // 0x1000000 % 0x1000000] = name
        for thread, name in self._tables.texts("ThreadNames", ["globalTid", "nameId"]):
            if name.isdigit():
                self.name_thread(int(thread), self._names.get(int(name)))
        for device, name in self._tables.texts("TARGET_INFO_GPU", ["id", "name"]):
            self._devices[int(device)] = name
        for device, number, process in self._tables.texts("TARGET_INFO_CUDA_DEVICE", ["gpuId", "cudaId", "pid"]):
            if number.isdigit() and process.isdigit() and int(device) >= 0:
                self._chosen[int(process), int(number)] = int(device)

    def name_thread(self, thread: int, name: str) -> None:
        """Says what a thread is called."""
        key = thread // 0x1000000 % 0x1000000, thread % 0x1000000
        self._threads[key] = name
        known = self.rows.find(("t", *key))
        if name and known is not None:
            self.rows.row(known).name = name

    def _process(self, process: int) -> int:
        name = self._processes.get(process, "").rpartition("/")[2]
        label = f"{name} ({process})" if name else f"process {process}"
        return self.rows.get(("p", process), TrackRow(label, "host", order=len(self.rows), process=process))

    def threads(self, number: Ints) -> NDArray[np.int32]:
        """The tracks of threads."""
        pairs, which = distinct_pairs(process_of(number), thread_of(number))
        found = []
        for process, thread in pairs:
            name = self._threads.get((process, thread)) or f"thread {thread}"
            row = TrackRow(name, "thread", self._process(process), 1000 + len(self.rows), process)
            found.append(self.rows.get(("t", process, thread), row))
        return np.array(found, np.int32)[which]

    def ranges(self, number: Ints) -> NDArray[np.int32]:
        """The tracks of ranges that begin and end wherever they like, one per process."""
        found = []
        processes, which = np.unique(process_of(number), return_inverse=True)
        for process in processes.tolist():
            row = TrackRow("NVTX ranges", "thread", self._process(process), 500_000, process)
            found.append(self.rows.get(("n", process), row))
        return np.array(found, np.int32)[which.reshape(-1)]

    def streams(self, process: Ints, device: Ints, stream: Ints, copy: bool) -> NDArray[np.int32]:
        """The tracks of streams, of what they compute or of what they copy."""
        own = process_of(np.maximum(process, 0))
        pairs, which = distinct_pairs(own << 16 | (device & 0xFFFF), stream)
        found = []
        for both, number in pairs:
            pid, gpu = both >> 16, both & 0xFFFF
            track = self._stream(pid, gpu, number)
            if copy:
                name = f"{self.rows.row(track).name} · copies"
                track = self.rows.get(("c", pid, gpu, number), TrackRow(name, "copy", track, 0, pid))
            found.append(track)
        return np.array(found, np.int32)[which]

    def _stream(self, pid: int, gpu: int, stream: int) -> int:
        device = f"GPU {gpu}" if gpu != 0xFFFF else "GPU"
        known = self._devices.get(self._chosen.get((pid, gpu), gpu), "")
        label = f"{device} · {known} · process {pid}" if known else f"{device} · process {pid}"
        parent = self.rows.get(("g", pid, gpu), TrackRow(label, "host", order=10_000 + gpu, process=pid))
        name = f"{device} · stream {stream}" if stream >= 0 else device
        return self.rows.get(("s", pid, gpu, stream), TrackRow(name, "device", parent, stream, pid))

    def metric(self, kind: int, metric: int, name: str) -> int:
        """The track of a sampled metric; the kind has the device in its lowest byte."""
        gpu = kind & 0xFF
        parent = self.rows.get(("m", kind), TrackRow(f"GPU {gpu} · metrics", "host", order=20_000 + gpu))
        return self.rows.get(("k", kind, metric), TrackRow(f"GPU {gpu} · {name}", "counter", parent, 900_000))
