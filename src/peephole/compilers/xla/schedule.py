"""A module as a schedule: what runs, in order, and the values that go from one kernel to another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from peephole.compilers.answers import Buffer, Edge, Kernel, Schedule
from peephole.compilers.labels import Family, Look, NodeText, cut_kernel
from peephole.compilers.traces import trace_of
from peephole.compilers.xla import labels
from peephole.compilers.xla.kernels import CONTROL, IDLE, final_root, kernel_contexts, members, running
from peephole.compilers.xla.origin import DULL
from peephole.errors import PeepholeError
from peephole.model.tables import NONE
from peephole.replay.trace import RewriteTrace

if TYPE_CHECKING:
    from peephole.store.capture import Capture

_OWN: Final = frozenset(("parameter", "constant"))


def module_schedule(capture: Capture, module: int) -> Schedule:
    """The kernels of a module's final graph and the values between them; PeepholeError when it has no graph."""
    trace = trace_of(capture)
    with trace.lock:
        kept = trace.derived.setdefault("xla schedules", {})
        if module not in kept:
            kept[module] = _schedule(capture, trace, module)
        found: Schedule = kept[module]
        return found


def _schedule(capture: Capture, trace: RewriteTrace, module: int) -> Schedule:
    name = trace.context_names.get(module, "")
    root = final_root(trace, module)
    if root < 0:
        raise PeepholeError(f"{name} has no graph, so its kernels are not known.")
    table, nodes = trace.table, trace.instructions()
    contexts = {one.name: one.context for one in kernel_contexts(capture) if one.module == module}

    def op(row: int) -> str:
        return table.texts(table.own(row))[0]

    rows = running(trace, root)
    places = {row: at for at, row in enumerate(row for row in rows if op(row) not in IDLE)}
    kernels: list[Kernel] = []
    buffers: dict[int, Buffer] = {}
    edges: list[Edge] = []
    order: dict[int, int] = {}

    def buffer_of(row: int) -> int:
        if row not in buffers:
            order[row] = len(order)
            own = op(row) in _OWN
            value = nodes.name(row) or op(row)
            dtype = table.texts(table.own(row))[1] or ""
            writers = [places[row]] if row in places else []
            look = replace(_look(trace, row), arg="" if writers else op(row), family=Family.MEMORY)
            buffers[row] = Buffer(
                int(table.ids[row]), op(row), own, value, order[row], dtype, None, "", writers, [], look
            )
        return order[row]

    for row, at in places.items():
        inputs = list(dict.fromkeys(_values(trace, row)))
        outputs = [buffer_of(row)]
        for source in inputs:
            number = buffer_of(source)
            buffers[source].readers.append(at)
            if source in places:
                edges.append(Edge(places[source], at, number, "value"))
        inside = [one for one in members(trace, row) if op(one) not in DULL]
        value = nodes.name(row) or op(row)
        kernels.append(
            Kernel(
                at,
                value,
                contexts.get(value, NONE),
                int(table.ids[row]),
                "control" if op(row) in CONTROL else "kernel",
                [int(table.ids[one]) for one in inside],
                [op(one) for one in inside],
                outputs + [order[source] for source in inputs],
                _look(trace, row),
            )
        )
    whole = Look(name, "", "")
    return Schedule(module, name, module, kernels, list(buffers.values()), edges, whole)


def _values(trace: RewriteTrace, row: int) -> list[int]:
    """Rows of the values that an instruction reads, through what only hands them on."""
    table, nodes = trace.table, trace.instructions()
    found: list[int] = []
    pending = list(reversed(table.sources(row)))
    seen: set[int] = set()
    while pending:
        source = pending.pop()
        if source in seen or nodes.is_graph(source):
            continue
        seen.add(source)
        op = table.texts(table.own(source))[0]
        if op in IDLE and op not in _OWN:
            pending += reversed(table.sources(source))
        else:
            found.append(source)
    return found


def _look(trace: RewriteTrace, row: int) -> Look:
    """An instruction under its name, which is what a kernel is called."""
    op, dtype, arg, _ = trace.table.texts(trace.table.own(row))
    nodes = trace.instructions()
    look = labels.look(NodeText(op, dtype or "", arg or "", nodes.shape(row) or ""))
    return replace(look, name=cut_kernel(nodes.name(row) or op), arg=f"{look.name} {look.arg}".strip())
