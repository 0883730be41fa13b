"""Runs of many ranks: summaries of captures that are there, the run's tables, `peephole ranks`; next to DuckDB's SQL.

    python bench/ranks.py [--ranks 64] [--slices 198100] [--wide 10000] [--collectives 3000]

Prints a JSON object per measurement.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

STEPS, KERNELS = 100, 30


def report(name: str, ours: float, peer: float | None, unit: str, **more: Any) -> None:
    ratio = round(peer / ours, 2) if peer else None
    print(
        json.dumps({"bench": name, "ours": round(ours, 3), "peer": peer, "ratio": ratio, "unit": unit, **more}),
        flush=True,
    )


def capture(path: Path, rank: int, slices: int) -> None:
    """A rank's capture: kernels on one stream, collectives on another, steps on the host."""
    from peephole.store.writer import CaptureWriter

    rng = np.random.default_rng(rank)
    talks = slices * 3 // 200
    kernels = slices - talks - STEPS
    late = 300_000 if rank == 17 else 0
    start = np.arange(kernels, dtype=np.int64) * 10_000 + rng.integers(0, 900, kernels)
    talk = np.arange(talks, dtype=np.int64) * (kernels * 10_000 // talks) + late + rng.integers(0, 500, talks)
    whole = kernels * 10_000 // STEPS
    with CaptureWriter(path) as writer:
        writer.append(
            "tracks",
            {"id": [0, 1, 2], "name": ["stream 7", "stream 20", "python"], "kind": ["device", "device", "thread"],
             "rank": [rank] * 3, "host": [f"node{rank // 8}"] * 3},
        )  # fmt: skip
        names = [f"kernel_{i}" for i in rng.integers(0, KERNELS, kernels).tolist()]
        writer.append(
            "slices",
            {"track": np.zeros(kernels, np.int32), "start": start, "dur": np.full(kernels, 9_000), "name": names},
        )
        took = np.full(talks, 400_000 - late)
        writer.append(
            "slices",
            {
                "track": np.full(talks, 1, np.int32),
                "start": talk,
                "dur": took,
                "name": ["ncclDevKernel_AllReduce_Sum"] * talks,
            },
        )
        marks = [f"ProfilerStep#{i}" for i in range(STEPS)]
        begin = np.arange(STEPS, dtype=np.int64) * whole
        writer.append(
            "slices",
            {"track": np.full(STEPS, 2, np.int32), "start": begin, "dur": np.full(STEPS, whole - 10), "name": marks},
        )


def duckdb_totals(paths: list[Path]) -> float:
    """Seconds that DuckDB takes for the totals per rank and kernel alone, the easiest of the five questions."""
    import duckdb

    files = ", ".join(f"'{path}/slices.parquet'" for path in paths)
    begun = time.perf_counter()
    sql = f"SELECT filename, name, count(*), sum(dur) FROM read_parquet([{files}], filename=true) GROUP BY ALL"
    duckdb.sql(sql).fetchall()
    return time.perf_counter() - begun


def wide(ranks: int, collectives: int, folder: Path) -> None:
    """Tables of a run so large: how long the answers take."""
    from peephole.store.runs import write_run_table

    run = folder / "wide.peep"
    run.mkdir()
    rng = np.random.default_rng(1)
    index = np.repeat(np.arange(collectives), ranks)
    start = index * 1_000_000 + rng.integers(0, 50_000, len(index))
    columns = {"collective": index, "rank": np.tile(np.arange(ranks), collectives), "start_ns": start,
               "end_ns": start + 60_000, "wait_ns": 50_000 - start % 1_000_000}  # fmt: skip
    write_run_table(run, "arrivals", columns)
    import duckdb

    begun = time.perf_counter()
    sql = "SELECT rank, sum(wait_ns) w, max(start_ns) FROM read_parquet('{}') GROUP BY rank ORDER BY w LIMIT 10"
    duckdb.sql(sql.format(run / "run" / "arrivals.parquet")).fetchall()
    report(
        "ranks: least wait over all arrivals",
        time.perf_counter() - begun,
        10.0,
        "s",
        rows=len(index),
        peer_is="the budget",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--slices", type=int, default=198_100)
    parser.add_argument("--wide", type=int, default=10_000)
    parser.add_argument("--collectives", type=int, default=3_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        paths = [folder / f"rank{i:04}.peep" for i in range(args.ranks)]
        for rank, path in enumerate(paths):
            capture(path, rank, args.slices)
        from peephole.fleet.run import make_run

        begun, cpu = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        run = make_run(paths, folder / "run.peep")
        took, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - cpu.ru_utime - cpu.ru_stime
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        facts = {"cpu": round(spent, 2), "rows": args.ranks * args.slices, "coordinator_mb": held}
        report("ranks: all summaries and tables", took, 12.0, "s", peer_is="the budget", **facts)
        report(
            "ranks: totals per kernel by DuckDB alone", took, duckdb_totals(paths), "s", peer_is="one of five questions"
        )
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-m", "peephole", "ranks", str(run)], check=True, stdout=subprocess.DEVNULL)
        report("ranks: the command", time.perf_counter() - begun, 1.0, "s", peer_is="the budget")
        if args.wide:
            wide(args.wide, args.collectives, folder)


if __name__ == "__main__":
    main()
