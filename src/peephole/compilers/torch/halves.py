"""A half as it was compiled: its steps, FX nodes, scheduler nodes and kernels, and what became what."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from peephole.compilers.torch.labels import moves
from peephole.compilers.torch.logged import parts_of
from peephole.compilers.traces import trace_of
from peephole.model.tables import GRAPH, NONE
from peephole.replay.trace import RewriteTrace

if TYPE_CHECKING:
    from peephole.store.capture import Capture

LOWERING: Final = "lowering"
FUSION: Final = "fusion"
CODEGEN: Final = "codegen"
HALF: Final = "half"
EXTERN: Final = "extern"
CALLS: Final = ("kernel", EXTERN)
"""Ops of the calls in the graph after codegen."""


class Instruction(NamedTuple):
    """An instruction of a graph."""

    row: int
    id: int
    name: str
    op: str
    dtype: str
    arg: str
    tag: str
    shape: str
    metadata: str
    src: tuple[int, ...]
    """Rows of its sources."""

    @property
    def parts(self) -> list[str]:
        """The names of the FX nodes that it computes."""
        return [name for name in self.tag.split(", ") if name]


@dataclass(slots=True)
class Half:
    """What is asked about a half again and again."""

    context: int
    name: str
    steps: dict[str, int]
    """Ids of the steps by name; of several the last."""
    rounds: list[int]
    """The steps in which nodes were fused, in order."""
    fx_step: int = NONE
    fx: dict[str, Instruction] = field(default_factory=dict)
    """The graph that was lowered, with the subgraphs that it calls."""
    inner: frozenset[str] = frozenset()
    """Those of the subgraphs alone."""
    calls: list[Instruction] = field(default_factory=list)
    """Kernels in the order in which they run."""
    memory: dict[int, Instruction] = field(default_factory=dict)
    """Inputs and buffers of the graph after codegen, by row."""
    made_of: dict[int, list[str]] = field(default_factory=dict)
    """For each call, by its id, the scheduler nodes that it computes."""
    kernels: dict[str, int] = field(default_factory=dict)
    """Contexts of the kernels by name."""

    def scheduled(self, call: Instruction) -> set[str]:
        """The scheduler nodes of a call, taken apart: op0, op1 of op0_op1."""
        return {part for name in self.made_of.get(call.id, ()) for part in apart(name)}


def apart(name: str) -> list[str]:
    """The scheduler nodes that a fused one is made of."""
    return name.split("_") if name.startswith("op") else [name]


def halves(capture: Capture) -> list[Half]:
    """All halves of a capture."""
    frame = capture.read("contexts", ["id", "kind"])
    trace = trace_of(capture)
    rows = zip(frame["id"].tolist(), frame.texts("kind"), strict=True)
    own = [number for number, kind in rows if kind == HALF and trace.compiler_name(number) == "torch"]
    return [half_of(capture, number) for number in own]


def half_of(capture: Capture, context: int) -> Half:
    """A half by its context, read once."""
    trace = trace_of(capture)
    with trace.lock:
        kept: dict[int, Half] = trace.derived.setdefault("halves", {})
        if context not in kept:
            kept[context] = _read(capture, trace, context)
        return kept[context]


def _read(capture: Capture, trace: RewriteTrace, context: int) -> Half:
    half = Half(context, trace.context_names.get(context, ""), {}, [])
    for row in trace.context_rows(context):
        name = trace.text("name", row) or ""
        half.steps[name] = trace.number("id", row)
        if name.startswith(f"{FUSION} "):
            half.rounds.append(trace.number("id", row))
    _read_graph(trace, half)
    if CODEGEN in half.steps:
        _read_code(capture, trace, half)
    frame = capture.read("contexts", ["id", "parent", "name"])
    for number, parent, own in zip(frame["id"].tolist(), frame["parent"].tolist(), frame.texts("name"), strict=True):
        if parent == context:
            half.kernels.setdefault(own or "", number)
    return half


def _read_graph(trace: RewriteTrace, half: Half) -> None:
    """The FX graph that was lowered; of a log, which has no lowering, the last one before the code."""
    root = NONE
    for row in trace.context_rows(half.context):
        name = trace.text("name", row) or ""
        if name.startswith((FUSION, CODEGEN)):
            break
        came_out = NONE if name == LOWERING else trace.number("after", row)
        here = came_out if came_out >= 0 else trace.number("root", row)
        if here >= 0:
            root, half.fx_step = here, trace.number("id", row)
    own = {one.name: one for one in listed(trace, root)}
    half.fx = {one.name: one for one in with_subgraphs(trace, root)} | own
    half.inner = frozenset(half.fx.keys() - own.keys())


def _read_code(capture: Capture, trace: RewriteTrace, half: Half) -> None:
    step = half.steps[CODEGEN]
    code = [one for one in listed(trace, trace.number("after", trace.step_row(step))) if one.op != "output"]
    if not any(one.parts for one in code):
        code = _as_logged(capture, half, code)
    own = {one.row: _own_parts(one, half.fx) for one in code if one.op == EXTERN}
    if half.inner:  # a branch's kernel is said to compute what chooses the branch as well
        inside = {one.row: [part for part in one.parts if part in half.inner] for one in code if one.op == "kernel"}
        code = [one._replace(tag=", ".join(inside[one.row])) if inside.get(one.row) else one for one in code]
    computed = {part for one in own.values() for part in one.parts if _calls(one.name, part, half.fx)}
    for one in code:
        if one.op in CALLS:
            half.calls.append(own.get(one.row) or _without(one, computed))
        elif own.keys().isdisjoint(one.src):
            half.memory[one.row] = _without(one, computed)
        else:
            half.memory[one.row] = one._replace(tag=own[one.src[0]].tag)
    lists = trace.match_lists
    rows = trace.match_rows(step)
    nodes = trace.instructions()
    for row in range(rows.start, rows.stop) if lists is not None else ():
        assert lists is not None
        taken = trace.table.rows(lists[0][row]).tolist()
        for call in lists[1][row]:
            names = [nodes.name(one) or "" for one in taken if one >= 0]
            half.made_of.setdefault(call, []).extend(names)


def _as_logged(capture: Capture, half: Half, code: list[Instruction]) -> list[Instruction]:
    """The calls with what a log says that they compute: of a library's call no more than its own operation."""
    next_parts, found = parts_of(capture, half.context), []
    for one in code:
        parts = next_parts(re.sub(r"\.\d+$", "", one.name)) if one.op in CALLS else []
        if one.op == EXTERN:
            parts = [name for name in parts if _calls(one.name, name, half.fx)]
        found.append(one._replace(tag=", ".join(parts)))
    return found


def _own_parts(call: Instruction, fx: dict[str, Instruction]) -> Instruction:
    """A library's call with what it computes itself: Inductor names what its inputs are made of as well."""
    if call.name in fx and fx[call.name].op == "get_attr":  # a subgraph
        return call._replace(tag=", ".join(one.name for one in fx.values() if fx[call.name].row in one.src))
    own = [name for name in call.parts if _calls(call.name, name, fx)]
    if not own:
        return call
    # of several of one operation the others are its inputs'
    return call._replace(
        tag=", ".join(one for one in call.parts if one == own[-1] or (one in fx and moves(fx[one].op)))
    )


def _calls(call: str, name: str, fx: dict[str, Instruction]) -> bool:
    """Whether a library's call is the operation of an FX node: `torch.ops.mine.twice.default` that of `twice`."""
    path = call.removeprefix("torch.ops.").replace("extern_kernels.", "aten.").split(".")
    return name in fx and fx[name].op.split(".")[:2] == path[:2]


def _without(one: Instruction, computed: set[str]) -> Instruction:
    """A kernel or buffer without what libraries' calls compute: Inductor names what reads it next as well.

    One that only makes inputs ready for such a call (another layout) keeps the name of the call's operation.
    """
    left = [name for name in one.parts if name not in computed]
    return one._replace(tag=", ".join(left)) if left else one


def listed(trace: RewriteTrace, root: int) -> list[Instruction]:
    """The instructions of a graph by its root's id."""
    place = int(trace.table.rows([root])[0]) if root >= 0 else -1
    if place < 0:
        return []
    return [instruction(trace, row) for row in trace.table.sources(place) if row >= 0]


def with_subgraphs(trace: RewriteTrace, root: int) -> list[Instruction]:
    """The instructions of a graph, then those of the graphs that they call, such as the branches of a condition."""
    found = listed(trace, root)
    seen = {root}
    for one in found:  # which grows meanwhile
        for row in one.src if one.op == "get_attr" else ():
            inner = int(trace.table.ids[row])
            if trace.table.texts(trace.table.own(row))[0] == GRAPH and inner not in seen:
                seen.add(inner)
                found += listed(trace, inner)
    return found


def instruction(trace: RewriteTrace, row: int) -> Instruction:
    """A node by its row."""
    table, nodes = trace.table, trace.instructions()
    op, dtype, arg, tag = table.texts(table.own(row))
    return Instruction(
        row,
        int(table.ids[row]),
        nodes.name(row) or "",
        op,
        dtype,
        arg or "",
        tag or "",
        nodes.shape(row) or "",
        nodes.metadata(row) or "",
        tuple(table.sources(row)),
    )
