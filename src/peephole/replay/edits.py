"""Matches applied to named instructions, one after the other: what each of them did to which box."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from peephole.replay.boxes import ROOT, Box, Boxes, Instructions, Keys, Listed

Kind = Literal["rule", "group", "rest", "partition", "metadata", "order"]
"""rule: a match. group: boxes that differ and touch each other. rest: what the matches do not explain. partition: one
graph became several. metadata, order: nothing but the origins, or the order, of instructions differs."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a match did, or what a pass did without telling: each box that differs, before and after."""

    kind: Kind
    delta: dict[int, tuple[Box | None, Box | None]]
    before: int = -1
    after: int = -1
    """Rows of the nodes that it hangs on."""


class _Links:
    """The boxes that a GRAPH ever listed, in order; what was removed keeps its place."""

    def __init__(self, keys: Iterable[int] = ()) -> None:
        order = list(dict.fromkeys(keys))
        self._before = dict(zip([*order, ROOT], [ROOT, *order], strict=True))
        self._behind = dict(zip([ROOT, *order], [*order, ROOT], strict=True))

    def __contains__(self, key: int) -> bool:
        return key in self._before

    def __iter__(self) -> Iterator[int]:
        key = self._behind[ROOT]
        while key != ROOT:
            yield key
            key = self._behind[key]

    def insert(self, key: int, follower: int) -> None:
        """Puts a box in front of another; in front of ROOT is the end."""
        if key not in self._before:
            before = self._before[follower]
            self._before[key], self._behind[key] = before, follower
            self._behind[before] = self._before[follower] = key


class Editor:
    """Applies matches to boxes by name, and notes what each of them did."""

    def __init__(self, nodes: Instructions, keys: Keys, before: Listed, came_out: Listed | None) -> None:
        self._nodes = nodes
        self._keys = keys
        self._came_out = came_out
        self.boxes: Boxes = dict(before.boxes)
        self._users: dict[int, set[int]] = {}
        for key, box in self.boxes.items():
            for s in box.src:
                self._users.setdefault(s, set()).add(key)
        self._links = {graph: _Links(order) for graph, order in before.order.items()}
        self._forward: dict[int, int] = {}
        """What users of a box that went read instead."""
        self._gone: set[int] = set()
        self._delta: dict[int, tuple[Box | None, Box | None]] = {}

    def orders(self) -> Iterator[tuple[int, list[int]]]:
        """For each GRAPH all boxes that it ever listed, in order."""
        for graph, links in self._links.items():
            yield graph, list(links)

    def apply(self, before: int, after: int, removed: Iterable[int], added: Iterable[int]) -> Entry:
        """What a match does. Rows; `after` is -1 when the rule raised, the lists are empty when the two say it all."""
        self._delta = {}
        took, put = [row for row in removed if row >= 0], [row for row in added if row >= 0]
        old = self._present(before) if before >= 0 else ROOT
        graphs = self._graphs(old, took)
        fresh: set[int] = set()
        for row in put:
            self._insert(row, old, graphs, fresh)
        new = ROOT
        if after >= 0:
            new = self._key(after, graphs)
            other = new == old and before != after and new not in fresh
            if new not in self.boxes or (other and all(self._key(row, ()) != old for row in took)):
                self._insert(after, old, graphs, fresh)
        if ROOT not in (new, old) and new != old:
            self._rewire(old, new, fresh)
            if not took and not put:
                self._remove(old)
        for row in took:
            key = self._key(row, graphs)
            if key not in fresh:
                self._remove(key)
        self._sweep()
        return Entry("rule", {key: c for key, c in self._delta.items() if c[0] != c[1]}, before, after)

    def _present(self, row: int) -> int:
        """The box of a row, or what users of it read instead by now."""
        key = self._key(row, ())
        return self._forwarded(key)

    def _forwarded(self, key: int) -> int:
        seen = set()
        while key not in self.boxes and key in self._forward and key not in seen:
            seen.add(key)
            key = self._forward[key]
        return key

    def _graphs(self, old: int, took: list[int]) -> tuple[int, ...]:
        """The graphs that new instructions go into: those of what they replace, else the only one there is."""
        for key in (old, *(self._key(row, ()) for row in took)):
            box = self.boxes.get(key)
            if box is not None and key != ROOT:
                return box.graphs
        tops = [key for key in self.boxes[ROOT].src if key in self._links] if ROOT in self.boxes else []
        return tuple(tops[:1])

    def _key(self, row: int, graphs: tuple[int, ...]) -> int:
        """The box of a match's node: by its name, one that is there before one that is not."""
        known = self._keys.of_row.get(row)
        if known is not None:
            return known
        named = self._keys.named(row) if self._nodes.name_codes[row] >= 0 else []
        there = [key for key in named if key in self.boxes]
        for key in there:
            if not graphs or self.boxes[key].graphs == graphs:
                return self._keys.take(row, key)
        if there or named:
            return self._keys.take(row, (there or named)[0])
        if self._nodes.name_codes[row] >= 0:
            return self._keys.fresh(row)
        sources = self._nodes.table.sources(row)
        content: object = (self._nodes.fields(row), tuple(self._key(s, graphs) for s in sources if s >= 0))
        same = self._nodes.nameless((content, 0))
        return self._keys.take(row, same) if self._keys.has(same) else self._keys.fresh(row, content)

    def _insert(self, row: int, anchor: int, graphs: tuple[int, ...], fresh: set[int]) -> None:
        """Puts an instruction in, or alters the one of its name; what it reads and nobody has seen comes with it."""
        stack = [row]
        while stack:
            row = stack[-1]
            key = self._key(row, graphs)
            if key in fresh:
                stack.pop()
                continue
            sources = [s for s in self._nodes.table.sources(row) if s >= 0]
            waiting = [s for s in sources if self._unseen(s, graphs) and s not in stack]
            if waiting:
                stack += reversed(waiting)
                continue
            stack.pop()
            fresh.add(key)
            own = [self._forwarded(self._key(s, graphs)) for s in sources]
            known = self.boxes.get(key)
            listed = self._came_out.boxes[key].graphs if self._came_out and key in self._came_out.boxes else graphs
            if known is None and any(graph not in self.boxes for graph in listed):
                listed = graphs
            if self._nodes.is_graph(row):
                self._put(key, Box(row, (), known.graphs if known else ()))
                links = self._links.setdefault(key, _Links())
                for s in own:
                    links.insert(s, ROOT)
                    if s in self.boxes and key not in self.boxes[s].graphs:
                        box = self.boxes[s]
                        inside = tuple(g for g in box.graphs if g not in graphs) if s in fresh else box.graphs
                        self._put(s, Box(box.row, box.src, (*inside, key)))
                continue
            self._put(key, Box(row, tuple(own), known.graphs if known else listed))
            if known is None:
                for graph in listed:
                    links = self._links.setdefault(graph, _Links())
                    links.insert(key, anchor if anchor in links else ROOT)

    def _unseen(self, row: int, graphs: tuple[int, ...]) -> bool:
        key = self._key(row, graphs)
        return key not in self.boxes and key not in self._gone and key not in self._forward

    def _rewire(self, old: int, new: int, but: set[int]) -> None:
        """Whoever reads the old box reads the new one."""
        for user in list(self._users.get(old, ())):
            if user not in but and user != new:
                box = self.boxes[user]
                self._put(user, Box(box.row, tuple(new if s == old else s for s in box.src), box.graphs))
        self._forward[old] = new
        self._forward.pop(new, None)

    def _remove(self, key: int) -> None:
        stack = [key]
        while stack:
            key = stack.pop()
            if key in self.boxes and key != ROOT:
                inside = [k for k in self._links.get(key, ()) if k in self.boxes and self.boxes[k].graphs == (key,)]
                self._put(key, None)
                self._gone.add(key)
                stack += inside

    def _sweep(self) -> None:
        """Removes what no graph lists and nobody reads any more."""
        waiting = [s for old, _ in self._delta.values() if old is not None for s in old.src]
        while waiting:
            key = waiting.pop()
            box = self.boxes.get(key)
            if box is not None and not box.graphs and not self._users.get(key):
                inside = [s for k in self._links.get(key, ()) if (b := self.boxes.get(k)) is not None for s in b.src]
                waiting += [*box.src, *inside]
                self._remove(key)

    def _put(self, key: int, box: Box | None) -> None:
        old = self.boxes.get(key)
        first = self._delta[key][0] if key in self._delta else old
        self._delta[key] = (first, box)
        for s in old.src if old is not None else ():
            self._users.get(s, set()).discard(key)
        if box is None:
            self.boxes.pop(key, None)
            return
        self.boxes[key] = box
        self._gone.discard(key)
        for s in box.src:
            self._users.setdefault(s, set()).add(key)
