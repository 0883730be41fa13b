"""A replayed graph in the form that the page draws: one list a column, texts as codes, sources as positions."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from peephole.server.replies import coded

if TYPE_CHECKING:
    from peephole.compilers.labels import Look
    from peephole.query.rewrites.graph_labels import GraphLabels
    from peephole.query.rewrites.step_graphs import GraphAt
    from peephole.store.capture import Capture

TEXTS = ("op", "dtype", "arg", "shape", "tag")


def graph_reply(capture: Capture, graph: GraphAt) -> dict[str, Any]:
    """The reply of `/steps/{step}/graph`; `web/src/wire/graph.ts` is its type."""
    from peephole.query.rewrites.graph_labels import graph_labels, type_names

    drawn = graph_labels(capture, graph)
    wire = graph_wire(graph, drawn)
    wire["dtypes"] = type_names(capture, graph.step, wire["dtypes"])
    gone = type_names(capture, graph.step, [node.dtype for node in graph.removed])
    for node, name in zip(wire["removed"], gone, strict=True):
        node["dtype"] = name
    return wire


def graph_wire(graph: GraphAt, drawn: GraphLabels) -> dict[str, Any]:
    """The columns, with their element types as they were recorded."""
    nodes, labels, at = graph.nodes, drawn.labels, drawn.places
    start, sources = [0], list[int]()
    for src in drawn.src:
        sources.extend(src)
        start.append(len(sources))
    inside, insides = coded(labels.inside)
    wire: dict[str, Any] = {
        "step": graph.step,
        "match": graph.match,
        "matches": graph.matches,
        "root": at.get(graph.root, -1),
        "id": nodes.id,
        "identity": nodes.identity,
        "srcStart": start,
        "src": sources,
        "look": labels.look,
        "looks": looks_wire(labels.looks),
        "inside": inside,
        "insides": insides,
        "fold": labels.fold,
        "added": [at[id_] for id_ in graph.added],
        "changed": [at[id_] for id_ in graph.changed],
        "removed": [
            {
                **dataclasses.asdict(node),
                "arg": node.arg or "",
                "shape": node.shape or "",
                "look": look,
                "fold": labels.looks[look].fold,
            }
            for node, look in zip(graph.removed, drawn.removed, strict=True)
        ],
        "error": graph.error,
        "kind": graph.kind,
        "graphs": [at[id_] for id_ in graph.graphs],
    }
    if labels.facts is not None:
        around = labels.facts
        wire["space"], wire["spaces"] = coded(around.space, "")
        wire["open"], wire["opens"] = coded(around.ranges, "")
        wire["index"], wire["indexes"] = coded(list(map(around.indexed.get, range(len(nodes.id)))))
    for name in TEXTS:
        wire[name], wire[name + "s"] = coded(list(getattr(nodes, name)))
    wire["name"], wire["names"] = coded(nodes.name)
    return wire


def looks_wire(looks: list[Look]) -> dict[str, Any]:
    """Looks by column; the whole argument and type are left out where a box shows all of them."""
    return {
        "name": [look.name for look in looks],
        "arg": [look.arg for look in looks],
        "type": [look.type for look in looks],
        "family": [int(look.family) for look in looks],
        "bodies": [look.bodies for look in looks],
        "space": [look.space for look in looks],
        "wholeArg": [None if look.whole[1] == look.arg else look.whole[1] for look in looks],
        "wholeType": [None if look.whole[2] == look.type else look.whole[2] for look in looks],
    }
