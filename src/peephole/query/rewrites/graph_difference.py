"""The difference of any two graphs of a context: boxes that came, went and changed from a first to a second one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from peephole.compilers import compiler_of
from peephole.compilers.traces import trace_of
from peephole.errors import PeepholeError
from peephole.query.rewrites import named_graphs
from peephole.query.rewrites.step_graphs import (
    GraphAt,
    RemovedNode,
    check_match,
    graph_columns,
    match_count,
    removed_nodes,
    step_name,
)
from peephole.replay.lineage import Lineage, Station, check_context, lineage_of
from peephole.replay.named import named_step

if TYPE_CHECKING:
    from peephole.replay.difference import DiffLine
    from peephole.replay.trace import RewriteTrace
    from peephole.store.capture import Capture

ARRIVED: Final = 1 << 42
"""Added to the identity of a box that only the second graph has: what survives is known as in the first."""
MOST_LINES: Final = 400


@dataclass(frozen=True, slots=True)
class Place:
    """A graph of a context by its step and match; match 0 is the graph that went in."""

    step: int
    match: int
    name: str = ""
    """What the step is called."""
    matches: int = 0
    """How many matches it has."""


@dataclass(frozen=True, slots=True)
class GraphDifference:
    """The second graph, against the first one.

    In `graph` the identity of a box is the one that it has in the first graph's step, so that it is known from there;
    of one that is new, a number above ARRIVED. `added` and `changed` are nodes of the second, `removed` of the first.
    """

    context: int
    first: Place
    second: Place
    graph: GraphAt
    own: list[int]
    """The identity of each node in the step of the second graph."""
    shared: int
    """How many boxes both have."""


def graph_difference(
    capture: Capture, first: tuple[int, int], second: tuple[int, int], stop: Callable[[], bool] | None = None
) -> GraphDifference:
    """What differs from the first graph (step and match) to the second; PeepholeError when they are not of one context.

    `stop` is asked now and then while long replays run; when it says yes, that ends with a PeepholeError.
    """
    trace = trace_of(capture)
    context = check_context(trace, first[0], second[0])
    for step, match in (first, second):
        check_match(trace, step, match)
    with trace.lock:
        named = [named_step(trace, step) is not None for step, _ in (first, second)]
        places = [
            Place(step, match, step_name(trace, step), match_count(trace, step)) for step, match in (first, second)
        ]
        if all(named):
            graph, shared = named_graphs.graph_between(trace, first, second)
            return GraphDifference(context, places[0], places[1], graph, list(graph.nodes.identity), shared)
        if any(named):
            raise PeepholeError(
                f"{places[0].name} and {places[1].name} cannot be compared: boxes of one have names, of the other none."
            )
        return _replayed(trace, context, places[0], places[1], stop)


def _replayed(
    trace: RewriteTrace, context: int, first: Place, second: Place, stop: Callable[[], bool] | None
) -> GraphDifference:
    """The same for steps that are replayed from their matches."""
    lineage = lineage_of(trace, context)
    old = lineage.station(first.step, first.match, stop)
    new = lineage.station(second.step, second.match, stop)
    try:
        return _compared(trace, context, (first, second), lineage, old, new, stop)
    finally:
        old.replay.stop = new.replay.stop = None


def _compared(
    trace: RewriteTrace,
    context: int,
    places: tuple[Place, Place],
    lineage: Lineage,
    old: Station,
    new: Station,
    stop: Callable[[], bool] | None,
) -> GraphDifference:
    pairs = lineage.pairs(old, new, stop)
    back = {now: was for was, now in pairs.items()}
    key = {node: back.get(box, box + ARRIVED) for node, box in new.graph.identity.items()}
    nodes_of = {box: node for node, box in old.graph.identity.items()}
    old_pool, pool = old.replay.pool, new.replay.pool
    added: list[int] = []
    changed: list[tuple[int, int]] = []
    for node in new.graph.nodes:
        was = nodes_of.get(key[node])
        if was is None:
            added.append(node)
        elif old_pool.own[was] != pool.own[node] or [old.graph.identity[s] for s in old_pool.src[was]] != [
            key[s] for s in pool.src[node]
        ]:
            changed.append((was, node))
    gone = [node for node in old.graph.nodes if old.graph.identity[node] not in pairs]
    identity = [key[node] for node in new.graph.nodes]
    columns = graph_columns(pool, new.graph.nodes, identity, trace.shapes(new.replay), new.graph.error)
    removed = removed_nodes(trace, old.replay, old.graph, gone)
    graph = GraphAt(
        places[1].step,
        new.graph.match,
        new.replay.matches,
        pool.ids[new.graph.root],
        columns,
        [pool.ids[node] for node in added],
        [pool.ids[node] for _, node in changed],
        removed,
        None,
        list(_cut(_lines(compiler_of(trace.capture, context).type_name, old, new, removed, changed, added))),
        new.graph.error,
        kind="difference",
    )
    own = [new.graph.identity[node] for node in new.graph.nodes]
    return GraphDifference(context, places[0], places[1], graph, own, len(pairs))


def _lines(
    type_name: Callable[[str], str],
    old: Station,
    new: Station,
    removed: list[RemovedNode],
    changed: list[tuple[int, int]],
    added: list[int],
) -> Iterator[DiffLine]:
    by_id = {old.replay.pool.ids[node]: node for node in old.graph.nodes}
    for gone in removed:
        yield "-", _line(type_name, old, by_id[gone.id])
    for was, now in changed:
        yield "-", _line(type_name, old, was)
        yield "+", _line(type_name, new, now)
    for node in added:
        yield "+", _line(type_name, new, node)


def _line(type_name: Callable[[str], str], station: Station, node: int) -> str:
    """A node by its own fields, and the ops of what it reads: names of lines would differ from graph to graph."""
    pool = station.replay.pool
    op, dtype, arg, tag = pool.texts(node)
    reads = ", ".join(pool.op(s) for s in pool.src[node])
    facts = [None if arg == "None" else arg, type_name(dtype), None if tag is None else f"tag={tag}"]
    return f"{op}({reads}) {' '.join(' '.join(text.split()) for text in facts if text)}".rstrip()


def _cut(lines: Iterator[DiffLine]) -> Iterator[DiffLine]:
    left = 0
    for number, line in enumerate(lines):
        if number < MOST_LINES:
            yield line
        else:
            left += 1
    if left:
        yield " ", f"… {left} more lines"
