"""The states of a module as graphs of shared nodes: what stays the same from dump to dump is one node.

A computation is a GRAPH that lists its instructions; an instruction reads its operands and the GRAPHs that it calls.
"""

from __future__ import annotations

from collections.abc import Callable

from peephole.model.tables import GRAPH, NONE
from peephole.sources.node_rows import NodeRows
from peephole.sources.xla.instructions import BODY, Computation, Dump, Instruction
from peephole.sources.xla.origins import OriginTexts


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
