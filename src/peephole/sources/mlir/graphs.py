"""The states of one operation as graphs of shared nodes: what stays the same from print to print is one node.

What only holds others (modules, functions) is a GRAPH that lists them; any other region is a GRAPH that its operation
reads, and arguments of blocks are nodes in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from peephole.model.tables import GRAPH
from peephole.sources.mlir.naming import Names, Placed, ValueNumbers
from peephole.sources.mlir.operations import kept, shaped
from peephole.sources.mlir.origins import origin_of
from peephole.sources.mlir.parser import Operation, Region
from peephole.sources.node_rows import NodeRows

ARGUMENT: Final = "argument"
"""The op of an argument of a block or function."""
_HOLDERS: Final = ("module", "initializer")
"""How operations are called that hold others without having a symbol."""
Scope = dict[str, tuple[int, int]]
"""Names of values in sight: the number or node of what made it, and which of its results it begins with."""


def holds_others(operation: Operation, top: bool) -> bool:
    """Whether an operation only holds others and nothing in it reads what is outside: a module, a function."""
    told = operation.text
    if not operation.regions or told.results or told.operands:
        return False
    return top or bool(told.symbol) or told.name.endswith(_HOLDERS)


class StateGraphs:
    """The graphs of one operation's states."""

    def __init__(self, rows: NodeRows, numbers: ValueNumbers, problem: Callable[[str, str], None]) -> None:
        self._rows, self._numbers, self._problem = rows, numbers, problem
        self._names = Names()
        self._known: dict[tuple[int, tuple[int, ...]], int] = {}
        self._fields: dict[tuple[str | None, ...], int] = {}
        self._locations: dict[str, str] = {}
        self._unseen = ""

    def root(self, operations: list[Operation], locations: dict[str, str]) -> int:
        """The id of a state's graph; the same as before when nothing differs."""
        self._locations, self._unseen = locations, ""
        state: list[Placed] = []
        tops = [self._place(one, None, {}, 0, state) for one in operations]
        self._names.give(state)
        nodes: list[int] = []
        for top in tops:
            nodes.append(self._node(top, {}))
        if self._unseen:
            self._problem("values that are read before they are printed, shown without that", self._unseen)
        if len(tops) == 1 and holds_others(operations[0], True) and len(operations[0].regions) == 1:
            return nodes[0]
        return self._add((GRAPH, None, None, None, None, None, "top"), tuple(nodes))

    def _place(self, one: Operation, parent: Placed | None, scope: Scope, depth: int, state: list[Placed]) -> Placed:
        """Numbers an operation and all in it, outer ones first in `state`."""
        told = one.text
        loc = "" if not told.loc else origin_of(told.loc, self._locations) or ""
        placed = Placed(one, parent, -1, loc)
        state.append(placed)
        reads = tuple([(*_made(scope, name), at) for name, at in told.operands])
        inside: list[tuple[int, ...]] = []
        for place, region in enumerate(one.regions):
            own: Scope = {} if holds_others(one, parent is None) else dict(scope)
            for at, (name, kind) in enumerate(_arguments(one, place, region, scope)):
                own[name] = self._numbers.of((ARGUMENT, depth, place, at, kind)), 0
            members = []
            for inner in region.operations:
                found = self._place(inner, placed, own, depth + 1, state)
                members.append(found)
                _define(own, inner, found.number)
            placed.regions.append(members)
            inside.append(tuple(member.number for member in members))
        placed.number = self._numbers.of((told.name, told.says, reads, tuple(inside)))
        return placed

    def _node(self, placed: Placed, scope: Scope) -> int:
        """The node of an operation, after those of what is in it."""
        one, told, name = placed.operation, placed.operation.text, placed.name
        src: list[int] = []
        says = told.says
        for operand, _ in told.operands:
            if operand in scope:
                src.append(scope[operand][0])
            elif not one.regions and not told.symbol:
                self._unseen = f"%{operand} in {told.name}"
        bodies: list[int] = []
        apart = holds_others(one, placed.parent is None)
        for place, region in enumerate(one.regions):
            own: Scope = {} if apart else dict(scope)
            members: list[int] = []
            for at, (argument, kind) in enumerate(_arguments(one, place, region, scope)):
                dtype, shape = shaped(kind)
                number = f"{name}.arg{at}" if not place else f"{name}.{place}.arg{at}"
                node = self._add((ARGUMENT, dtype or None, None, None, shape or None, None, number), ())
                own[argument] = node, 0
                members.append(node)
            for inner in placed.regions[place]:
                node = self._node(inner, own)
                members.append(node)
                _define(own, inner.operation, node)
            if apart and len(one.regions) == 1:
                head = kept(f"{told.name} {says}")
                return self._add((GRAPH, None, head, None, None, placed.loc or None, name), tuple(members))
            body = f"{name}.body" if len(one.regions) == 1 else f"{name}.body{place}"
            bodies.append(self._add((GRAPH, None, None, None, None, None, body), tuple(members)))
        texts = (told.name, told.dtype or None, kept(says) or None, None, told.shape or None, placed.loc or None, name)
        return self._add(texts, (*src, *bodies))

    def _add(self, texts: tuple[str | None, ...], src: tuple[int, ...]) -> int:
        own = self._fields.get(texts)
        if own is None:
            own = self._fields[texts] = self._rows.fields(*texts)
        node = self._known.get((own, src))
        if node is None:
            node = self._known[own, src] = self._rows.add(own, src)
        return node


def _made(scope: Scope, name: str) -> tuple[int | str, int]:
    """What made a value; its name where that is not known."""
    return scope.get(name, (name, 0))


def _arguments(one: Operation, place: int, region: Region, scope: Scope) -> list[tuple[str, str]]:
    """Names and types of a region's arguments: those of its blocks, and what the operation's head defines."""
    if place and region.arguments:
        return region.arguments
    told = one.text
    # a name in the head that nothing has defined yet is one that the head defines
    unknown = [name for name in told.mentioned if name not in scope] if one.regions else []
    heads = [(name, told.kinds.get(name, "")) for name in dict.fromkeys((*told.defined, *unknown))]
    return [*heads, *region.arguments]


def _define(scope: Scope, one: Operation, made: int) -> None:
    at = 0
    for name, count in one.text.results:
        scope[name] = made, at
        at += count
