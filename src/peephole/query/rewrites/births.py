"""Which pass, match and rule made each box of a graph, and how long that took."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from peephole.compilers.traces import trace_of
from peephole.model.tables import NONE
from peephole.query.rewrites.step_graphs import check_match, step_name
from peephole.replay.lineage import lineage_of

if TYPE_CHECKING:
    from peephole.replay.trace import RewriteTrace
    from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class Births:
    """One list a column, a row for each box that a pass of the context made."""

    identity: list[int]
    step: list[int]
    match: list[int]
    rule: list[int]
    """Place in `rules`; -1 where no rule was recorded."""
    dur: list[int]
    """ns that the match took; -1 where that was not recorded."""
    rules: list[str]
    """`file.py:12`"""
    names: dict[int, str]
    """What the steps are called."""


def births(capture: Capture, step: int, match: int, stop: Callable[[], bool] | None = None) -> Births:
    """Where the boxes of the graph after a match come from. What went into the first pass is left out."""
    trace = trace_of(capture)
    check_match(trace, step, match)
    with trace.lock:
        lineage = lineage_of(trace, trace.number("context", trace.step_row(step)))
        made = lineage.births(step, match, stop)
    rows = sorted((box, *where) for box, where in made.items() if where[0] != NONE)
    rules: dict[str, int] = {}
    known: dict[tuple[int, int], tuple[int, int]] = {}
    for one in {where[1] for where in rows}:
        known.update(((one, number), told) for number, told in _told(trace, one, rules).items())
    told = [known.get((one, number), (NONE, NONE)) for _, one, number in rows]
    names = {one: step_name(trace, one) for one in {row[1] for row in rows}}
    return Births(
        [row[0] for row in rows],
        [row[1] for row in rows],
        [row[2] for row in rows],
        [rule for rule, _ in told],
        [dur for _, dur in told],
        list(rules),
        names,
    )


def _told(trace: RewriteTrace, step: int, rules: dict[str, int]) -> dict[int, tuple[int, int]]:
    """The rule and the time of each match of a step."""
    rows = trace.match_rows(step)
    lines, durations = (trace.match_numbers(name, rows).tolist() for name in ("line", "dur"))
    found = {}
    for number, (file, line, dur) in enumerate(zip(trace.match_files(rows), lines, durations, strict=True), 1):
        name = (file or "").replace("\\", "/").rpartition("/")[2]
        rule = rules.setdefault(f"{name}:{line}", len(rules)) if name else NONE
        found[number] = (rule, dur)
    return found
