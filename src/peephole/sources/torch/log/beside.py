"""A profiler's trace beside a log: its slices get the compilations that they run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from peephole.model.sink import ColumnValues, Sink, Strings
from peephole.model.tables import NONE
from peephole.sources.base import Progress
from peephole.sources.torch.log.book import Context
from peephole.sources.torch.rows import GRAPH_CONTEXT, HALF_CONTEXT, KERNEL_CONTEXT

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BASE: Final = re.compile(rb'"baseTimeNanoseconds"\s*:\s*(\d{1,19})\b')
_RANK: Final = re.compile(rb'"distributedInfo"\s*:\s*\{[^{}]{0,2000}?"rank"\s*:\s*(\d{1,6})\b')
_REGION: Final = re.compile(r"^Torch-Compiled Region: (\S+)")
_CALL: Final = re.compile(r"^## Call CompiledFxGraph (\w+) ##$")
_GRAPH_NUMBER: Final = re.compile(r"^graph_\d+_")


def trace_base(traces: Sequence[Path]) -> int | None:
    """What the times of the first trace that says so count from; None when none does."""
    from peephole.sources import head_of

    for path in traces:
        if (found := _BASE.search(head_of(path))) and int(found[1]) < 1 << 61:
            return int(found[1])
    return None


def read_beside(
    traces: Sequence[Path], sink: Sink, contexts: Sequence[Context], tracks: int, base: int, progress: Progress
) -> None:
    """Reads traces into the same capture, linked by compile id, cache key and kernel name; those of a rank with that
    rank's log."""
    from peephole.sources import head_of, load

    numbers = _Numbers(tracks)
    linked = 0
    for path in traces:
        rank = _RANK.search(head_of(path))
        links = _links(contexts, f"rank {int(rank[1])}" if rank else "")
        one = _Linked(sink, links, numbers, (trace_base([path]) or 0) - base)
        load("chrome").read([path], one, progress)
        linked += one.slices
        numbers.next_file()
    if not linked:
        sink.problem("no slice of the trace is of a compilation of the log: they may be of different runs", 1)


def _links(contexts: Sequence[Context], rank: str) -> dict[str, int]:
    """Contexts by what slices call them; what two of them are called leads to neither."""
    parents = {context.id: context.parent for context in contexts}
    of_rank = {context.id for context in contexts if context.kind == "other" and context.name == rank}
    found: dict[str, int] = {}
    for context in contexts:
        if context.kind not in (GRAPH_CONTEXT, HALF_CONTEXT, KERNEL_CONTEXT):
            continue
        root = context.id
        while parents.get(root, NONE) != NONE:
            root = parents[root]
        if not of_rank or root in of_rank:
            for key in context.keys:
                found[key] = NONE if key in found else context.id
    return found


class _Numbers:
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


class _Linked:
    """A sink for the trace's rows: tracks are numbered on, times moved, slices linked."""

    def __init__(self, sink: Sink, links: Mapping[str, int], numbers: _Numbers, offset: int) -> None:
        self._sink = sink
        self._links = links
        self._numbers = numbers
        self._offset = offset
        self._known: dict[str, int] = {}
        self.slices = 0
        """How many were linked."""

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
            contexts = self._contexts(rows["name"])
            rows["context"] = contexts
            self.slices += int((contexts >= 0).sum())
        self._sink.append(table, rows)

    def _contexts(self, names: Any) -> NDArray[Any]:
        import numpy as np

        if isinstance(names, Strings):
            by_code = np.array([self._context(name) for name in names.values] or [NONE], np.int64)
            return by_code[np.asarray(names.codes, np.int64)]
        return np.array([self._context(name) for name in names], np.int64)

    def _context(self, name: str | None) -> int:
        if not name:
            return NONE
        found = self._known.get(name)
        if found is None:
            key = name
            for pattern in (_REGION, _CALL):
                if match := pattern.match(name):
                    key = match[1]
            found = self._links.get(key, NONE)
            if found == NONE:
                found = self._links.get(_GRAPH_NUMBER.sub("", key), NONE)
            self._known[name] = found
        return found

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
