"""How the nodes of a graph look, as their compiler says; made when a graph is drawn, not when it is replayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from peephole.compilers import compiler_of, compilers_in
from peephole.compilers.labels import Facts, Labels, NodeText, labels_of, look_of
from peephole.compilers.traces import trace_of

if TYPE_CHECKING:
    from peephole.compilers.protocol import Compiler
    from peephole.query.rewrites.step_graphs import GraphAt, NodeColumns
    from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class GraphLabels:
    """The labels of a graph's nodes, and of those that its match removed: places in `labels.looks`."""

    labels: Labels
    removed: list[int]
    places: dict[int, int]
    """Place of each node among the columns, by id."""
    src: list[list[int]]
    """The sources of each node, as places."""


def graph_labels(capture: Capture, graph: GraphAt) -> GraphLabels:
    """The labels of a graph."""
    compiler = compiler_of_step(capture, graph.step)
    nodes = graph.nodes
    places = {id_: place for place, id_ in enumerate(nodes.id)}
    place_of = places.__getitem__
    src = [list(map(place_of, sources)) for sources in nodes.src]
    rows = zip(nodes.op, nodes.dtype, nodes.arg, nodes.shape, strict=True)
    labels = labels_of(compiler, rows, src, places.get(graph.root, -1))
    gone = [NodeText(node.op, node.dtype, node.arg or "", node.shape or "") for node in graph.removed]
    first = len(labels.looks)
    labels.looks.extend(look_of(compiler, text) for text in gone)
    return GraphLabels(labels, list(range(first, first + len(gone))), places, src)


def graph_facts(capture: Capture, step: int, nodes: NodeColumns) -> Facts | None:
    """What a graph says about its nodes beyond their own fields: open ranges, index expressions, memory. Only for a
    whole graph: what is around a node is in it."""
    places = {id_: place for place, id_ in enumerate(nodes.id)}
    if not all(id_ in places for sources in nodes.src for id_ in sources):
        return None
    rows = zip(nodes.op, nodes.dtype, nodes.arg, nodes.shape, strict=True)
    texts = [NodeText(op, dtype, arg or "", shape or "") for op, dtype, arg, shape in rows]
    return compiler_of_step(capture, step).facts(texts, [[places[id_] for id_ in sources] for sources in nodes.src])


def graph_text(capture: Capture, graph: GraphAt) -> str:
    """The graph in its compiler's own notation; empty when it has none."""
    nodes = graph.nodes
    places = {id_: place for place, id_ in enumerate(nodes.id)}
    rows = zip(nodes.op, nodes.dtype, nodes.arg, nodes.shape, strict=True)
    texts = [NodeText(op, dtype, arg or "", shape or "") for op, dtype, arg, shape in rows]
    src = [[places[id_] for id_ in sources] for sources in nodes.src]
    return compiler_of_step(capture, graph.step).python_text(texts, nodes.tag, src, places[graph.root])


def type_names(capture: Capture, step: int, dtypes: list[str]) -> list[str]:
    """Element types of a step's graphs as a user reads them."""
    compiler = compiler_of_step(capture, step)
    return [compiler.type_name(dtype) for dtype in dtypes]


def recorded_type_name(capture: Capture, dtype: str) -> str:
    """The same for a node that is asked about by itself, which may be of any compiler of the capture."""
    for compiler in compilers_in(capture):
        dtype = compiler.type_name(dtype)
    return dtype


def compiler_of_step(capture: Capture, step: int) -> Compiler:
    """The compiler whose pass a step is."""
    trace = trace_of(capture)
    return compiler_of(capture, trace.number("context", trace.step_row(step)))
