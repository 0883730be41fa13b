"""Rewrites: the matches of a step, and the graph after any match.

Everything that shows rewrites (page, terminal) reads these. Results are frozen; node ids are the capture's, and above
its largest for nodes that only a replay makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from peephole.compilers.traces import known_trace, trace_of
from peephole.errors import PeepholeError
from peephole.query.rewrites import named_graphs
from peephole.replay.difference import DiffLine, changes, difference
from peephole.replay.named import named_step, own_named_step
from peephole.replay.rule import Rule, rule_of
from peephole.replay.walker import moves

if TYPE_CHECKING:
    from peephole.replay.pool import Pool
    from peephole.replay.replay import Graph, Replay
    from peephole.replay.rules import Shapes
    from peephole.replay.trace import RewriteTrace
    from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class MatchInfo:
    """One rule that fired, the ordinal counted from 1: `match K`."""

    ordinal: int
    before: int
    after: int
    before_op: str
    after_op: str
    file: str | None
    line: int
    source: str | None
    dur: int
    kind: str = "rule"
    """`rule` for a match; else what a pass changed without a rule: group, rest, partition, metadata or order."""
    before_name: str | None = None
    after_name: str | None = None
    boxes: int = 0
    """How many boxes came, went or were altered, where instructions have names."""


@dataclass(frozen=True, slots=True)
class NodeColumns:
    """The nodes of a graph, sources before users, the root last; `src` holds ids."""

    id: list[int]
    identity: list[int]
    op: list[str]
    dtype: list[str]
    arg: list[str | None]
    src: list[list[int]]
    shape: list[str | None]
    tag: list[str | None]
    name: list[str | None] = field(default_factory=list)
    """Names of instructions; empty where nodes have none."""


@dataclass(frozen=True, slots=True)
class RemovedNode:
    """A node of the previous graph whose box is gone; `src` and `users` are identities."""

    id: int
    identity: int
    op: str
    dtype: str
    arg: str | None
    shape: str | None
    tag: str | None
    src: list[int]
    users: list[int]
    name: str | None = None
    body: int = -1
    """The body of a call that it was in, or was: the GRAPH's identity; -1 outside of any."""


@dataclass(frozen=True, slots=True)
class GraphAt:
    """The graph of a step after a match; match 0 is the graph that went in.

    Where instructions have names, `matches` counts what a pass changed without a rule too; `kind` says what this is.
    """

    step: int
    match: int
    matches: int
    root: int
    nodes: NodeColumns
    added: list[int]
    changed: list[int]
    removed: list[RemovedNode]
    rule: Rule | None
    diff: list[DiffLine]
    error: str | None
    kind: str = "rule"
    graphs: list[int] = field(default_factory=list)
    """The GRAPH nodes that it consists of: several where a pass partitioned it, none where it is no list."""


def matches(capture: Capture, step_id: int) -> list[MatchInfo]:
    """The matches of a step in order; PeepholeError when there is no such step."""
    trace = trace_of(capture)
    trace.step_row(step_id)
    with trace.lock:
        if named_step(trace, step_id) is not None:
            return named_graphs.entries(trace, step_id)
    rows = trace.match_rows(step_id)
    table, places = trace.table, trace.places
    before, after = trace.match_numbers("before", rows), trace.match_numbers("after", rows)
    before_rows, after_rows = table.rows(before).tolist(), table.rows(after).tolist()
    lines, durations = trace.match_numbers("line", rows).tolist(), trace.match_numbers("dur", rows).tolist()
    files = trace.match_files(rows)
    result = []
    for i in range(len(files)):
        result.append(
            MatchInfo(
                i + 1,
                int(before[i]),
                int(after[i]),
                _op(trace, before_rows[i]),
                _op(trace, after_rows[i]),
                files[i],
                lines[i],
                places.line(files[i], lines[i]),
                durations[i],
            )
        )
    return result


def graph_at(capture: Capture, step_id: int, match: int, stop: Callable[[], bool] | None = None) -> GraphAt:
    """The graph after a match (0: the one that went in), against the one before it. Beyond an error, the error's.

    `stop` is asked now and then while a long replay runs; when it says yes, that ends with a PeepholeError.
    """
    trace = trace_of(capture)
    with trace.lock:
        if named_step(trace, step_id) is not None:
            check_match(trace, step_id, match)
            return named_graphs.graph_at(trace, step_id, match)
    with trace.replaying(step_id, stop) as replay:
        check_match(trace, step_id, match)
        new = replay.graph(match)
        match = new.match
        pool = replay.pool
        identity = [new.identity[node] for node in new.nodes]
        nodes = graph_columns(pool, new.nodes, identity, trace.shapes(replay), new.error)
        added: list[int] = []
        changed: list[int] = []
        removed: list[RemovedNode] = []
        diff: list[DiffLine] = []
        if match:
            old = replay.graph(match - 1)
            found = changes(pool, old, new)
            added, changed = [pool.ids[n] for n in found.added], [pool.ids[n] for n in found.changed]
            removed = removed_nodes(trace, replay, old, found.removed)
            diff = difference(pool, replay.before[match - 1], replay.after[match - 1])
        rule = rule_of(trace, step_id, match) if match else None
        error = new.error or (trace.text("error", trace.step_row(step_id)) if match == replay.matches else None)
        return GraphAt(
            step_id, match, replay.matches, pool.ids[new.root], nodes, added, changed, removed, rule, diff, error
        )


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a replay that has to go match by match is."""

    step: int
    name: str
    running: bool
    done: int
    total: int


def progress(capture: Capture, step_id: int) -> Progress:
    """How far the replay of a step is. Answers at once, also while another thread replays."""
    trace = known_trace(capture) or trace_of(capture)
    name = step_name(trace, step_id)
    done, total, running = trace.progress(step_id)
    return Progress(step_id, name, running, done, total)


BETWEEN: Final = "(between passes)"
"""What a step is called that has neither a name nor a place: something changed, and no pass says so."""


def step_name(trace: RewriteTrace, step_id: int) -> str:
    """What a step is called: its name, else where it is written."""
    row = trace.step_row(step_id)
    file = (trace.text("file", row) or "").replace("\\", "/").rpartition("/")[2]
    return trace.text("name", row) or (f"{file}:{trace.number('line', row)}" if file else BETWEEN)


def check_match(trace: RewriteTrace, step_id: int, match: int) -> None:
    """PeepholeError when the step has no such match."""
    count = match_count(trace, step_id)
    if not 0 <= match <= count:
        has = f"matches 1 to {count}, and 0 for" if count else "no matches, only 0 for"
        raise PeepholeError(f"{step_name(trace, step_id)} has {has} the graph that went in; there is no match {match}.")


def match_count(trace: RewriteTrace, step_id: int) -> int:
    """How many graphs a step has after the one that went in: its matches, and what a pass changed without a rule."""
    with trace.lock:
        named = named_step(trace, step_id)
    return trace.number("matches", trace.step_row(step_id)) if named is None else len(named.entries)


def count_matches(capture: Capture, step_id: int) -> int:
    """The same for a capture."""
    return match_count(trace_of(capture), step_id)


def match_diffs(capture: Capture, step_id: int) -> Iterator[tuple[MatchInfo, list[DiffLine]]]:
    """Each match of a step with its diff, one at a time: nothing is kept."""
    trace = trace_of(capture)
    with trace.lock:
        named = named_step(trace, step_id)
    if named is not None:
        yield from named_graphs.diffs(trace, step_id)
        return
    for info in matches(capture, step_id):
        with trace.lock:
            replay = trace.replay(step_id)
            lines = difference(replay.pool, replay.before[info.ordinal - 1], replay.after[info.ordinal - 1])
        yield info, lines


@dataclass(frozen=True, slots=True)
class MatchDone:
    """What one match did. Ids as in `GraphAt`; `nodes` holds only those that are new or changed."""

    match: int
    nodes: NodeColumns
    added: list[int]
    changed: list[int]
    removed: list[int]
    rule: Rule | None
    diff: list[DiffLine]
    error: str | None
    kind: str = "rule"


def walk_matches(capture: Capture, step_id: int) -> Iterator[MatchDone]:
    """What each match of a step did, one at a time: costs what changed, and nothing is kept. Ends at an error."""
    trace = trace_of(capture)
    with trace.lock:
        named = own_named_step(trace, step_id)
    if named is not None:
        yield from named_graphs.walk(trace, step_id, named)
        return
    replay = trace.own_replay(step_id)
    pool = replay.pool
    known, shapes = pool.resets, pool.rules.shapes(pool)
    for moved in moves(replay):
        if pool.resets != known:
            known, shapes = pool.resets, pool.rules.shapes(pool)
        fresh = sorted({*moved.added, *moved.changed})
        nodes = graph_columns(pool, fresh, [], shapes, moved.error)
        added, changed, removed = ([pool.ids[n] for n in part] for part in (moved.added, moved.changed, moved.removed))
        at = moved.match
        diff = difference(pool, replay.before[at - 1], replay.after[at - 1])
        last = trace.text("error", trace.step_row(step_id)) if at == replay.matches else None
        yield MatchDone(at, nodes, added, changed, removed, rule_of(trace, step_id, at), diff, moved.error or last)


def rule_lines(capture: Capture, file: str | None, line: int, around: int = 3) -> list[tuple[int, str]]:
    """Numbered source lines around a rule, empty when its file is not at hand."""
    return trace_of(capture).places.lines(file, line, around)


def graph_columns(pool: Pool, nodes: list[int], identity: list[int], shapes: Shapes, error: str | None) -> NodeColumns:
    """These nodes; the one that a replay ends with in an error has the error for its argument."""
    owns = list(map(pool.own.__getitem__, nodes))
    known = {own: pool.table.texts(own) for own in dict.fromkeys(owns)}
    texts = list(map(known.__getitem__, owns))
    if error is not None and len(texts) == 1:
        texts = [(*texts[0][:2], error, None)]
    op, dtype, arg, tag = map(list, zip(*texts, strict=True)) if texts else ([], [], [], [])
    id_of, src = pool.ids.__getitem__, pool.src
    return NodeColumns(
        list(map(id_of, nodes)),
        identity,
        op,
        dtype,
        arg,
        [list(map(id_of, src[node])) for node in nodes],
        shapes.of(nodes),
        tag,
    )


def removed_nodes(trace: RewriteTrace, replay: Replay, old: Graph, gone: list[int]) -> list[RemovedNode]:
    """These nodes of a graph as what went, with what they read and who read them."""
    pool = replay.pool
    users: dict[int, list[int]] = {node: [] for node in gone}
    if gone:
        for node in old.nodes:
            for s in dict.fromkeys(pool.src[node]):
                if s in users:
                    users[s].append(old.identity[node])
    shapes = trace.shapes(replay).of(gone)
    result = []
    for node, shape in zip(gone, shapes, strict=True):
        op, dtype, arg, tag = pool.texts(node)
        src = [old.identity[s] for s in pool.src[node]]
        result.append(RemovedNode(pool.ids[node], old.identity[node], op, dtype, arg, shape, tag, src, users[node]))
    return result


def _op(trace: RewriteTrace, row: int) -> str:
    return trace.table.texts(trace.table.own(row))[0] if row >= 0 else "?"
