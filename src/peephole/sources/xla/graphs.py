"""The states of a module as graphs of shared nodes: what stays the same from dump to dump is one node.

A computation is a GRAPH that lists its instructions; an instruction reads its operands and the GRAPHs that it calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from peephole.model.sink import Sink, Strings
from peephole.model.tables import GRAPH, NONE
from peephole.sources.xla.instructions import BODY, Computation, Dump, Instruction
from peephole.sources.xla.origins import OriginTexts

BATCH: Final = 1 << 16
"""Nodes that are handed over at once."""
_TEXTS: Final = ("op", "dtype", "arg", "tag", "shape", "metadata", "name")


class NodeRows:
    """Nodes on their way to the sink; ids are dealt out here, over all modules."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._next = 0
        self._values: list[list[str]] = [[] for _ in _TEXTS]
        self._codes: list[dict[str | None, int]] = [{None: -1} for _ in _TEXTS]
        self._fields: list[tuple[int, ...]] = []
        self._own: list[int] = []
        self._src: list[int] = []
        self._ends: list[int] = [0]

    def fields(self, *texts: str | None) -> int:
        """A number for the fields of a node, in the order of the table."""
        numbers = []
        for text, codes, values in zip(texts, self._codes, self._values, strict=True):
            code = codes.get(text)
            if code is None:
                assert text is not None
                code = codes[text] = len(values)
                values.append(text)
            numbers.append(code)
        self._fields.append(tuple(numbers))
        return len(self._fields) - 1

    def add(self, own: int, src: tuple[int, ...]) -> int:
        """A new node; its id."""
        self._own.append(own)
        self._src += src
        self._ends.append(len(self._src))
        self._next += 1
        if len(self._own) >= BATCH:
            self.flush()
        return self._next - 1

    def flush(self) -> None:
        """Hands over what is there."""
        if not self._own:
            return
        codes = np.asarray(self._fields, np.int32).reshape(-1, len(_TEXTS))[np.asarray(self._own)]
        columns: dict[str, Any] = {
            name: Strings(np.ascontiguousarray(codes[:, place]), list(self._values[place]))
            for place, name in enumerate(_TEXTS)
        }
        columns["id"] = np.arange(self._next - len(self._own), self._next)
        columns["src"] = (np.asarray(self._ends, np.int64), np.asarray(self._src, np.int64))
        self._sink.append("nodes", columns)
        self._own, self._src, self._ends = [], [], [0]

    def forget(self) -> None:
        """Lets go of the fields of a module that is done."""
        self.flush()
        self._fields = []
        self._values = [[] for _ in _TEXTS]
        self._codes = [{None: -1} for _ in _TEXTS]


class ModuleGraphs:
    """The graphs of one module, dump after dump."""

    def __init__(self, rows: NodeRows, problem: Callable[[str, str], None]) -> None:
        self._rows = rows
        self._problem = problem
        self._origins = OriginTexts()
        self._known: dict[tuple[int, tuple[int, ...]], int] = {}
        self._graphs: dict[str, int] = {}
        self._fields: dict[tuple[str | None, ...], int] = {}
        self._seen: list[Instruction] = []
        self.ids: dict[str, int] = {}
        """Nodes of the last dump by name; those of computations with BODY in front."""
        self.anywhere: dict[str, int] = {}
        """The first node of each name in any dump."""

    def root(self, dump: Dump) -> int:
        """The id of a dump's graph; the same as before when nothing differs. -1 when it has no computation."""
        if self._origins.use(dump.frames):
            for one in self._seen:
                one.own = -1
            self._seen = []
        ids: dict[str, int] = {}
        known, rows = self._known, self._rows
        called: set[str] = set()
        entry: tuple[Computation, list[int]] | None = None
        last = NONE
        for computation in dump.computations:
            members = []
            for one in computation.instructions:
                own = one.own
                if own < 0:
                    own = self._own(one)
                try:
                    src = tuple([ids[name] for name in one.reads])
                except KeyError:
                    src = self._some(one, ids)
                key = (own, src)
                node = known.get(key)
                if node is None:
                    node = known[key] = rows.add(own, src)
                    self.anywhere.setdefault(one.name, node)
                ids[one.name] = node
                members.append(node)
                if one.bodies:
                    called.update(one.bodies)
            if computation.entry:
                entry = computation, members
            else:
                last = ids[BODY + computation.name] = self._graph(computation, tuple(members))
        if entry is not None:
            # what nothing calls is listed with the entry, or it would not be there
            lone = [ids[BODY + one.name] for one in dump.computations if not (one.entry or one.name in called)]
            last = ids[BODY + entry[0].name] = self._graph(entry[0], (*entry[1], *lone))
        self.ids = ids
        return last

    def _graph(self, computation: Computation, members: tuple[int, ...]) -> int:
        own = self._graphs.get(computation.name)
        if own is None:
            own = self._rows.fields(GRAPH, None, None, None, None, None, computation.name)
            self._graphs[computation.name] = own
        key = (own, members)
        node = self._known.get(key)
        if node is None:
            node = self._known[key] = self._rows.add(own, members)
        return node

    def node(self, name: str, op: str) -> int:
        """The node of that name: in the last dump, else in any, else one made for its name."""
        found = self.ids.get(name, self.anywhere.get(name))
        if found is None:
            found = self.anywhere[name] = self._rows.add(self._rows.fields(op, None, None, None, None, None, name), ())
        return found

    def _own(self, one: Instruction) -> int:
        texts = (
            one.op,
            one.dtype or None,
            one.arg or None,
            one.tag,
            one.shape or None,
            self._origins.of(one),
            one.name,
        )
        own = self._fields.get(texts)
        if own is None:
            own = self._fields[texts] = self._rows.fields(*texts)
        one.own = own
        self._seen.append(one)
        return own

    def _some(self, one: Instruction, ids: dict[str, int]) -> tuple[int, ...]:
        missing = [name for name in one.reads if name not in ids]
        self._problem("instructions that read what the dump does not have", f"{one.name} reads {missing[0]}")
        return tuple([ids[name] for name in one.reads if name in ids])
