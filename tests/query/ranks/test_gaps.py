"""Idle time by cause, of a trace that says when each kernel was launched, against a plain reading of the rule."""

from __future__ import annotations

import itertools
import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from peephole.cli.main import main
from peephole.ingest import import_files
from peephole.query.ranks.run import summaries_of
from peephole.store.capture import open_capture

Kernel = tuple[int, int, int]
"""Launch, start and end, ns."""


def kernels(seed: int, many: int) -> list[Kernel]:
    """Kernels of one stream: some wait for the host, some follow at once, some wait for something else."""
    rng = random.Random(seed)
    now, found = 100_000, []
    for _ in range(many):
        how = rng.randrange(3)
        gap = rng.randrange(1, 29) if how == 1 else rng.randrange(1_000, 90_000)
        launch = now + gap // 2 if how == 0 else now - rng.randrange(500, 9_000)
        long = rng.randrange(10_000, 60_000)
        found.append((launch, now + gap, now + gap + long))
        now += gap + long
    return found


def write_trace(path: Path, rank: int, stream: list[Kernel], marks: list[tuple[int, int]]) -> Path:
    """The trace of a rank as torch.profiler writes it: calls on the host, kernels, arrows between them."""

    def event(ph: str, name: str, cat: str, pid: int, ts: int, **more: Any) -> dict[str, Any]:
        return {"ph": ph, "name": name, "cat": cat, "pid": pid, "tid": 7 if pid == 0 else 9, "ts": ts / 1000, **more}

    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}},
        {"ph": "M", "name": "process_labels", "pid": 9, "tid": 0, "args": {"labels": "CPU"}},
    ]
    for number, (launch, start, end) in enumerate(stream, 1):
        args = {"correlation": number, "device": 0, "stream": 7}
        events += [
            event("X", "cudaLaunchKernel", "cuda_runtime", 9, launch, dur=0.2, args={"correlation": number}),
            event("s", "ac2g", "ac2g", 9, launch, id=number),
            event("X", f"gemm_{number % 3}", "kernel", 0, start, dur=(end - start) / 1000, args=args),
            event("f", "ac2g", "ac2g", 0, start, id=number, bp="e"),
        ]
    for step, (begin, finish) in enumerate(marks):
        mark = event("X", f"ProfilerStep#{step}", "user_annotation", 9, begin, dur=(finish - begin) / 1000)
        events.append(mark | {"tid": 1})
    facts = {"distributedInfo": {"rank": rank, "world_size": 2}, "host_name": "node0", "traceEvents": events}
    path.write_text(json.dumps(facts))
    return path


def known_gaps(stream: list[Kernel], marks: list[tuple[int, int]]) -> dict[tuple[int, str], int]:
    """Idle ns by step and cause, moment by moment."""
    found: dict[tuple[int, str], int] = defaultdict(int)
    for (_, _, ended), (launch, start, _) in itertools.pairwise(stream):
        cause = "host" if launch > ended else "between kernels" if start - ended < 30_000 else "other"
        for moment in range(ended, start):
            step = next((i for i, (begin, finish) in enumerate(marks) if begin <= moment < finish), -1)
            found[step, cause] += 1
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_causes_are_those_of_the_rule_in_each_step(seed: int, tmp_path: Path) -> None:
    stream = kernels(seed, 30)
    whole = stream[-1][2]
    marks = [(90_000, whole // 3), (whole // 3 + 700, whole - 50_000)]
    path = import_files([write_trace(tmp_path / "rank.json", 0, stream, marks)], tmp_path / "rank.peep")
    (summary,) = summaries_of(open_capture(path))
    assert {(step, cause): ns for step, cause, _, ns in summary.gaps} == known_gaps(stream, marks)
    idle = stream[-1][2] - stream[0][1] - sum(end - start for _, start, end in stream)
    assert sum(ns for *_, ns in summary.gaps) == idle
    assert sum(many for _, _, many, _ in summary.gaps) == len(stream) - 1


def test_the_command_says_why_ranks_were_idle_in_a_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    streams = [kernels(3, 12), [(start, start, end) for _, start, end in kernels(3, 12)]]
    marks = [(90_000, 250_000), (250_000, 2_000_000)]
    files = [write_trace(tmp_path / f"r{rank}.json", rank, stream, marks) for rank, stream in enumerate(streams)]
    assert main(["import", *map(str, files), "-o", str(tmp_path / "run")]) == 0
    capsys.readouterr()
    for words, steps in (([], (-1, 0, 1)), (["--step", "1"], (1,))):
        assert main(["ranks", str(tmp_path / "run.peep"), "--idle", "--json", *words]) == 0
        rows = {row["rank"]: row["causes"] for row in map(json.loads, capsys.readouterr().out.splitlines())}
        for rank, stream in enumerate(streams):
            expected: dict[str, int] = defaultdict(int)
            for (step, cause), ns in known_gaps(stream, marks).items():
                expected[cause] += ns if step in steps else 0
            assert rows[rank] == {cause: ns for cause, ns in expected.items() if ns}
    assert set(rows[1]) == {"host"}, "each of its kernels was launched late"
    for words, sentence in (
        (["--idle", "--step", "7"], "There is no step 7; steps 0 to 1 are there."),
        (["--kernels", "--step", "1"], "--step does not go with --kernels"),
        (["--idle", "--group", "0"], "--group does not go with --idle"),
    ):
        assert main(["ranks", str(tmp_path / "run.peep"), *words]) == 2
        assert sentence in capsys.readouterr().err
