"""What instructions of a module became from pass to pass.

A name stays with its instruction. Where a pass took a name away, what computes the same value afterwards is what it
became, as inside a fusion; where nothing does, what came into the graph out of the same operation of the program.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from peephole.compilers.traces import trace_of
from peephole.compilers.xla.kernels import instructions
from peephole.compilers.xla.values import Values
from peephole.replay.trace import RewriteTrace

if TYPE_CHECKING:
    from peephole.store.capture import Capture

_KEPT: Final = 4
"""Modules that a capture keeps at hand."""
Names = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass that changed a module: its step, and the rows of the graphs before and after."""

    step: int
    name: str
    before: int
    after: int


class Lineage:
    """The passes of one module, and which instructions became which."""

    def __init__(self, trace: RewriteTrace, module: int) -> None:
        self._trace, self.module = trace, module
        self.passes: list[Pass] = []
        self.first, self.first_step = -1, -1
        """The graph that passes began with (a row), and the step that shows it."""
        self.last, self.last_step = -1, -1
        self._names: dict[int, dict[str, int]] = {}
        self._values = Values(trace)
        self._numbers: dict[int, dict[int, set[int]]] = {}
        self._became: dict[int, tuple[Names, Names]] = {}
        rows = trace.context_rows(module)
        for row in rows:
            if row + 1 in rows and trace.number("depth", row + 1) > trace.number("depth", row):
                continue  # a pipeline is what its passes are
            step = trace.number("id", row)
            before, after = trace.table.rows([trace.number("root", row), trace.number("after", row)]).tolist()
            if before >= 0 and self.first < 0:
                self.first, self.first_step = before, step
            if after < 0:
                continue
            if before >= 0 and before != after:
                self.passes.append(Pass(step, trace.text("name", row) or "", before, after))
            self.last, self.last_step = after, step

    def names(self, graph: int) -> dict[str, int]:
        """The instructions of a graph in all its computations: rows by name."""
        if graph not in self._names:
            nodes = self._trace.instructions()
            rows = instructions(self._trace, graph) if graph >= 0 else []
            self._names[graph] = {name: row for row in rows if (name := nodes.name(row))}
        return self._names[graph]

    def became(self, one: Pass) -> tuple[Names, Names]:
        """What each name that a pass took away became, and what each name that it brought was."""
        if one.step not in self._became:
            self._became[one.step] = self._pairs(one)
        return self._became[one.step]

    def _pairs(self, one: Pass) -> tuple[Names, Names]:
        old, new = self.names(one.before), self.names(one.after)
        gone = {name: row for name, row in old.items() if name not in new}
        come = {name: row for name, row in new.items() if name not in old}
        ahead: Names = {}
        if gone:
            before, after = self._numbers_of(one.before), self._numbers_of(one.after)
            self._pair(ahead, gone, come, before, after)
            if len(ahead) < len(gone):  # the same value under a name that was there before: one of two was left
                self._pair(ahead, gone, {name: new[name] for name in new.keys() & old.keys()}, before, after)
        taken = {name for names in ahead.values() for name in names}
        for like in (self._likeness, self._origin):
            left = {name: row for name, row in gone.items() if name not in ahead}
            free = {name: row for name, row in come.items() if name not in taken}
            by_likeness = _grouped(free, like)
            for name, row in left.items():
                key = like(row)
                if key is not None and key in by_likeness:
                    ahead[name] = by_likeness[key]
            taken.update(name for names in ahead.values() for name in names)
        back: defaultdict[str, list[str]] = defaultdict(list)
        for name, names in ahead.items():
            for other in names:
                if other in come:
                    back[other].append(name)
        return ahead, dict(back)

    def _pair(
        self,
        ahead: Names,
        gone: dict[str, int],
        there: dict[str, int],
        before: dict[int, set[int]],
        after: dict[int, set[int]],
    ) -> None:
        """Pairs by value: those of the same opcode and origin where there are such."""
        by_value: defaultdict[int, list[str]] = defaultdict(list)
        for name, row in there.items():
            for value in after.get(row, ()):
                by_value[value].append(name)
        for name, row in gone.items():
            found = dict.fromkeys(other for value in before.get(row, ()) for other in by_value.get(value, ()))
            if name in ahead or not found:
                continue
            op = self._values.texts(row)[0]
            alike = [other for other in found if self._values.texts(there[other])[0] == op]
            same = [other for other in alike if self._origin(there[other]) == self._origin(row)]
            if chosen := same or alike:
                ahead[name] = chosen

    def _numbers_of(self, graph: int) -> dict[int, set[int]]:
        if graph not in self._numbers:
            self._numbers[graph] = self._values.of(graph, len(self.names(graph)) + 1)
        return self._numbers[graph]

    def _likeness(self, row: int) -> object:
        origin = self._origin(row)
        return None if origin is None else (self._values.texts(row)[0], origin)

    def _origin(self, row: int) -> object:
        return self._trace.instructions().metadata(row)


def lineage_of(capture: Capture, module: int) -> Lineage:
    """The lineage of a module. Hold the trace's lock while asking it."""
    trace = trace_of(capture)
    kept: dict[int, Lineage] = trace.derived.setdefault("xla lineages", {})
    found = kept.pop(module, None) or Lineage(trace, module)
    while len(kept) >= _KEPT:
        kept.pop(next(iter(kept)))
    kept[module] = found
    return found


def _grouped(rows: dict[str, int], key_of: Callable[[int], object]) -> dict[object, list[str]]:
    found: defaultdict[object, list[str]] = defaultdict(list)
    for name, row in rows.items():
        found[key_of(row)].append(name)
    return dict(found)


def distinct(names: Iterable[str]) -> list[str]:
    """Each once, in order."""
    return list(dict.fromkeys(names))
