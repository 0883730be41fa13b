"""Flow events to arrows: each end is bound to the slice that it points at."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from peephole.model.sink import Sink
from peephole.sources.chrome.binding import SLICE, bind

_RANK: Final = {"s": 0, "t": 1, "f": 2}


class Flows:
    """Keeps slices (20 bytes each, in a file) and flow events, and joins them when the file has ended.

    Slices are numbered 1, 2, … as they come, which is their correlation number.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._events: dict[tuple[Any, ...], list[tuple[int, str, int, bool]]] = {}
        self._kinds: dict[tuple[Any, ...], str] = {}

    def slices(self, tracks: Any, starts: Any, durs: Any) -> None:
        """Remembers where slices are."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder, prefix="flows.")  # noqa: SIM115 - until close
        records = np.empty(len(starts), SLICE)
        records["track"], records["start"], records["dur"] = tracks, starts, durs
        self._file.write(records.data)

    def event(self, key: tuple[Any, ...], kind: str, time: int, phase: str, track: int, encloses: bool) -> None:
        """Takes one s, t or f event."""
        self._events.setdefault(key, []).append((time, phase, track, encloses))
        self._kinds[key] = kind

    def finish(self, sink: Sink) -> None:
        """Appends the arrows; ends that point at nothing are counted."""
        if self._events:
            self._join(sink)

    def close(self) -> None:
        """Lets go of the file."""
        if self._file is not None:
            self._file.close()

    def _join(self, sink: Sink) -> None:
        for events in self._events.values():
            events.sort(key=lambda event: (event[0], _RANK[event[1]]))
        every = [event for events in self._events.values() for event in events]
        if self._file is not None:
            self._file.flush()
        bound = iter([0] * len(every) if self._file is None else bind(self._file, every))
        rows: list[tuple[int, int, str]] = []
        lost = 0
        for key, events in self._events.items():
            previous = 0
            for _, phase, _, _ in events:
                found = next(bound)
                if phase == "s":
                    previous = found
                elif previous and found:
                    rows.append((previous, found, self._kinds[key]))
                    previous = found
                else:
                    lost += 1
        if lost:
            sink.problem("flow whose end or begin has no slice", lost)
        if rows:
            sources, targets, kinds = zip(*rows, strict=True)
            sink.append("flows", {"from": list(sources), "to": list(targets), "kind": list(kinds)})
