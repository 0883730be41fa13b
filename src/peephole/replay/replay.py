"""One step, replayed: the root of its graph after any match, and which box each node is.

Each match adds its replacement to those before it; all of them are applied to the graph that went in (bottom-up) or to
the graph after the previous match (top-down), as the stock viewer does it.

A top-down pass that matched every node after its sources were done gives the same graph
when all replacements are applied at once to the graph that went in: nothing below a matched node changes any more. So
there any match is one substitution away. `is_regular` checks that; the others are stepped through.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from peephole.errors import PeepholeError
from peephole.replay.identity import Identities, identities
from peephole.replay.nodes import NodeTable
from peephole.replay.pool import Pool
from peephole.replay.rules import Refused
from peephole.replay.stepper import OrderMatters, Stepper
from peephole.replay.substitute import Endless, Outcome, substitute

KEPT: Final = 8
"""Graphs that a replay keeps at hand."""
CROWDED: Final = 12
"""A pool is emptied of what replays made when it has grown to this many times its own nodes."""


@dataclass(frozen=True, slots=True)
class Pass:
    """What a replay needs of a step: rows of the root and of each match's nodes, and its direction."""

    root: int
    before: Sequence[int]
    after: Sequence[int]
    bottom_up: bool = False
    walk: bool = False
    enter_calls: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph after some match: its root and nodes in the pool (sources first), and which box each node is."""

    match: int
    root: int
    nodes: list[int]
    identity: dict[int, int]
    error: str | None = None


class Stopped(PeepholeError):
    """Whoever asked does not wait any more. What was replayed so far is kept."""


class Replay:
    """The graphs of one step. Node numbers are the pool's and hold until `trim`."""

    def __init__(self, table: NodeTable, step: Pass) -> None:
        self.pool = pool = Pool(table, enter_calls=step.enter_calls)
        pool.load((step.root, *step.after, *step.before))
        self.step = step
        self.first = pool.of_row(step.root)
        self.before = [pool.of_row(row) for row in step.before]
        self.after = [pool.of_row(row) for row in step.after]
        self.last = len(self.before)
        """The last match that has a graph of its own: a replay ends at an error."""
        self._kept: OrderedDict[int, Graph] = OrderedDict()
        self._steps: _Steps | None = None
        self._checked = False
        self.stop: Callable[[], bool] | None = None
        """Asked after every match of a replay that is stepped through; Stopped when it says yes."""
        self.running = False
        """Whether it is being stepped through now."""
        self.regular = is_regular(self)
        self._touched = _touched(self) if self.regular and not step.walk else []
        pool.seal()

    @property
    def matches(self) -> int:
        """How many matches the step has."""
        return len(self.before)

    @property
    def done(self) -> int:
        """How many matches have been stepped through, where that has to be done."""
        return len(self._steps.roots) - 1 if self._steps is not None else 0

    def graph(self, match: int) -> Graph:
        """The graph after that match, 0 for the one that went in; beyond an error, the error's."""
        match = min(match, self.last)
        if match in self._kept:
            self._kept.move_to_end(match)
            return self._kept[match]
        if match and match < self.matches:
            self.check()
        graph = self._leap(match) if self.regular else None
        if graph is None:
            graph = self._stepped(match)
            match = graph.match
        if len(self._kept) >= KEPT:
            self._kept.popitem(last=False)
        self._kept[match] = graph
        return graph

    def born(self, box: int) -> int:
        """The match that made a box, where the step was stepped through; 0 for one that went in."""
        return self._steps.identities.born.get(box, 0) if self._steps is not None else 0

    def roots(self) -> Iterator[int]:
        """The root after each match in turn, from 0: the cheapest way to see them all. Ends at an error's node.

        A number is good until the next one is asked for: what earlier graphs were made of is let go now and then.
        """
        steps = _Steps(self, follow=False)
        yield self.first
        for match in range(1, self.matches + 1):
            yield steps.advance()
            if steps.error is not None:
                return
            if self.regular and self.pool.crowded(CROWDED) and self._steps is None:
                self.trim()
                graph = self._leap(match)
                assert graph is not None, "it was there a moment ago"
                steps.restart(graph.root)

    def trim(self) -> None:
        """Lets go of what replays made when it has become too much. Numbers beyond the capture's nodes change."""
        if self.pool.crowded(CROWDED) and self._steps is None:
            self._kept.clear()
            self.pool.reset()

    def replacements(self, match: int) -> dict[int, int]:
        """What each node is replaced by after that match."""
        pairs = dict(zip(self.before[:match], self.after[:match], strict=True))
        return {before: after for before, after in pairs.items() if before != after}

    def _leap(self, match: int) -> Graph | None:
        """The graph by the short way; None, and none from then on, when that ends in an error."""
        outcome = self._all_at_once(match)
        if outcome is None:
            return None
        nodes = self.pool.walk(outcome.root)
        return Graph(match, outcome.root, nodes, identities(self.pool, outcome, nodes))

    def _all_at_once(self, match: int) -> Outcome | None:
        replacements, walk = self.replacements(match), self.step.walk
        try:
            return substitute(self.pool, self.first, replacements, walk=walk, touched=self._touched, match=match)
        except (Endless, Refused):
            # at which match it came to that, only stepping tells
            self.regular = False
            self._kept.clear()
            return None
        finally:
            self._checked = self._checked or match == self.matches

    def check(self) -> bool:
        """Whether replacements may be made all at once; no longer when a replay of the whole step ends in an error."""
        if self.regular and not self._checked:
            self._all_at_once(self.matches)
        return self.regular

    def _stepped(self, match: int) -> Graph:
        if self._steps is None:
            self._steps = _Steps(self, follow=True)
        steps = self._steps
        self.running = True
        try:
            while len(steps.roots) <= match and steps.error is None:
                steps.advance()
                if self.stop is not None and self.stop():
                    raise Stopped(f"The replay was stopped at match {self.done} of {self.matches}.")
        finally:
            self.running = False
        if steps.error is not None:
            self.last = len(steps.roots) - 1
            match = min(match, self.last)
        root = steps.roots[match]
        nodes = self.pool.walk(root)
        identity = {node: steps.identities.of(node, match) for node in nodes}
        return Graph(match, root, nodes, identity, steps.error if match == self.last else None)


class _Steps:
    """Goes through the matches one by one."""

    def __init__(self, replay: Replay, *, follow: bool) -> None:
        self._replay = replay
        self._state = Stepper(replay.pool, replay.first, walk=replay.step.walk)
        self._follow = follow
        self.error: str | None = None
        self.roots = [replay.first]
        self._done = 0
        if follow:
            self.identities = Identities(replay.pool, replay.first)

    def restart(self, root: int) -> None:
        """Goes on from the same graph after the pool was reset."""
        self._state.restart(self._replay.first if self._replay.step.bottom_up else root)

    def advance(self) -> int:
        """The root after the next match."""
        replay, state = self._replay, self._state
        before, after = replay.before[self._done], replay.after[self._done]
        self._done += 1
        move = not replay.step.bottom_up
        state.replace(before, after)
        try:
            try:
                root = state.update(before, move=move)
            except (OrderMatters, Endless):
                # exact, in the order in which a compiler visits
                start = state.root
                root = substitute(replay.pool, start, state.replacements, walk=replay.step.walk).root
                state.restart(root if move else start)
        except (Endless, Refused) as error:
            self.error = f"RuntimeError: {error} (replaying match {self._done})"
            root = replay.pool.add(*replay.pool.rules.error_node, ())
        if self._follow:
            self.roots.append(root)
            self.identities.advance(root)
        return root


def _touched(replay: Replay) -> list[int]:
    """For each node, the first match of it or of a node below it. Calls count as touched: their visit has effects."""
    pool = replay.pool
    never = replay.matches + 1
    first: dict[int, int] = {}
    for match, before in enumerate(replay.before, 1):
        first.setdefault(before, match)
    result: list[int] = []
    for node, src in enumerate(pool.src):
        earliest = 0 if node in pool.calls else first.get(node, never)
        for s in src:
            below = result[s]
            earliest = min(earliest, below)
        result.append(earliest)
    return result


def _circular(pool: Pool, replacements: Mapping[int, int]) -> bool:
    """Whether a node is reached again by going on to its sources or its replacement."""
    # sources have smaller numbers, so a circle needs a replacement that does not
    starts = [before for before, after in replacements.items() if after >= before]
    done: set[int] = set()
    for start in starts:
        open_nodes: set[int] = set()
        stack = [start]
        while stack:
            node = stack.pop()
            if node < 0:
                open_nodes.discard(~node)
                done.add(~node)
            elif node in open_nodes:
                return True
            elif node not in done:
                open_nodes.add(node)
                stack.append(~node)
                ways = pool.src[node][pool.body(node) :]
                after = replacements.get(node)
                if after is not None and after != node:
                    stack.append(after)
                stack.extend(ways)
    return False


def is_regular(replay: Replay) -> bool:
    """Whether all replacements at once give what one after the other gives.

    Bottom-up that is what the stock viewer does, as long as no node was replaced in two ways and no replacement leads
    back to what it replaces: such a replay may end in an error that a later match would hide. Top-down, no node below a
    matched one may be matched itself, and no body of a call may be reached from elsewhere and change there.
    """
    pool, step = replay.pool, replay.step
    known: dict[int, int] = {}
    for before, after in zip(replay.before, replay.after, strict=True):
        if known.setdefault(before, after) != after:
            return False
    if _circular(pool, known):
        return False
    if step.bottom_up:
        return True
    if step.walk:
        return not known
    plain: set[int] = {replay.first, *known, *known.values()}
    bodies: set[int] = set()
    above = bytearray(len(pool))
    for node, src in enumerate(pool.src):
        if pool.body(node):
            bodies.add(src[0])
            src = src[1:]
        plain.update(src)
        for s in src:
            if above[s] or s in known:
                if node in known:
                    return False
                above[node] = 1
                break
    return not any(body in plain and (above[body] or body in known) for body in bodies)
