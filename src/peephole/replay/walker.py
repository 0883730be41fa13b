"""What each match of a step did to the graph, one after the other: costs what changed, not the graph.

The boxes are those of `Replay.graph`: a box is the earliest node of the same op that became its node. For every node
that a replay visits, what it becomes is kept up to date (`Stepper`), and by what they become, the nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from peephole.replay.difference import changes
from peephole.replay.identity import INSIDE, Presence, Reached
from peephole.replay.replay import CROWDED, Replay
from peephole.replay.stepper import OrderMatters, Stepper
from peephole.replay.substitute import Endless


@dataclass(frozen=True, slots=True)
class Moved:
    """What a match did: nodes of the pool, good until the next one is asked for. `removed` are of the graph before."""

    match: int
    root: int
    added: list[int]
    changed: list[int]
    removed: list[int]
    error: str | None = None


def moves(replay: Replay) -> Iterator[Moved]:
    """What every match did, in order; ends at an error."""
    done = 0
    if replay.check():
        walker = _Walker(replay)
        try:
            while done < replay.matches:
                moved = walker.advance()
                done += 1
                yield moved
        except (OrderMatters, Endless):
            # left to the long way, from here on
            pass
    for match in range(done + 1, replay.matches + 1):
        old, new = replay.graph(match - 1), replay.graph(match)
        if new.match < match:
            return
        found = changes(replay.pool, old, new)
        yield Moved(match, new.root, found.added, found.changed, found.removed, new.error)


class _Walker:
    """The state after a match of a step for which all replacements may be made at once."""

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        self._done = 0
        self._begin()

    def _begin(self) -> None:
        """Works everything out for the matches that are done."""
        replay, pool = self._replay, self._replay.pool
        self._stepper = stepper = Stepper(pool, replay.first, walk=replay.step.walk)
        for before, after in zip(replay.before[: self._done], replay.after[: self._done], strict=True):
            stepper.replace(before, after)
        self._root = stepper.update(replay.first, move=False)
        self._visited = Reached()
        self._ways: dict[int, list[int]] = {}
        """Where the visit of each goes on to."""
        self._value: dict[int, int] = {}
        self._holders: dict[int, set[int]] = {}
        self._visit([replay.first], [])
        for node in self._visited:
            self._hold(node)
        self._presence = Presence(pool)
        came, _ = self._presence.move(None, self._root)
        self._box = {node: self._identity(node) for node in came}
        self._node = {box: node for node, box in self._box.items()}

    def advance(self) -> Moved:
        """The next match."""
        replay = self._replay
        if replay.pool.crowded(CROWDED):
            replay.trim()
            self._begin()
        before, after = replay.before[self._done], replay.after[self._done]
        stepper = self._stepper
        stepper.replace(before, after)
        root = stepper.update(before, move=False)
        self._done += 1
        more: list[int] = []
        less: list[int] = []
        for node in {before, *stepper.fresh}:
            if node in self._ways and (ways := self._edges(node)) != self._ways[node]:
                more += ways
                less += self._ways[node]
                self._ways[node] = ways
        touched: set[int] = set()
        joined, parted = self._visit(more, less)
        for node in parted:
            value = self._value.pop(node)
            self._holders[value].discard(node)
            touched.update((node, value))
        for node in joined:
            self._hold(node)
            touched.update((node, self._value[node]))
        for node, (value, _) in stepper.fresh.items():
            was = self._value.get(node)
            if was is not None and was != value:
                self._holders[was].discard(node)
                self._hold(node)
                touched.update((was, value))
        came, went = self._presence.move(self._root, root)
        self._root = root
        return self._compare(came, went, touched)

    def _compare(self, came: list[int], went: list[int], touched: set[int]) -> Moved:
        pool, boxes, nodes = self._replay.pool, self._box, self._node
        old_box: dict[int, int] = {}
        old_node: dict[int, int] = {}
        for node in went:
            old_box[node] = boxes.pop(node)
        near = touched.union(*(self._holders.get(node, ()) for node in touched))
        fresh = {node: self._identity(node) for node in (*came, *(n for n in near if n in boxes))}
        moved = {node: box for node, box in fresh.items() if boxes.get(node) != box}
        for node in moved:
            if node in boxes:
                old_box[node] = boxes[node]
        for node, box in old_box.items():
            old_node[box] = node
            nodes.pop(box, None)
        for node, box in moved.items():
            boxes[node] = box
            nodes[box] = node
        added, changed = [], []
        for node, box in moved.items():
            was = old_node.get(box)
            if was is None:
                added.append(node)
            elif was != node and (
                pool.own[was] != pool.own[node]
                or [old_box.get(s, boxes.get(s)) for s in pool.src[was]] != [boxes[s] for s in pool.src[node]]
            ):
                changed.append(node)
        removed = [node for box, node in old_node.items() if box not in nodes]
        return Moved(self._done, self._root, sorted(added), sorted(changed), sorted(removed))

    def _identity(self, node: int) -> int:
        """The box of a node of the graph: the earliest node of the same op that became it."""
        pool = self._replay.pool
        own, radix = pool.own, pool.table.op_radix
        op = own[node] // radix
        best = min((n for n in self._holders.get(node, ()) if own[n] // radix == op), default=-1)
        if self._value.get(node, node) == node and (best < 0 or node < best):
            return node
        if best >= 0:
            return best
        # inside the body of a call, or of what a walk put there; outside it became something else
        outside = self._value[node]
        return node + INSIDE * (outside in self._presence and self._identity(outside) == node)

    def _edges(self, node: int) -> list[int]:
        """Where a visit goes on to: what a node is replaced by; else its sources without the body of a call, and what
        replaces the node that it is built as."""
        replacements, walk = self._stepper.replacements, self._replay.step.walk
        target = replacements.get(node)
        if target is not None:
            return [] if walk else [target]
        pool = self._replay.pool
        sources = pool.src[node][pool.body(node) :]
        ways = list(dict.fromkeys(sources))
        needs = self._stepper.needs(node)
        if not walk and len(needs) > len(sources) and needs[-1] in replacements:
            ways.append(replacements[needs[-1]])
        return ways

    def _visit(self, more: list[int], less: list[int]) -> tuple[list[int], list[int]]:
        """Follows these ways and no longer those; gives the nodes that are visited now, and those no longer."""
        joined = self._visited.enter(more, self._open)
        parted = self._visited.leave(less, self._ways.pop)
        back = set(joined) & set(parted)
        return [n for n in joined if n not in back], [n for n in parted if n not in back]

    def _open(self, node: int) -> list[int]:
        ways = self._ways[node] = self._edges(node)
        return ways

    def _hold(self, node: int) -> None:
        value = self._value[node] = self._stepper.value(node)
        self._holders.setdefault(value, set()).add(node)
