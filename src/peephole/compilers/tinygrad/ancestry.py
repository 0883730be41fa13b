"""The passes of a compilation in one pool: in which of them a node of the last graph appeared, and by which match.

Every pass is replayed once, all replacements together. A node of the graph that came out is followed to the earliest
node of the same op that became it; where that stood in the graph that went in, the pass before is asked, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from peephole.compilers.tinygrad.passes import PROGRAM
from peephole.replay.pool import Pool
from peephole.replay.rules import Refused
from peephole.replay.substitute import Endless, substitute

if TYPE_CHECKING:
    from peephole.replay.trace import RewriteTrace


@dataclass(frozen=True, slots=True)
class Birth:
    """Where a node appeared. `step` is -1 when it was in the first graph already; `match` is 0 when no rule made it but
    the code between two passes."""

    node: int
    """As it was then, in the pool."""
    step: int
    match: int


class _Pass:
    """One step with its matches, in the pool."""

    def __init__(self, trace: RewriteTrace, pool: Pool, row: int) -> None:
        self._pool = pool
        self.step = trace.number("id", row)
        made = trace.pass_of(row)
        pool.load((made.root, *made.after, *made.before))
        self.root = pool.of_row(made.root)
        self.before = [pool.of_row(node) for node in made.before]
        self.after = [pool.of_row(node) for node in made.after]
        self._walk = made.walk
        self._value: dict[int, int] = {}

    @cached_property
    def input(self) -> set[int]:
        """The nodes of the graph that went in."""
        return self._pool.reach(self.root)

    @cached_property
    def identity(self) -> dict[int, int]:
        """For the nodes of the graph that came out, which they were: nodes of the graph that went in, else of the
        earliest match. Empty when that cannot be replayed."""
        pairs = {b: a for b, a in zip(self.before, self.after, strict=True) if b != a}
        pool = self._pool
        try:
            outcome = substitute(pool, self.root, pairs, walk=self._walk)
        except (Endless, Refused):
            return {}
        self._value = value = outcome.value
        own, radix, old, made = pool.own, pool.table.op_radix, self.input, self.made
        found: dict[int, tuple[int, int]] = {}
        for node, holder in chain(((node, node) for node in outcome.visited), outcome.chased):
            new = value.get(holder)
            if new is None or (node != new and own[node] // radix != own[new] // radix):
                continue
            rank = (0 if node in old else made.get(node, len(self.after) + 1), node)
            if new not in found or rank < found[new]:
                found[new] = rank
        return {node: found[node][1] if node in found else node for node in pool.reach(outcome.root)}

    @cached_property
    def _became(self) -> dict[tuple[int, str], int]:
        """The earliest node by what became of it and its op."""
        found: dict[tuple[int, str], int] = {}
        for node in sorted(self._value) if self.identity else ():
            found.setdefault((self._value[node], self._pool.op(node)), node)
        return found

    def earlier(self, node: int) -> int:
        """The node that a node of this pass was when it was first met."""
        if node in self.identity:
            return self.identity[node]
        if node in self.input:
            return node
        value = self._value.get(node)
        return node if value is None else self._became.get((value, self._pool.op(node)), node)

    @cached_property
    def made(self) -> dict[int, int]:
        """The match (from 1) whose result first held a node that was not in the graph before."""
        found: dict[int, int] = {}
        old, source = self.input, self._pool.src
        for number, after in enumerate(self.after, 1):
            stack = [after]
            while stack:
                node = stack.pop()
                if node not in found and node not in old:
                    found[node] = number
                    stack.extend(source[node])
        return found


class Ancestry:
    """The passes of one context that stand on its outermost level, in order."""

    def __init__(self, trace: RewriteTrace, context: int) -> None:
        self.pool = Pool(trace.table_of(context))
        rows = [
            row
            for row in trace.context_rows(context)
            if trace.number("depth", row) == 0 and trace.number("root", row) >= 0
        ]
        names = [trace.text("name", row) for row in rows]
        if PROGRAM in names:
            # what the process did afterwards may stand in the context of the last kernel
            rows = rows[: names.index(PROGRAM) + 1]
        self._passes = [_Pass(trace, self.pool, row) for row in rows]

    @property
    def first(self) -> int | None:
        """The root of the first graph: a kernel's AST."""
        return self._passes[0].root if self._passes else None

    @property
    def last(self) -> int | None:
        """The root of the last graph."""
        return self._passes[-1].root if self._passes else None

    def birth(self, node: int) -> Birth:
        """Where a node of the last graph appeared."""
        return self._birth(node, len(self._passes) - 1)

    def _birth(self, node: int, at: int) -> Birth:
        while at >= 0:
            here = self._passes[at]
            if here.after:
                node = here.earlier(node)
                match = here.made.get(node, 0)
                if match:
                    return Birth(node, here.step, match)
            if at == 0:
                break
            if node not in here.input:
                return Birth(node, here.step, 0)
            if not self._known_before(node, at):
                return Birth(node, here.step, 0)
            at -= 1
        return Birth(node, -1, 0)

    def _known_before(self, node: int, at: int) -> bool:
        """Whether a node that went into a pass came out of the one before."""
        before = self._passes[at - 1]
        return node in (before.identity if before.after else before.input)

    def first_form(self, node: int) -> int | None:
        """The node of the first graph that a node of the last one comes from: through what each rule replaced."""
        at = len(self._passes) - 1
        places = {here.step: i for i, here in enumerate(self._passes)}
        for _ in range(1000):
            birth = self._birth(node, at)
            if birth.step < 0:
                return birth.node
            if not birth.match:
                return None
            at = places[birth.step]
            here = self._passes[at]
            replaced = here.before[birth.match - 1]
            earlier = here.earlier(replaced)
            while earlier in here.made and here.made[earlier] < birth.match:
                # made by an earlier match of the same pass
                replaced = here.before[here.made[earlier] - 1]
                if here.earlier(replaced) == earlier:
                    return None
                earlier = here.earlier(replaced)
            if earlier not in here.input:
                return None
            if at == 0:
                return earlier
            if not self._known_before(earlier, at):
                return None
            node, at = earlier, at - 1
        return None
