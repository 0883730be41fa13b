"""Graphs of named instructions as boxes: which instruction of one graph is which of another.

A GRAPH node lists all its instructions in order, dead ones too. The body of a call is a GRAPH that the calling
instruction reads; a root over several GRAPH nodes is a graph that was partitioned. An instruction is known by its name;
where a name occurs more than once (a value that both halves of a partition compute), by its graph, then by its op.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from peephole.model.tables import GRAPH

if TYPE_CHECKING:
    from peephole.replay.nodes import NodeTable
    from peephole.store.capture import Capture
    from peephole.store.tables.frame import Texts

SAME_NAME: Final = 1 << 10
"""Boxes of one name that get a number next to each other."""
NAMELESS: Final = 1 << 50
"""Numbers of boxes without a name begin here."""
ROOT: Final = -1
"""The box that reads the graph's root; it is never shown."""


def by_name(key: int) -> int:
    """A number that all boxes of one name share."""
    return key // SAME_NAME if 0 <= key < NAMELESS else key


class Box(NamedTuple):
    """An instruction in a graph: the row of its node, the boxes that it reads, the boxes of the graphs that list it."""

    row: int
    src: tuple[int, ...]
    graphs: tuple[int, ...]


Boxes = dict[int, Box]


class Instructions:
    """What a capture says about its nodes beyond what a replay by matches needs: name, shape, metadata."""

    def __init__(self, capture: Capture, table: NodeTable) -> None:
        frame = capture.read("nodes", ["name", "shape", "metadata"])
        self.table = table
        self.name_codes, self._names = _listed(frame.texts("name"))
        self._shape_codes, self._shapes = _listed(frame.texts("shape"))
        self._metadata_codes, self._metadata = _listed(frame.texts("metadata"))
        own = np.asarray(table.owns)
        shapes = len(self._shapes)
        numbers = np.unique(own, return_inverse=True)[1]
        self._fields: list[int] = (numbers * shapes + frame.texts("shape").codes + 1).tolist()
        self._ops: list[int] = (own // table.op_radix).tolist()
        is_graph = own // table.op_radix == table.op_names.code(GRAPH)
        self.graph_rows = frozenset(np.flatnonzero(is_graph).tolist())
        self._keep_graphs_apart(is_graph)
        self._nameless: dict[object, int] = {}

    def _keep_graphs_apart(self, is_graph: np.ndarray) -> None:
        """Gives graphs other codes where an instruction has their name too: XLA calls a computation as it likes."""
        codes = np.array(self.name_codes, dtype=np.int64)
        shared = is_graph & (codes >= 0) & np.isin(codes, codes[~is_graph])
        if shared.any():
            codes[shared] += len(self._names) - 1
            self._names = [*self._names[:-1], *self._names]
            self.name_codes = codes.tolist()

    def name(self, row: int) -> str | None:
        """The name of an instruction."""
        return self._names[self.name_codes[row]]

    def rows_named(self, name: str) -> list[int]:
        """The rows of all nodes of that name."""
        codes = {code for code, own in enumerate(self._names) if own == name}
        return [row for row, own in enumerate(self.name_codes) if own in codes] if codes else []

    def first_box(self, row: int) -> int:
        """The number of the box that has the name of this row, where no other has it."""
        return self.name_codes[row] * SAME_NAME

    def shape(self, row: int) -> str | None:
        """Its shape, as it was recorded."""
        return self._shapes[self._shape_codes[row]]

    def metadata(self, row: int) -> str | None:
        """Where it came from."""
        return self._metadata[self._metadata_codes[row]]

    def is_graph(self, row: int) -> bool:
        """Whether its sources are a graph's instructions."""
        return row in self.graph_rows

    def op(self, row: int) -> int:
        """The code of its operation."""
        return self._ops[row]

    def fields(self, row: int) -> int:
        """What an instruction is by itself: two that are equal differ in what they read or in metadata at most."""
        return self._fields[row]

    def origin(self, row: int) -> int:
        """The code of its metadata."""
        return self._metadata_codes[row]

    def nameless(self, content: object) -> int:
        """A number for a node that has no name, the same for the same content."""
        return self._nameless.setdefault(content, NAMELESS + len(self._nameless))


class Keys:
    """The numbers of the boxes of one step. A box keeps its number, and one of a name has it in every step."""

    def __init__(self, nodes: Instructions) -> None:
        self._nodes = nodes
        self.of_row: dict[int, int] = {}
        self._named: dict[int, list[int]] = {}
        self._used: set[int] = set()

    def take(self, row: int, key: int) -> int:
        """Says which box a row is."""
        self.of_row[row] = key
        return key

    def plain(self, row: int, before: Listed | None, claimed: set[int]) -> int | None:
        """The box of a row in the usual case: the only one of its name so far, or the first; None in any other."""
        code = self._nodes.name_codes[row]
        known = self._named.get(code)
        if code < 0 or (known is None) == (before is not None):
            return None
        if known is None:
            key = code * SAME_NAME
            self._named[code] = [key]
        else:
            key = known[0]
            if len(known) > 1 or before is None or key in claimed or key not in before.boxes:
                return None
        claimed.add(key)
        self.of_row[row] = key
        return key

    def named(self, row: int) -> list[int]:
        """The boxes that have the name of this row so far."""
        return self._named.get(self._nodes.name_codes[row], [])

    def fresh(self, row: int, content: object = None) -> int:
        """A box that was not there yet: numbered after its name, or after its content when it has none."""
        code = self._nodes.name_codes[row]
        if code < 0:
            count = 0
            while (key := self._nodes.nameless((content, count))) in self._used:
                count += 1
        else:
            known = self._named.setdefault(code, [])
            key = code * SAME_NAME + len(known)
            if len(known) >= SAME_NAME - 1:
                key = self._nodes.nameless((code, len(known)))
            known.append(key)
        self._used.add(key)
        return self.take(row, key)

    def has(self, key: int) -> bool:
        """Whether a box has that number."""
        return key in self._used


class Listed:
    """A graph of the capture: its boxes, and the instructions of each GRAPH in order."""

    def __init__(self, nodes: Instructions, root: int, keys: Keys, before: Listed | None = None) -> None:
        table = nodes.table
        rows = table.reachable([root])
        self.boxes: Boxes = {}
        self.order: dict[int, list[int]] = {}
        graphs = [row for row in rows if row in nodes.graph_rows]
        claimed = {keys.of_row[row] for row in rows if row in keys.of_row} if before is not None else set()
        for place, row in enumerate(graphs):
            _key(nodes, keys, row, before, claimed, (), (GRAPH, place))
        listed: dict[int, tuple[int, ...]] = {}
        for row in graphs:
            only = (keys.of_row[row],)
            for member in table.sources(row):
                already = listed.get(member)
                listed[member] = only if already is None or already == only else (*already, *only)
        if before is not None:
            _pair(nodes, keys, rows, before, claimed, listed)
        of_row, sources, graph_rows, boxes = keys.of_row, table.sources, nodes.graph_rows, self.boxes
        for row in rows:
            # a source that comes later is one of a circle, which no compiler writes
            own = () if row in graph_rows else tuple([of_row[s] for s in sources(row) if s in of_row])
            graphs_of = listed.get(row, ())
            key = of_row.get(row)
            if key is None:
                key = keys.plain(row, before, claimed)
            if key is None:
                key = _key(nodes, keys, row, before, claimed, graphs_of, (nodes.fields(row), own))
            boxes[key] = Box(row, own, graphs_of)
        for row in graphs:
            self.order[keys.of_row[row]] = [keys.of_row[s] for s in table.sources(row) if s in keys.of_row]
        if root >= 0:
            self.boxes[ROOT] = Box(-1, (keys.of_row[root],), ())
        self.tops = self._tops(nodes, root, keys)
        """The GRAPH boxes that the graph consists of: one, or several where it was partitioned."""

    def _tops(self, nodes: Instructions, root: int, keys: Keys) -> tuple[int, ...]:
        if root < 0:
            return ()
        if not nodes.is_graph(root):
            return ()
        inner = nodes.table.sources(root)
        # what holds the parts of a partitioned graph together has no name
        if len(inner) > 1 and nodes.name(root) is None and all(nodes.is_graph(row) for row in inner):
            return tuple(keys.of_row[row] for row in inner)
        return (keys.of_row[root],)


def _key(
    nodes: Instructions,
    keys: Keys,
    row: int,
    before: Listed | None,
    claimed: set[int],
    graphs: tuple[int, ...],
    content: object,
) -> int:
    """The box of a row: known, or one of the same name in the graph before, or a new one."""
    known = keys.of_row.get(row)
    if known is not None:
        return known
    if before is not None:
        if nodes.name_codes[row] >= 0:
            there = [key for key in keys.named(row) if key in before.boxes and key not in claimed]
        else:
            same = nodes.nameless((content, 0))
            there = [same] if same in before.boxes and same not in claimed else []
        if there:
            best = there[0]
            if len(there) > 1:
                best = max(there, key=lambda key: _fit(nodes, row, graphs, before.boxes[key]))
            claimed.add(best)
            return keys.take(row, best)
    key = keys.fresh(row, content)
    claimed.add(key)
    return key


def _fit(nodes: Instructions, row: int, graphs: tuple[int, ...], box: Box) -> tuple[bool, bool]:
    """How well a row goes with a box of its name: in the same graph, of the same op."""
    return box.graphs == graphs, nodes.op(box.row) == nodes.op(row)


def _pair(
    nodes: Instructions,
    keys: Keys,
    rows: list[int],
    before: Listed,
    claimed: set[int],
    graphs_of: dict[int, tuple[int, ...]],
) -> None:
    """Where several rows have one name, the one that goes best with the box of that name is that box."""
    names = Counter([nodes.name_codes[row] for row in rows])
    if len(names) == len(rows):
        return
    several = [row for row in rows if names[nodes.name_codes[row]] > 1 and nodes.name_codes[row] >= 0]
    ways = []
    for place, row in enumerate(several):
        if row not in keys.of_row:
            graphs = graphs_of.get(row, ())
            for key in keys.named(row):
                if key in before.boxes and key not in claimed:
                    fit = _fit(nodes, row, graphs, before.boxes[key])
                    ways.append((not fit[0], not fit[1], place, key, row))
    for _, _, _, key, row in sorted(ways):
        if row not in keys.of_row and key not in claimed:
            claimed.add(key)
            keys.take(row, key)


def _listed(texts: Texts) -> tuple[list[int], list[str | None]]:
    """The codes of a column of texts, and the texts with null at the end, where code -1 finds it."""
    return texts.codes.tolist(), [*texts.values, None]


def merged(old: Iterable[int], new: Iterable[int]) -> list[int]:
    """One order of all boxes of two lists: the old one, with each new box behind the one that it follows in the new."""
    following: dict[int, list[int]] = {}
    result = list(old)
    known = set(result)
    last = ROOT
    for key in new:
        if key not in known:
            following.setdefault(last, []).append(key)
        else:
            last = key
    return list(_woven(result, following))


def _woven(old: list[int], following: dict[int, list[int]]) -> Iterator[int]:
    yield from following.get(ROOT, ())
    for key in old:
        yield key
        yield from following.get(key, ())
