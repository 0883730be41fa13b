"""A generated training run of any size: a trace for each rank, and every figure about it known beforehand.

In each step a rank computes, starts a reduction, computes beside it, then waits for a second one. Ranks share a host,
so that figures are exact; some are slow in some steps.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
BASE = 1_790_857_026_000_000_000
Leg = tuple[int, str, int, int, int]
"""Rank, kind, begin, end, the rank that was waited for."""


@dataclass
class Plan:
    """When everything happens, ns since 1970. Axes: rank, step, then half (before and after the first reduction)."""

    kernel: Ints
    """Start of each kernel: rank, step, half, number."""
    long: Ints
    begin: Ints
    finish: Ints
    start: Ints
    """Of each reduction: rank, step, half."""
    end: Ints

    @property
    def slices(self) -> int:
        return int(self.kernel[0].size + self.start[0].size + self.begin[0].size)


def plan(ranks: int, slices: int, steps: int, slow: Mapping[int, tuple[int, ...]], seed: int = 0) -> Plan:
    """A run in which each rank has about so many slices."""
    rng = np.random.default_rng(seed)
    kernels = max(slices // steps // 2 - 2, 2)
    long = 200_000 + rng.integers(0, 4_000, (ranks, steps, 2, kernels))
    for rank, those in slow.items():
        long[rank, list(those)] *= 5
    first = np.cumsum(long + 1_000, axis=3) - long - 1_000
    whole = (long + 1_000).sum(axis=3)
    jitter, tail = rng.integers(0, 2_000, (ranks, steps, 2)), 50_000 + rng.integers(0, 5_000, (ranks, steps, 2))
    found = Plan(first, long, *(np.zeros((ranks, steps), np.int64) for _ in range(2)),
                 *(np.zeros((ranks, steps, 2), np.int64) for _ in range(2)))  # fmt: skip
    now = np.full(ranks, BASE + 4_000_000, np.int64)
    for step in range(steps):
        found.begin[:, step] = now
        for half in range(2):
            found.kernel[:, step, half] += now[:, None]
            found.start[:, step, half] = now + whole[:, step, half] + jitter[:, step, half]
            found.end[:, step, half] = found.start[:, step, half].max() + tail[:, step, half]
            now = found.start[:, step, 0] + 3_000 if half == 0 else found.end[:, step, 1] + 2_000
        found.finish[:, step] = now
        now = now + 5_000
    return found


def truth(run: Plan) -> dict[str, Ints]:
    """Figures by rank and step (busy, communication, overlap, wait, own), by step and half (skew, latency, last)."""
    length = run.end - run.start
    crossed = np.maximum(
        np.minimum(run.end[..., 0], run.end[..., 1]) - np.maximum(run.start[..., 0], run.start[..., 1]), 0
    )
    talk = length.sum(axis=2) - crossed
    # only the first reduction meets kernels: those after it; they all end before the second
    met = np.minimum(run.kernel + run.long, run.end[..., 0][..., None, None])
    beside = np.maximum(met - np.maximum(run.kernel, run.start[..., 0][..., None, None]), 0).sum(axis=(2, 3))
    latest = run.start.max(axis=0)
    waits = latest - run.start
    twice = np.maximum(np.minimum(latest[:, 0], latest[:, 1]) - np.maximum(run.start[..., 0], run.start[..., 1]), 0)
    wait = waits.sum(axis=2) - twice
    busy = talk + run.long.sum(axis=(2, 3)) - beside
    return {"busy": busy, "communication": talk, "overlap": beside, "wait": wait, "waits": waits.sum(axis=(1, 2)),
            "own": run.finish - run.begin - wait, "skew": latest - run.start.min(axis=0),
            "latency": length.min(axis=0), "last": run.start.argmax(axis=0)}  # fmt: skip


def path(run: Plan, step: int) -> list[Leg]:
    """The critical path: the last to end was held up by the second reduction alone, for which the last had computed."""
    rank = int(run.finish[:, step].argmax())
    last = int(run.start[:, step, 1].argmax())
    came, done = int(run.start[last, step, 1]), int(run.end[rank, step, 1])
    return [
        (last, "compute", int(run.begin[last, step]), came, -1),
        (rank, "collective", came, done, last),
        (rank, "compute", done, int(run.finish[rank, step]), -1),
    ]


def write_rank(run: Plan, rank: int, folder: Path, compress: int = 1) -> Path:
    """The trace of one rank as torch.profiler writes it."""

    def us(moment: Any) -> str:
        whole, part = divmod(int(moment) - BASE, 1000)
        return f"{whole}.{part:03}"

    out = io.StringIO()
    head = f'"distributedInfo":{{"backend":"nccl","rank":{rank},"world_size":{len(run.begin)},"pg_count":1}}'
    out.write(f'{{"schemaVersion":1,{head},"host_name":"node0","baseTimeNanoseconds":{BASE},"traceEvents":[\n')
    for pid, label in ((0, "GPU 0"), (7, "CPU")):
        out.write(f'{{"ph":"M","name":"process_labels","pid":{pid},"tid":0,"args":{{"labels":"{label}"}}}},\n')
    shape = run.kernel[rank].shape
    names = np.broadcast_to(np.arange(shape[2]) % 30, shape).ravel().tolist()
    for start, long, name in zip(
        run.kernel[rank].ravel().tolist(), run.long[rank].ravel().tolist(), names, strict=True
    ):
        out.write(f'{{"ph":"X","cat":"kernel","name":"gemm_{name}","pid":0,"tid":7,"ts":{us(start)},'
                  f'"dur":{us(BASE + long)},"args":{{"device":0,"stream":7}}}},\n')  # fmt: skip
    group = '"Process Group Name":"0","Collective name":"allreduce","In msg nelems":1024,"dtype":"Float"'
    facts = f'"args":{{"device":0,"stream":20,{group}}}'
    for start, end in zip(run.start[rank].ravel().tolist(), run.end[rank].ravel().tolist(), strict=True):
        out.write(f'{{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL","pid":0,"tid":20,'
                  f'"ts":{us(start)},"dur":{us(BASE + end - start)},{facts}}},\n')  # fmt: skip
    marks = [
        f'{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{step}","pid":7,"tid":1,"ts":{us(begin)},'
        f'"dur":{us(BASE + finish - begin)},"args":{{}}}}'
        for step, (begin, finish) in enumerate(zip(run.begin[rank].tolist(), run.finish[rank].tolist(), strict=True))
    ]
    out.write(",\n".join(marks) + "\n]}\n")
    path_ = folder / f"trace-{rank:05}.json.gz"
    path_.write_bytes(gzip.compress(out.getvalue().encode(), compress))
    return path_
