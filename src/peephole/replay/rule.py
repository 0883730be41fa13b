"""The rule of a match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from peephole.replay.trace import RewriteTrace


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule of a match: where it is written, its source line, how long it took (-1: unknown)."""

    file: str | None
    line: int
    source: str | None
    dur_ns: int


def rule_of(trace: RewriteTrace, step_id: int, match: int) -> Rule:
    """The rule of a match, counted from 1."""
    rows = trace.match_rows(step_id)
    one = slice(rows.start + match - 1, rows.start + match)
    file, line = trace.match_files(one)[0], int(trace.match_numbers("line", one)[0])
    return Rule(file, line, trace.places.line(file, line), int(trace.match_numbers("dur", one)[0]))
