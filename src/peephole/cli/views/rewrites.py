"""A step in the terminal: its pass among the others, its graph, its matches with their differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from peephole.cli.format import Printer, count, duration
from peephole.cli.views import Request
from peephole.cli.views.decisions import show_decisions
from peephole.cli.views.listing import UNTOLD, print_listing
from peephole.errors import PeepholeError
from peephole.query.capture.context_lookup import find_artifacts, find_context, find_steps
from peephole.query.capture.info import holds

if TYPE_CHECKING:
    from peephole.compilers.labels import Facts
    from peephole.query.capture.contexts import Context, Step
    from peephole.query.rewrites.graph_difference import GraphDifference
    from peephole.query.rewrites.step_graphs import GraphAt, MatchDone, MatchInfo, NodeColumns
    from peephole.store.capture import Capture

DEEPEST = 30
"""Levels of indent; what stands deeper is not pushed further to the right."""


def sources(_capture: Capture) -> list[str]:
    """None: a step is an item of its context."""
    return []


def claims(capture: Capture, request: Request) -> bool:
    """Two items: a context and a step of it, in a capture that has any; a name that is not there is said there."""
    return len(request.items) == 2 and holds(capture, "contexts")


def show(capture: Capture, request: Request, printer: Printer) -> int:
    """Prints one match when it is given, else the graph that went in and every match."""
    context = find_context(capture, request.items[0])
    kind = find_artifacts(capture, context, request.items[1])
    if kind:
        from peephole.cli.views.context import Details

        Details(capture, request, printer).code(context.id, kind)
        return 0
    found = find_steps(capture, context, request.items[1])
    if request.match is not None:
        from peephole.query.rewrites.step_graphs import count_matches

        found = found[:1]
        most = count_matches(capture, found[0].id)
        if not 0 <= request.match <= most:
            last = f"matches 0 to {most}" if most else "no match, only the graph of match 0"
            raise PeepholeError(f"{_name(found[0])} of {context.name} has {last}; there is no match {request.match}.")
    elif not printer.json:
        _passes(capture, context, found, printer)
    for step in found:
        if printer.json:
            _records(capture, context, step, request.match, printer)
        else:
            _texts(capture, step, request.match, printer)
    return 0


def _passes(capture: Capture, context: Context, chosen: list[Step], printer: Printer) -> None:
    from peephole.query.capture.contexts import steps

    printer.line((context.name, "bold"), (f"  {context.kind}", "dim"))
    numbers = {step.id for step in chosen}
    for step in steps(capture, context.id):
        matched = work(capture, step)
        mark, style = ("▸ ", "bold") if step.id in numbers else ("  ", "dim" if not matched else "")
        printer.line(mark + "  " * step.depth, (_name(step), style), (matched, "yellow"))


def work(capture: Capture, step: Step) -> str:
    """What a step did, behind its name: its matches; where it has its graph after it, the boxes that differ."""
    from peephole.query.rewrites.passes import changed_boxes

    changed = changed_boxes(capture, step.id) if step.after >= 0 else None
    if changed is None:
        return f" - {count(step.matches)}" if step.matches else ""
    if changed.graphs_in != changed.graphs_out:
        return f" - {changed.graphs_in} → {changed.graphs_out}"
    if changed.kind in ("order", "metadata"):
        return f" - {changed.kind} only"
    return f" - {count(changed.boxes)} changed" if changed.boxes else ""


def _texts(capture: Capture, step: Step, match: int | None, printer: Printer) -> None:
    from peephole.query.rewrites.decisions import decisions
    from peephole.query.rewrites.graph_labels import graph_facts, type_names
    from peephole.query.rewrites.step_graphs import graph_at, match_diffs

    flags = [name for name in ("bottom_up", "walk", "enter_calls") if getattr(step, name)]
    printer.line()
    graph = graph_at(capture, step.id, match or 0)
    printer.line(
        (_name(step), "bold"),
        (f"  {count(len(graph.nodes.id))} nodes, match {graph.match} of {count(graph.matches)}", "dim"),
        (f"  {' '.join(flags)}" if flags else "", "dim"),
    )
    if graph.nodes.name:
        print_listing(graph, printer)
    else:
        types = type_names(capture, step.id, graph.nodes.dtype)
        _graph(graph, types, graph_facts(capture, step.id, graph.nodes), printer)
    if match is not None:
        if graph.match:
            printer.line(
                (f"{len(graph.added)} added, {len(graph.changed)} changed, {len(graph.removed)} removed", "dim")
            )
            if graph.rule is not None:
                _rule(graph.rule.file, graph.rule.line, graph.rule.source, graph.rule.dur_ns, printer)
            else:
                printer.line((f"  {UNTOLD[graph.kind]}", "dim"))
            print_diff(graph.diff, printer)
    else:
        for info, diff in match_diffs(capture, step.id):
            _match(info, printer)
            print_diff(diff, printer)
        if step.after >= 0:
            if not graph.matches:
                printer.line(("This pass changed nothing.", "dim"))
            else:
                printer.line()
                printer.line((_name(step), "bold"), ("  the graph that came out", "dim"))
                print_listing(graph_at(capture, step.id, graph.matches), printer)
        show_decisions(decisions(capture, step.id), printer)
    if graph.error or step.error:
        printer.block(graph.error or step.error or "", "red")


def around(facts: Facts | None, place: int) -> str:
    """`(0,1) [r1*8+r0]`: the ranges that are open at a node, and what it is indexed with."""
    if facts is None:
        return ""
    ranges = f"({facts.ranges[place]})" if facts.ranges[place] else ""
    return " ".join(part for part in (ranges, facts.indexed.get(place, "")) if part)


def _graph(graph: GraphAt, types: list[str], facts: Facts | None, printer: Printer) -> None:
    """The graph from its root, indented; a node that was written before is only named."""
    nodes = graph.nodes
    place = {id: i for i, id in enumerate(nodes.id)}
    added, changed = set(graph.added), set(graph.changed)
    written: set[int] = set()
    stack = [(graph.root, 0)]
    while stack:
        id, depth = stack.pop()
        i = place[id]
        indent = "  " * min(depth, DEEPEST)
        if id in written:
            printer.line((f"{indent}[{id}] {nodes.op[i]} as above", "dim"))
            continue
        written.add(id)
        words = " ".join(word for word in (around(facts, i), types[i], nodes.arg[i], nodes.shape[i]) if word)
        tag = f" tag={nodes.tag[i]}" if nodes.tag[i] is not None else ""
        style = "green" if id in added else "yellow" if id in changed else "bold"
        printer.line(indent, (f"[{id}] ", "dim"), (nodes.op[i], style), f" {words}{tag}")
        stack.extend((s, depth + 1) for s in reversed(nodes.src[i]))


def _match(info: MatchInfo, printer: Printer) -> None:
    before, after = info.before_name or info.before_op, info.after_name or info.after_op
    printer.line((f"match {info.ordinal}  ", "dim"), (" → ".join(part for part in (before, after) if part), "bold"))
    if info.kind != "rule":
        printer.line((f"  {UNTOLD[info.kind]}", "dim"))
        return
    _rule(info.file, info.line, info.source, info.dur, printer)


def _rule(file: str | None, line: int, source: str | None, dur: int, printer: Printer) -> None:
    took = duration(dur) if dur >= 0 else "no time recorded"
    printer.line((f"  {short(file)}:{line}  {took}", "dim"))
    if source:
        printer.block(f"  {source}", "dim")


def print_diff(lines: list[tuple[str, str]], printer: Printer) -> None:
    """Lines of a difference in their colours."""
    for kind, text in lines:
        printer.block(f"{kind} {text}", {"-": "red", "+": "green"}.get(kind, ""))


def _records(capture: Capture, context: Context, step: Step, match: int | None, printer: Printer) -> None:
    """One object for the match that was asked for; else one for each, of whose nodes the first holds all, the others
    what is new or changed."""
    from peephole.query.rewrites.decisions import decisions
    from peephole.query.rewrites.step_graphs import graph_at, walk_matches

    printer.record(graph_record(context.name, step.name, graph_at(capture, step.id, match or 0)))
    if match is None:
        for done in walk_matches(capture, step.id):
            printer.record(_record(context.name, step.name, done, done.removed))
        show_decisions(decisions(capture, step.id), printer)


def graph_record(context: str, step: str, graph: GraphAt) -> dict[str, Any]:
    """A graph as the JSON that scripts read."""
    return _record(context, step, graph, [node.id for node in graph.removed])


def _record(context: str, step: str, graph: GraphAt | MatchDone, removed: list[int]) -> dict[str, Any]:
    nodes, rule = graph.nodes, graph.rule
    return {
        "context": context,
        "step": step,
        "match": graph.match,
        **({"entry": graph.kind} if graph.match and nodes.name else {}),
        "nodes": _nodes(nodes),
        "added": graph.added,
        "removed": removed,
        "changed": graph.changed,
        "rule": None
        if rule is None
        else {
            "file": rule.file,
            "line": rule.line,
            "source": rule.source,
            "dur_ns": rule.dur_ns if rule.dur_ns >= 0 else None,
        },
        "diff": [f"{kind} {text}" for kind, text in graph.diff],
    }


def difference_record(context: str, found: GraphDifference) -> dict[str, Any]:
    """The difference of two graphs as the JSON that scripts read."""
    graph = found.graph
    return {
        "context": context,
        "from": {"step": found.first.name, "match": found.first.match},
        "to": {"step": found.second.name, "match": found.second.match},
        "nodes": _nodes(graph.nodes),
        "added": graph.added,
        "removed": [node.id for node in graph.removed],
        "removed_nodes": [
            {
                "id": node.id,
                **({"name": node.name} if graph.nodes.name else {}),
                "op": node.op,
                "dtype": node.dtype,
                "arg": node.arg,
                "shape": node.shape,
                "tag": node.tag,
            }
            for node in graph.removed
        ],
        "changed": graph.changed,
        "shared": found.shared,
        "diff": [f"{kind} {text}" for kind, text in graph.diff],
    }


def _nodes(nodes: NodeColumns) -> list[dict[str, Any]]:
    return [
        {
            "id": id,
            **({"name": nodes.name[i]} if nodes.name else {}),
            "op": nodes.op[i],
            "dtype": nodes.dtype[i],
            "arg": nodes.arg[i],
            "src": nodes.src[i],
            "shape": nodes.shape[i],
            "tag": nodes.tag[i],
        }
        for i, id in enumerate(nodes.id)
    ]


def short(file: str | None) -> str:
    """A path cut to its last folder and name."""
    return "/".join((file or "unknown").replace("\\", "/").split("/")[-2:])


def _name(step: Step) -> str:
    from peephole.query.rewrites.step_graphs import BETWEEN

    return step.name or (f"{short(step.file)}:{step.line}" if step.file else BETWEEN)
