"""What is counted exactly: rules, passes, launches, operations, bytes, messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from peephole.query.compare.by_content.hash_loops import Ints
from peephole.query.compare.remembered import counted_once
from peephole.query.compare.results import CountRow, KernelRow, PassRow, RuleRow
from peephole.query.compare.several import middle

if TYPE_CHECKING:
    from peephole.query.compare.compiled import Compiled, RuleLine
    from peephole.query.compare.pairs import Pairs
    from peephole.query.compare.recorded import Recorded


def rule_rows(a: Compiled, b: Compiled, found: Pairs) -> list[RuleRow]:
    """The rules whose matches differ in number, or whose text was edited; those that differ most first."""
    own, other = _fired(a), _fired(b)
    edited = set(found.rules.edited)
    rows = []
    taken = set()
    for at, rule in enumerate(a.rules):
        place = int(found.rules.b_of_a[at])
        taken.add(place)
        two = b.rules[place] if place >= 0 else None
        if own[at] == (other[place] if place >= 0 else 0) and (at, place) not in edited:
            continue
        rows.append(_rule_row(rule, two, (at, place) in edited))
    rows += [_rule_row(None, rule, False) for at, rule in enumerate(b.rules) if at not in taken and other[at]]
    return sorted(rows, key=lambda row: (row.a == row.b, -abs(row.a - row.b), row.rule))


def _rule_row(a: RuleLine | None, b: RuleLine | None, edited: bool) -> RuleRow:
    either = a or b
    assert either is not None
    file = either.file.replace("\\", "/").rpartition("/")[2]
    return RuleRow(
        f"{file}:{either.line}",
        a.matches if a else 0,
        b.matches if b else 0,
        f"{a.file}:{a.line}" if a else "",
        f"{b.file}:{b.line}" if b else "",
        (a.text or "") if a else "",
        (b.text or "") if b else "",
        edited,
    )


def _fired(side: Compiled) -> Ints:
    """How often each rule fired in the steps that count."""
    counts = np.zeros(len(side.rules), np.int64)
    keep = np.zeros(len(side.match_rule), np.bool_)
    once = counted_once(side)
    for step in np.flatnonzero(once & (side.step_matches > 0)).tolist():
        keep[side.match_rows(step)] = True
    np.add.at(counts, side.match_rule[keep], 1)
    return counts


def pass_rows(a: Compiled, b: Compiled) -> list[PassRow]:
    """The passes by name, the longest first."""
    sums = [_passes(side) for side in (a, b)]
    nothing = (0, 0, 0, 0, 0)
    rows = []
    for name in dict.fromkeys([*sums[0], *sums[1]]):
        one, two = sums[0].get(name, nothing), sums[1].get(name, nothing)
        rows.append(PassRow(name, one[0], two[0], one[1], two[1], one[2], two[2], one[3:] != two[3:]))
    return sorted(rows, key=lambda row: -max(row.ns_a, row.ns_b))


def _passes(side: Compiled) -> dict[str, tuple[int, int, int, int, int]]:
    """Steps, matches and ns of each pass, then steps and matches that count."""
    once = counted_once(side)
    names: dict[str, int] = {}
    code = np.array([names.setdefault(name, len(names)) for name in side.step_name], np.int64)
    columns = []
    time = np.maximum(side.step_dur, 0)
    for values in (
        np.ones(len(code), np.int64),
        side.step_matches,
        time,
        once.astype(np.int64),
        side.step_matches * once,
    ):
        sums = np.zeros(len(names), np.int64)
        np.add.at(sums, code, values)
        columns.append(sums.tolist())
    return {name or "(unnamed)": tuple(column[at] for column in columns) for name, at in names.items()}  # type: ignore[misc]


def count_rows(
    a: Sequence[Recorded],
    b: Sequence[Recorded],
    passes: Sequence[PassRow],
    kernels: Sequence[KernelRow],
    ran: bool = True,
) -> list[CountRow]:
    """Contexts, steps, matches of the first captures and, when both `ran`, launches, operations and bytes."""
    one, two = a[0].compiled, b[0].compiled
    rows = []
    if one.units and two.units:
        rows.append(CountRow("contexts", len(one.units), len(two.units), len(one.units) != len(two.units)))
    if one.has_steps and two.has_steps:
        differ = any(row.differs for row in passes)
        rows.append(CountRow("steps", len(one.step_id), len(two.step_id), differ))
        rows.append(CountRow("matches", int(one.step_matches.sum()), int(two.step_matches.sum()), differ))
    if not ran:
        return [row for row in rows if row.a or row.b]
    launches = [sum(row.launches_a for row in kernels), sum(row.launches_b for row in kernels)]
    uneven = any(row.uneven for row in kernels)
    rows.append(CountRow("launches", launches[0], launches[1], launches[0] != launches[1] or uneven))
    work = {name: [middle(side, partial(work_of, name=name)) for side in (a, b)] for name in ("flops", "bytes")}
    # nothing runs without moving a byte: a side without any does not know what was done
    if not all(launches) or not any(work["bytes"]) or all(work["bytes"]):
        rows += [CountRow(name, own, other, _unlike(own, other)) for name, (own, other) in work.items()]
    return [row for row in rows if row.a or row.b]


def launches_of(side: Recorded) -> int:
    """How often kernels ran in a capture."""
    return sum(run.count for run in side.runs.runs if run.group == "kernels")


def work_of(side: Recorded, name: str) -> float:
    """Operations or bytes of all kernels of a capture."""
    return float(sum(getattr(run, name) * run.count for run in side.runs.runs if run.group == "kernels"))


def _unlike(a: float, b: float) -> bool:
    """Whether two sums of what was told in four digits differ by more than that."""
    return abs(a - b) > 1e-3 * max(abs(a), abs(b))


def message_rows(a: Mapping[str, int], b: Mapping[str, int]) -> list[CountRow]:
    """Of tapes: the kinds of messages, those whose numbers differ first."""
    rows = [
        CountRow(name, a.get(name, 0), b.get(name, 0), a.get(name) != b.get(name)) for name in dict.fromkeys([*a, *b])
    ]
    return sorted(rows, key=lambda row: (not row.differs, -abs(row.a - row.b), row.name))
