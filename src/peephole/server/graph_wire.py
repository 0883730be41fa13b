"""A replayed graph in the form that the page draws: one list a column, texts as codes, sources as positions."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from peephole.server.replies import coded

if TYPE_CHECKING:
    from peephole.query.rewrites.step_graphs import GraphAt

TEXTS = ("op", "dtype", "arg", "shape", "tag")


def graph_wire(graph: GraphAt) -> dict[str, Any]:
    """The reply of `/steps/{step}/graph`; `web/src/wire/graph.ts` is its type."""
    nodes = graph.nodes
    ids = nodes.id
    at = {id_: index for index, id_ in enumerate(ids)}
    start, sources = [0], list[int]()
    for src in nodes.src:
        sources.extend(at[id_] for id_ in src)
        start.append(len(sources))
    wire: dict[str, Any] = {
        "step": graph.step,
        "match": graph.match,
        "matches": graph.matches,
        "root": at.get(graph.root, -1),
        "id": ids,
        "identity": nodes.identity,
        "srcStart": start,
        "src": sources,
        "added": [at[id_] for id_ in graph.added],
        "changed": [at[id_] for id_ in graph.changed],
        "removed": [
            {**dataclasses.asdict(node), "arg": node.arg or "", "shape": node.shape or ""} for node in graph.removed
        ],
        "error": graph.error,
        "kind": graph.kind,
        "graphs": [at[id_] for id_ in graph.graphs],
    }
    for name in TEXTS:
        wire[name], wire[name + "s"] = coded(list(getattr(nodes, name)))
    wire["name"], wire["names"] = coded(nodes.name)
    return wire
