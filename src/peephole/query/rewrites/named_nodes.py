"""Where each named instruction is seen first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from peephole.compilers.traces import trace_of
from peephole.query.rewrites.step_graphs import match_count

if TYPE_CHECKING:
    from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class NamedNode:
    """An instruction by its name, the first graph that it is in (ids of -1: in none), and how many nodes it was."""

    name: str
    op: str
    id: int
    context: int
    step: int
    match: int
    count: int


def first_seen(capture: Capture) -> list[NamedNode]:
    """All names of instructions; empty where nodes have none. Graphs that went in come before those that came out:
    what a pass made is nearly always in the graph that goes into the next one."""
    names = capture.read("nodes", ["name"]).texts("name")
    if not (names.codes >= 0).any():
        return []
    trace = trace_of(capture)
    table = trace.table
    steps = capture.read("steps", ["id", "context", "root", "after"])
    known: dict[int, tuple[int, int, int, bool]] = {}
    walked: set[int] = set()
    codes = names.codes.tolist()
    for column in ("root", "after"):
        for i, root in enumerate(table.rows(steps[column]).tolist()):
            if root < 0:
                continue
            # what an earlier graph has needs no second look
            for row in table.reachable([root], walked):
                walked.add(row)
                if codes[row] >= 0 and codes[row] not in known:
                    known[codes[row]] = (row, int(steps["context"][i]), int(steps["id"][i]), column == "after")
    values, rows, counts = np.unique(names.codes, return_index=True, return_counts=True)
    found = []
    for code, any_row, count in zip(values.tolist(), rows.tolist(), counts.tolist(), strict=True):
        if code < 0:
            continue
        row, context, step, came_out = known.get(code, (any_row, -1, -1, False))
        match = match_count(trace, step) if came_out else min(step, 0)
        op = table.texts(table.own(row))[0]
        found.append(NamedNode(names.values[code], op, int(table.ids[row]), context, step, match, count))
    return found
