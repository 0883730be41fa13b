"""Reads the logs of one or several processes, and what lies beside them, into a capture."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, Final, cast

from peephole.errors import CaptureError
from peephole.model.sink import Sink
from peephole.model.tables import NONE
from peephole.sources.base import Progress
from peephole.sources.gunzip import GZIP_MAGIC, Gunzip
from peephole.sources.torch.log import folder, sniff
from peephole.sources.torch.log.beside import read_beside, trace_base
from peephole.sources.torch.log.book import Book, Context
from peephole.sources.torch.log.clock import Clock
from peephole.sources.torch.log.process import Process
from peephole.sources.torch.log.records import Record, read_records
from peephole.sources.torch.rows import RANK_CONTEXT, rank_name

_HEAD: Final = 4 << 20
_RANK: Final = re.compile(r"rank_(\d{1,6})_")
_BEFORE: Final = 1_000_000_000
"""The capture's clock begins so long before the first record: an event may be older than what tells it."""


def read(paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
    """Reads logs, files of a debug folder, and traces of a profiler beside them."""
    kinds = [(path, sniff.kind_of(path)) for path in paths]
    logs = [path for path, kind in kinds if kind == sniff.LOG]
    parts = [path for path, kind in kinds if kind in sniff.PARTS]
    traces = [path for path, kind in kinds if kind == sniff.OTHER]
    total = sum(path.stat().st_size for path in paths)
    clocks = {path: _clock(path) for path in logs}
    begins = [clock.begin for clock in clocks.values() if clock.begin >= 0]
    base = trace_base(traces)
    if base is None or (begins and min(begins) < base):
        base = max(min(begins, default=0) - _BEFORE, 0)
    reading = _Reading(sink, base)
    done = 0
    for path in logs:
        reading.log(path, clocks[path], lambda read, done=done: progress(done + read, total))
        done += path.stat().st_size
    if parts:
        folder.read_parts(parts, reading.book)
        done += sum(path.stat().st_size for path in parts)
    reading.finish(have_others=bool(parts or traces))
    if traces:
        read_beside(traces, sink, reading.book.contexts, reading.tracks, base, lambda n, _: progress(done + n, total))
    progress(total, total)


class _Reading:
    """The processes that were met, each with its lane."""

    def __init__(self, sink: Sink, base: int) -> None:
        self.book = Book(sink)
        self.tracks = 0
        self._sink = sink
        self._base = base
        self._processes: dict[tuple[int, int], _Lane] = {}
        self._files = 0
        self._records = 0

    def log(self, path: Path, clock: Clock, advanced: Any) -> None:
        """Reads one file. A process is known by its number and rank, in the file that it is in."""
        named = _RANK.search(path.name)
        rank = int(named[1]) if named else NONE
        self._files += 1
        base = self._base

        def time(record: Record) -> int:
            at = clock.of(record)
            return max(at - base, 0) if at >= 0 else NONE

        before = len(self._processes)
        with _open(path) as (stream, position):
            for count, record in enumerate(read_records(stream, self._sink, path.name)):
                key = (self._files, record.process)
                lane = self._processes.get(key)
                if lane is None:
                    lane = self._processes[key] = self._lane(record.process, rank, time)
                if lane.rank < 0:
                    lane.rank = record.rank
                lane.process.take(record)
                if count % 256 == 0:
                    advanced(position.tell())
                self._records += 1
            if damage := getattr(getattr(stream, "raw", None), "damage", None):
                self._sink.problem(damage, 1, path.name)
        if (found := len(self._processes) - before) > 1:
            self._sink.problem("log of more than one process in one file, shown separately", found, path.name)

    def _lane(self, number: int, rank: int, time: Callable[[Record], int]) -> _Lane:
        track, group = self.tracks, self.book.context("", RANK_CONTEXT)
        self.tracks += 2
        process = Process(self.book, track + 1, group.id, time, self._base)
        return _Lane(process, number, rank, track, group)

    def finish(self, have_others: bool) -> None:
        """Writes what is known at the end."""
        lanes = list(self._processes.values())
        for lane in lanes:
            lane.process.finish()
            lane.group.name = rank_name(lane.rank) if lane.rank >= 0 else f"process {lane.number}"
        if not self._records and not have_others:
            raise CaptureError("There is no record of torch.compile in these files.")
        if len(lanes) == 1:
            self.book.drop(lanes[0].group)
        if lanes:
            rows = [row for place, lane in enumerate(lanes) for row in lane.tracks(place)]
            names = ("id", "name", "kind", "parent", "order", "process", "rank")
            self._sink.append("tracks", dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
        self.book.finish()
        versions = {lane.process.version for lane in lanes if lane.process.version}
        self._sink.describe(
            frameworks={"torch": max(versions)} if versions else {},
            clocks={"unit": "epoch", "base_ns": self._base},
            extra={"records": self._records, "processes": len(lanes)},
        )


@dataclass(slots=True)
class _Lane:
    """A process with its tracks and the context that holds its compilations."""

    process: Process
    number: int
    rank: int
    track: int
    group: Context

    def tracks(self, place: int) -> list[tuple[Any, ...]]:
        """The rows of its tracks: itself, and the compiler in it."""
        name = f"process {self.number}"
        name = f"rank {self.rank} · {name}" if self.rank >= 0 else name
        number = min(self.number, (1 << 31) - 1)
        order = self.rank if self.rank >= 0 else place
        return [
            (self.track, name, "host", NONE, order, number, self.rank),
            (self.track + 1, "torch.compile", "compile", self.track, 0, number, self.rank),
        ]


def _clock(path: Path) -> Clock:
    with _open(path) as (stream, _):
        return Clock(stream.read(_HEAD), path.stat().st_mtime)


@contextmanager
def _open(path: Path) -> Iterator[tuple[BufferedReader, IO[bytes]]]:
    """The stream, unzipped, and the file whose position tells how far it is."""
    try:
        with path.open("rb") as file:
            zipped = file.read(2) == GZIP_MAGIC
            file.seek(0)
            yield (BufferedReader(cast(Any, _Raw(Gunzip(file))), 1 << 20) if zipped else file), file
    except OSError as error:
        raise CaptureError(f"Cannot read {path}: {error.strerror or error}.") from error


class _Raw:
    """What unpacks, as a raw stream."""

    closed = False

    def __init__(self, stream: Gunzip) -> None:
        self._stream = stream

    @property
    def damage(self) -> str | None:
        """What was wrong with the packed file."""
        return self._stream.damage

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: memoryview) -> int:
        """The next bytes."""
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """The file is somebody else's."""
