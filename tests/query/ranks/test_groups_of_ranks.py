"""Several process groups: who is late, which collectives are the same, and hosts that are linked through others."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np

from peephole.query.ranks.run import Run, RunTable
from peephole.query.ranks.step_view import step_view
from peephole.query.ranks.summary import Collectives, RankSummary
from peephole.query.ranks.tables import run_tables

MS = 1_000_000
Seen = tuple[str, str, int, int]
"""Group, name, start and end in ms."""


def rank(
    number: int, seen: list[Seen], steps: list[tuple[int, int, int]], host: str = "a", groups: int = 0, ahead: int = 0
) -> RankSummary:
    """The summary of a rank that saw these collectives, all of which held it up; `ahead` ns is its clock."""
    texts = sorted({text for group, name, _, _ in seen for text in (group, name)})
    group, name = (np.array([texts.index(str(one[part])) for one in seen], np.int64) for part in (0, 1))
    start = np.array([one[2] * MS + ahead for one in seen], np.int64)
    end = np.array([one[3] * MS + ahead for one in seen], np.int64)
    none = np.full(len(seen), -1, np.int64)
    times = np.array([[step, a * MS + ahead, b * MS + ahead] for step, a, b in steps], np.int64).reshape(-1, 3)
    found = RankSummary(
        number,
        host,
        f"{number}.peep",
        Collectives(texts, group, name, start, end, none, none < 0),
        times,
        np.zeros_like(times),
    )
    found.span = (
        int(min(times[:, 1].min(initial=start.min()), start.min())),
        int(max(times[:, 2].max(initial=end.max()), end.max())),
    )
    found.groups = groups
    return found


def made(ranks: list[RankSummary]) -> tuple[dict[str, Any], dict[str, int]]:
    """The tables of a run, and how often each problem was said."""
    problems: dict[str, int] = {}
    tables = run_tables(
        ranks, lambda reason, count, example: problems.update({reason: problems.get(reason, 0) + count})
    )
    return dict(tables), problems


def test_who_came_late_because_another_group_held_it_up_is_not_slow() -> None:
    # 0 and 1 are a pair, 2 and 3, 4 and 5; then 0, 2, 4 and 1, 3, 5 reduce. Rank 5 computes 60 ms longer
    ranks = []
    for number in range(6):
        late = 60 if number >= 4 else 0
        came = 10 + (late if number == 5 else 0)
        seen: list[Seen] = [(f"pair {number // 2}", "nccl:allreduce", came, 12 + late),
                            (f"data {number % 2}", "nccl:allreduce", 13 + late, 75)]  # fmt: skip
        ranks.append(rank(number, seen, [(7, 0, 80)]))
    tables, problems = made(ranks)
    assert not problems
    assert [tables["ranks"]["slow_steps"][number] for number in range(6)] == [[], [], [], [], [], [7]]


def test_who_loses_time_little_by_little_is_slow() -> None:
    """Rank 2 computes 4 ms instead of 3 before each of 25 collectives: never late by much, and yet a fourth of the step
    is its fault. Ranks 1 and 3 are late as often as they are early."""
    ranks = []
    for number in range(6):
        late = np.array([1.0 if number == 2 else 0.6 * (-1) ** at if number in (1, 3) else 0.0 for at in range(25)])
        seen: list[Seen] = [
            ("0", "nccl:_allgather_base" if at % 2 else "nccl:_reduce_scatter_base", 4 * at, 4 * at + 2)
            for at in range(25)
        ]
        ranks.append(rank(number, seen, [(4, -3, 100)]))
        ranks[-1].collectives.start += (late * MS).astype(np.int64)
    tables, problems = made(ranks)
    assert not problems
    assert tables["ranks"]["slow_steps"] == [[], [], [4], [], [], []]
    # where all of them compute beside it, nobody was held up by that
    for one in ranks:
        one.collectives.held[:] = False
    assert made(ranks)[0]["ranks"]["slow_steps"] == [[]] * 6


def test_one_delay_that_several_collectives_in_flight_show_counts_once() -> None:
    """15 ms late to three reductions that are under way at once, in a step of 100 ms: not a fifth of it."""
    ranks = []
    for number in range(4):
        late = 15 if number == 1 else 0
        seen: list[Seen] = [("0", "gloo:all_reduce", 10 + 20 * at + late, 90) for at in range(3)]
        ranks.append(rank(number, seen, [(1, 0, 100)]))
    assert made(ranks)[0]["ranks"]["slow_steps"] == [[]] * 4


def test_sends_and_receives_do_not_part_the_order_of_a_group() -> None:
    ranks = []
    for number in range(3):
        seen: list[Seen] = [("world", "nccl:allreduce", 10, 12)]
        seen += [("world", "nccl:send" if number == 0 else "nccl:recv", 13, 14)] if number < 2 else []
        seen += [("world", "nccl:all_gather", 20, 23)]
        ranks.append(rank(number, seen, [(1, 0, 30)]))
    tables, problems = made(ranks)
    assert problems == {"sends and receives that do not say between which ranks: nobody is seen to wait in them": 2}
    assert tables["collectives"]["name"] == ["nccl:allreduce", "nccl:all_gather"]
    assert tables["collectives"]["ranks"].tolist() == [3, 3]
    assert tables["rank_collectives"]["collective"].tolist() == [0, -1, 1, 0, -1, 1, 0, 1]


def test_collectives_without_a_group_that_cannot_be_the_same_are_said_to_be_a_guess() -> None:
    """gloo says no group: four ranks reduce, the fifth does it 40 ms later on its own, then all do."""

    def seen(late: int) -> list[Seen]:
        first = [("", "gloo:all_reduce", 10 + late, 12 + late), ("", "gloo:all_reduce", 55, 57)]
        return [*first, ("", "gloo:all_reduce", 110, 112), ("", "gloo:all_reduce", 155, 157)]

    steps = [(1, 0, 60), (2, 100, 160)]
    tables, problems = made([rank(number, seen(40 if number == 4 else 0), steps, groups=3) for number in range(5)])
    assert tables["collectives"]["step"].tolist() == [1, 1, 2, 2]
    assert tables["ranks"]["slow_steps"] == [[], [], [], [], [1]], "who came late is still found"
    assert problems == {
        "collectives that do not say which group they are of: matched by their order alone": 4,
        "collectives that ended on a rank before another one of its host came: of several groups, or after some "
        "that are missing; who waited for whom in them is a guess": 1,
    }
    # one group alone leaves nothing to doubt
    _, problems = made([rank(number, seen(0), steps, groups=1) for number in range(4)])
    assert not problems


def test_hosts_are_linked_to_the_first_one_through_others() -> None:
    ahead = {0: 0, 1: 7_300_000, 2: -41_000_000, 3: 3_600_000_000_000}
    ranks = []
    for number in range(4):
        seen: list[Seen] = []
        for at in range(5):
            for low in range(3):  # groups of neighbours alone
                if number in (low, low + 1):
                    came = 100 * at + 10 * low + (at * 7 + number) % 5
                    seen.append((f"{low} and {low + 1}", "nccl:allreduce", came, 100 * at + 10 * low + 5))
        ranks.append(rank(number, seen, [(1, 0, 500)], f"host{number}", ahead=ahead[number]))
    alone: list[Seen] = [("alone", "nccl:allreduce", 3, 4)]
    ranks.append(rank(4, alone, [(1, 0, 500)], "host4"))
    tables, problems = made(ranks)
    offsets, bounds = tables["ranks"]["offset_ns"], tables["ranks"]["bound_ns"]
    for number in range(4):
        assert 0 <= bounds[number] < 20 * MS and abs(offsets[number] - ahead[number]) <= bounds[number]
    assert bounds[0] == 0 and bounds[4] == -1 and offsets[4] == 0
    assert problems == {
        "hosts whose clocks are more than a minute off, or whose files are of another run": 1,
        "hosts that share no collective with the first one, nor with one that does: their clocks are as they were": 1,
    }


def test_what_many_groups_take_grows_with_the_arrivals_alone() -> None:
    """256 ranks in pairs that reduce 60 times: a table of collectives by ranks would have 16 MB a column, and 15,360
    arrivals 123 kB. Rank 5 keeps its pair waiting."""
    ranks = []
    for number in range(256):
        pair = number // 2
        late = 3 * (number == 5)
        seen: list[Seen] = [(f"pair {pair}", "nccl:allreduce", 10 * at + late, 10 * at + 4) for at in range(60)]
        ranks.append(rank(number, seen, [(1, 0, 600)]))
    tracemalloc.start()
    try:
        tables, problems = made(ranks)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert not problems and peak < 16_000_000
    assert len(tables["collectives"]["index"]) == 128 * 60 and set(tables["collectives"]["ranks"].tolist()) == {2}
    assert tables["arrivals"]["rank"].reshape(-1, 2).sum(axis=0).tolist() == [60 * 127 * 128, 60 * 128 * 128]
    assert {number: wait for number, wait in enumerate(tables["ranks"]["wait_ns"].tolist()) if wait} == {4: 180 * MS}


def test_of_many_groups_those_are_told_that_came_furthest_apart() -> None:
    """64 ranks in pairs, which reduce twice, then all do: rank 5 keeps its pair waiting, and then everybody."""
    ranks = []
    for number in range(64):
        late = 9 * (number == 5)
        seen: list[Seen] = [(f"pair {number // 2}", "nccl:allreduce", at + late, at + 19) for at in (10, 30)]
        ranks.append(rank(number, [*seen, ("all", "nccl:allreduce", 60 + late, 80)], [(1, 0, 90 + late)]))
    tables, _ = made(ranks)
    run = Run({name: RunTable(name, columns) for name, columns in tables.items()}, (), Path())
    found = step_view(run, 1, [9])
    assert (found.ranks[0].rank, found.of_collectives, found.held) == (5, 65, 63)
    told = [one for one in found.collectives if one.arrivals]
    assert len(told) == 24 and [one.skew_ns for one in told if one.skew_ns] == [9 * MS] * 3
    assert {one.last_rank for one in told if one.skew_ns} == {5} and len(told[-1].arrivals) == 64
    known = {one.index for one in found.collectives}
    assert {talk[0] for lane in found.lanes for talk in lane.talks} <= known and len(known) < 40
