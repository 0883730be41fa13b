"""Ranks in tensor, pipeline and data groups at once: who waits in a receive waits, and whoever holds it up is slow."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peephole.fleet.run import make_run
from peephole.query.ranks.critical_path import critical_path
from peephole.query.ranks.run import Run, open_run
from peephole.query.ranks.step_view import step_view
from peephole.store.capture import open_capture

WORLD, STEPS, US = 8, 6, 1000
SLOW = {(5, 3): 9, (2, 4): 7}
"""By rank and step, how many times as long it computes: 5 is of the first stage, 2 of the second."""


class Pipeline:
    """Two replicas of two stages of two ranks: rank = 4 * replica + 2 * stage + tensor. Simulated, and all of it known:
    nobody computes while it communicates."""

    def __init__(self, said: str) -> None:
        self.said = said
        self.now = np.zeros(WORLD, np.int64) + 1_000_000
        self.events: list[list[dict[str, Any]]] = [[] for _ in range(WORLD)]
        self.wait = np.zeros((STEPS, WORLD), np.int64)
        self.last: Counter[int] = Counter()
        self.own = np.zeros((STEPS, WORLD), np.int64)
        rng = np.random.default_rng(5)
        for step in range(STEPS):
            self.step = step
            begun = self.now.copy()
            work = 400 * US + rng.integers(0, 4 * US, WORLD)
            work = np.array([part * SLOW.get((rank, step), 1) for rank, part in enumerate(work.tolist())])
            first, second = [0, 1, 4, 5], [2, 3, 6, 7]
            for stage, source, target in ((first, first, second), (second, second, first), (first, [], [])):
                for rank in stage:
                    self._put(rank, "gemm", 7, int(self.now[rank]), int(self.now[rank] + work[rank]), {})
                    self.now[rank] += work[rank] + US
                for low in stage[::2]:
                    self._together([low, low + 1], "allreduce", "tp")
                for a, b in zip(source, target, strict=True):
                    self._send(a, b)
            for rank in range(4):
                self._together([rank, rank + 4], "allreduce", "dp")
            for rank in range(WORLD):
                self._put(rank, f"ProfilerStep#{step}", 1, int(begun[rank]), int(self.now[rank]), {}, "user_annotation")
            self.own[step] = self.now - begun - self.wait[step]

    def _put(
        self, rank: int, name: str, tid: int, begin: int, end: int, args: dict[str, Any], cat: str = "kernel"
    ) -> None:
        self.events[rank].append({"ph": "X", "cat": cat, "name": name, "pid": 0 if cat == "kernel" else 9, "tid": tid,
                                  "ts": begin / 1000, "dur": (end - begin) / 1000, "args": args})  # fmt: skip

    def _together(self, ranks: list[int], name: str, group: str) -> None:
        self._talk(ranks, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", group, [{"Collective name": name}] * 2, ranks)

    def _send(self, a: int, b: int) -> None:
        group = [a // 4 * 4 + a % 2, a // 4 * 4 + a % 2 + 2]
        to, of = (group.index(b), group.index(a)) if self.said == "in the group" else (b, a)
        facts: list[dict[str, Any]] = [
            {"Collective name": "send", "Dst Rank": to},
            {"Collective name": "recv", "Src Rank": str(of)},
        ]
        if self.said == "not at all":
            facts = [{"Collective name": "coalesced"}] * 2
        self._talk([a, b], "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "pp", facts, group)

    def _talk(self, ranks: list[int], kernel: str, group: str, facts: list[dict[str, Any]], members: list[int]) -> None:
        came = [int(self.now[rank]) for rank in ranks]
        done = max(came) + 30 * US
        self.last[ranks[int(np.argmax(came))]] += 1
        for rank, begin, fact in zip(ranks, came, facts, strict=True):
            both = {"Process Group Name": group, "Process Group Ranks": str(members), **fact}
            self._put(rank, kernel, 20, begin, done, both)
            self.wait[self.step, rank] += max(came) - begin
            self.now[rank] = done + US

    def run(self, folder: Path) -> Run:
        files = []
        for rank, events in enumerate(self.events):
            marks: list[dict[str, Any]] = [
                {"ph": "M", "name": "process_labels", "pid": pid, "tid": 0, "args": {"labels": labels}}
                for pid, labels in ((0, "GPU 0"), (9, "CPU"))
            ]
            facts = {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": WORLD, "pg_count": 9},
                     "host_name": "node", "baseTimeNanoseconds": 1_790_857_026_000_000_000,
                     "traceEvents": marks + events}  # fmt: skip
            files.append(folder / f"rank{rank}.json")
            files[-1].write_text(json.dumps(facts))
        return open_run(open_capture(make_run(files, folder / "run.peep")))


@pytest.mark.parametrize("said", ["of the run", "in the group", "not at all"])
def test_a_rank_blocked_in_a_receive_waits_for_its_sender(tmp_path: Path, said: str) -> None:
    truth = Pipeline(said)
    run = truth.run(tmp_path)
    assert not run.problems
    ranks = run.ranks()
    assert {row.rank: row.wait_ns for row in ranks} == dict(enumerate(truth.wait.sum(axis=0).tolist()))
    assert {row.rank: row.last for row in ranks} == {rank: truth.last[rank] for rank in range(WORLD)}
    slow = {(row.rank, step) for row in ranks for step in row.slow_steps}
    assert slow == set(SLOW)
    steps = run.tables["rank_steps"]
    own = dict(
        zip(
            zip(steps.ints("step").tolist(), steps.ints("rank").tolist(), strict=True),
            steps.ints("own_ns"),
            strict=True,
        )
    )
    assert all(own[step, rank] == truth.own[step, rank] for step in range(STEPS) for rank in range(WORLD))
    for rank, step in SLOW:
        view = step_view(run, step)
        assert view.ranks[0].rank == view.lanes[0].rank == rank, "the slowest is who holds the others up"
        path = critical_path(run, step)
        most: Counter[int] = Counter()
        for leg in path:
            most[leg.rank] += leg.end_ns - leg.start_ns
        assert most.most_common(1)[0][0] == rank
        sent = [leg for leg in path if "send" in leg.name.lower()]
        assert sent, "the path goes through what was sent, on to its sender"
        for leg, after in zip(path[1:], path, strict=False):
            assert leg.kind != "collective" or leg.waited_for == after.rank, "and goes on with whom it waited for"
