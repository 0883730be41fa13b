"""Which sends and receives can belong together: those of the same two ranks, in one direction, within a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from peephole.query.ranks.intervals import Ints
from peephole.query.ranks.names import is_between_two, is_receive, is_send
from peephole.query.ranks.summary import RankSummary, members_of

BOTH = -2
"""Stands for the receiver where each of the two may send to the other."""


@dataclass(slots=True)
class Channel:
    """What one rank sent to another, in the order of each."""

    group: str
    receiver: int
    """Its column; BOTH for batches of a group of two, which do not say who sends."""
    members: list[tuple[int, Ints]]
    """The columns of the two, and which of their collectives are meant."""


def channels(summaries: Sequence[RankSummary]) -> tuple[list[Channel], int]:
    """The channels that both sides of were recorded, and how many sends and receives do not say their other side."""
    column_of = {summary.rank: column for column, summary in enumerate(summaries)}
    locals_ = _counted_in_group(summaries)
    sides: dict[tuple[str, int, int, bool], list[tuple[int, Ints]]] = {}
    unknown = 0
    for column, summary in enumerate(summaries):
        talk = summary.collectives
        marks = np.array([*((1 if is_send(one) else 2 if is_receive(one) else 3) * is_between_two(one)
                            for one in talk.texts), 0], np.int64)[talk.name]  # fmt: skip
        rows = np.flatnonzero(marks)
        keys = np.column_stack((talk.group[rows], marks[rows], talk.peer[rows]))
        every, at = np.unique(keys, axis=0, return_inverse=True)
        for number, (code, mark, peer) in enumerate(every.tolist()):
            own = rows[at.ravel() == number]
            group = talk.texts[code]
            ranks = members_of(group)
            if mark == 3 and len(ranks) == 2 and summary.rank in ranks:
                low, high = sorted(ranks)
                sides.setdefault((group, low, high, True), []).append((column, own))
                continue
            if peer < 0:
                unknown += len(own)
                continue
            other = ranks[peer] if group in locals_ and peer < len(ranks) else peer
            source, target = (summary.rank, other) if mark == 1 else (other, summary.rank)
            sides.setdefault((group, source, target, False), []).append((column, own))
    found = [
        Channel(group, BOTH if both else column_of[target], members)
        for (group, _, target, both), members in sorted(sides.items(), key=lambda side: side[0])
        if len(members) == 2
    ]
    return found, unknown


def _counted_in_group(summaries: Sequence[RankSummary]) -> set[str]:
    """The groups whose sends count ranks within the group: taken as ranks of the run, some are not in it, or send to
    themselves."""
    found = set()
    for summary in summaries:
        talk = summary.collectives
        said = talk.peer >= 0
        for code, peer in np.unique(np.column_stack((talk.group[said], talk.peer[said])), axis=0).tolist():
            ranks = members_of(talk.texts[code])
            if ranks and (peer not in ranks or peer == summary.rank):
                found.add(talk.texts[code])
    return found
