"""What instructions of a module's graph compute, as numbers: one number for one value, wherever it is computed.

A pass that moves an instruction (into a fusion, out of a call) gives it another name and another place; the value that
it computes stays. Values are followed through calls and fusions down to the module's parameters.
"""

from __future__ import annotations

import re
from typing import Final

from peephole.model.natural import whole_number
from peephole.model.tables import NONE
from peephole.replay.trace import RewriteTrace

_OUTWARD: Final = re.compile(r"(?:^|, )[a-z_]+=(?:%[^\s,{}]+|\{%[^{}]*\})|(?:^|, )backend_config=.*", re.DOTALL)
"""Names of the computations that are called, and how a backend is to do it: not what is computed."""
_LAYOUT: Final = re.compile(r"\{[^{}]*\}")
_THROUGH: Final = frozenset(("fusion", "call"))
"""They compute what the root of their computation does."""
_DEEPEST: Final = 64
_WORK: Final = 16
"""How many times its own size a graph is looked through at most: computations may call one another many times over."""

Texts = tuple[str, str, str, str]


class Values:
    """Numbers of values, the same in all graphs of a module."""

    def __init__(self, trace: RewriteTrace) -> None:
        self._trace = trace
        self._numbers: dict[object, int] = {}
        self._parts: dict[int, tuple[int, ...]] = {}
        """Elements of those that are tuples."""
        self._texts: dict[int, Texts] = {}

    def of(self, root: int, size: int) -> dict[int, set[int]]:
        """The values of a graph's instructions by row; several where a computation is called several times."""
        one = _Graph(self, self._trace, size * _WORK)
        one.computation(root, None, 0)
        return one.found

    def number(self, key: object) -> int:
        """The number of what is described like that."""
        return self._numbers.setdefault(key, len(self._numbers))

    def together(self, elements: tuple[int, ...]) -> int:
        """The number of a tuple."""
        number = self.number(("tuple", elements))
        self._parts[number] = elements
        return number

    def element(self, whole: int, index: int) -> int:
        """The number of an element of a tuple."""
        parts = self._parts.get(whole, ())
        return parts[index] if 0 <= index < len(parts) else self.number(("element", whole, index))

    def texts(self, row: int) -> Texts:
        """What an instruction is by itself: opcode, argument, type without layout, tag."""
        found = self._texts.get(row)
        if found is None:
            table = self._trace.table
            op, dtype, arg, tag = table.texts(table.own(row))
            shape = _LAYOUT.sub("", self._trace.instructions().shape(row) or "")
            found = self._texts[row] = op, _OUTWARD.sub("", arg or ""), f"{dtype or ''}{shape}", tag or ""
        return found


class _Graph:
    """One graph on its way."""

    def __init__(self, values: Values, trace: RewriteTrace, work: int) -> None:
        self._values, self._table, self._nodes = values, trace.table, trace.instructions()
        self._done: dict[tuple[int, tuple[int, ...] | None], int] = {}
        self._left = work
        self.found: dict[int, set[int]] = {}

    def computation(self, graph: int, arguments: tuple[int, ...] | None, depth: int) -> int:
        """The value of a computation's root with these arguments; with any when they are not known."""
        known = self._done.get((graph, arguments))
        if known is not None:
            return known
        if depth > _DEEPEST or self._left < 0:
            return self._values.number(("unread", graph, arguments))
        listed = self._table.sources(graph)
        self._left -= len(listed)
        own: dict[int, int] = {}
        last = NONE
        for row in listed:
            if self._nodes.is_graph(row):
                self.computation(row, None, depth + 1)  # one that nothing calls
                continue
            own[row] = self._instruction(row, own, arguments, depth)
            self.found.setdefault(row, set()).add(own[row])
            if last < 0 or self._values.texts(row)[3] or not self._values.texts(last)[3]:
                last = row
        result = own[last] if last >= 0 else self._values.number(("nothing",))
        self._done[graph, arguments] = result
        return result

    def _instruction(self, row: int, own: dict[int, int], arguments: tuple[int, ...] | None, depth: int) -> int:
        values, sources = self._values, self._table.sources(row)
        op, arg, kind, _ = values.texts(row)
        operands = tuple([own.get(source, NONE) for source in sources if not self._nodes.is_graph(source)])
        bodies = [source for source in sources if self._nodes.is_graph(source)]
        if op == "parameter" and arguments is not None and 0 <= whole_number(arg) < len(arguments):
            return arguments[whole_number(arg)]
        if op == "tuple":
            return values.together(operands)
        if op == "get-tuple-element" and operands:
            return values.element(operands[0], whole_number(arg.removeprefix("index=")))
        if op in _THROUGH and len(bodies) == 1:
            return self.computation(bodies[0], operands, depth + 1)
        inner: list[int] = []
        for place, body in enumerate(bodies):
            # what a loop or a branch hands in is known by the instruction that does; what others hand in is not
            handed = (values.number((op, operands, place)),) if op in ("while", "conditional") else None
            inner.append(self.computation(body, handed, depth + 1))
        return values.number((op, arg, kind, operands, *inner))
