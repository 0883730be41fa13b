"""The kernels of modules: what runs as one, as the final graph of a module has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from peephole.compilers.traces import trace_of
from peephole.model.tables import GRAPH, NONE
from peephole.replay.trace import RewriteTrace

if TYPE_CHECKING:
    from peephole.store.capture import Capture

IDLE: Final = frozenset(
    ("parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "add-dependency", GRAPH)
)
"""Instructions that nothing runs for."""
CONTROL: Final = frozenset(("while", "conditional", "call", "async-start"))
"""Instructions whose computations run step by step, not as a part of a kernel."""


@dataclass(frozen=True, slots=True)
class KernelContext:
    """A kernel with the node of its instruction in the final graph (a row, -1 when it has none there)."""

    context: int
    name: str
    module: int
    index: int
    """Its place among the kernels of its module."""
    row: int
    members: list[int]
    """Rows of the nodes that it computes: those of its computation, or its own."""


def final_root(trace: RewriteTrace, module: int) -> int:
    """The row of the graph that a module became; -1 when there is none."""
    rows = trace.context_rows(module)
    for row in reversed(rows):
        after = trace.number("after", row)
        if after >= 0:
            return int(trace.table.rows([after])[0])
    return NONE


def running(trace: RewriteTrace, root: int) -> list[int]:
    """Rows of the instructions that run one by one: those of the entry, of loops and of branches, in order."""
    return instructions(trace, root, CONTROL)


def instructions(trace: RewriteTrace, root: int, opened: frozenset[str] | None = None) -> list[int]:
    """Rows of the instructions of a graph and of the computations in it; of those that these opcodes call when some
    are given, which leaves out computations that nothing calls."""
    table, nodes = trace.table, trace.instructions()
    found: list[int] = []
    seen, pending = {root}, [root]
    while pending:
        for row in table.sources(pending.pop()):
            if nodes.is_graph(row):
                bodies = [row] if opened is None else []
            else:
                found.append(row)
                if opened is not None and table.texts(table.own(row))[0] not in opened:
                    continue
                bodies = [body for body in table.sources(row) if nodes.is_graph(body)]
            fresh = [body for body in bodies if body not in seen]
            seen.update(fresh)
            pending += fresh
    return found


def members(trace: RewriteTrace, row: int) -> list[int]:
    """Rows of what an instruction computes: the instructions of the computations it calls, or itself."""
    table, nodes = trace.table, trace.instructions()
    bodies = [body for body in table.sources(row) if nodes.is_graph(body)]
    if not bodies:
        return [row]
    return [inner for body in bodies for inner in table.sources(body) if not nodes.is_graph(inner)]


def kernel_contexts(capture: Capture) -> list[KernelContext]:
    """The kernels that have a context, module by module."""
    trace = trace_of(capture)
    with trace.lock:
        kept = trace.derived.setdefault("xla kernels", {})
        if 0 not in kept:
            kept[0] = _kernel_contexts(capture, trace)
        found: list[KernelContext] = kept[0]
        return found


def _kernel_contexts(capture: Capture, trace: RewriteTrace) -> list[KernelContext]:
    frame = capture.read("contexts", ["id", "name", "kind", "parent", "compiler"])
    kinds, names, compilers = (frame.texts(name) for name in ("kind", "name", "compiler"))
    by_module: dict[int, list[tuple[int, str]]] = {}
    for at, (context, parent) in enumerate(zip(frame["id"].tolist(), frame["parent"].tolist(), strict=True)):
        if kinds[at] == "kernel" and compilers[at] == "xla":
            by_module.setdefault(parent, []).append((context, names[at] or ""))
    found = []
    for module, kernels in by_module.items():
        root = final_root(trace, module)
        nodes = trace.instructions()
        rows = {nodes.name(row): row for row in running(trace, root)} if root >= 0 else {}
        for index, (context, name) in enumerate(kernels):
            row = rows.get(name, NONE)
            found.append(KernelContext(context, name, module, index, row, members(trace, row) if row >= 0 else []))
    return found
