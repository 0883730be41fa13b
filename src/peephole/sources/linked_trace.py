"""A profiler's trace read into a capture that has rows of its own: numbered on, on its clock, its slices linked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from peephole.model.sink import ColumnValues, Sink
from peephole.sources.base import Progress

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Numbers:
    """What is added to the numbers of a trace's rows: another file has used those below."""

    def __init__(self, tracks: int) -> None:
        self.first = {"track": tracks, "correlation": 0, "buffer": 0}
        self._past = dict(self.first)

    def moved(self, kind: str, numbers: Any) -> NDArray[Any]:
        """Numbers of this file as those of the capture; -1, and 0 for a correlation, stay."""
        import numpy as np

        own = np.asarray(numbers, np.int64)
        least = 1 if kind == "correlation" else 0
        own = np.where(own >= least, own + self.first[kind], own)
        if len(own):
            self._past[kind] = max(self._past[kind], int(own.max()) + 1)
        return own

    def next_file(self) -> None:
        """Another file begins."""
        self.first = dict(self._past)


class LinkedTrace:
    """A sink for a trace's rows: tracks are numbered on, times moved. Who links slices says how in `link`."""

    def __init__(self, sink: Sink, numbers: Numbers, offset: int) -> None:
        self._sink = sink
        self._numbers = numbers
        self._offset = offset
        self.slices = 0
        """How many were linked."""

    def read(self, path: Path, progress: Progress) -> None:
        """Reads a Chrome trace through this sink."""
        from peephole.sources import load

        load("chrome").read([path], self, progress)
        self._numbers.next_file()

    def link(self, rows: dict[str, ColumnValues]) -> None:
        """Gives slices their context, and whatever else is known about them; counts them in `slices`."""

    @property
    def scratch(self) -> Any:
        """A folder for temporary files, where there is one."""
        return getattr(self._sink, "scratch", None)

    def append(self, table: str, columns: Mapping[str, ColumnValues]) -> None:
        """Hands rows on."""
        import numpy as np

        rows = dict(columns)
        for name, kind in _NUMBERED.get(table, {}).items():
            if name in rows:
                rows[name] = self._numbers.moved(kind, rows[name])
        for name in _TIMES.get(table, ()):
            if name in rows:
                times = np.asarray(rows[name], np.int64)
                rows[name] = (
                    times + self._offset if name != "free" else np.where(times >= 0, times + self._offset, times)
                )
        if table == "slices":
            self.link(rows)
        self._sink.append(table, rows)

    def problem(self, reason: str, count: int = 1, example: str = "") -> None:
        """Hands a problem on."""
        self._sink.problem(reason, count, example)

    def describe(self, **facts: Any) -> None:
        """Adds the trace's facts, but not its clock: that of the capture is told already."""
        facts.pop("clocks", None)
        self._sink.describe(**facts)


_NUMBERED: Final[dict[str, dict[str, str]]] = {
    "tracks": {"id": "track", "parent": "track"},
    "slices": {"track": "track", "correlation": "correlation"},
    "counters": {"track": "track"},
    "markers": {"track": "track"},
    "flows": {"from": "correlation", "to": "correlation"},
    "buffers": {"id": "buffer"},
    "uses": {"buffer": "buffer", "slice": "correlation"},
}
_TIMES: Final = {"slices": ("start",), "counters": ("time",), "markers": ("time",), "buffers": ("alloc", "free")}
