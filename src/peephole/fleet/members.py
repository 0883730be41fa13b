"""Which of the inputs are the ranks of one run: strangers, doubles and what could not be read are listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from peephole.fleet.rank_task import RankDone
from peephole.query.ranks.summary import RankSummary
from peephole.query.ranks.tables import Columns, Problem

READ, NOT_READ, NOTHING, OTHER_RUN, TWICE = "read", "not read", "without a slice", "of another run", "there twice"
_SINCE_1970 = 10**17
"""ns from which on a time is one since 1970: clocks of one host can be compared."""


@dataclass(slots=True)
class Members:
    """The summaries of one run, by rank, and what became of each input."""

    summaries: list[RankSummary]
    world: int
    """How many ranks the run had, 0 where nothing says it."""
    inputs: Columns


def members(kept: Sequence[RankSummary], world: int, done: Sequence[RankDone], problem: Problem) -> Members:
    """The ranks that are there already and those of the inputs that belong to them."""
    state = {}
    for one in done:
        state[one.path] = NOT_READ if one.problem else READ
        if one.problem:
            problem("files that are not part of the run: they cannot be read", 1, one.problem)
    read = [one for one in done if one.summaries]
    worlds = Counter({world: len(kept)} if world > 0 and kept else {})
    worlds.update(one.world for one in read if one.world > 0)
    world = worlds.most_common(1)[0][0] if worlds else 0
    found = {summary.rank: summary for summary in kept}
    others = _at_other_times([*kept, *(s for one in read if one.world in (-1, world) for s in one.summaries)])
    nameless = 0
    # those that say which rank they are of come first: the others get the numbers that are left
    for one in sorted(read, key=lambda one: any(summary.rank < 0 for summary in one.summaries)):
        if not any(summary.slices for summary in one.summaries):
            one.problem, state[one.path] = "there is nothing in it", NOTHING
            problem("files that are not part of the run: there is nothing in them", 1, _name(one))
            continue
        if one.world > 0 and one.world != world:
            one.problem = f"world size {one.world}, the others have {world}"
            state[one.path] = OTHER_RUN
            problem("files of another run: they have another world size", 1, f"{_name(one)}: world {one.world}")
            continue
        for summary in one.summaries:
            if id(summary) in others:
                steps = "the same steps" if len(summary.steps) else "recorded"
                one.problem = f"{steps} at another time on the same host"
                state[one.path] = OTHER_RUN
                problem(f"files of another run: {steps} at another time on the same host", 1, _name(one))
                continue
            if summary.rank < 0:
                while nameless in found:
                    nameless += 1
                if 0 < world <= nameless:
                    one.problem = f"it names no rank, and all {world} ranks of the run are there"
                    state[one.path] = OTHER_RUN
                    problem("files that name no rank, of a run whose ranks are all there", 1, _name(one))
                    continue
                summary.rank = nameless
            if summary.rank in found:
                one.problem = f"rank {summary.rank} is there already"
                state[one.path] = TWICE
                problem("ranks that are there twice: the first one counts", 1, f"rank {summary.rank}: {_name(one)}")
            else:
                found[summary.rank] = summary
    for one in done:
        if one.parts and state[one.path] == READ:
            one.problem = one.parts
    missing = [rank for rank in range(min(world, 1 << 20)) if rank not in found]
    if missing and found:
        problem("ranks of the run that no file is of", len(missing), f"rank {missing[0]}")
    return Members([found[rank] for rank in sorted(found)], world, _inputs(done, state))


def _name(one: RankDone) -> str:
    return one.path.rstrip("/").rpartition("/")[2]


def _at_other_times(summaries: Sequence[RankSummary]) -> set[int]:
    """Those that ran the same steps as others of their host, before or after them: another run. Most are the run."""
    hosts: dict[str, list[RankSummary]] = {}
    for one in summaries:
        if one.span[0] > _SINCE_1970:
            hosts.setdefault(one.host, []).append(one)
    strangers: set[int] = set()
    for members_ in hosts.values():
        groups: list[list[RankSummary]] = []
        reached = 0
        for one in sorted(members_, key=lambda one: one.span):
            if not groups or one.span[0] > reached:
                groups.append([])
            groups[-1].append(one)
            reached = max(reached, one.span[1])
        largest = max(groups, key=len) if groups else []
        known = _steps(largest)
        for group in groups:
            if group is not largest and (known & _steps(group) or not known):
                strangers |= {id(one) for one in group}
    return strangers


def _steps(summaries: Sequence[RankSummary]) -> set[int]:
    return set(np.concatenate([one.steps[:, 0] for one in summaries]).tolist()) if summaries else set()


def _inputs(done: Sequence[RankDone], state: dict[str, str]) -> Columns:
    return {
        "path": [one.path for one in done],
        "state": [state[one.path] for one in done],
        "problem": [one.problem for one in done],
        "content": [one.content for one in done],
        "ranks": [[s.rank for s in one.summaries if s.rank >= 0] for one in done],
        "worker": [one.worker for one in done],
        "tries": [one.tries for one in done],
        "dur_ns": [one.dur_ns for one in done],
        "slices": [sum(s.slices for s in one.summaries) for one in done],
    }
