"""Reads the journals of recorded processes, also of killed and of living ones, into a Builder."""

from __future__ import annotations

import re
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from peephole.model.journal import PROCESS_SHIFT, SLOT
from peephole.store.journal.open_marks import read_marks
from peephole.store.journal.processes import ProcessInfo, read_process
from peephole.store.journal.segments import Loaded, list_segments, load
from peephole.store.journal.thread_rows import ThreadReader
from peephole.store.journal.track_numbers import Tracks
from peephole.store.sealing.build import Builder, Progress

_FOLDER = re.compile(r"p(\d{1,9})")
_AHEAD: Final = 3
"""Segments that are read before they are needed."""


@dataclass(frozen=True, slots=True)
class Work:
    """A segment that has, or may have, something new."""

    reader: ThreadReader
    number: int
    path: Path
    slot: int
    slots: int


class JournalReader:
    """Reads all journals of a capture; `advance` again picks up what was written since."""

    def __init__(self, folder: Path, builder: Builder) -> None:
        self.folder = folder / "journal"
        self.builder = builder
        self.tracks = Tracks()
        self.processes: dict[int, ProcessInfo] = {}
        self._threads: dict[tuple[int, int], ThreadReader] = {}
        self._marks: dict[int, bytes] = {}

    def advance(self, progress: Progress | None = None) -> bool:
        """Reads what is new; True when there was something."""
        work = self._new_segments()
        total = sum(item.slots for item in work)
        done = 0
        news = False
        with ThreadPoolExecutor(1, "peephole-read") as pool:
            # the next segments are on their way while one is taken apart
            waiting: deque[Future[Loaded]] = deque()
            coming = iter(work)
            for item in work:
                while len(waiting) < _AHEAD and (following := next(coming, None)) is not None:
                    waiting.append(pool.submit(load, following.path, following.slot))
                news = item.reader.read(item.number, item.path, waiting.popleft().result()) or news
                done += item.slots
                if progress is not None:
                    progress(done, total)
        for reader in self._threads.values():
            reader.flush()
        return self._take_marks() or news

    def _take_marks(self) -> bool:
        """Takes what the processes that have not closed their journals had begun; True when there is something new."""
        news = False
        for ordinal, info in self.processes.items():
            if info.clean:
                continue
            marks = read_marks(info.folder)
            own = {thread: reader for (process, thread), reader in self._threads.items() if process == ordinal}
            until = max([reader.latest for reader in own.values()] + [int(marks["start"].max(initial=0))])
            for thread, reader in own.items():
                reader.open_marks(marks[marks["thread"] == thread + 1], until)
            seen = marks.tobytes()
            news = news or self._marks.get(ordinal, b"") != seen
            self._marks[ordinal] = seen
        return news

    def _new_segments(self) -> list[Work]:
        work = []
        for ordinal, path in self._folders():
            known = self.processes.get(ordinal)
            if known is None or not known.clean:
                info = self.processes[ordinal] = read_process(path, ordinal, self.builder.manifest)
                info.offset = self._offset(info)
            for thread, segments in list_segments(path).items():
                reader = self._threads.get((ordinal, thread))
                if reader is None:
                    reader = self._threads[ordinal, thread] = ThreadReader(
                        self.processes[ordinal], self.tracks, self.builder
                    )
                for number, file in segments:
                    slot = reader.wants(number)
                    if slot is not None:
                        work.append(Work(reader, number, file, slot, _size(file) // SLOT))
        return work

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

    def stale(self) -> bool:
        """Whether slices were handed over whose final ones have come since: then all is to be read anew."""
        return any(
            reader.provisional and (reader.settled or self.processes[ordinal].clean)
            for (ordinal, _), reader in self._threads.items()
        )

    def describe(self) -> None:
        """Puts what is known about the processes into the manifest."""
        manifest = self.builder.manifest
        manifest.processes = []
        facts = [info.facts | {"ordinal": number} for number, info in sorted(self.processes.items())]
        manifest.describe({"processes": facts})
        first = self.processes.get(min(self.processes)) if self.processes else None
        manifest.clean = False
        if first is not None:
            last = max((info for info in self.processes.values() if info.is_also(first)), key=lambda info: info.ordinal)
            manifest.clean = last.clean
            manifest.describe(first.summary(manifest))
        for (ordinal, _), reader in self._threads.items():
            for name, count in reader.provisional.items():
                manifest.problem(f"kernels of {name} on an estimated clock", count, f"p{ordinal:05}")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
