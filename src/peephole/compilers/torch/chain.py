"""The way of an instruction: back to Dynamo's graph and the program's line, forward to the kernels that compute it.

Names of instructions stay from pass to pass; where a rule took some and put others, and where AOTAutograd traced an
operation into others, the recorded matches say which.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from peephole.compilers.answers import Link
from peephole.compilers.torch.halves import (
    CODEGEN,
    HALF,
    LOWERING,
    Half,
    Instruction,
    half_of,
    instruction,
    listed,
    with_subgraphs,
)
from peephole.compilers.torch.origin import origins_in, parsed, source
from peephole.compilers.traces import trace_of
from peephole.model.tables import NONE
from peephole.replay.trace import RewriteTrace

if TYPE_CHECKING:
    from peephole.store.capture import Capture

LINE, DYNAMO, TRACED, RULE, LOWERED, KERNEL = "line", "dynamo", "traced", "rule", "lowered", "kernel"
_TRACES: Final = ("aot_joint_graph", "aot_inference_graph")
_AFTER_FX: Final = (LOWERING, "fusion", CODEGEN)
MOST: Final = 12
"""Links of one stage."""


@dataclass(frozen=True, slots=True)
class _Move:
    """A match that took instructions and put others."""

    context: int
    row: int
    step: int
    match: int
    traced: bool
    took: frozenset[str]
    put: frozenset[str]
    file: str | None
    line: int


@dataclass(slots=True)
class _Graph:
    """A compilation: its steps with those of its halves before lowering, what they moved, its halves."""

    context: int
    moves: list[_Move]
    halves: list[Half]
    dynamo: dict[str, Instruction]
    traced: dict[str, Instruction]
    traced_step: int


def chain(capture: Capture, step: int, node: int) -> list[Link]:
    """The links of an instruction of a step's graphs, from the program's line to the kernels."""
    trace = trace_of(capture)
    row = trace.step_row(step)
    context = trace.number("context", row)
    place = int(trace.table.rows([node])[0])
    if place < 0:
        return []
    own = instruction(trace, place)
    graph, half = _graph_of(capture, trace, context)
    late = half is not None and (trace.text("name", row) or "").startswith(_AFTER_FX) and not _is_fx(own, half)
    if half is not None:
        own = next((call for call in half.calls if call.row == own.row), own)  # what a library computes itself
    names = set(own.parts) if late else {own.name}
    last = _last_row(trace, row, own)
    earlier = [move for move in graph.moves if (late or move.row <= last) and move.context in (graph.context, context)]
    back, through = _back(names, earlier)
    later = [] if late else [move for move in graph.moves if move.row >= row]
    ahead, went = _ahead(names, later)
    lowered = names if late else ahead
    links = _lines(trace, [own, *(graph.dynamo[name] for name in back if name in graph.dynamo)])
    links += [_node(DYNAMO, graph.dynamo[name], graph.traced_step) for name in back if name in graph.dynamo][:MOST]
    traced = [name for name in through[1] if name in graph.traced and name != own.name]
    links += [_node(TRACED, graph.traced[name], graph.traced_step) for name in traced[:MOST]]
    links += [_rule(trace, move) for move in [*reversed(through[0]), *went] if move.file][:MOST]
    for one in graph.halves if half is None else [half]:
        there = [name for name in lowered if name in one.fx and name != own.name and one.fx[name].op != "placeholder"]
        links += [_node(LOWERED, one.fx[name], one.fx_step) for name in sorted(there)[:MOST]]
    for one in graph.halves if half is None else [half]:
        links += _kernels(one, lowered, own)
    return links


def named(capture: Capture, name: str) -> list[tuple[int, int]]:
    """Step and node of each graph that an instruction of that name is first seen in, one for each compilation."""
    trace = trace_of(capture)
    found: list[tuple[int, int]] = []
    holds: set[int] = set()
    frame = capture.read("contexts", ["id", "parent", "kind"])
    rows = zip(frame["id"].tolist(), frame["parent"].tolist(), frame.texts("kind"), strict=True)
    for context, parent, kind in rows:
        if kind not in ("graph", HALF) or trace.compiler_name(context) != "torch" or parent in holds:
            continue
        for row in trace.context_rows(context):
            roots = (trace.number(column, row) for column in ("root", "after"))
            ids = [one.id for root in dict.fromkeys(roots) for one in with_subgraphs(trace, root) if one.name == name]
            if ids:
                found.append((trace.number("id", row), ids[0]))
                holds.add(context)
                break
    return found


def _graph_of(capture: Capture, trace: RewriteTrace, context: int) -> tuple[_Graph, Half | None]:
    frame = capture.read("contexts", ["id", "parent", "kind"])
    rows = zip(frame["id"].tolist(), frame["parent"].tolist(), frame.texts("kind"), strict=True)
    known = {number: (parent, kind) for number, parent, kind in rows}
    half = half_of(capture, context) if known[context][1] == HALF else None
    whole = known[context][0] if half is not None else context
    below = [number for number, (parent, kind) in known.items() if parent == whole and kind == HALF]
    with trace.lock:
        kept: dict[int, _Graph] = trace.derived.setdefault("torch chains", {})
        if whole not in kept:
            kept[whole] = _read(capture, trace, whole, below)
        return kept[whole], half


def _read(capture: Capture, trace: RewriteTrace, context: int, below: list[int]) -> _Graph:
    graph = _Graph(context, [], [half_of(capture, number) for number in below], {}, {}, NONE)
    for row in trace.context_rows(context):
        if trace.text("name", row) in _TRACES and trace.number("root", row) != trace.number("after", row):
            graph.traced_step = trace.number("id", row)
            graph.dynamo = {one.name: one for one in listed(trace, trace.number("root", row))}
            graph.traced = {one.name: one for one in listed(trace, trace.number("after", row))}
        graph.moves += _moves(trace, row)
    for half in graph.halves:
        for row in trace.context_rows(half.context):
            if (trace.text("name", row) or "").startswith(_AFTER_FX):
                break
            graph.moves += _moves(trace, row)
    return graph


def _moves(trace: RewriteTrace, row: int) -> list[_Move]:
    lists, rows = trace.match_lists, trace.match_rows(trace.number("id", row))
    if lists is None or rows.start == rows.stop:
        return []
    nodes, files, lines = trace.instructions(), trace.match_files(rows), trace.match_numbers("line", rows).tolist()

    def names(ids: Iterable[int]) -> frozenset[str]:
        places = trace.table.rows(list(ids)).tolist()
        return frozenset(nodes.name(place) or "" for place in places if place >= 0)

    before = trace.match_numbers("before", rows).tolist()
    traced, step, context = trace.text("name", row) in _TRACES, trace.number("id", row), trace.number("context", row)
    return [
        _Move(
            context,
            row,
            step,
            at + 1,
            traced,
            names([*lists[0][match], *([before[at]] if traced else [])]),  # a gradient takes nothing away
            names(lists[1][match]),
            files[at],
            lines[at],
        )
        for at, match in enumerate(range(rows.start, rows.stop))
    ]


def _last_row(trace: RewriteTrace, row: int, own: Instruction) -> int:
    """The last step that may have made an instruction of a step's graphs: none of its own when it went in."""
    root = int(trace.table.rows([trace.number("root", row)])[0])
    if root >= 0 and own.row in trace.table.sources(root):
        return row - 1
    depth, rows, last = trace.number("depth", row), trace.context_rows(trace.number("context", row)), row
    while last + 1 in rows and trace.number("depth", last + 1) > depth:
        last += 1
    return last


def _back(names: set[str], moves: list[_Move]) -> tuple[list[str], tuple[list[_Move], list[str]]]:
    """The names that some came from, the matches on the way, and what they were called when they were traced."""
    passed: list[_Move] = []
    current, traced, before = set(names), list[str](), set[str]()
    for move in reversed(moves):
        mine = current & move.put
        if move.traced:
            traced += [name for name in mine if name not in traced]
            before |= move.took if mine else frozenset()
        elif mine - move.took:
            passed.append(move)
            current = (current - (mine - move.took)) | (move.took - move.put)
    return sorted(before or (current if not any(move.traced for move in moves) else ())), (passed, sorted(traced))


def _ahead(names: set[str], moves: list[_Move]) -> tuple[set[str], list[_Move]]:
    """What became of some names in the end, and the matches on the way."""
    passed, current, from_dynamo = [], set(names), set[str]()
    for move in moves:
        mine = current & move.took
        if move.traced:
            from_dynamo |= move.put if mine else frozenset()
            continue
        if from_dynamo:
            current, from_dynamo = from_dynamo, set()
            mine = current & move.took
        if mine - move.put:
            passed.append(move)
            current = (current - (mine - move.put)) | (move.put - move.took)
    return from_dynamo or current, passed


def _is_fx(own: Instruction, half: Half) -> bool:
    return own.name in half.fx and half.fx[own.name].op == own.op


def _lines(trace: RewriteTrace, nodes: list[Instruction]) -> list[Link]:
    found: dict[str, Link] = {}
    for text in (text for node in nodes for text in origins_in(node.metadata)):
        operation, line, module = parsed(text)
        if line is not None:
            what = " in ".join(part for part in (operation, module) if part)
            found.setdefault(line, Link(LINE, what, "", NONE, 0, NONE, NONE, line, source(trace, line)))
    return list(found.values())[:MOST]


def _node(stage: str, one: Instruction, step: int) -> Link:
    return Link(stage, one.name, one.op, step, 0, one.id, NONE, None, None)


def _rule(trace: RewriteTrace, move: _Move) -> Link:
    line = f"{move.file}:{move.line}"
    text = (source(trace, line) or "").strip()
    name = text.removeprefix("def ").partition("(")[0] if text.startswith("def ") else ""
    took = f"{len(move.took)} out, {len(move.put)} in"
    return Link(RULE, name, took, move.step, move.match, NONE, NONE, line, text or None)


def _kernels(half: Half, names: set[str], own: Instruction) -> list[Link]:
    found = []
    takes = [half.fx[name] for name in names if name in half.fx and half.fx[name].op.endswith("getitem")]
    of_takes = {one.name for one in half.fx.values() for take in takes if one.row in take.src}
    for call in half.calls:
        if (names | of_takes).intersection(call.parts) and call.name != own.name:
            context = half.kernels.get(call.name, half.kernels.get(call.name.rpartition(".")[0], NONE))
            found.append(Link(KERNEL, call.name, half.name, half.steps[CODEGEN], 0, call.id, context, None, None))
    return found[:MOST]
