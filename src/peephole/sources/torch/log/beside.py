"""A profiler's trace beside a log: its slices get the compilations that they run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from peephole.model.sink import ColumnValues, Sink, Strings
from peephole.model.tables import NONE
from peephole.sources.base import Progress
from peephole.sources.linked_trace import LinkedTrace, Numbers
from peephole.sources.torch.log.book import Context
from peephole.sources.torch.rows import GRAPH_CONTEXT, HALF_CONTEXT, KERNEL_CONTEXT, RANK_CONTEXT, rank_name

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
    from peephole.sources import head_of

    numbers = Numbers(tracks)
    linked = 0
    for path in traces:
        rank = _RANK.search(head_of(path))
        links = _links(contexts, rank_name(int(rank[1])) if rank else "")
        one = _Linked(sink, links, numbers, (trace_base([path]) or 0) - base)
        one.read(path, progress)
        linked += one.slices
    if not linked:
        sink.problem("no slice of the trace is of a compilation of the log: they may be of different runs", 1)


def _links(contexts: Sequence[Context], rank: str) -> dict[str, int]:
    """Contexts by what slices call them; what two of them are called leads to neither."""
    parents = {context.id: context.parent for context in contexts}
    of_rank = {context.id for context in contexts if context.kind == RANK_CONTEXT and context.name == rank}
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


class _Linked(LinkedTrace):
    """Slices get their context by their name."""

    def __init__(self, sink: Sink, links: Mapping[str, int], numbers: Numbers, offset: int) -> None:
        super().__init__(sink, numbers, offset)
        self._links = links
        self._known: dict[str, int] = {}

    def link(self, rows: dict[str, ColumnValues]) -> None:
        """By compile id, cache key or kernel."""
        contexts = self._contexts(rows["name"])
        rows["context"] = contexts
        self.slices += int((contexts >= 0).sum())

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
