"""Where two contexts part: the first step, then the first match, at which their rewrites differ."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from peephole.query.compare.compiled import Compiled, RuleLine, Unit
from peephole.query.compare.remembered import remembered

What = Literal["input", "pass", "match", "output", "decision", "missing"]


@dataclass(frozen=True, slots=True)
class Parting:
    """Where a pair of contexts parts. Steps by their rows in `Compiled`, -1 for a side that has no such step."""

    what: What
    """input: the graphs that went in differ. pass: other passes. match: this match, or one side has no more.
    output: the graphs that came out differ. decision: the pass decided otherwise. missing: one side has no steps."""
    step_a: int
    step_b: int
    ordinal: int
    """Which step of the context, from 0."""
    match: int
    """From 1; 0 where it is not a match."""
    rule_a: RuleLine | None = None
    rule_b: RuleLine | None = None
    inner: Parting | None = None
    """Where a pass that ran inside this one parts, when that is what this difference comes from."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Both recordings, and which of their rules are one.

    With `short` matches are compared by 16 bits, which is all that a baseline keeps.
    """

    a: Compiled
    b: Compiled
    b_of_a: NDArray[np.int64]
    known_a: NDArray[np.bool_]
    """Steps of A that run inside others and that B has too, in whatever context: see `remembered`."""
    known_b: NDArray[np.bool_]
    short: bool
    skipped: list[int] = field(default_factory=list)
    """Such steps that a walk went past, since only one side shows them there."""


def sides(a: Compiled, b: Compiled, b_of_a: NDArray[np.int64], short: bool) -> Sides:
    """Both recordings, ready to be compared."""
    known_a, known_b = remembered(a, b, b_of_a, short)
    return Sides(a, b, b_of_a, known_a, known_b, short)


def parting(both: Sides, one: Unit, two: Unit) -> Parting | None:
    """Where these two part; None when all that was recorded of them is equal."""
    steps_a, steps_b = one.past - one.first, two.past - two.first
    if not steps_a or not steps_b:
        return None if steps_a == steps_b else Parting("missing", -1, -1, 0, 0)
    if _all_equal(both, one, two):
        return None
    return _walk(both, (one.first, one.past), (two.first, two.past), (one.first, two.first))


def _walk(both: Sides, rows_a: tuple[int, int], rows_b: tuple[int, int], begin: tuple[int, int]) -> Parting | None:
    """The first of these steps that differ; `begin` are the first steps of their contexts."""
    a, b = both.a, both.b
    i, j = rows_a[0], rows_b[0]
    while i < rows_a[1] and j < rows_b[1]:
        found = _step(both, i, j, i - begin[0])
        if found is None:
            i, j = i + 1, j + 1
        elif found.what in ("pass", "input") and both.known_a[i]:
            both.skipped.append(i)
            i += 1
        elif found.what in ("pass", "input") and both.known_b[j]:
            both.skipped.append(j)
            j += 1
        elif found.what != "match":
            return found
        else:
            inner = _walk(both, (i + 1, _inside(a, i, rows_a[1])), (j + 1, _inside(b, j, rows_b[1])), begin)
            return found if inner is None or inner.what == "pass" else replace(found, inner=inner.inner or inner)
    while i < rows_a[1] and both.known_a[i]:
        both.skipped.append(i)
        i += 1
    while j < rows_b[1] and both.known_b[j]:
        both.skipped.append(j)
        j += 1
    if i == rows_a[1] and j == rows_b[1]:
        return None
    more_a, more_b = i < rows_a[1], j < rows_b[1]
    return Parting("pass", i if more_a else -1, j if more_b else -1, i - begin[0] if more_a else j - begin[1], 0)


def _inside(side: Compiled, step: int, past: int) -> int:
    """The first step behind this one that does not run inside it."""
    at = step + 1
    while at < past and side.step_depth[at] > side.step_depth[step]:
        at += 1
    return at


def _step(both: Sides, i: int, j: int, ordinal: int) -> Parting | None:
    a, b = both.a, both.b
    if a.step_name[i] != b.step_name[j]:
        return Parting("pass", i, j, ordinal, 0)
    if a.step_root[i] != b.step_root[j]:
        return Parting("input", i, j, ordinal, 0)
    own, other = a.match_rows(i), b.match_rows(j)
    count = min(own.stop - own.start, other.stop - other.start)
    first = slice(own.start, own.start + count), slice(other.start, other.start + count)
    differs = _different(both, *first)
    longest = max(own.stop - own.start, other.stop - other.start)
    at = int(np.argmax(differs)) if differs.any() else count
    if at < longest:
        rule_a = a.rules[int(a.match_rule[own.start + at])] if own.start + at < own.stop else None
        rule_b = b.rules[int(b.match_rule[other.start + at])] if other.start + at < other.stop else None
        return Parting("match", i, j, ordinal, at + 1, rule_a, rule_b)
    if a.step_decisions[i] != b.step_decisions[j]:
        return Parting("decision", i, j, ordinal, 0)
    if a.step_after[i] != b.step_after[j]:
        return Parting("output", i, j, ordinal, 0)
    return None


def _different(both: Sides, own: slice, other: slice) -> NDArray[np.bool_]:
    a, b = both.a, both.b
    differs: NDArray[np.bool_] = both.b_of_a[a.match_rule[own]] != b.match_rule[other]
    for column in ("match_short",) if both.short else ("match_before", "match_after"):
        differs = differs | (getattr(a, column)[own] != getattr(b, column)[other])
    return differs


def _all_equal(both: Sides, one: Unit, two: Unit) -> bool:
    a, b = both.a, both.b
    own, other = slice(one.first, one.past), slice(two.first, two.past)
    if a.step_name[own] != b.step_name[other]:
        return False
    for column in ("step_root", "step_after", "step_decisions", "step_matches"):
        if not np.array_equal(getattr(a, column)[own], getattr(b, column)[other]):
            return False
    rows_a, rows_b = _rows(a, own), _rows(b, other)
    if rows_a is None or rows_b is None:  # the steps' matches do not stand together: step by step
        pairs = zip(range(one.first, one.past), range(two.first, two.past), strict=True)
        return not any(_different(both, a.match_rows(i), b.match_rows(j)).any() for i, j in pairs)
    return not _different(both, rows_a, rows_b).any()


def _rows(side: Compiled, steps: slice) -> slice | None:
    """The matches of these steps as one stretch; None when they are not one in order."""
    first, count = side.step_first[steps], side.step_matches[steps]
    some = count > 0
    first, count = first[some], count[some]
    if not len(first):
        return slice(0, 0)
    if np.any(first[1:] != (first + count)[:-1]):
        return None
    return slice(int(first[0]), int(first[-1] + count[-1]))
