"""Which lines of the program an operation, and what was printed by itself, came from: its locations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from peephole.compilers.answers import Link, Origin
from peephole.compilers.program_lines import operations, parse
from peephole.compilers.traces import trace_of
from peephole.model.tables import NONE
from peephole.replay.trace import RewriteTrace

if TYPE_CHECKING:
    from peephole.store.capture import Capture

LINE, TRACED, PASS, LOWERED = "line", "traced", "pass", "lowered"
MOST: Final = 12
"""Links of one stage."""
_NAMED: Final = 4
"""Names in one link."""
Key = tuple[str, str]


@dataclass(slots=True)
class _Printed:
    """One context: its graphs as rows, from the first to the last, with the steps and passes that they came out of."""

    context: int
    name: str
    outer: bool
    """Whether others are inside it."""
    graphs: list[tuple[int, int, str]] = field(default_factory=list)
    """Root, step, pass; the first is what passes began with."""


def all_origins(capture: Capture) -> list[Origin]:
    """The lines of what each context that others are not inside of became."""
    trace = trace_of(capture)
    with trace.lock:
        kept = trace.derived.setdefault("mlir origins", {})
        if 0 not in kept:
            found = [one for one in _contexts(capture, trace) if not one.outer and one.graphs]
            kept[0] = [origin for one in found if (origin := _origin(trace, one)).operations]
        origins: list[Origin] = kept[0]
        return origins


def named(capture: Capture, name: str) -> list[tuple[int, int]]:
    """Step and node of the first graph of each context that has an operation of that name."""
    trace = trace_of(capture)
    nodes = trace.instructions()
    wanted = {row for row in nodes.rows_named(name) if not nodes.is_graph(row)}
    found = []
    with trace.lock:
        for one in _contexts(capture, trace) if wanted else ():
            seen: set[int] = set()
            for root, step, _ in one.graphs:
                fresh = trace.table.reachable([root], seen)
                seen.update(fresh)
                if hits := [row for row in fresh if row in wanted]:
                    found.append((step, int(trace.table.ids[hits[0]])))
                    break
    return found


def chain(capture: Capture, step: int, node: int) -> list[Link]:
    """The lines of an operation, what it was when passes began, the passes of its context that brought, altered or took
    it, and what came of it in others."""
    trace = trace_of(capture)
    nodes = trace.instructions()
    row = int(trace.table.rows([node])[0])
    if row < 0 or nodes.is_graph(row) or not nodes.name(row):
        return []
    with trace.lock:
        contexts = _contexts(capture, trace)
        context = trace.number("context", trace.step_row(step))
        own = next((one for one in contexts if one.context == context), None)
        way = _Way(trace, row)
        return [*way.lines(), *way.traced(contexts), *(way.passes(own) if own else ()), *way.lowered(contexts, own)]


class _Way:
    """One answer."""

    def __init__(self, trace: RewriteTrace, row: int) -> None:
        self.trace, self.row = trace, row
        self.nodes = trace.instructions()
        self.name = self.nodes.name(row) or ""
        self.key = _key(self.nodes.metadata(row))

    def lines(self) -> Iterator[Link]:
        operation, calls = parse(self.nodes.metadata(self.row))
        for at, call in enumerate(calls[:MOST]):
            what = operation if not at else f"in {call.function}" if call.function else ""
            source = self.trace.places.line(call.file, call.line)
            yield Link(LINE, what, "", NONE, 0, NONE, NONE, call.place, source)

    def traced(self, contexts: list[_Printed]) -> list[Link]:
        """Operations of the same line that the first module was printed with at first."""
        first = next((one.graphs[0] for one in contexts if one.graphs), None)
        if self.key is None or first is None:
            return []
        rows = [row for row in self._alike(first[0]) if self.nodes.name(row) != self.name]
        return [self._node(TRACED, row, first[1], "") for row in rows][:MOST]

    def passes(self, own: _Printed) -> Iterator[Link]:
        """The passes that brought, altered or took it."""
        before = NONE
        told = 0
        for at, (root, step, name) in enumerate(own.graphs):
            now = self._named(root)
            if at and now != before and told < MOST:
                said = self._said(before, now)
                if said:
                    told += 1
                    shown = now if now >= 0 else before
                    yield Link(PASS, name, said, step, 0, int(self.trace.table.ids[shown]), NONE, None, None)
            before = now

    def lowered(self, contexts: list[_Printed], own: _Printed | None) -> list[Link]:
        """What is left of its line where others ended: one link for each."""
        if self.key is None:
            return []
        found = []
        for one in contexts:
            if one.graphs and not one.outer and one is not own:
                root, step, _ = one.graphs[-1]
                if rows := self._alike(root):
                    found.append(self._several(rows, step, one.name))
        return found[:MOST]

    def _several(self, rows: list[int], step: int, inside: str) -> Link:
        """Operations of one graph, those first that are called as this one is."""
        own = _short(self._op(self.row))
        rows = sorted(rows, key=lambda row: _short(self._op(row)) != own)
        first = self._node(LOWERED, rows[0], step, inside)
        if len(rows) == 1:
            return first
        names = ", ".join(self.nodes.name(row) or "" for row in rows[:_NAMED])
        left = len(rows) - _NAMED
        return replace(first, name=names + (f" and {left} more" if left > 0 else ""), op=f"in {inside}")

    def _said(self, before: int, now: int) -> str:
        if before < 0:
            return f"brought {self.name}"
        if now < 0:
            return f"took {self.name} away"
        return f"altered {self.name}" if self.nodes.fields(before) != self.nodes.fields(now) else ""

    def _named(self, root: int) -> int:
        """The row of its name in a graph; -1 for none."""
        code = self.nodes.name_codes[self.row]
        for row in self.trace.table.reachable([root]):
            if self.nodes.name_codes[row] == code:
                return row
        return NONE

    def _alike(self, root: int) -> list[int]:
        """Operations of a graph that are of the same operation and line of the program."""
        rows = self.trace.table.reachable([root])
        return [row for row in rows if not self.nodes.is_graph(row) and _key(self.nodes.metadata(row)) == self.key]

    def _node(self, stage: str, row: int, step: int, inside: str) -> Link:
        said = f"{self._op(row)} in {inside}" if inside else self._op(row)
        return Link(stage, self.nodes.name(row) or "", said, step, 0, int(self.trace.table.ids[row]), NONE, None, None)

    def _op(self, row: int) -> str:
        return self.trace.table.texts(self.trace.table.own(row))[0]


def _short(op: str) -> str:
    """An operation without its dialect."""
    return op.rpartition(".")[2]


def _key(metadata: str | None) -> Key | None:
    """What operations of one line have in common: calls around them are put in when functions are."""
    operation, calls = parse(metadata)
    return (operation, calls[0].place) if calls else None


def _origin(trace: RewriteTrace, one: _Printed) -> Origin:
    rows = [row for row in trace.table.reachable([one.graphs[-1][0]]) if not trace.instructions().is_graph(row)]
    return Origin(one.context, one.name, NONE, NONE, operations(trace, rows, ("argument",)), None, None)


def _contexts(capture: Capture, trace: RewriteTrace) -> list[_Printed]:
    """What was printed by itself, in order."""
    kept = trace.derived.setdefault("mlir contexts", {})
    if 0 not in kept:
        frame = capture.read("contexts", ["id", "parent", "name", "compiler"])
        names, compilers = frame.texts("name"), frame.texts("compiler")
        ids, parents = frame["id"].tolist(), frame["parent"].tolist()
        outer = {parent for parent, name in zip(parents, compilers, strict=True) if name == "mlir"}
        kept[0] = [
            _Printed(id, names[at] or "", id in outer, _graphs(trace, id))
            for at, id in enumerate(ids)
            if compilers[at] == "mlir"
        ]
    found: list[_Printed] = kept[0]
    return found


def _graphs(trace: RewriteTrace, context: int) -> list[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    for row in trace.context_rows(context):
        step, name = trace.number("id", row), trace.text("name", row) or ""
        for root in trace.table.rows([trace.number("root", row), trace.number("after", row)]).tolist():
            if root >= 0 and (not found or found[-1][0] != root):
                found.append((root, step, name))
    return found
