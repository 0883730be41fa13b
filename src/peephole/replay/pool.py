"""The nodes that one step is replayed with: interned by content, so that equal nodes are one."""

from __future__ import annotations

from collections.abc import Iterable

from peephole.replay.nodes import NodeTable


class Pool:
    """Nodes by a small number of their own: `own`, `src`, `ids` are parallel lists.

    Numbers are given in the order of creation and sources come before users, so a larger number is never a source of
    a smaller one. What they mean is up to the rules that the table is under.
    """

    def __init__(self, table: NodeTable, *, enter_calls: bool = False) -> None:
        self.table = table
        self.rules = table.rules
        self.own: list[int] = []
        self.src: list[tuple[int, ...]] = []
        self.ids: list[int] = []
        """Public id: the capture's for its own nodes, above its largest for the others."""
        self.model: list[int] = []
        """The node that a node was rebuilt from, itself for one of the capture: what it has beyond its own fields."""
        self.dtype: list[int] = []
        """Code of its dtype."""
        self._index: dict[tuple[int, tuple[int, ...]], int] = {}
        self._rows: dict[int, int] = {}
        self._radix = table.op_radix
        self._derives = table.rules.derives
        self._next_id = table.largest + 1
        self._sealed = 0
        self.resets = 0
        """How often nodes were forgotten: numbers from before are void."""
        self.calls: set[int] = set()
        """The nodes that may have a body; empty when the pass enters calls."""
        names = () if enter_calls else table.rules.call_ops
        self._call_codes = frozenset(table.op_names.code(name) for name in names)

    def __len__(self) -> int:
        return len(self.own)

    def load(self, rows: Iterable[int]) -> None:
        """Takes these rows of the capture in, with all that they reach."""
        known, table = self._rows, self.table
        for row in table.reachable(rows, known):
            # a source that comes later is one of a circle, which no compiler writes
            src = tuple([known[s] if s in known else self._absent() for s in table.sources(row)])
            known[row] = self._intern(table.own(row), src, int(table.ids[row]), -1)

    def seal(self) -> None:
        """Takes what is there now as the pool's own nodes."""
        self._sealed = len(self.own)

    def crowded(self, times: int) -> bool:
        """Whether replays have made many times as many nodes as the pool's own."""
        return len(self.own) - self._sealed > times * (self._sealed + 1000)

    def reset(self) -> None:
        """Forgets all but the pool's own nodes; public ids are not given again."""
        for own, src in zip(self.own[self._sealed :], self.src[self._sealed :], strict=True):
            del self._index[own, src]
        for column in (self.own, self.src, self.ids, self.model, self.dtype):
            del column[self._sealed :]
        self.calls = {node for node in self.calls if node < self._sealed}
        self.resets += 1

    def of_row(self, row: int) -> int:
        """The node of a loaded row."""
        return self._absent() if row < 0 else self._rows[row]

    def add(self, op: str, dtype: str, src: tuple[int, ...], arg: str | None = None, tag: str | None = None) -> int:
        """A node from texts."""
        table = self.table
        codes = table.op_names.code(op), table.dtype_names.code(dtype), table.arg_names.code(arg)
        return self._intern(table.pack(*codes, table.tag_names.code(tag)), src, None, -1)

    def rebuild(self, node: int, src: tuple[int, ...]) -> int:
        """That node over other sources. Refused when the compiler would not build it."""
        own = self.own[node]
        if self._derives:
            dtype = self.dtype
            for a, b in zip(self.src[node], src, strict=True):
                if a != b and dtype[a] != dtype[b]:
                    own = self.rules.rebuilt(self, own, src)
                    break
        found = self._index.get((own, src))
        return self._intern(own, src, None, node) if found is None else found

    def op(self, node: int) -> str:
        """Its operation."""
        return self.table.op_names.values[self.own[node] // self._radix] or ""

    def body(self, node: int) -> int:
        """1 when a pass leaves the first source of this node alone, as the body of a call; else 0."""
        if not self.calls or node not in self.calls:
            return 0
        return int(self.rules.leaves_body(self, node))

    def texts(self, node: int) -> tuple[str, str, str | None, str | None]:
        """Op, dtype, arg and tag."""
        return self.table.texts(self.own[node])

    def walk(self, root: int, *, bodies: bool = True) -> list[int]:
        """All nodes of the graph, sources before users, as a walk that enters them in order gives them.

        Without `bodies` what is called is left out, unless the pass enters calls.
        """
        src, left_out = self.src, frozenset[int]() if bodies else self.calls
        done: set[int] = set()
        order: list[int] = []
        stack = [root]
        while stack:
            node = stack.pop()
            if node < 0:
                order.append(~node)
            elif node not in done:
                done.add(node)
                stack.append(~node)
                stack.extend(reversed(src[node][1:] if node in left_out else src[node]))
        return order

    def reach(self, root: int) -> set[int]:
        """All nodes of the graph in no order, which is quicker to say."""
        source = self.src
        seen = {root}
        frontier: set[int] = {root}
        while frontier:
            frontier = set().union(*[source[node] for node in frontier]) - seen
            seen |= frontier
        return seen

    def _intern(self, own: int, src: tuple[int, ...], public: int | None, model: int) -> int:
        key = (own, src)
        found = self._index.get(key)
        if found is not None:
            if public is not None and self.ids[found] > self.table.largest:
                # a replay made it before it was read
                self.ids[found], self.model[found] = public, found
            return found
        node = self._index[key] = len(self.own)
        self.own.append(own)
        self.src.append(src)
        self.dtype.append(self.table.unpack(own)[1])
        if public is None:
            public, self._next_id = self._next_id, self._next_id + 1
        self.ids.append(public)
        if src and own // self._radix in self._call_codes:
            self.calls.add(node)
        self.model.append(node if model < 0 else self.model[model])
        return node

    def _absent(self) -> int:
        return self.add("?", "", (), "not in this capture")
