"""Where each line of a kernel's source came from: the op that wrote it, the pass and rule that made that op, and the
tensor operations of the program that it computes.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from peephole.compilers.answers import LineOrigin, LineOrigins, Operation
from peephole.compilers.tinygrad.ancestry import Ancestry
from peephole.compilers.tinygrad.origin import all_origins, node_operations
from peephole.compilers.tinygrad.rendered import Line, rendered
from peephole.compilers.traces import trace_of
from peephole.errors import PeepholeError
from peephole.model.plain_names import plain
from peephole.model.tables import NONE
from peephole.replay.pool import Pool
from peephole.replay.rule import rule_of
from peephole.replay.source_lines import artifact_of
from peephole.replay.trace import RewriteTrace

if TYPE_CHECKING:
    from peephole.store.capture import Capture

_OP_ROW: Final = re.compile(r" *(\d{1,9}) (\w+) *: ")


def line_origins(capture: Capture, context: int, *, operations: bool = False) -> LineOrigins:
    """The origin of every line of a kernel's source. With `operations` all schedules are read, which takes longer."""
    trace = trace_of(capture)
    with trace.lock:
        if context not in trace.context_names:
            raise PeepholeError(f"There is no context {context} in this capture.")
        kept = trace.derived.setdefault("line origins", {})
        if context not in kept:
            kept.clear()
            kept[context] = _Lines(capture, trace, context)
        lines: _Lines = kept[context]
        return lines.answer(capture, operations)


class _Lines:
    """The lines of one kernel; the last that was asked about is kept."""

    def __init__(self, capture: Capture, trace: RewriteTrace, context: int) -> None:
        self._trace = trace
        self._context = context
        self.artifact, source = artifact_of(capture, context, "source")
        self._lines = [Line() for _ in source]
        self.note: str | None = "There is no source of this kernel in the capture." if self.artifact < 0 else None
        self._ancestry: Ancestry | None = None
        if self.artifact >= 0:
            self._ancestry = ancestry = Ancestry(trace, context)
            linear = _linear(ancestry)
            if linear is None:
                self.note = "The capture holds no list of ops for this source, so its lines are not traced."
            else:
                name = plain(trace.context_names[context])
                function = "".join(c if c.isalnum() or c == "_" else f"{ord(c):02X}" for c in name)
                self._lines, self.note = rendered(ancestry.pool, linear, source, function)
                self._gates = _gates(ancestry)
                self._rows = _op_rows(capture, context, ancestry.pool, linear)
                self._alike = Counter(ancestry.pool.op(node) for node in linear)

    def answer(self, capture: Capture, with_operations: bool) -> LineOrigins:
        """All lines, with the operations of the program if they are wanted."""
        known: list[Operation] = []
        by_node: dict[int, list[int]] = {}
        if with_operations and self._ancestry is not None:
            known, by_node = self._operations(capture)
        found = [self._line(number, line, by_node) for number, line in enumerate(self._lines, 1)]
        return LineOrigins(self._context, self.artifact, self.note, known if with_operations else None, found)

    def _line(self, number: int, line: Line, by_node: dict[int, list[int]]) -> LineOrigin:
        if not line.nodes or line.kind == "signature" or self._ancestry is None:
            ops = [self._ancestry.pool.op(node) for node in line.nodes] if self._ancestry is not None else []
            return LineOrigin(number, line.kind, list(dict.fromkeys(ops)), NONE, NONE, "", 0, None, [])
        pool, trace = self._ancestry.pool, self._trace
        node = line.nodes[0]
        birth = self._ancestry.birth(self._gates.get(node, node))
        name = (trace.text("name", trace.step_row(birth.step)) or "") if birth.step >= 0 else ""
        rule = rule_of(trace, birth.step, birth.match) if birth.match else None
        places = sorted({place for one in line.nodes for place in by_node.get(one, ())})
        ops = list(dict.fromkeys(pool.op(one) for one in line.nodes))
        row, alike = self._rows.get(node, NONE), self._alike[pool.op(node)]
        return LineOrigin(
            number, line.kind, ops, pool.ids[node], birth.step, name, birth.match, rule, places, row, alike
        )

    def _operations(self, capture: Capture) -> tuple[list[Operation], dict[int, list[int]]]:
        """The kernel's tensor operations, and which of them each node of its lines belongs to."""
        assert self._ancestry is not None
        ast = self._ancestry.first
        places = [origin for origin in all_origins(capture) if origin.context == self._context]
        if not places or ast is None:
            return [], {}
        by_node = node_operations(capture, places[0], self._ancestry.pool, ast)
        known = places[0].operations
        place = {(made.name, made.line): i for i, made in enumerate(known)}
        found: dict[int, list[int]] = {}
        # a loop is the whole kernel's
        for node in {one for line in self._lines if line.kind == "op" for one in line.nodes if not self._loop(one)}:
            first = self._ancestry.first_form(self._gates.get(node, node))
            for key in by_node.get(first, ()) if first is not None else ():
                if key in place:
                    found.setdefault(node, []).append(place[key])
        return known, found

    def _loop(self, node: int) -> bool:
        return self._ancestry is not None and self._ancestry.pool.op(node) in ("RANGE", "SPECIAL")


def _linear(ancestry: Ancestry) -> tuple[int, ...] | None:
    """The ops in the order in which they were written: the sources of the program's LINEAR."""
    pool, root = ancestry.pool, ancestry.last
    for node in (root, *pool.src[root]) if root is not None else ():
        if pool.op(node) == "LINEAR":
            return pool.src[node]
    return None


def _op_rows(capture: Capture, context: int, pool: Pool, linear: tuple[int, ...]) -> dict[int, int]:
    """The line of the op list for each node that is there: lines begin with the place and the op; an argument may have
    lines of its own."""
    found: dict[int, int] = {}
    last = -1
    for number, text in enumerate(artifact_of(capture, context, "oplist")[1], 1):
        begin = _OP_ROW.match(text)
        place = int(begin[1]) if begin else -1
        if begin and last < place < len(linear) and pool.op(linear[place]) == begin[2]:
            found[linear[place]] = number
            last = place
    return found


def _gates(ancestry: Ancestry) -> dict[int, int]:
    """A store under an `if` is written without its condition: the store of the graph for each of these."""
    pool, root = ancestry.pool, ancestry.last
    sinks = [node for node in pool.src[root] if pool.op(node) == "SINK"] if root is not None else []
    stores = {
        pool.src[node][:2]: node
        for sink in sinks
        for node in pool.reach(sink)
        if pool.op(node) == "STORE" and len(pool.src[node]) == 3
    }
    found: dict[int, int] = {}
    for node in _linear(ancestry) or ():
        if pool.op(node) == "STORE" and pool.src[node] in stores:
            found[node] = stores[pool.src[node]]
    return found
