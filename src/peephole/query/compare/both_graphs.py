"""The graphs of both sides where they part: what only one has, what surrounds it, equal nodes with one key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from peephole.compilers import compiler_named
from peephole.compilers.traces import trace_of
from peephole.query.compare.by_content.hash_loops import Hashes, Ints
from peephole.query.compare.by_content.lineage import Lineage, least, only_in
from peephole.replay.rules import short_arg

if TYPE_CHECKING:
    from peephole.query.compare.comparison import Compared
    from peephole.query.compare.one_kernel import OneKernel, PassPair
    from peephole.query.compare.results import Divergence

MOST: Final = 40
"""Nodes of a side that are drawn."""
_WHOLE: Final = 24
"""Graphs up to that size are drawn whole."""


@dataclass(frozen=True, slots=True)
class BothNode:
    """A node of either side, or of both."""

    key: str
    """Equal for equal graphs."""
    side: str
    """both, a or b"""
    op: str
    type: str
    arg: str
    src: tuple[str, ...]
    """Keys of those of its sources that are drawn."""
    id_a: int
    id_b: int


@dataclass(frozen=True, slots=True)
class BothGraphs:
    """The nodes of both sides, sources before users; `hidden_a` and `hidden_b` are left out."""

    what: str
    nodes: tuple[BothNode, ...]
    only_a: int
    only_b: int
    hidden_a: int
    hidden_b: int


def both_graphs(found: Compared, parted: Divergence) -> BothGraphs | None:
    """The graphs where a pair parts; None when a side has none there, or is a baseline."""
    parts = parted.parting
    sides = _lineages(found)
    if sides is None or parts is None or parts.what in ("missing",):
        return None
    units = _places(sides, (parted.unit_a, parted.unit_b))
    steps = parts.step_a, parts.step_b
    if parts.what == "match":
        rows = [side.result(step, parts.match) for side, step in zip(sides, steps, strict=True)]
    elif parts.what == "output":
        rows = [side.came_out(step) for side, step in zip(sides, steps, strict=True)]
    elif parts.what == "pass":
        # the graphs that went in are equal: what the two different passes made of them goes into the next ones
        rows = [_after(side, unit, step) for side, unit, step in zip(sides, units, steps, strict=True)]
    else:
        rows = [side.root(step) for side, step in zip(sides, steps, strict=True)]
    words = {"match": f"After match {parts.match}", "output": "What came out", "pass": "After this pass"}
    return _drawn(found, sides, units, rows, words.get(parts.what, "What went in"))


def graphs_at(found: Compared, one: OneKernel, step: PassPair, match: int) -> BothGraphs | None:
    """The graphs of a pair in one of its passes: what went in or, with a match (from 1), what that left."""
    sides = _lineages(found)
    if sides is None:
        return None
    numbers = step.step_a, step.step_b
    rows, units = [], []
    for side, number, unit in zip(sides, numbers, (one.unit_a, one.unit_b), strict=True):
        at = np.flatnonzero(side.compiled.step_id == number) if number >= 0 else np.zeros(0, np.int64)
        rows.append(side.result(int(at[0]), match) if len(at) else -1)
        units.append(side.place_of.get(unit, 0))
    return _drawn(found, sides, units, rows, f"After match {match}" if match else "What went in")


def _lineages(found: Compared) -> tuple[Lineage, Lineage] | None:
    a, b = found.a.open, found.b.open
    return None if a is None or b is None else (Lineage(a, found.a.compiled), Lineage(b, found.b.compiled))


def _places(sides: tuple[Lineage, Lineage], units: tuple[int, int]) -> list[int]:
    return [side.place_of[unit] for side, unit in zip(sides, units, strict=True)]


def _drawn(found: Compared, sides: tuple[Lineage, Lineage], units: list[int], rows: list[int], what: str) -> BothGraphs:
    """Both graphs of these roots, as far as they are drawn."""
    graphs = [side.graph(unit, row) for side, unit, row in zip(sides, units, rows, strict=True)]
    only = [only_in(*graphs[0], graphs[1][1]), only_in(*graphs[1], graphs[0][1])]
    chosen = [_chosen(side, *graph, own) for side, graph, own in zip(sides, graphs, only, strict=True)]
    numbers = sides[0].compiled.units[units[0]].id, sides[1].compiled.units[units[1]].id
    nodes = _nodes(found, sides, graphs, chosen, only, numbers)
    hidden = [len(graph[0]) - len(own) for graph, own in zip(graphs, chosen, strict=True)]
    return BothGraphs(what, tuple(nodes), len(only[0]), len(only[1]), hidden[0], hidden[1])


def _after(side: Lineage, unit: int, step: int) -> int:
    """The root of the graph that a step left: the one that went into the next, by itself, of its context."""
    if step < 0:
        return -1
    depth = side.compiled.step_depth
    for later in range(step + 1, side.compiled.units[unit].past):
        if depth[later] <= depth[step]:
            return side.root(later)
    return side.root(step)


def _chosen(side: Lineage, rows: Ints, hashes: Hashes, only: Ints) -> Ints:
    """What is drawn of a graph: all of a small one, else what only it has and its neighbours, where it begins first."""
    if len(rows) <= _WHOLE:
        return rows
    offsets, sources = side.content.offsets, side.content.sources
    inside = set(rows.tolist())
    begins = least(offsets, sources, only) if len(only) else rows[-8:]
    wanted = dict.fromkeys([*begins.tolist()[:MOST], *only.tolist()[:MOST]])
    for row in list(wanted):
        wanted.update(dict.fromkeys(s for s in sources[offsets[row] : offsets[row + 1]].tolist() if s in inside))
    users = [row for row in rows.tolist() if wanted.keys() & set(sources[offsets[row] : offsets[row + 1]].tolist())]
    wanted.update(dict.fromkeys(users[:8]))
    return np.array(sorted(list(wanted)[:MOST]), np.int64)


def _nodes(
    found: Compared,
    sides: tuple[Lineage, Lineage],
    graphs: list[tuple[Ints, Hashes]],
    chosen: list[Ints],
    only: list[Ints],
    units: tuple[int, int],
) -> list[BothNode]:
    drawn: dict[str, BothNode] = {}
    order: dict[str, int] = {}
    captures = found.a.open, found.b.open
    for at, side in enumerate(sides):
        capture = captures[at]
        assert capture is not None
        table, compiler = trace_of(capture).table, compiler_named(trace_of(capture).compiler_name(units[at]))
        rows, hashes = graphs[at]
        key = {row: f"{value:016x}" for row, value in zip(rows.tolist(), hashes.tolist(), strict=True)}
        alone, shown = set(only[at].tolist()), {key[row] for row in chosen[at].tolist()}
        shown |= set(drawn)
        for row in chosen[at].tolist():
            op, dtype, arg, _ = table.texts(table.own(row))
            src = tuple(key[s] for s in table.sources(row) if s in key and key[s] in shown)
            before = drawn.get(key[row])
            id = int(side.content.ids[row])
            where = ("a", "b")[at] if row in alone else "both"
            drawn[key[row]] = BothNode(
                key[row], where, op, compiler.type_name(dtype), short_arg(arg or "")[:40],
                src if before is None or len(src) >= len(before.src) else before.src,
                id if at == 0 else before.id_a if before else -1, id if at == 1 else -1,
            )  # fmt: skip
            order.setdefault(key[row], len(order))
    return _sorted(drawn, order)


def _sorted(drawn: dict[str, BothNode], order: dict[str, int]) -> list[BothNode]:
    """Sources before users."""
    done: dict[str, None] = {}
    for start in sorted(drawn, key=lambda key: order[key]):
        stack = [start]
        while stack:
            key = stack[-1]
            waiting = [s for s in drawn[key].src if s in drawn and s not in done and s not in stack]
            if waiting:
                stack.append(waiting[0])
            else:
                done[stack.pop()] = None
    return [drawn[key] for key in done]
