"""Runs of many ranks: summaries of captures that are there, the run's tables, `peephole ranks`; next to DuckDB's SQL.

    python bench/ranks.py [--ranks 64] [--slices 198100] [--wide 10000] [--collectives 3000]
    python bench/ranks.py --generated 1000 [--of 20000]     traces of a run whose every figure is known, imported

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
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # what measurements share is found beside them

from bench.rank_files import Plan, path, plan, truth, write_rank

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


def wide_run(run: Path, ranks: int, collectives: int, steps: int) -> Path:
    """The tables of a run so large, as if it had been imported: rank 17 comes late to every third collective."""
    from peephole.model.run_tables import RUN_TABLES
    from peephole.store.runs import write_run_table
    from peephole.store.writer import CaptureWriter

    rng = np.random.default_rng(1)
    late = rng.integers(0, 50_000, (collectives, ranks))
    late[::3, 17 % ranks] = 60_000
    begin = np.arange(collectives)[:, None] * 1_000_000
    wait = late.max(axis=1, keepdims=True) - late
    number = np.arange(ranks)
    per = max(collectives // steps, 1)
    own = rng.integers(900_000, 940_000, (ranks, steps)) * per
    own[17 % ranks] += 400_000 * per
    tables: dict[str, dict[str, Any]] = {
        "ranks": {"rank": number, "host": [f"node{i // 8}" for i in range(ranks)], "capture": [""] * ranks,
                  "wait_ns": wait.sum(axis=0), "last": np.bincount(late.argmax(axis=1), minlength=ranks),
                  "slow_steps": [[1, 2] if i == 17 else [] for i in range(ranks)]},
        "collectives": {"index": np.arange(collectives), "group": ["0"] * collectives,
                        "name": ["nccl:allreduce"] * collectives, "step": np.arange(collectives) // per,
                        "last_rank": late.argmax(axis=1), "skew_ns": late.max(axis=1) - late.min(axis=1),
                        "latency_ns": np.full(collectives, 60_000), "start_ns": begin[:, 0] + late.min(axis=1),
                        "end_ns": begin[:, 0] + late.max(axis=1) + 60_000, "ranks": np.full(collectives, ranks)},
        "arrivals": {"collective": np.repeat(np.arange(collectives), ranks), "rank": np.tile(number, collectives),
                     "start_ns": (begin + late).ravel(), "end_ns": (begin + late + wait + 60_000).ravel(),
                     "wait_ns": wait.ravel(), "held": np.ones(wait.size, np.bool_)},
        "rank_steps": {"rank": np.repeat(number, steps), "step": np.tile(np.arange(steps), ranks),
                       "start_ns": np.tile(np.arange(steps) * per * 1_000_000, ranks),
                       "dur_ns": np.full(ranks * steps, per * 1_000_000), "own_ns": own.ravel()},
    }  # fmt: skip
    with CaptureWriter(run) as writer:
        writer.describe(source="ranks")
        for name, table in RUN_TABLES.items():
            write_run_table(writer.scratch, name, tables.get(name, {table.columns[0].name: []}))
    return run


def wide(ranks: int, collectives: int, folder: Path) -> None:
    """A run so large: how long the answers take, each in a process of its own."""
    run = wide_run(folder / "wide.peep", ranks, collectives, 1000)
    sql = "SELECT rank, sum(wait_ns) AS w, max(start_ns) FROM arrivals GROUP BY rank ORDER BY w LIMIT 10"
    for what, words in (
        ("least wait first", ["ranks", str(run)]),
        ("a step and its path", ["ranks", str(run), "--step", "500"]),
        ("collectives", ["ranks", str(run), "--collectives"]),
        ("hosts", ["ranks", str(run), "--hosts"]),
        ("a group", ["ranks", str(run), "--group", "0"]),
        ("SQL over all arrivals", ["query", sql, str(run)]),
    ):
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-m", "peephole", *words], check=True, stdout=subprocess.DEVNULL)
        took = time.perf_counter() - begun
        report(f"ranks: {what}, wide run", took, 10.0, "s", rows=ranks * collectives, peer_is="the budget")


def differences(run: Any, known: Plan, slow: Mapping[int, tuple[int, ...]]) -> list[str]:
    """The figures of a run that are not those of its generator; none, if all is well."""
    expected = truth(known)
    ranks = sorted(run.ranks(), key=lambda row: row.rank)
    steps, table = run.tables["rank_steps"], run.tables["collectives"]
    pairs = {
        "ranks": ([row.rank for row in ranks], range(len(known.begin))),
        "wait": ([row.wait_ns for row in ranks], expected["waits"]),
        "busy": ([row.busy_ns for row in ranks], expected["busy"].sum(axis=1)),
        "communication": ([row.communication_ns for row in ranks], expected["communication"].sum(axis=1)),
        "overlap": ([row.overlap_ns for row in ranks], expected["overlap"].sum(axis=1)),
        "last": ([row.last for row in ranks], np.bincount(expected["last"].ravel(), minlength=len(ranks))),
        "skew": (table.ints("skew_ns"), expected["skew"].ravel()),
        "latency": (table.ints("latency_ns"), expected["latency"].ravel()),
        "last of each": (table.ints("last_rank"), expected["last"].ravel()),
        "start of steps": (steps.ints("start_ns"), known.begin.ravel()),
    }
    for name in ("busy", "communication", "overlap", "wait", "own"):
        pairs[f"{name} by step"] = (steps.ints(f"{name}_ns"), expected[name].ravel())
    found = [name for name, (ours, theirs) in pairs.items() if list(ours) != list(theirs)]
    if {row.rank: row.slow_steps for row in ranks if row.slow_steps} != {rank: tuple(s) for rank, s in slow.items()}:
        found.append("slow ranks and steps")
    return found


def generated(ranks: int, slices: int, folder: Path) -> None:
    """Traces of a whole run imported: rate, memory of the coordinator, and whether every figure is right."""
    from concurrent.futures import ProcessPoolExecutor

    from peephole.query.ranks.critical_path import critical_path
    from peephole.query.ranks.run import open_run
    from peephole.store.capture import open_capture

    slow = {ranks // 3: (2, 5), ranks // 2: (7,)}
    known = plan(ranks, slices, 50, slow)
    parts = np.array_split(np.arange(ranks), 20)
    with ProcessPoolExecutor(2) as pool:
        written = pool.map(write_ranks, [(known, part.tolist(), folder) for part in parts])
        files = [path for part in written for path in part]
    size = sum(path.stat().st_size for path in files)
    total = known.slices * ranks
    script = f"""
import json, resource, time
from pathlib import Path
from peephole.fleet.run import make_run
if __name__ == "__main__":
    begun = time.perf_counter()
    make_run(sorted(Path({str(folder)!r}).glob("*.json.gz")), Path({str(folder / "run.peep")!r}))
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    # the peak that rusage tells is inherited from whoever started us
    held = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(json.dumps([time.perf_counter() - begun, int(held.split()[1]) // 1024, spent.ru_utime + spent.ru_stime]))
"""
    (folder / "coordinator.py").write_text(script)
    out = subprocess.run([sys.executable, str(folder / "coordinator.py")], check=True, capture_output=True, text=True)
    took, held, cpu = json.loads(out.stdout)
    facts = {"slices": total, "gz_mb": size >> 20, "cpu": round(cpu, 1), "slices_per_core_s": round(total / cpu)}
    report(f"ranks: {ranks} traces imported", took, None, "s", **facts)
    report("ranks: memory of the coordinator", held, 1024, "MB", peer_is="the budget")
    run = open_run(open_capture(folder / "run.peep"))
    wrong = differences(run, known, slow)
    for step in range(50):
        legs = [(leg.rank, leg.kind, leg.start_ns, leg.end_ns, leg.waited_for) for leg in critical_path(run, step)]
        wrong += [f"path of step {step}"] if legs != path(known, step) else []
    print(json.dumps({"bench": "ranks: figures that differ from the generator's", "ours": len(wrong), "wrong": wrong}))


def write_ranks(work: tuple[Plan, list[int], Path]) -> list[Path]:
    known, ranks, folder = work
    return [write_rank(known, rank, folder) for rank in ranks]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--slices", type=int, default=198_100)
    parser.add_argument("--wide", type=int, default=10_000)
    parser.add_argument("--collectives", type=int, default=3_000)
    parser.add_argument("--only-wide", action="store_true", help="no captures, the wide run alone")
    parser.add_argument("--generated", type=int, default=0)
    parser.add_argument("--of", type=int, default=20_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if args.generated:
            generated(args.generated, args.of, folder)
            return
        if args.only_wide:
            wide(args.wide, args.collectives, folder)
            return
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
