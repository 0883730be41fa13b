"""The same collective on all ranks: by its group and its place in the group's order, or within a step.

Columns throughout: a run of 10,000 ranks has 30 million arrivals, and no object is made for one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peephole.query.ranks.intervals import Ints
from peephole.query.ranks.names import SEND_RECEIVE, is_between_two, makes_all_wait
from peephole.query.ranks.pairs import channels
from peephole.query.ranks.summary import RankSummary, group_titles

_LATE = np.iinfo(np.int64).max
_EARLY = np.iinfo(np.int64).min // 2
_READ_OFF = 1_000_000
"""ns by which ends and starts on threads or devices of one host may be off."""
_Member = tuple[int, Ints]
"""A rank's column, and which of its collectives are meant."""


@dataclass(slots=True)
class Matched:
    """Collectives, and the arrivals of ranks at them: a row for each rank that took part, by collective, then rank.

    Where ranks have many groups each collective is of a few of them: a table of collectives by ranks would be empty
    but for one place in a hundred.
    """

    group: list[str]
    name: list[str]
    step: Ints
    """-1 outside of any."""
    bytes: Ints
    all_wait: NDArray[np.bool_]
    """No rank could end it before the last had begun."""
    receiver: Ints
    """Of a send and its receive the column of who receives; -1 of what is none, BOTH where each sends to the other."""
    bounds: Ints
    """The arrivals of the i-th are the rows from bounds[i] to bounds[i + 1]."""
    column: Ints
    """Of each arrival: which of the summaries is its rank's."""
    start: Ints
    """Of each arrival, ns on its rank's own clock."""
    end: Ints
    held: NDArray[np.bool_]
    """Of each arrival, whether its rank was held up by it."""
    own: list[Ints]
    """For each rank, the arrival that each of its collectives is; -1 for one that was not matched."""

    def __len__(self) -> int:
        return len(self.group)

    def counts(self) -> Ints:
        """How many ranks took part in each."""
        return np.diff(self.bounds)

    def collective(self) -> Ints:
        """Of each arrival the collective that it is at."""
        return np.repeat(np.arange(len(self)), self.counts())

    def arrivals_of(self, column: int) -> Ints:
        """The rows of one rank's arrivals."""
        own = self.own[column]
        return own[own >= 0]


@dataclass(slots=True)
class _Stretch:
    """A part of a group's order, matched by place."""

    group: str
    names: Ints
    step: Ints
    bytes: Ints
    members: list[_Member]
    """The ranks by column, each with its collectives in order: as many as it has of these places."""
    receiver: int = -1


def match(summaries: Sequence[RankSummary], problem: Callable[[str, int, str], None]) -> Matched:
    """The collectives that at least two ranks saw, in order of time; what could not be matched goes to `problem`.

    Of a group only two ranks have a send and its receive: those are matched by the ranks that they name, in order.
    """
    texts: dict[str, int] = {}
    names = [_codes(summary, texts) for summary in summaries]
    steps = [_steps_of(summary) for summary in summaries]
    groups: dict[str, list[_Member]] = {}
    for column, summary in enumerate(summaries):
        talk = summary.collectives
        shared = ~np.array([*map(is_between_two, talk.texts), False], np.bool_)[talk.name]
        for code in np.unique(talk.group[shared]).tolist():
            groups.setdefault(talk.texts[code], []).append((column, np.flatnonzero(shared & (talk.group == code))))
    titles = group_titles(groups)
    found = [
        stretch
        for group, members in sorted(groups.items())
        for step, chosen in _stretches(members, names, steps, not group and _several(members, summaries, problem))
        if (stretch := _match_stretch(titles[group], step, chosen, summaries, names, steps, list(texts), problem))
    ]
    pairs, unknown = channels(summaries)
    if unknown:
        problem("sends and receives that do not say between which ranks: nobody is seen to wait in them", unknown, "")
    common = texts.setdefault(SEND_RECEIVE, len(texts)) if pairs else -1
    titles |= group_titles({*titles, *(one.group for one in pairs)})
    for pair in pairs:
        for column, rows in pair.members:
            names[column][rows] = common
        for step, chosen in _stretches(pair.members, names, steps, False):
            where = titles[pair.group]
            stretch = _match_stretch(where, step, chosen, summaries, names, steps, list(texts), problem)
            if stretch:
                stretch.receiver = pair.receiver
                found.append(stretch)
    return _arranged(found, summaries, list(texts))


def _arranged(found: Sequence[_Stretch], summaries: Sequence[RankSummary], texts: Sequence[str]) -> Matched:
    """The collectives of all stretches by the time of their first arrival, and their arrivals."""
    sizes = np.array([len(one.names) for one in found], np.int64)
    begins = (np.cumsum(sizes) - sizes).tolist()
    first, count = np.full(sizes.sum(), _LATE), np.zeros(sizes.sum(), np.int64)
    for one, begin in zip(found, begins, strict=True):
        for column, rows in one.members:
            here = slice(begin, begin + len(rows))
            np.minimum(first[here], summaries[column].collectives.start[rows], out=first[here])
            count[here] += 1
    order = np.argsort(first, kind="stable")
    bounds = np.append(0, np.cumsum(count[order]))
    free = np.empty(len(order), np.int64)
    free[order] = bounds[:-1]  # where the next arrival at each goes
    columns, start, end = (np.empty(bounds[-1], np.int64) for _ in range(3))
    held = np.empty(bounds[-1], np.bool_)
    own = [np.full(len(summary.collectives), -1, np.int64) for summary in summaries]
    for one, begin in zip(found, begins, strict=True):
        for column, rows in one.members:
            talk, here = summaries[column].collectives, slice(begin, begin + len(rows))
            at = free[here].copy()
            columns[at], start[at], end[at], held[at] = column, talk.start[rows], talk.end[rows], talk.held[rows]
            own[column][rows] = at
            free[here] += 1
    waits = np.array([*map(makes_all_wait, texts), False], np.bool_)
    name, step, size = (
        np.concatenate([np.zeros(0, np.int64), *parts])[order]
        for parts in ([one.names for one in found], [one.step for one in found], [one.bytes for one in found])
    )
    group = np.repeat(np.arange(len(found)), sizes)[order]
    return Matched(
        [found[i].group for i in group.tolist()],
        [texts[i] for i in name.tolist()],
        step,
        size,
        waits[name],
        np.array([one.receiver for one in found], np.int64)[group],
        bounds,
        columns,
        start,
        end,
        held,
        own,
    )


def _codes(summary: RankSummary, texts: dict[str, int]) -> Ints:
    """The name of each collective as a number that all ranks share."""
    own = np.array([texts.setdefault(text, len(texts)) for text in summary.collectives.texts], np.int64)
    return own[summary.collectives.name] if len(own) else summary.collectives.name


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


def _several(
    members: list[_Member], summaries: Sequence[RankSummary], problem: Callable[[str, int, str], None]
) -> bool:
    """Whether these collectives, which do not say their group, can be of several groups; says so."""
    groups = max(summaries[column].groups for column, _ in members)
    if groups > 1:
        most = max(len(rows) for _, rows in members)
        problem("collectives that do not say which group they are of: matched by their order alone", most,
                f"the ranks have {groups} groups")  # fmt: skip
    return groups > 1


def _stretches(
    members: list[_Member], names: list[Ints], steps: list[Ints], unsure: bool
) -> list[tuple[int, list[_Member]]]:
    """Parts of a group's order that are matched by place: all of it, or each step where ranks recorded others, or where
    a place may be wrong: the next step begins anew."""
    seen = [steps[column][rows] for column, rows in members]
    first = names[members[0][0]][members[0][1]]
    same = all(np.array_equal(names[column][rows], first) for column, rows in members)
    # a rank that began to record in another step has others in front, though as many of the same names
    begins = {int(one[one >= 0][0]) for one in seen if (one >= 0).any()}
    if (same and len(begins) <= 1 and not unsure) or any((one < 0).all() for one in seen):
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
    chosen: list[_Member],
    summaries: Sequence[RankSummary],
    names: list[Ints],
    steps: list[Ints],
    texts: list[str],
    problem: Callable[[str, int, str], None],
) -> _Stretch | None:
    if len(chosen) < 2:
        return None
    lengths = [len(rows) for _, rows in chosen]
    most, least = max(lengths), min(lengths)
    where = f"group {group or '(all)'}" + (f", step {step}" if step >= 0 else "")
    if least != most:
        short = [summaries[column].rank for (column, _), length in zip(chosen, lengths, strict=True) if length < most]
        problem("collectives that some ranks did not record", most - least, f"{where}: ranks {short[:8]}")
    shared = sorted(lengths)[-2]  # what only one rank has is not shared
    name, when, size = (np.full(shared, -1, np.int64) for _ in range(3))
    parts, other = shared, -1
    for column, rows in chosen:
        rows = rows[:shared]
        here, talk = slice(0, len(rows)), summaries[column].collectives
        own = names[column][rows]
        differs = np.flatnonzero((name[here] >= 0) & (name[here] != own))
        if len(differs) and differs[0] < parts:
            parts, other = int(differs[0]), int(own[differs[0]])
        new = name[here] < 0
        when[here][new], name[here][new] = steps[column][rows][new], own[new]
        np.maximum(size[here], talk.bytes[rows], out=size[here])
    kept = [(column, rows[:parts]) for column, rows in chosen]
    passed = 0 if group else _passed(kept, name[:parts], summaries, texts)
    if passed:
        problem("collectives that ended on a rank before another one of its host came: of several groups, or after "
                "some that are missing; who waited for whom in them is a guess", passed, where)  # fmt: skip
    if parts < shared:
        both = sorted((texts[int(name[parts])], texts[other]))
        problem("collectives whose names differ between ranks; from there on the group is not matched",
                most - parts, f"{where}: {' and '.join(both)}")  # fmt: skip
    return _Stretch(group, name[:parts], when[:parts], size[:parts], kept) if parts else None


def _passed(members: list[_Member], name: Ints, summaries: Sequence[RankSummary], texts: list[str]) -> int:
    """How many collectives ended on one rank before another of the same host had begun them: what all wait for cannot,
    so that these are two."""
    latest: dict[str, Ints] = {}
    done: dict[str, Ints] = {}
    for column, rows in members:
        host, talk, here = summaries[column].host, summaries[column].collectives, slice(0, len(rows))
        came = latest.setdefault(host, np.full(len(name), _EARLY))[here]
        left = done.setdefault(host, np.full(len(name), _LATE))[here]
        np.maximum(came, talk.start[rows], out=came)
        np.minimum(left, talk.end[rows], out=left)
    passed = np.zeros(len(name), np.bool_)
    for host, came in latest.items():
        passed |= came - _READ_OFF > done[host]
    passed &= np.array([makes_all_wait(text) for text in texts], np.bool_)[name]
    return int(passed.sum())
