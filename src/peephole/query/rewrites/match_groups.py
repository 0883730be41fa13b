"""The matches of a step by what they have in common: the rule that fired, and which op became which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from peephole.query.rewrites.step_graphs import matches

if TYPE_CHECKING:
    from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class MatchGroup:
    """Matches of one rule that made one op of another; those that took a pass's word for it have no rule."""

    before_op: str
    after_op: str
    file: str | None
    line: int
    kind: str
    count: int
    dur: int
    """ns of all of them"""
    first: int
    """The first of them, from 1."""


@dataclass(frozen=True, slots=True)
class MatchGroups:
    """The groups, those with most matches first, and the place of each match's group, in the order of the matches."""

    groups: list[MatchGroup]
    of: list[int]


def match_groups(capture: Capture, step: int) -> MatchGroups:
    """The groups of a step's matches; PeepholeError when there is no such step."""
    rows = matches(capture, step)
    found: dict[tuple[str, str, str | None, int, str], list[int]] = {}
    for row in rows:
        found.setdefault((row.before_op, row.after_op, row.file, row.line, row.kind), []).append(row.ordinal)
    order = sorted(found.items(), key=lambda one: (-len(one[1]), one[1][0]))
    groups, of = [], [0] * len(rows)
    for place, (key, own) in enumerate(order):
        groups.append(MatchGroup(*key, len(own), sum(max(0, rows[number - 1].dur) for number in own), own[0]))
        for number in own:
            of[number - 1] = place
    return MatchGroups(groups, of)
