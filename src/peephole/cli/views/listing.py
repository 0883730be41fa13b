"""A graph of named instructions in the terminal: each GRAPH with its instructions in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peephole.cli.format import Printer
from peephole.model.tables import GRAPH

if TYPE_CHECKING:
    from peephole.query.rewrites.step_graphs import GraphAt

UNTOLD = {
    "rule": "",
    "group": "changed by the pass, rule not recorded",
    "rest": "changed by the pass, rule not recorded",
    "partition": "the pass split a graph, or joined some",
    "metadata": "only where instructions came from differs",
    "order": "only the order or the place of instructions differs",
}
"""What is said where an entry has no rule, by its kind."""


def print_listing(graph: GraphAt, printer: Printer) -> None:
    """Prints each GRAPH, the outermost first; what came, went and was altered has + - ~ in front."""
    nodes = graph.nodes
    place = {id: i for i, id in enumerate(nodes.id)}
    added, changed = set(graph.added), set(graph.changed)
    inside = {s for i, op in enumerate(nodes.op) if op == GRAPH for s in nodes.src[i]}

    def words(name: str, op: str, read: list[str], facts: tuple[str | None, ...], tag: str | None) -> tuple[str, str]:
        """A name and what follows it, as in a difference."""
        rest = " ".join(fact for fact in facts if fact)
        return name, f" = {op}({', '.join(read)}) {rest}{f' tag={tag}' if tag is not None else ''}".rstrip()

    def line(i: int) -> None:
        id = nodes.id[i]
        mark, style = ("+", "green") if id in added else ("~", "yellow") if id in changed else (" ", "bold")
        read = [nodes.name[place[s]] or f"[{s}]" for s in nodes.src[i]]
        facts = (nodes.arg[i], nodes.dtype[i], nodes.shape[i])
        name, rest = words(nodes.name[i] or f"[{id}]", nodes.op[i], read, facts, nodes.tag[i])
        printer.line((f"{mark} ", style), (name, style), rest)

    known = {identity: nodes.name[i] or f"[{nodes.id[i]}]" for i, identity in enumerate(nodes.identity)}
    known |= {node.identity: node.name or f"[{node.id}]" for node in graph.removed}
    for node in graph.removed:
        if node.op == GRAPH:
            printer.line(("- ", "red"), (f"graph {node.name or ''}".rstrip(), "red"))
            continue
        read = [known[s] for s in node.src if s in known]
        facts = (node.arg, node.dtype, node.shape)
        name, rest = words(node.name or f"[{node.id}]", node.op, read, facts, node.tag)
        printer.line(("- ", "red"), (name, "red"), rest)
    loose = [i for i, id in enumerate(nodes.id) if id not in inside and nodes.op[i] != GRAPH]
    for i in loose:
        line(i)
    tops = [place[id] for id in graph.graphs]
    bodies = [i for i, op in enumerate(nodes.op) if op == GRAPH and i not in tops and nodes.id[i] != graph.root]
    for i in [*tops, *bodies]:
        size = f"  {len(nodes.src[i])} instructions"
        printer.line(("graph ", "dim"), (nodes.name[i] or "", "bold"), (size, "dim"))
        for s in nodes.src[i]:
            line(place[s])
