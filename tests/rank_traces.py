"""Traces of a training run on several ranks, as torch.profiler writes them, with everything about them known.

Each step a rank computes, then all of them reduce twice: no collective ends before the last rank has begun it.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from peephole.fleet.run import make_run
from peephole.query.ranks.run import open_run
from peephole.store.capture import open_capture

BASE = 1_790_857_026_000_000_000
"""ns since 1970 that the times of a file are added to."""


@dataclass
class Known:
    """What the generator knows, on the true clock."""

    start: np.ndarray[Any, Any]
    """By collective and rank, ns since 1970."""
    end: np.ndarray[Any, Any]
    step: list[int]
    busy: list[int]
    communication: list[int]
    overlap: list[int]
    files: list[Path] = field(default_factory=list)

    @property
    def wait(self) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = self.start.max(axis=1, keepdims=True) - self.start
        return found


def write_ranks(
    folder: Path,
    ranks: int,
    steps: int = 6,
    slow: dict[int, tuple[int, ...]] | None = None,
    offsets: list[int] | None = None,
    drifts: list[float] | None = None,
    kernels: int = 6,
    seed: int = 0,
    hosts: int | None = None,
    groups: int = 1,
) -> Known:
    """Writes a file for each rank; `slow` are steps by rank in which it computes five times as long. The two reductions
    of a step are of one process group, or of two."""
    rng = np.random.default_rng(seed)
    slow = slow or {}
    work: list[list[tuple[str, int, int]]] = [[] for _ in range(ranks)]
    begun = np.zeros(ranks, np.int64) + BASE + 4_000_000
    marks: list[list[tuple[int, int, int]]] = [[] for _ in range(ranks)]
    starts, ends, step_of = [], [], []
    for step in range(steps):
        first = begun.copy()
        moment = begun.copy()
        for part in range(2):
            for rank in range(ranks):
                for kernel in range(kernels):
                    long = 200_000 + int(rng.integers(0, 4_000))
                    long *= 5 if step in slow.get(rank, ()) else 1
                    work[rank].append((f"gemm_{kernel % 3}", int(moment[rank]), long))
                    moment[rank] += long + 1_000
            start = moment + rng.integers(0, 2_000, ranks)
            end = start.max() + 50_000 + rng.integers(0, 5_000, ranks)
            starts.append(start)
            ends.append(end)
            step_of.append(step)
            # the first reduction runs beside the next kernels, the second is waited for
            moment = start + 3_000 if part == 0 else end + 2_000
        begun = moment + 5_000
        for rank in range(ranks):
            marks[rank].append((step, int(first[rank]), int(moment[rank])))
    known = Known(np.array(starts), np.array(ends), step_of, [], [], [])
    for rank in range(ranks):
        offset = offsets[rank] if offsets else 0
        drift = drifts[rank] if drifts else 0.0
        host = f"node{rank % hosts if hosts else rank}"
        path = folder / f"trace-{rank:05}.json.gz"
        _write(
            path, rank, ranks, host, work[rank], marks[rank], known.start[:, rank], known.end[:, rank], offset, drift,
            groups,
        )  # fmt: skip
        known.files.append(path)
        talk = list(zip(known.start[:, rank].tolist(), known.end[:, rank].tolist(), strict=True))
        compute = [(start, start + long) for _, start, long in work[rank]]
        known.communication.append(_covered(talk))
        known.busy.append(_covered(talk + compute))
        known.overlap.append(_covered(talk) + _covered(compute) - _covered(talk + compute))
    return known


def _covered(parts: list[tuple[int, int]]) -> int:
    """The time that these intervals cover, moment by moment in plain Python."""
    total, reached = 0, 0
    for start, end in sorted(parts):
        total += max(end - max(start, reached), 0)
        reached = max(reached, end)
    return total


def _write(
    path: Path,
    rank: int,
    world: int,
    host: str,
    work: list[tuple[str, int, int]],
    marks: list[tuple[int, int, int]],
    start: Any,
    end: Any,
    offset: int,
    drift: float,
    groups: int,
) -> None:
    def us(moment: int) -> float:
        shown = moment + offset + round((moment - BASE) * drift)
        return round((shown - BASE) / 1000, 3)

    def event(name: str, cat: str, tid: Any, begin: int, finish: int, **args: Any) -> dict[str, Any]:
        ts = us(begin)
        return {"ph": "X", "cat": cat, "name": name, "pid": 0 if cat == "kernel" else 7, "tid": tid, "ts": ts,
                "dur": round(us(finish) - ts, 3), "args": args}  # fmt: skip

    events = [
        {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "python"}},
        {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}},
        {"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": "python"}},
        {"ph": "M", "name": "process_labels", "pid": 7, "tid": 0, "args": {"labels": "CPU"}},
    ]
    events += [event(name, "kernel", 7, begin, begin + long) for name, begin, long in work]
    events += [event(f"ProfilerStep#{step}", "user_annotation", 1, begin, finish) for step, begin, finish in marks]
    group = {"Collective name": "allreduce", "In msg nelems": 1024, "dtype": "Float"}
    events += [
        event("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "kernel", 20, int(a), int(b), **group,
              **{"Process Group Name": str(at % groups)})
        for at, (a, b) in enumerate(zip(start, end, strict=True))
    ]  # fmt: skip
    facts = {
        "schemaVersion": 1,
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world, "pg_count": 1},
        "host_name": host,
        "trace_id": f"{rank:032X}",
        "baseTimeNanoseconds": BASE,
        "traceEvents": events,
    }
    with gzip.open(path, "wt", compresslevel=1) as file:
        json.dump(facts, file)


def shift_clock(source: Path, target: Path, host: str, offset: int, drift: float) -> None:
    """Writes the trace of a rank as a host would have whose clock was ahead by `offset` ns and ran fast by `drift`."""
    opener = gzip.open if source.suffix == ".gz" else open
    with opener(source, "rt") as file:
        trace = json.load(file, parse_float=Decimal)
    events = [event for event in trace["traceEvents"] if isinstance(event, dict)]
    first = min(_ns(event["ts"]) for event in events if event.get("ph") == "X")

    def shown(moment: int) -> int:
        return moment + offset + round((moment - first) * drift)

    for event in events:
        if "ts" in event:
            begin = _ns(event["ts"])
            event["ts"] = f"@{shown(begin) / Decimal(1000):f}@"
            if "dur" in event:
                event["dur"] = f"@{(shown(begin + _ns(event['dur'])) - shown(begin)) / Decimal(1000):f}@"
    trace["host_name"] = host
    text = json.dumps(trace, default=float)
    target.write_text(re.sub(r'"@(-?[0-9.]+)@"', r"\1", text))  # more digits than a float has


def _ns(us: Decimal | int | float) -> int:
    return round(Decimal(us) * 1000)


def check_shifted_clocks(files: list[Path], slow: dict[int, tuple[int, ...]], folder: Path) -> None:
    """Puts known offsets and drifts into real files, a host each, several times: every arrival lies within the stated
    bound of the truth, and whoever was slow is still found."""
    truth = _arrivals(make_run(files, folder / "truth.peep"))
    rng = np.random.default_rng(7)
    for number, (far, fast) in enumerate(((49_000_000, 0.0), (5_000_000, 5e-5), (3_600_000_000_000, 2e-4))):
        moved = []
        for rank, file in enumerate(files):
            offset, drift = (0, 0.0) if rank == 0 else (int(rng.integers(-far, far)), float(rng.uniform(-fast, fast)))
            moved.append(folder / f"shifted-{number}-{rank}.json")
            shift_clock(file, moved[-1], f"host{rank}", offset, drift)
        run = make_run(moved, folder / f"shifted-{number}.peep")
        found = _arrivals(run)
        rows = {row.rank: row for row in open_run(open_capture(run)).ranks()}
        assert set(found) == set(truth)
        for (collective, rank), start in found.items():
            off, bound = abs(start - truth[collective, rank]), rows[rank].bound_ns
            assert 0 <= bound < 100_000_000 and off <= bound + 2, f"rank {rank}, {off} ns off, ± {bound} stated"
        for rank, steps in slow.items():
            assert set(steps) <= set(rows[rank].slow_steps), f"rank {rank} is slow whatever clocks say"
        least = min(rows.values(), key=lambda row: row.wait_ns)
        assert least.rank in slow


def _arrivals(run: Path) -> dict[tuple[int, int], int]:
    """By collective and rank, when it came, ns on the run's clock."""
    table = open_run(open_capture(run)).tables["arrivals"]
    columns = (table.ints(name).tolist() for name in ("collective", "rank", "start_ns"))
    return {(collective, rank): start for collective, rank, start in zip(*columns, strict=True)}
