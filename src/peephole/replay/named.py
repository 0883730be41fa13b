"""A step over named instructions, replayed by their names.

Passes that edit a list of instructions in place carry the graph that came out: their matches, if there are any, do not
add up to it. The graph after match K is the graph that went in with the effects of the matches up to K. What then still
differs from the graph that came out is one more entry, without a rule. A step without matches gets an entry for each
connected group of boxes that differ.

Everything is worked out once, as what each entry does to which box; a graph is then a few boxes away from the last one
that was asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from peephole.model.collector import no_collecting
from peephole.model.tables import GRAPH
from peephole.replay.boxes import ROOT, Box, Boxes, Instructions, Keys, Listed, by_name, merged
from peephole.replay.edits import Editor, Entry

if TYPE_CHECKING:
    from peephole.replay.trace import RewriteTrace

KEPT: Final = 8
"""Steps that a capture keeps at hand."""
Delta = dict[int, tuple[Box | None, Box | None]]
"""Boxes that differ: as they were, and as they are."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Boxes that came, went, and whose own fields or sources differ; of the others, those with another origin."""

    added: list[int]
    removed: list[int]
    altered: list[int]
    metadata: list[int]


@dataclass(frozen=True, slots=True)
class NamedGraph:
    """A graph after an entry: its boxes, sources before users, and what each GRAPH lists."""

    entry: int
    boxes: Boxes
    keys: list[int]
    order: dict[int, list[int]]
    root: int

    def sources(self, key: int) -> list[int]:
        """The boxes that a box reads; those of a GRAPH are its instructions in order."""
        if key in self.order:
            return self.order[key]
        return [s for s in self.boxes[key].src if s in self.boxes]


class NamedStep:
    """The graphs of one step over named instructions: 0 is the one that went in, the last one came out."""

    def __init__(
        self, nodes: Instructions, root: int, after: int, matches: Sequence[tuple[int, int, list[int], list[int]]]
    ) -> None:
        self.nodes = nodes
        keys = Keys(nodes)
        self.before = Listed(nodes, root, keys)
        self.came_out = Listed(nodes, after, keys, self.before) if after >= 0 else None
        self._order: dict[int, list[int]] = {key: list(order) for key, order in self.before.order.items()}
        self.entries: list[Entry] = []
        if matches:
            editor = Editor(nodes, keys, self.before, self.came_out)
            self.entries += [editor.apply(*match) for match in matches]
            self._order.update(editor.orders())
            if self.came_out is not None:
                self.entries += self._rest(editor.boxes)
        elif self.came_out is not None:
            self.entries += self._groups()
        self._boxes, self._at = dict(self.before.boxes), 0
        self._rows = {key: row for row, key in keys.of_row.items()}
        self._keys = keys

    @property
    def is_partition(self) -> bool:
        """Whether another number of graphs came out than went in."""
        return self.came_out is not None and len(self.before.tops) != len(self.came_out.tops) > 0

    def graph(self, entry: int) -> NamedGraph:
        """The graph after that entry."""
        if self.came_out is not None and entry == len(self.entries):
            boxes, order = self.came_out.boxes, self.came_out.order
        else:
            boxes, order = self._move(entry), {}
            for key, listed in self._order.items():
                if key in boxes:
                    order[key] = [one for one in listed if one in boxes and key in boxes[one].graphs]
        root = boxes[ROOT].src[0] if ROOT in boxes else -1
        return NamedGraph(entry, boxes, _walk(boxes, order, root), order, root)

    def difference(self, entry: int) -> Difference:
        """What an entry did to the boxes, as they are marked: origins only where nothing else differs."""
        found = self.compare(self.entries[entry - 1].delta)
        if found.added or found.removed or found.altered:
            return found
        return Difference([], [], list(found.metadata), found.metadata)

    def overall(self) -> Difference:
        """What differs between the graph that went in and the one that came out."""
        if self.came_out is None:
            return Difference([], [], [], [])
        return self.compare(self.delta(self.before.boxes, self.came_out.boxes))

    def life(self, key: int, entry: int) -> tuple[int, int]:
        """The entry that made a box which is there after that entry, or goes with it, and the one that removed it.

        0 for a box that went in, -1 for neither.
        """
        created = 0 if key in self.before.boxes else -1
        for number, one in enumerate(self.entries, 1):
            old, new = one.delta.get(key, (None, None))
            if old is None and new is not None:
                if number > entry:
                    break
                created = number
            elif old is not None and new is None and number >= entry:
                return created, number
        return created, -1

    def place_of(self, row: int) -> tuple[int, int]:
        """The box of a row, and an entry after which it is there: 0 when it went in; (-1, 0) when it has none."""
        key = self._keys.of_row.get(row, -1)
        there = key in self.before.boxes and self.before.boxes[key].row == row
        return key, 0 if there or key < 0 else len(self.entries)

    def touched_by(self, key: int) -> int:
        """The first entry that brings, alters or takes a box; 0 for none."""
        return next((number for number, one in enumerate(self.entries, 1) if key in one.delta), 0)

    def name_of(self, key: int) -> str:
        """What a box is called in a line of text: its name, else its op."""
        row = self._rows.get(key, -1)
        if row < 0:
            return "?"
        return self.nodes.name(row) or self.nodes.table.texts(self.nodes.table.own(row))[0]

    def _move(self, entry: int) -> Boxes:
        """The boxes after that entry; a copy, since graphs are kept."""
        boxes = self._boxes
        while self._at != entry:
            forward = self._at < entry
            for key, change in self.entries[self._at if forward else self._at - 1].delta.items():
                box = change[forward]
                if box is None:
                    boxes.pop(key, None)
                else:
                    boxes[key] = box
            self._at += 1 if forward else -1
        return dict(boxes)

    def delta(self, old: Boxes, new: Boxes) -> Delta:
        """Every box that is not the same in both; another row of the same contents is."""
        fields, origin = self.nodes.fields, self.nodes.origin
        delta: Delta = {}
        for key, box in old.items():
            other = new.get(key)
            if other is None:
                delta[key] = (box, None)
            elif box[1:] != other[1:] or (
                box.row != other.row and (fields(box.row) != fields(other.row) or origin(box.row) != origin(other.row))
            ):
                delta[key] = (box, other)
        for key, box in new.items():
            if key not in old:
                delta[key] = (None, box)
        return delta

    def compare(self, delta: Delta) -> Difference:
        """What such a difference is, box by box."""
        fields, origin = self.nodes.fields, self.nodes.origin
        found = Difference([], [], [], [])
        for key, (old, new) in delta.items():
            if key == ROOT:
                continue
            if old is None:
                found.added.append(key)
            elif new is None:
                found.removed.append(key)
            elif fields(old.row) != fields(new.row) or (
                old.src != new.src and [*map(by_name, old.src)] != [*map(by_name, new.src)]
            ):
                found.altered.append(key)
            elif origin(old.row) != origin(new.row):
                found.metadata.append(key)
        return found

    def _rest(self, reached: Boxes) -> list[Entry]:
        """What the matches do not explain: one entry, or none."""
        assert self.came_out is not None
        target = self.came_out
        delta = self.delta(reached, target.boxes)
        found = self.compare(delta)
        for graph, order in target.order.items():
            self._order[graph] = merged(self._order.get(graph, ()), order)
        if found.added or found.removed or found.altered:
            return [Entry("partition" if self.is_partition else "rest", delta, *self._anchors(found, target))]
        if found.metadata:
            return [Entry("metadata", delta)]
        moved = any(old is not None and new is not None and old.graphs != new.graphs for old, new in delta.values())
        if moved or ROOT in delta or self._reordered(reached):
            return [Entry("order", delta)]
        return []

    def _groups(self) -> list[Entry]:
        assert self.came_out is not None
        target = self.came_out
        delta = self.delta(self.before.boxes, target.boxes)
        found = self.compare(delta)
        if self.is_partition and delta:
            return [Entry("partition", delta, *self._anchors(found, target))]
        for graph, order in target.order.items():
            self._order[graph] = merged(self._order.get(graph, ()), order)
        entries = []
        marked = {*found.added, *found.removed, *found.altered}
        for group in self._connected(marked, target):
            own = Difference(*([key for key in part if key in group] for part in _parts(found)))
            entries.append(Entry("group", {key: delta[key] for key in group}, *self._anchors(own, target)))
        if found.metadata:
            entries.append(Entry("metadata", {key: delta[key] for key in found.metadata}))
        done = {key for entry in entries for key in entry.delta}
        left = {key: change for key, change in delta.items() if key not in done}
        # what is left differs in the graph that it is in
        moved = any(old is not None and new is not None and old.graphs != new.graphs for old, new in left.values())
        reached = dict(self.before.boxes)
        for key, (_, new) in delta.items():
            if new is None:
                reached.pop(key, None)
            else:
                reached[key] = new
        if moved or (ROOT in left and not entries) or self._reordered(reached):
            entries.append(Entry("order", left))
        elif left and entries:
            entries[-1].delta.update(left)
        return entries

    def _reordered(self, reached: Boxes) -> bool:
        """Whether these boxes stand in another order than those that came out."""
        assert self.came_out is not None
        for graph, order in self.came_out.order.items():
            listed = [key for key in self._order.get(graph, ()) if key in reached and graph in reached[key].graphs]
            if listed != list(dict.fromkeys(order)):
                return True
        return False

    def _connected(self, marked: set[int], target: Listed) -> list[set[int]]:
        """These boxes by which of them touch, in either graph; in the order in which they are listed."""
        parent = {key: key for key in marked}

        def find(key: int) -> int:
            while parent[key] != key:
                parent[key] = key = parent[parent[key]]
            return key

        for listed in (self.before, target):
            for key in marked:
                box = listed.boxes.get(key)
                if box is None:
                    continue
                for other in (*box.src, *listed.order.get(key, ())):
                    if other in parent:
                        parent[find(other)] = find(key)
        place: dict[int, int] = {}
        for order in self._order.values():
            for key in order:
                if key in parent:
                    place.setdefault(find(key), len(place))
        groups: dict[int, set[int]] = {}
        for key in marked:
            groups.setdefault(find(key), set()).add(key)
        return [groups[key] for key in sorted(groups, key=lambda key: place.get(key, len(place)))]

    def _anchors(self, found: Difference, target: Listed) -> tuple[int, int]:
        """Rows of the boxes that tell an entry from others: what went or was altered, and what came of it."""
        old = next((self.before.boxes[key].row for key in found.removed if key in self.before.boxes), -1)
        new = next((target.boxes[key].row for key in found.added if key in target.boxes), -1)
        if found.altered:
            key = found.altered[-1]
            old = self.before.boxes[key].row if old < 0 and key in self.before.boxes else old
            new = target.boxes[key].row if new < 0 and key in target.boxes else new
        return old, new


def _parts(found: Difference) -> Iterator[list[int]]:
    yield from (found.added, found.removed, found.altered, found.metadata)


def _walk(boxes: Boxes, order: dict[int, list[int]], root: int) -> list[int]:
    """All boxes that the root reaches, sources before users."""
    done: set[int] = set()
    found: list[int] = []
    stack = [root] if root in boxes else []
    while stack:
        key = stack.pop()
        if key < 0:
            found.append(~key)
        elif key not in done:
            done.add(key)
            stack.append(~key)
            inside = order.get(key, boxes[key].src)
            stack.extend(s for s in reversed(inside) if s not in done and s in boxes)
    return found


def named_step(trace: RewriteTrace, step: int) -> NamedStep | None:
    """The step by its instructions' names; None for one that is replayed from its matches alone. Hold `trace.lock`."""
    kept: dict[int, NamedStep | None] = trace.derived.setdefault("named", {})
    if step in kept:
        kept[step] = found = kept.pop(step)
        return found
    found = own_named_step(trace, step)
    while len(kept) >= KEPT * 64 or sum(one is not None for one in kept.values()) >= KEPT:
        kept.pop(next(iter(kept)))
    kept[step] = found
    return found


def own_named_step(trace: RewriteTrace, step: int) -> NamedStep | None:
    """The same for the caller alone."""
    row = trace.step_row(step)
    rows = trace.match_rows(step)
    table = trace.table
    root, after = table.rows([trace.number("root", row), trace.number("after", row)]).tolist()
    removed, added = ([list[int]()] * (rows.stop - rows.start) for _ in range(2))
    if trace.match_lists is not None:
        removed, added = ([lists[i] for i in range(rows.start, rows.stop)] for lists in trace.match_lists)
    # a step that was cut off has no graph after it, and is one over instructions all the same
    if after < 0 and not any(removed) and not any(added) and not _lists_instructions(trace, root):
        return None
    before, became = (table.rows(trace.match_numbers(name, rows)).tolist() for name in ("before", "after"))
    took, put = ([table.rows(ids).tolist() for ids in lists] for lists in (removed, added))
    nodes = trace.instructions()
    with no_collecting():
        return NamedStep(nodes, root, after, list(zip(before, became, took, put, strict=True)))


def _lists_instructions(trace: RewriteTrace, root: int) -> bool:
    """Whether a graph is a list of named instructions."""
    table = trace.table
    if root < 0 or table.texts(table.own(root))[0] != GRAPH:
        return False
    return any(trace.instructions().name(row) is not None for row in (root, *table.sources(root)[:1]))
