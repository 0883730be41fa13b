"""`show -i CONTEXT --from STEP[:MATCH] --to STEP[:MATCH]`: what differs between two graphs of a context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peephole.cli.format import Printer, count
from peephole.cli.views import Request
from peephole.cli.views.rewrites import difference_record, print_diff
from peephole.errors import PeepholeError
from peephole.query.capture.context_lookup import find_context, find_graph
from peephole.query.capture.contexts import steps

if TYPE_CHECKING:
    from peephole.query.rewrites.graph_difference import Place
    from peephole.store.capture import Capture


def sources(_capture: Capture) -> list[str]:
    """None: it is about a context."""
    return []


def claims(_capture: Capture, request: Request) -> bool:
    """When two graphs are named, or one of them."""
    return request.first is not None or request.second is not None


def show(capture: Capture, request: Request, printer: Printer) -> int:
    """Prints the boxes that went, changed and came. Without --from it is the first graph of the context, without --to
    the last."""
    from peephole.query.rewrites.graph_difference import graph_difference
    from peephole.query.rewrites.step_graphs import count_matches

    context = find_context(capture, request.items[0])
    everything = steps(capture, context.id)
    if not everything:
        raise PeepholeError(f"{context.name} has no passes: there are no graphs to compare.")
    outer = [step for step in everything if step.depth == 0] or everything
    last = outer[-1].id
    first = (outer[0].id, 0)
    second = (last, count_matches(capture, last))
    if request.first is not None:
        first = find_graph(capture, context, request.first, came_out=False)
    if request.second is not None:
        second = find_graph(capture, context, request.second, came_out=True)
    found = graph_difference(capture, first, second)
    if printer.json:
        printer.record(difference_record(context.name, found))
        return 0
    graph = found.graph
    printer.line((context.name, "bold"), (f"  {context.kind}", "dim"))
    printer.line(("from  ", "dim"), (found.first.name, "bold"), (f"  {_words(found.first)}", "dim"))
    printer.line(("to    ", "dim"), (found.second.name, "bold"), (f"  {_words(found.second)}", "dim"))
    figures = (
        f"{count(len(graph.added))} added, {count(len(graph.changed))} changed, {count(len(graph.removed))} removed"
    )
    printer.line((f"{count(len(graph.nodes.id))} nodes, {count(found.shared)} of them in both: {figures}", "dim"))
    print_diff(graph.diff, printer)
    return 0


def _words(place: Place) -> str:
    if place.match == 0:
        return "the graph that went in"
    if place.match == place.matches:
        return f"the graph that came out, match {count(place.match)}"
    return f"match {count(place.match)} of {count(place.matches)}"
