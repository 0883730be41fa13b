"""The same collective on all ranks: by its group and its place in the group's order, or within a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from peephole.query.ranks.intervals import Ints
from peephole.query.ranks.names import makes_all_wait
from peephole.query.ranks.summary import RankSummary

MISSING = np.iinfo(np.int64).min


@dataclass(slots=True)
class Matched:
    """Collectives by ranks: a row for each collective, a column for each rank; MISSING where a rank took no part."""

    group: list[str]
    name: list[str]
    step: Ints
    """-1 outside of any."""
    bytes: Ints
    start: Ints
    """ns on each rank's own clock."""
    end: Ints
    all_wait: np.ndarray[tuple[int], np.dtype[np.bool_]]
    """No rank could end it before the last had begun."""

    def __len__(self) -> int:
        return len(self.group)


def match(summaries: Sequence[RankSummary], problem: Callable[[str, int, str], None]) -> Matched:
    """The collectives that at least two ranks saw, in order of time; what could not be matched goes to `problem`."""
    rows: list[tuple[str, str, int, int, Ints, Ints]] = []
    groups: dict[str, list[tuple[int, Ints]]] = {}
    steps = [_steps_of(summary) for summary in summaries]
    for column, summary in enumerate(summaries):
        talk = summary.collectives
        for code in np.unique(talk.group).tolist():
            groups.setdefault(talk.texts[code], []).append((column, np.flatnonzero(talk.group == code)))
    for group, members in sorted(groups.items()):
        for step, chosen in _stretches(members, summaries, steps):
            rows += _match_stretch(group, step, chosen, summaries, steps, problem)
    if not rows:
        none = np.zeros((0, len(summaries)), np.int64)
        return Matched([], [], none[:, 0], none[:, 0], none, none, np.zeros(0, np.bool_))
    start = np.vstack([row[4] for row in rows])
    order = np.argsort(np.where(start == MISSING, np.iinfo(np.int64).max, start).min(axis=1), kind="stable")
    ordered = [rows[i] for i in order.tolist()]
    return Matched(
        [row[0] for row in ordered],
        [row[1] for row in ordered],
        np.array([row[2] for row in ordered], np.int64),
        np.array([row[3] for row in ordered], np.int64),
        start[order],
        np.vstack([row[5] for row in ordered]),
        np.array([makes_all_wait(row[1]) for row in ordered], np.bool_),
    )


def _steps_of(summary: RankSummary) -> Ints:
    """The step that each collective began in, -1 for none."""
    if not len(summary.steps):
        return np.full(len(summary.collectives), -1, np.int64)
    order = np.argsort(summary.steps[:, 1], kind="stable")
    number, begin, end = summary.steps[order].T
    at = np.searchsorted(begin, summary.collectives.start, "right") - 1
    inside = (at >= 0) & (summary.collectives.start <= end[np.maximum(at, 0)])
    found: Ints = np.where(inside, number[np.maximum(at, 0)], -1)
    return found


def _stretches(
    members: list[tuple[int, Ints]], summaries: Sequence[RankSummary], steps: list[Ints]
) -> list[tuple[int, list[tuple[int, Ints]]]]:
    """Parts of a group's order that are matched by place: all of it, or each step where ranks recorded others."""
    seen = [steps[column][rows] for column, rows in members]
    orders = [
        tuple(summaries[c].collectives.texts[i] for i in summaries[c].collectives.name[rows]) for c, rows in members
    ]
    # a rank that began to record in another step has others in front, though as many of the same names
    begins = {int(one[one >= 0][0]) for one in seen if (one >= 0).any()}
    if (len(set(orders)) == 1 and len(begins) <= 1) or any((one < 0).all() for one in seen):
        return [(-2, members)]
    found = []
    for step in np.unique(np.concatenate(seen)).tolist():
        if step >= 0:
            parts = [(column, rows[own == step]) for (column, rows), own in zip(members, seen, strict=True)]
            found.append((step, [(column, rows) for column, rows in parts if len(rows)]))
    return found


def _match_stretch(
    group: str,
    step: int,
    chosen: list[tuple[int, Ints]],
    summaries: Sequence[RankSummary],
    steps: list[Ints],
    problem: Callable[[str, int, str], None],
) -> list[tuple[str, str, int, int, Ints, Ints]]:
    if len(chosen) < 2:
        return []
    lengths = [len(rows) for _, rows in chosen]
    place = f"group {group or '(all)'}" + (f", step {step}" if step >= 0 else "")
    if min(lengths) != max(lengths):
        short = [
            summaries[column].rank for (column, _), length in zip(chosen, lengths, strict=True) if length < max(lengths)
        ]
        problem(
            "collectives that some ranks did not record", max(lengths) - min(lengths), f"{place}: ranks {short[:8]}"
        )
    rows: list[tuple[str, str, int, int, Ints, Ints]] = []
    for number in range(max(lengths)):
        here = [(column, int(rows_[number])) for column, rows_ in chosen if number < len(rows_)]
        if len(here) < 2:
            break
        names = {summaries[c].collectives.texts[int(summaries[c].collectives.name[r])] for c, r in here}
        if len(names) > 1:
            problem("collectives whose names differ between ranks; from there on the group is not matched",
                    max(lengths) - number, f"{place}: {' and '.join(sorted(names)[:2])}")  # fmt: skip
            break
        start, end = (np.full(len(summaries), MISSING, np.int64) for _ in range(2))
        for column, row in here:
            talk = summaries[column].collectives
            start[column], end[column] = talk.start[row], talk.end[row]
        size = max(int(summaries[c].collectives.bytes[r]) for c, r in here)
        column, row = here[0]
        rows.append((group, names.pop(), int(steps[column][row]), size, start, end))
    return rows
