"""A step in the terminal: its pass among the others, its graph, its matches with their differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from peephole.cli.format import Printer, count, duration
from peephole.cli.views import Request
from peephole.errors import PeepholeError
from peephole.query.capture.context_lookup import find_context, find_steps

if TYPE_CHECKING:
    from peephole.query.capture.contexts import Context, Step
    from peephole.query.rewrites.step_graphs import GraphAt, MatchDone, MatchInfo
    from peephole.store.capture import Capture

DEEPEST = 30
"""Levels of indent; what stands deeper is not pushed further to the right."""


def sources(_capture: Capture) -> list[str]:
    """None: a step is an item of its context."""
    return []


def claims(capture: Capture, request: Request) -> bool:
    """Two items: a context and a step of it, in a capture that has any; a name that is not there is said there."""
    return len(request.items) == 2 and capture.count("contexts") > 0


def show(capture: Capture, request: Request, printer: Printer) -> int:
    """Prints one match when it is given, else the graph that went in and every match."""
    context = find_context(capture, request.items[0])
    found = find_steps(capture, context, request.items[1])
    if request.match is not None:
        found = found[:1]
        if not 0 <= request.match <= found[0].matches:
            last = f"matches 0 to {found[0].matches}" if found[0].matches else "no match, only the graph of match 0"
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
        mark, style = ("▸ ", "bold") if step.id in numbers else ("  ", "dim" if not step.matches else "")
        matched = f" - {count(step.matches)}" if step.matches else ""
        printer.line(mark + "  " * step.depth, (_name(step), style), (matched, "yellow"))


def _texts(capture: Capture, step: Step, match: int | None, printer: Printer) -> None:
    from peephole.query.rewrites.graph_labels import type_names
    from peephole.query.rewrites.step_graphs import graph_at, match_diffs

    flags = [name for name in ("bottom_up", "walk", "enter_calls") if getattr(step, name)]
    printer.line()
    graph = graph_at(capture, step.id, match or 0)
    printer.line(
        (_name(step), "bold"),
        (f"  {count(len(graph.nodes.id))} nodes, match {graph.match} of {count(graph.matches)}", "dim"),
        (f"  {' '.join(flags)}" if flags else "", "dim"),
    )
    _graph(graph, type_names(capture, step.id, graph.nodes.dtype), printer)
    if match is not None:
        if graph.rule is not None:
            printer.line(
                (f"{len(graph.added)} added, {len(graph.changed)} changed, {len(graph.removed)} removed", "dim")
            )
            _rule(graph.rule.file, graph.rule.line, graph.rule.source, graph.rule.dur_ns, printer)
            _diff(graph.diff, printer)
    else:
        for info, diff in match_diffs(capture, step.id):
            _match(info, printer)
            _diff(diff, printer)
    if graph.error or step.error:
        printer.block(graph.error or step.error or "", "red")


def _graph(graph: GraphAt, types: list[str], printer: Printer) -> None:
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
        words = " ".join(word for word in (types[i], nodes.arg[i], nodes.shape[i]) if word)
        tag = f" tag={nodes.tag[i]}" if nodes.tag[i] is not None else ""
        style = "green" if id in added else "yellow" if id in changed else "bold"
        printer.line(indent, (f"[{id}] ", "dim"), (nodes.op[i], style), f" {words}{tag}")
        stack.extend((s, depth + 1) for s in reversed(nodes.src[i]))


def _match(info: MatchInfo, printer: Printer) -> None:
    printer.line((f"match {info.ordinal}  ", "dim"), (f"{info.before_op} → {info.after_op}", "bold"))
    _rule(info.file, info.line, info.source, info.dur, printer)


def _rule(file: str | None, line: int, source: str | None, dur: int, printer: Printer) -> None:
    took = duration(dur) if dur >= 0 else "no time recorded"
    printer.line((f"  {short(file)}:{line}  {took}", "dim"))
    if source:
        printer.block(f"  {source}", "dim")


def _diff(lines: list[tuple[str, str]], printer: Printer) -> None:
    for kind, text in lines:
        printer.block(f"{kind} {text}", {"-": "red", "+": "green"}.get(kind, ""))


def _records(capture: Capture, context: Context, step: Step, match: int | None, printer: Printer) -> None:
    """One object for the match that was asked for; else one for each, of whose nodes the first holds all, the others
    what is new or changed."""
    from peephole.query.rewrites.step_graphs import graph_at, walk_matches

    printer.record(graph_record(context.name, step.name, graph_at(capture, step.id, match or 0)))
    if match is None:
        for done in walk_matches(capture, step.id):
            printer.record(_record(context.name, step.name, done, done.removed))


def graph_record(context: str, step: str, graph: GraphAt) -> dict[str, Any]:
    """A graph as the JSON that scripts read."""
    return _record(context, step, graph, [node.id for node in graph.removed])


def _record(context: str, step: str, graph: GraphAt | MatchDone, removed: list[int]) -> dict[str, Any]:
    nodes, rule = graph.nodes, graph.rule
    return {
        "context": context,
        "step": step,
        "match": graph.match,
        "nodes": [
            {
                "id": id,
                "op": nodes.op[i],
                "dtype": nodes.dtype[i],
                "arg": nodes.arg[i],
                "src": nodes.src[i],
                "shape": nodes.shape[i],
                "tag": nodes.tag[i],
            }
            for i, id in enumerate(nodes.id)
        ],
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


def short(file: str | None) -> str:
    """A path cut to its last folder and name."""
    return "/".join((file or "unknown").replace("\\", "/").split("/")[-2:])


def _name(step: Step) -> str:
    return step.name or f"{short(step.file)}:{step.line}"
