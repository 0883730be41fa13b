"""Reads the journals of recorded processes, also of killed and of living ones, into a Builder."""

from __future__ import annotations

import re
from pathlib import Path

from peephole.model.journal import PROCESS_SHIFT
from peephole.store.build import Builder, Progress
from peephole.store.processes import ProcessInfo, read_process
from peephole.store.segments import list_segments
from peephole.store.threads import ThreadReader
from peephole.store.tracks import Tracks

_FOLDER = re.compile(r"p(\d{1,9})")


class JournalReader:
    """Reads all journals of a capture; `advance` again picks up what was written since."""

    def __init__(self, folder: Path, builder: Builder) -> None:
        self.folder = folder / "journal"
        self.builder = builder
        self.tracks = Tracks()
        self.processes: dict[int, ProcessInfo] = {}
        self._threads: dict[tuple[int, int], ThreadReader] = {}

    def advance(self, progress: Progress | None = None) -> bool:
        """Reads what is new; True when there was something."""
        work: list[tuple[ThreadReader, list[tuple[int, Path]]]] = []
        for ordinal, path in self._folders():
            known = self.processes.get(ordinal)
            if known is None or not known.clean:
                info = self.processes[ordinal] = read_process(path, ordinal, self.builder.manifest)
                info.offset = self._offset(info)
            for number, segments in list_segments(path).items():
                reader = self._threads.get((ordinal, number))
                if reader is None:
                    reader = ThreadReader(self.processes[ordinal], self.tracks, self.builder)
                    self._threads[ordinal, number] = reader
                work.append((reader, segments))
        total = sum(_size(path) for _, segments in work for _, path in segments) // 32
        done = 0
        news = False
        for reader, segments in work:
            for number, path in segments:
                if reader.read(number, path):
                    news = True
                done += _size(path) // 32
                if progress is not None:
                    progress(done, total)
            reader.flush()
        return news

    def _folders(self) -> list[tuple[int, Path]]:
        try:
            paths = list(self.folder.iterdir())
        except OSError:
            return []
        found = []
        for path in paths:
            match = _FOLDER.fullmatch(path.name)
            if match and path.is_dir() and int(match[1]) < 1 << (63 - PROCESS_SHIFT):
                found.append((int(match[1]), path))
        return sorted(found)

    def _offset(self, info: ProcessInfo) -> int:
        """What to add to a process's times: those of one machine share a clock, others go by the time of day."""
        first = self.processes[min(self.processes)]
        if info is first or info.wall is None or first.wall is None or (info.boot and info.boot == first.boot):
            return 0
        return info.wall - first.wall

    def describe(self) -> None:
        """Puts what is known about the processes into the manifest."""
        manifest = self.builder.manifest
        manifest.processes = [info.facts | {"ordinal": number} for number, info in sorted(self.processes.items())]
        first = self.processes.get(min(self.processes)) if self.processes else None
        manifest.clean = first is not None and first.clean
        if first is not None:
            manifest.describe(first.summary(manifest))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
