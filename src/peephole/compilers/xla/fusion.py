"""Why two kernels of a module are two: from what its fusion pass said, or how to have it say so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from peephole.compilers.answers import Boundary, Buffer, Evidence, Kernel, Schedule, Why
from peephole.compilers.program_lines import parse
from peephole.compilers.traces import trace_of
from peephole.compilers.xla.kernels import final_root, members, running
from peephole.compilers.xla.schedule import module_schedule
from peephole.replay.trace import RewriteTrace

if TYPE_CHECKING:
    from peephole.store.capture import Capture

HOW: Final = (
    "this capture has no explanations of fusion: record with peephole run --full, or dump with "
    "XLA_FLAGS=--xla_dump_fusion_visualization beside the other flags"
)


FUSION: Final = "fusion"
"""The pass that fuses."""


def why_kernels(capture: Capture, module_a: int, a: int, module_b: int, b: int) -> Why:
    """Why two kernels, by module and place, are two."""
    first_of, second_of = module_schedule(capture, module_a), module_schedule(capture, module_b)
    first, second = first_of.kernels[a], second_of.kernels[b]
    if module_a != module_b:
        text = f"{first.name} is of {first_of.name} and {second.name} of {second_of.name}, which XLA compiles apart."
        return Why("other schedule", first, second, first_of, second_of, [], [], [], text)
    if first.index > second.index:
        first, second = second, first
    between = _path(first_of, first.index, second.index)
    values = [edge.buffer for edge in first_of.edges if (edge.first, edge.second) == (first.index, second.index)]
    boundaries = _boundaries(capture, first_of, first, second, values)
    if values:
        relation, text = "dependent", ""
    elif len(between) > 2:
        relation = "between"
        names = " → ".join(first_of.kernels[at].name for at in between)
        text = f"{names}; ask about neighbours of that path"
        if not boundaries and not _words(capture, trace_of(capture), module_a):
            text += f"; {HOW}"
    else:
        relation = "independent"
        text = f"{second.name} needs nothing that {first.name} computes, so there was nothing to fuse."
        if boundaries:
            relation = "dependent"
    middle = [first_of.kernels[at] for at in between[1:-1]]
    return Why(relation, first, second, first_of, second_of, boundaries, middle, [], text)


def _boundaries(
    capture: Capture, schedule: Schedule, first: Kernel, second: Kernel, values: list[int]
) -> list[Boundary]:
    """What the fusion said about the two, last word first; a sentence on how to have it told where it said nothing."""
    trace = trace_of(capture)
    found: list[Boundary] = []
    buffer = schedule.buffers[values[0] if values else first.buffers[0]]
    names = [instructions_of(capture, schedule.context, kernel.name) for kernel in (first, second)]
    refusals = _refused(capture, trace, schedule.context)
    last: dict[str, tuple[int, str, str]] = {}
    for step, a, b, reason in refusals:
        if (a in names[0] and b in names[1]) or (a in names[1] and b in names[0]):
            last.pop(reason, None)
            last[reason] = (step, a, b)
    for reason, (step, a, b) in reversed(last.items()):
        evidence = Evidence(step, trace.text("name", trace.step_row(step)) or "", 0, None, -1, None)
        found.append(_boundary(buffer, "refused", f"{a} was not fused into {b}", reason, evidence, trace))
    if not found and values:
        if refusals:
            text = "the fusion pass never asked about the two: one of them may have been made after it"
            found.append(_boundary(buffer, "not asked", text, "not asked", None, trace))
        else:
            found.append(_boundary(buffer, "unknown", HOW, "not recorded", None, trace))
    return found


def _boundary(
    buffer: Buffer, kind: str, text: str, reason: str, evidence: Evidence | None, trace: RewriteTrace
) -> Boundary:
    row = int(trace.table.rows([buffer.node])[0])
    _, calls = parse(trace.instructions().metadata(row) if row >= 0 else None)
    line = f"{calls[0].file}:{calls[0].line} {calls[0].function}".rstrip() if calls else None
    return Boundary(buffer, kind, reason, text, None, None, evidence, line)


def _refused(capture: Capture, trace: RewriteTrace, module: int) -> list[tuple[int, str, str, str]]:
    """Step, names and reason of every pair that was refused in a module."""
    return [word for word in _words(capture, trace, module) if word[3] != ""]


def _words(capture: Capture, trace: RewriteTrace, module: int) -> list[tuple[int, str, str, str]]:
    frame = capture.read("decisions")
    kept = trace.derived.setdefault("xla fusion words", {})
    if module in kept:
        found: list[tuple[int, str, str, str]] = kept[module]
        return found
    found = []
    if len(frame):
        reasons = frame.texts("reason")
        nodes = trace.instructions()
        rows = {name: trace.table.rows(frame[name]) for name in ("a", "b")}
        kinds = frame.texts("kind")
        for at in np.flatnonzero(trace.context_of_steps(frame["step"]) == module).tolist():
            if kinds[at] not in ("fused", "refused"):
                continue
            a, b = (nodes.name(int(rows[name][at])) if rows[name][at] >= 0 else None for name in ("a", "b"))
            found.append((int(frame["step"][at]), a or "", b or "", reasons[at] or ""))
    kept[module] = found
    return found


def instructions_of(capture: Capture, module: int, kernel: str) -> set[str]:
    """Names, as the fusion pass knew them, of what lives in a kernel: itself, what went into it, what it began as."""
    trace = trace_of(capture)
    found = {kernel}
    for _, a, b, reason in _words(capture, trace, module):
        if not reason and b == kernel:
            found.add(a)
    return found | set(came_from(capture, module, kernel))


def came_from(capture: Capture, module: int, kernel: str) -> dict[str, str]:
    """Instructions before the fusion that a kernel's own are: by their names, what they are called inside it.

    One that moved has another name, and the same opcode, origin and shape.
    """
    trace = trace_of(capture)
    root = final_root(trace, module)
    nodes = trace.instructions()
    row = next((one for one in running(trace, root) if nodes.name(one) == kernel), -1) if root >= 0 else -1
    before = _before_fusion(trace, module)
    if row < 0 or before < 0:
        return {}
    table = trace.table
    known: dict[object, list[str]] = {}
    there = {nodes.name(one) for one in running(trace, root)}
    for one in table.sources(before):
        name = nodes.name(one)
        if name and not nodes.is_graph(one) and name not in there:
            known.setdefault(_likeness(trace, one), []).append(name)
    found = {}
    for inner in members(trace, row):
        for name in known.get(_likeness(trace, inner), ()):
            found[name] = nodes.name(inner) or ""
    return found


def _before_fusion(trace: RewriteTrace, module: int) -> int:
    for row in trace.context_rows(module):
        if trace.text("name", row) == FUSION:
            return int(trace.table.rows([trace.number("root", row)])[0])
    return -1


def _likeness(trace: RewriteTrace, row: int) -> object:
    table, nodes = trace.table, trace.instructions()
    return table.texts(table.own(row))[0], nodes.metadata(row), nodes.shape(row)


def _path(schedule: Schedule, first: int, second: int) -> list[int]:
    """A shortest way of values from one kernel to another; empty when there is none."""
    after: dict[int, list[int]] = {}
    for edge in schedule.edges:
        after.setdefault(edge.first, []).append(edge.second)
    came: dict[int, int] = {first: -1}
    pending = [first]
    for at in pending:
        if at == second:
            path = []
            while at >= 0:
                path.append(at)
                at = came[at]
            return path[::-1]
        for other in after.get(at, ()):
            if other not in came:
                came[other] = at
                pending.append(other)
    return []
