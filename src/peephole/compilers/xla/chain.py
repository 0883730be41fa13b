"""The way of an instruction: back over the passes to the program's line, forward into a fusion and to its kernel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from peephole.compilers.answers import Link
from peephole.compilers.program_lines import parse
from peephole.compilers.traces import trace_of
from peephole.compilers.xla.kernels import CONTROL, IDLE, instructions, kernel_contexts, members, running
from peephole.compilers.xla.lineage import Lineage, Pass, distinct, lineage_of
from peephole.compilers.xla.origin import DULL
from peephole.model.tables import NONE
from peephole.replay.trace import RewriteTrace

if TYPE_CHECKING:
    from peephole.store.capture import Capture

LINE, TRACED, PASS, FUSED, KERNEL = "line", "traced", "pass", "fused", "kernel"
MOST: Final = 12
"""Links of one stage."""
_NAMED: Final = 4
"""Names in one link."""


def chain(capture: Capture, step: int, node: int) -> list[Link]:
    """The links of an instruction of a step's graphs, from the program's line to the kernels."""
    trace = trace_of(capture)
    row = int(trace.table.rows([node])[0])
    name = trace.instructions().name(row) if row >= 0 else None
    context = trace.number("context", trace.step_row(step))
    module = _modules(capture).get(context, NONE)
    if name is None or trace.instructions().is_graph(row) or module < 0:
        return []
    with trace.lock:
        way = _Way(capture, trace, lineage_of(capture, module))
        return way.links(step if context == module else way.lineage.last_step, name, row)


def named(capture: Capture, name: str) -> list[tuple[int, int]]:
    """Step and node of the first graph of each module that has an instruction of that name."""
    trace = trace_of(capture)
    nodes = trace.instructions()
    wanted = {row for row in nodes.rows_named(name) if not nodes.is_graph(row)}
    found: list[tuple[int, int]] = []
    modules = [module for module in _modules(capture) if _modules(capture)[module] == module] if wanted else []
    for module in modules:
        seen: set[int] = set()
        for row in trace.context_rows(module):
            roots = trace.table.rows([trace.number("root", row), trace.number("after", row)]).tolist()
            hits = [hit for root in roots if root >= 0 and (hit := _first(trace, root, wanted, seen)) >= 0]
            if hits:
                step, first = _first_step(trace, module, name, hits[0], row)
                found.append((step, int(trace.table.ids[first])))
                break
    return found


def _first_step(trace: RewriteTrace, module: int, name: str, hit: int, row: int) -> tuple[int, int]:
    """The innermost step that shows an instruction first, and its row there; the pipeline of `row` if no pass does."""
    lineage = Lineage(trace, module)
    begin = lineage.names(lineage.first).get(name)
    if begin is not None:
        return lineage.first_step, begin
    after = ((one.step, lineage.names(one.after).get(name)) for one in lineage.passes)
    return next(((step, there) for step, there in after if there is not None), (trace.number("id", row), hit))


def _first(trace: RewriteTrace, root: int, wanted: set[int], seen: set[int]) -> int:
    """The first of these rows in a graph; -1 for none. Graphs that were seen are not looked through again."""
    table, nodes = trace.table, trace.instructions()
    pending = [root]
    while pending:
        graph = pending.pop()
        if graph in seen:
            continue
        seen.add(graph)
        for row in table.sources(graph):
            if row in wanted:
                return row
            if nodes.is_graph(row):
                pending.append(row)
            elif row not in seen:
                seen.add(row)
                pending += [body for body in table.sources(row) if nodes.is_graph(body)]
    return NONE


def _modules(capture: Capture) -> dict[int, int]:
    """The module of each of XLA's contexts: itself, or the one that a kernel is of."""
    frame = capture.read("contexts", ["id", "parent", "kind", "compiler"])
    kinds, compilers = frame.texts("kind"), frame.texts("compiler")
    rows = zip(frame["id"].tolist(), frame["parent"].tolist(), kinds, compilers, strict=True)
    return {own: own if kind == "module" else parent for own, parent, kind, compiler in rows if compiler == "xla"}


class _Way:
    """One answer."""

    def __init__(self, capture: Capture, trace: RewriteTrace, lineage: Lineage) -> None:
        self.trace, self.lineage = trace, lineage
        self.table, self.nodes = trace.table, trace.instructions()
        self.module = trace.context_names.get(lineage.module, "")
        self.contexts = {one.name: one.context for one in kernel_contexts(capture) if one.module == lineage.module}

    def links(self, step: int, name: str, row: int) -> list[Link]:
        lineage = self.lineage
        at = self._place(step, name, row)
        back, made = self._back(name, lineage.passes[:at])
        ahead, went = self._ahead({name: row}, lineage.passes[at:])
        inside = self._inside(row)
        # a fusion is what is in it
        origins = [one for inner in inside for one in self._back(self._name(inner), lineage.passes[:at])[0]] or back
        first = lineage.names(lineage.first)
        traced = [one for one in distinct(origins) if one in first and self._op(first[one]) not in IDLE]
        found = self._lines(inside or [row, *(first[one] for one in traced)])
        found += [self._node(TRACED, first[one], lineage.first_step) for one in traced if one != name][:MOST]
        found += [*made, *went][:MOST]
        return found + self._ends(ahead)

    def _place(self, step: int, name: str, row: int) -> int:
        """How many passes ran before the graph that an instruction is asked about in."""
        for at, one in enumerate(self.lineage.passes):
            if one.step == step:
                return at if self.lineage.names(one.before).get(name) == row else at + 1
        order = self.trace.step_row(step)
        return sum(self.trace.step_row(one.step) < order for one in self.lineage.passes)

    def _back(self, name: str, passes: list[Pass]) -> tuple[list[str], list[Link]]:
        """What an instruction was when passes began, and the passes that brought or altered it on the way."""
        current, links = [name], list[Link]()
        for one in reversed(passes):
            old = self.lineage.names(one.before)
            new = self.lineage.names(one.after)
            if fresh := [each for each in current if each not in old and each in new]:
                was = self.lineage.became(one)[1]
                before = distinct(each for name in fresh for each in was.get(name, ()))
                said = f"{_listed(before)} → {_listed(fresh)}" if before else f"brought {_listed(fresh)}"
                links.append(self._pass(one, said, new[fresh[0]]))
                current = [*(each for each in current if each in old), *before]
                continue
            links += self._altered(one, current)
        return current, links[::-1]

    def _ahead(self, start: dict[str, int], passes: list[Pass]) -> tuple[list[str], list[Link]]:
        """What an instruction is in the end, and the passes that altered or took it on the way."""
        current, links = list(start), list[Link]()
        for one in passes:
            old, new = self.lineage.names(one.before), self.lineage.names(one.after)
            if gone := [each for each in current if each not in new and each in old]:
                became = self.lineage.became(one)[0]
                after = distinct(each for name in gone for each in became.get(name, ()))
                said = f"{_listed(gone)} → {_listed(after)}" if after else f"took {_listed(gone)} away"
                links.append(self._pass(one, said, old[gone[0]]))
                current = distinct([*(each for each in current if each in new), *after])
                continue
            links += self._altered(one, current)
        return current, links

    def _altered(self, one: Pass, names: list[str]) -> list[Link]:
        old, new = self.lineage.names(one.before), self.lineage.names(one.after)
        for name in names:
            a, b = old.get(name, NONE), new.get(name, NONE)
            if a >= 0 and b >= 0 and a != b and self.nodes.fields(a) != self.nodes.fields(b):
                return [self._pass(one, f"altered {name}", b)]
        return []

    def _inside(self, row: int) -> list[int]:
        """What a fusion computes; nothing for another instruction."""
        if self._op(row) != "fusion":
            return []
        return [one for one in members(self.trace, row) if self._op(one) not in DULL]

    def _ends(self, names: list[str]) -> list[Link]:
        """Where instructions live in the end: inside of which fusion, and the kernel that ran."""
        last = self.lineage.names(self.lineage.last)
        rows = {last[one] for one in names if one in last}
        fused: list[Link] = []
        kernels: list[Link] = []
        for kernel in running(self.trace, self.lineage.last) if rows else ():
            if kernel in rows:
                fused += [self._node(FUSED, one, self.lineage.last_step) for one in self._inside(kernel)]
            elif own := [one for one in self._within(kernel) if one in rows]:
                fused += [self._node(FUSED, one, self.lineage.last_step, self._name(kernel)) for one in own]
            else:
                continue
            if self._op(kernel) not in IDLE:
                context, id = self.contexts.get(self._name(kernel), NONE), int(self.table.ids[kernel])
                step = self.lineage.last_step
                kernels.append(Link(KERNEL, self._name(kernel), self.module, step, 0, id, context, None, None))
        return fused[:MOST] + kernels[:MOST]

    def _within(self, row: int) -> Iterable[int]:
        """What is in the computations of an instruction that runs as one, however deep."""
        if self._op(row) in CONTROL:
            return
        for body in self.table.sources(row):
            if self.nodes.is_graph(body):
                yield from instructions(self.trace, body)

    def _lines(self, rows: list[int]) -> list[Link]:
        found: dict[str, Link] = {}
        for row in rows:
            operation, calls = parse(self.nodes.metadata(row))
            # the calls around it are told of one instruction; of many they would be most of the answer
            for at, call in enumerate(calls if row == rows[0] else calls[:1]):
                line = f"{call.file}:{call.line}"
                what = operation if not at else f"in {call.function}" if call.function else ""
                source = self.trace.places.line(call.file, call.line)
                found.setdefault(line, Link(LINE, what, "", NONE, 0, NONE, NONE, line, source))
        return list(found.values())[:MOST]

    def _node(self, stage: str, row: int, step: int, inside: str = "") -> Link:
        said = f"{self._op(row)} in {inside}" if inside else self._op(row)
        return Link(stage, self._name(row), said, step, 0, int(self.table.ids[row]), NONE, None, None)

    def _pass(self, one: Pass, said: str, row: int) -> Link:
        return Link(PASS, one.name, said, one.step, 0, int(self.table.ids[row]), NONE, None, None)

    def _name(self, row: int) -> str:
        return self.nodes.name(row) or ""

    def _op(self, row: int) -> str:
        return self.table.texts(self.table.own(row))[0]


def _listed(names: list[str]) -> str:
    left = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {left} more" if left > 0 else "")
