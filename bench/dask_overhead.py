"""What recording adds to a Dask program of 10,000 small tasks on four worker processes; the unrecorded run is the peer.

python bench/dask_overhead.py [--tasks 10000] [--rounds 5] [--in-turn]

Each round runs the program recorded and unrecorded at the same time, so that both have the same machine: in turn, a
noisy one changes more from run to run than recording adds. `--in-turn` does that all the same, which is what a user
would see. Ratios are medians of the rounds' ratios: of the tasks alone (wall and CPU of the process with client and
scheduler), of the whole program from start to end, `peephole run` with its sealing included, and of the CPU of all its
processes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MEASURES = ("wall", "cpu", "whole program", "cpu of all")


def program(tasks: int) -> None:
    """The program itself: prints how long the tasks took."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=4, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        client.gather(client.map(abs, range(-200, 0)))
        begin, cpu = time.perf_counter(), time.process_time()
        client.gather(client.map(abs, range(tasks)))
        print(json.dumps({"wall": time.perf_counter() - begin, "cpu": time.process_time() - cpu}))


def watched(command: list[str]) -> None:
    """Runs a command and prints what it printed, its time and the CPU time of all its processes."""
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    whole = time.perf_counter() - begin
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    line = next(line for line in done.stdout.splitlines() if line.startswith("{"))
    print(json.dumps({**json.loads(line), "whole program": whole, "cpu of all": used.ru_utime + used.ru_stime}))


def once(tasks: int, capture: Path | None) -> dict[str, float]:
    """One run, recorded or not."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PEEPHOLE")}
    command = [sys.executable, __file__, "--program", "--tasks", str(tasks)]
    if capture is not None:
        command = [sys.executable, "-m", "peephole", "run", "-o", str(capture), *command[1:]]
    command = [sys.executable, __file__, "--watch", *command]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Pairs of a recorded and an unrecorded run."""
    if sys.argv[1:2] == ["--watch"]:
        watched(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--in-turn", action="store_true")
    parser.add_argument("--program", action="store_true")
    args = parser.parse_args()
    if args.program:
        program(args.tasks)
        return
    plain, recorded = [], []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1 if args.in_turn else 2) as pool:
        for i in range(args.rounds):
            first = pool.submit(once, args.tasks, None)
            second = pool.submit(once, args.tasks, Path(folder) / f"{i}.peep")
            plain.append(first.result())
            recorded.append(second.result())
    how = "in turn" if args.in_turn else "at the same time"
    for what in MEASURES:
        ratios = [ours[what] / peer[what] for ours, peer in zip(recorded, plain, strict=True)]
        found = {
            "bench": f"dask {args.tasks} tasks recorded, {what}, {how}",
            "ours": statistics.median(run[what] for run in recorded),
            "peer": statistics.median(run[what] for run in plain),
            "ratio": statistics.median(ratios),
            "unit": "s",
            "ratios": [round(ratio, 3) for ratio in ratios],
        }
        print(json.dumps(found))


if __name__ == "__main__":
    main()
