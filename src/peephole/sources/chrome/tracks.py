"""Processes, threads, async categories and counters of a trace as tracks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from peephole.model.sink import Sink
from peephole.model.tables import NONE

_DEVICE_LABELS = ("gpu", "cuda", "device:", "stream")


@dataclass(slots=True)
class _Track:
    name: str
    kind: str
    parent: int
    order: int
    pid: int = NONE
    rank: int = NONE
    host: str | None = None
    unit: str | None = None
    labels: list[str] = field(default_factory=list)


def _number(text: str) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        return NONE
    return value if 0 <= value < 2**31 else NONE


class Tracks:
    """Gives each lane its number on first sight; names arrive whenever the file tells them."""

    def __init__(self) -> None:
        self._tracks: list[_Track] = []
        self._numbers: dict[tuple[Any, ...], int] = {}
        self.rank = NONE
        self.host: str | None = None
        self.file = 0
        """Number of the file being read: two files may use the same process numbers."""

    def _get(self, key: tuple[Any, ...], name: str, kind: str, parent: int, pid: int, order: int) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._tracks)
            self._tracks.append(_Track(name, kind, parent, order, pid, self.rank, self.host))
        return number

    def process(self, pid: str) -> int:
        """The track of a process."""
        rank = f"rank {self.rank} · " if self.rank >= 0 else ""
        name = f"{rank}process {pid}" if _number(pid) >= 0 else f"{rank}{pid or 'unnamed process'}"
        return self._get((self.file, "p", pid), name, "host", NONE, _number(pid), len(self._tracks))

    def thread(self, pid: str, tid: str) -> int:
        """The track of a thread."""
        name = f"thread {tid}" if _number(tid) >= 0 else tid or "unnamed thread"
        parent = self.process(pid)
        return self._get((self.file, "t", pid, tid), name, "thread", parent, _number(pid), 1000 + len(self._tracks))

    def asynchronous(self, pid: str, category: str) -> int:
        """The track of a process' async events of one category."""
        parent = self.process(pid)
        return self._get((self.file, "a", pid, category), category or "async", "thread", parent, _number(pid), 500000)

    def counter(self, pid: str, name: str, series: str) -> int:
        """The track of one series of a counter."""
        label = name if series in ("", "value", name) else f"{name} · {series}"
        parent = self.process(pid)
        return self._get((self.file, "c", pid, name, series), label, "counter", parent, _number(pid), 900000)

    def metadata(self, event: str, pid: str, tid: str, args: dict[str, Any]) -> bool:
        """Takes an M event; False when it is of no use here."""
        if event == "process_name" and isinstance(args.get("name"), str) and args["name"]:
            track = self._tracks[self.process(pid)]
            rank = f"rank {self.rank} · " if self.rank >= 0 else ""
            track.name = f"{rank}{args['name']} ({pid})" if _number(pid) >= 0 else f"{rank}{args['name']}"
        elif event == "process_labels" and args.get("labels"):
            track = self._tracks[self.process(pid)]
            label = str(args["labels"])
            if label not in track.labels:
                track.labels.append(label)
        elif event == "thread_name" and isinstance(args.get("name"), str) and args["name"]:
            self._tracks[self.thread(pid, tid)].name = args["name"]
        elif event in ("process_sort_index", "thread_sort_index") and isinstance(args.get("sort_index"), int | float):
            number = self.process(pid) if event.startswith("process") else self.thread(pid, tid)
            self._tracks[number].order = int(max(-(2**31), min(2**31 - 1, args["sort_index"])))
        else:
            return event in ("num_cpus", "trace_buffer_overflowed", "IsTimeTicksHighResolution", "TraceConfig")
        return True

    def finish(self, sink: Sink) -> None:
        """Appends the rows."""
        for track in self._tracks:
            labels = " ".join(track.labels)
            if labels and labels not in track.name:
                track.name = f"{track.name} · {labels}"
        for track in self._tracks:
            parent = self._tracks[track.parent].name.lower() if track.parent >= 0 else ""
            if track.kind == "thread" and any(label in parent for label in _DEVICE_LABELS):
                track.kind = "device"
        sink.append(
            "tracks",
            {
                "id": list(range(len(self._tracks))),
                "name": [track.name for track in self._tracks],
                "kind": [track.kind for track in self._tracks],
                "parent": [track.parent for track in self._tracks],
                "order": [track.order for track in self._tracks],
                "process": [track.pid for track in self._tracks],
                "rank": [track.rank for track in self._tracks],
                "host": [track.host for track in self._tracks],
                "unit": [track.unit for track in self._tracks],
            },
        )
