"""The graphs of a step over named instructions, in the form that all rewrites are shown in (`step_graphs`)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from peephole.query.rewrites import step_graphs as forms
from peephole.replay.boxes import ROOT, Box
from peephole.replay.named import Delta, NamedGraph, NamedStep, named_step
from peephole.replay.rule import Rule, rule_of

if TYPE_CHECKING:
    from peephole.replay.difference import DiffLine
    from peephole.replay.trace import RewriteTrace

MOST_LINES = 400


def entries(trace: RewriteTrace, step_id: int) -> list[forms.MatchInfo]:
    """The matches, and what the pass changed without a rule."""
    named = _named(trace, step_id)
    result = []
    for number, entry in enumerate(named.entries, 1):
        found = named.difference(number)
        rule = rule_of(trace, step_id, number) if entry.kind == "rule" else None
        before, after = (_known(trace, row) for row in (entry.before, entry.after))
        if entry.kind == "partition" and named.came_out is not None:
            names = [", ".join(map(named.name_of, listed.tops)) for listed in (named.before, named.came_out)]
            before, after = (*before[:2], names[0]), (*after[:2], names[1])
        result.append(
            forms.MatchInfo(
                number,
                before[0],
                after[0],
                before[1],
                after[1],
                rule.file if rule else None,
                rule.line if rule else -1,
                rule.source if rule else None,
                rule.dur_ns if rule else -1,
                entry.kind,
                before[2],
                after[2],
                len(found.added) + len(found.removed) + len(found.altered),
            )
        )
    return result


def graph_at(trace: RewriteTrace, step_id: int, match: int) -> forms.GraphAt:
    """The graph after an entry, against the one before it."""
    named = _named(trace, step_id)
    graph = named.graph(match)
    ids = trace.table.ids
    nodes = _columns(named, graph, graph.keys)
    added: list[int] = []
    changed: list[int] = []
    removed: list[forms.RemovedNode] = []
    diff: list[DiffLine] = []
    rule: Rule | None = None
    kind = "rule"
    if match:
        entry, found = named.entries[match - 1], named.difference(match)
        kind = entry.kind
        there = set(graph.keys)
        added = [int(ids[graph.boxes[key].row]) for key in found.added if key in there]
        changed = [int(ids[graph.boxes[key].row]) for key in found.altered if key in there]
        removed = _removed(named, _before(named, graph, match), found.removed)
        diff = _diff(named, match)
        rule = rule_of(trace, step_id, match) if kind == "rule" else None
    last = len(named.entries)
    error = trace.text("error", trace.step_row(step_id)) if match == last else None
    root = int(ids[graph.boxes[graph.root].row]) if graph.root >= 0 else -1
    graphs = [int(ids[graph.boxes[key].row]) for key in _tops(named, graph)]
    return forms.GraphAt(
        step_id, match, last, root, nodes, added, changed, removed, rule, diff, error, kind=kind, graphs=graphs
    )


def diffs(trace: RewriteTrace, step_id: int) -> Iterator[tuple[forms.MatchInfo, list[DiffLine]]]:
    """Each entry with its diff."""
    with trace.lock:
        named, infos = _named(trace, step_id), entries(trace, step_id)
    for info in infos:
        yield info, _diff(named, info.ordinal)


def walk(trace: RewriteTrace, step_id: int, named: NamedStep) -> Iterator[forms.MatchDone]:
    """What each entry did, one at a time; `named` is the caller's alone."""
    ids = trace.table.ids
    for number, entry in enumerate(named.entries, 1):
        graph, found = named.graph(number), named.difference(number)
        there = set(graph.keys)
        added, altered = ([key for key in part if key in there] for part in (found.added, found.altered))
        gone = [box.row for key in found.removed if (box := entry.delta[key][0]) is not None]
        rule = rule_of(trace, step_id, number) if entry.kind == "rule" else None
        error = trace.text("error", trace.step_row(step_id)) if number == len(named.entries) else None
        yield forms.MatchDone(
            number,
            _columns(named, graph, [*added, *altered]),
            [int(ids[graph.boxes[key].row]) for key in added],
            [int(ids[graph.boxes[key].row]) for key in altered],
            [int(ids[row]) for row in gone],
            rule,
            _diff(named, number),
            error,
            kind=entry.kind,
        )


def _named(trace: RewriteTrace, step_id: int) -> NamedStep:
    named = named_step(trace, step_id)
    assert named is not None, "whoever asks knows that it is one"
    return named


def _known(trace: RewriteTrace, row: int) -> tuple[int, str, str | None]:
    """Id, op and name of a node by its row."""
    if row < 0:
        return -1, "", None
    return int(trace.table.ids[row]), trace.table.texts(trace.table.own(row))[0], trace.instructions().name(row)


def _columns(named: NamedStep, graph: NamedGraph, keys: list[int]) -> forms.NodeColumns:
    nodes, boxes = named.nodes, graph.boxes
    table = nodes.table
    rows = [boxes[key].row for key in keys]
    texts = [table.texts(table.own(row)) for row in rows]
    there = boxes if len(keys) < len(graph.keys) else keys
    id_of = dict(zip(there, table.ids[[boxes[key].row for key in there]].tolist(), strict=True))
    order = graph.order
    return forms.NodeColumns(
        [id_of[key] for key in keys],
        keys,
        [text[0] for text in texts],
        [text[1] for text in texts],
        [text[2] for text in texts],
        [[id_of[s] for s in order.get(key, boxes[key].src) if s in id_of] for key in keys],
        [nodes.shape(row) for row in rows],
        [text[3] for text in texts],
        [nodes.name(row) for row in rows],
    )


def graph_between(trace: RewriteTrace, first: tuple[int, int], second: tuple[int, int]) -> tuple[forms.GraphAt, int]:
    """The second graph against the first one, of any steps of a context, and how many boxes both have."""
    named, other = _named(trace, second[0]), _named(trace, first[0])
    old, graph = other.graph(first[1]), named.graph(second[1])
    # what no graph lists any more is kept beside them, and is not shown
    was = {key: old.boxes[key] for key in old.keys}
    now = {key: graph.boxes[key] for key in graph.keys}
    delta = named.delta(was, now)
    found = named.compare(delta)
    ids = trace.table.ids
    at = {key: int(ids[box.row]) for key, box in now.items()}
    lines = _delta_lines(named, other, [*found.removed, *found.altered, *found.added], delta, set())
    result = forms.GraphAt(
        second[0],
        second[1],
        len(named.entries),
        at.get(graph.root, -1),
        _columns(named, graph, graph.keys),
        [at[key] for key in found.added],
        [at[key] for key in found.altered],
        _removed(other, dict(was), found.removed),
        None,
        lines,
        trace.text("error", trace.step_row(second[0])) if second[1] == len(named.entries) else None,
        kind="difference",
        graphs=[at[key] for key in _tops(named, graph)],
    )
    return result, sum(key in was for key in now)


def _before(named: NamedStep, graph: NamedGraph, match: int) -> dict[int, Box | None]:
    """The boxes of the graph before an entry."""
    return {**graph.boxes, **{key: change[0] for key, change in named.entries[match - 1].delta.items()}}


def _removed(named: NamedStep, old: Mapping[int, Box | None], gone: list[int]) -> list[forms.RemovedNode]:
    """What went, with what it read and who read it in the graph before."""
    if not gone:
        return []
    users: dict[int, list[int]] = {key: [] for key in gone}
    for key, box in old.items():
        for s in dict.fromkeys(box.src) if box is not None and key != ROOT else ():
            if s in users:
                users[s].append(key)
    nodes, result = named.nodes, []
    tops = {*named.before.tops, *(named.came_out.tops if named.came_out else ())}
    for key in gone:
        was = old[key]
        assert was is not None, "it was there before it went"
        op, dtype, arg, tag = nodes.table.texts(nodes.table.own(was.row))
        shape, id = nodes.shape(was.row), int(nodes.table.ids[was.row])
        src = [s for s in was.src if old.get(s) is not None]
        body = key if nodes.is_graph(was.row) else was.graphs[0] if was.graphs else -1
        body = -1 if body in tops else body
        facts = (id, key, op, dtype, arg, shape, tag, src, users[key], nodes.name(was.row), body)
        result.append(forms.RemovedNode(*facts))
    return result


def _tops(named: NamedStep, graph: NamedGraph) -> list[int]:
    """The GRAPH boxes that a graph consists of; one that has a name is one graph, whatever it lists."""
    if graph.root not in graph.order:
        return []
    inside = graph.order[graph.root]
    is_list = len(inside) > 1 and all(key in graph.order for key in inside)
    return inside if is_list and named.nodes.name(graph.boxes[graph.root].row) is None else [graph.root]


def _diff(named: NamedStep, match: int) -> list[DiffLine]:
    """The instructions that differ as lines: `name = op(sources) arg dtype shape`; of a graph that came or went
    `graph name`."""
    found, delta = named.difference(match), named.entries[match - 1].delta
    if named.entries[match - 1].kind == "order":
        return _cut([(" ", text) for text in _moves(named, match)])
    keys = [*found.removed, *found.altered, *found.added]
    return _delta_lines(named, named, keys, delta, set(found.metadata))


def _delta_lines(
    named: NamedStep, before: NamedStep, keys: list[int], delta: Delta, metadata: set[int]
) -> list[DiffLine]:
    """These boxes, as they were and as they are; `before` knows what they were called."""
    lines: list[DiffLine] = []
    for key in keys:
        old, new = delta[key]
        for sign, box, step in (("-", old, before), ("+", new, named)):
            # what holds the parts of a graph together has no name, and nobody wrote it
            if box is not None and (step.nodes.name(box.row) or not step.nodes.is_graph(box.row)):
                lines.append((sign, _line(step, box, key in metadata)))
    return _cut(lines)


def _cut(lines: list[DiffLine]) -> list[DiffLine]:
    if len(lines) <= MOST_LINES:
        return lines
    return [*lines[:MOST_LINES], (" ", f"… {len(lines) - MOST_LINES} more lines")]


def _moves(named: NamedStep, match: int) -> Iterator[str]:
    """The instructions that stand elsewhere: as few as explain the new order, and those that changed graphs."""
    old, new = named.graph(match - 1).order, named.graph(match).order
    home = {key: graph for graph, inside in old.items() for key in inside}
    for graph, inside in new.items():
        places = {key: place for place, key in enumerate(old.get(graph, ()))}
        stayed = set(_longest_rising([(places[key], key) for key in inside if key in places]))
        for key, following in zip(inside, [*inside[1:], None], strict=True):
            if key not in places and key in home:
                yield f"{named.name_of(key)} moved from {named.name_of(home[key])} to {named.name_of(graph)}"
            elif key in places and key not in stayed:
                where = "the end" if following is None else f"before {named.name_of(following)}"
                yield f"{named.name_of(graph)}: {named.name_of(key)} moved to {where}"


def _longest_rising(placed: list[tuple[int, int]]) -> Iterator[int]:
    """The keys of the longest subsequence whose places rise, from its end."""
    places: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for i, (place, _) in enumerate(placed):
        at = bisect_left(places, place)
        previous.append(ends[at - 1] if at else -1)
        places[at : at + 1], ends[at : at + 1] = [place], [i]
    i = ends[-1] if ends else -1
    while i >= 0:
        yield placed[i][1]
        i = previous[i]


def _line(named: NamedStep, box: Box, with_metadata: bool) -> str:
    nodes = named.nodes
    op, dtype, arg, tag = nodes.table.texts(nodes.table.own(box.row))
    names = ", ".join(named.name_of(key) for key in box.src)
    facts = [arg, dtype, nodes.shape(box.row), None if tag is None else f"tag={tag}"]
    if with_metadata:
        facts.append(nodes.metadata(box.row) or "no metadata")
    rest = " ".join(" ".join(text.split()) for text in facts if text)
    name = nodes.name(box.row)
    what = f"graph {name}" if nodes.is_graph(box.row) else f"{name + ' = ' if name else ''}{op}({names})"
    return f"{what} {rest}".rstrip()
