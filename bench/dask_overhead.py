"""What recording adds to a Dask program of 10,000 small tasks on four worker processes; the unrecorded run is the peer.

python bench/dask_overhead.py [--tasks 10000] [--rounds 5]

One JSON object for the tasks alone (wall and CPU of the process with client and scheduler) and one for the whole
program from start to end, `peephole run` with its sealing included.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


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


def once(tasks: int, capture: Path | None) -> dict[str, float]:
    """One run, recorded or not."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PEEPHOLE")}
    command = [sys.executable, __file__, "--program", "--tasks", str(tasks)]
    if capture is not None:
        command = [sys.executable, "-m", "peephole", "run", "-o", str(capture), *command[1:]]
    begin = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    whole = time.perf_counter() - begin
    line = next(line for line in done.stdout.splitlines() if line.startswith("{"))
    found: dict[str, float] = json.loads(line)
    return {**found, "whole program": whole}


def main() -> None:
    """Alternates recorded and unrecorded runs, so that a busy machine disturbs both alike."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--program", action="store_true")
    args = parser.parse_args()
    if args.program:
        program(args.tasks)
        return
    plain, recorded = [], []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(args.rounds):
            plain.append(once(args.tasks, None))
            recorded.append(once(args.tasks, Path(folder) / f"{i}.peep"))
    for what in ("wall", "cpu", "whole program"):
        ours = statistics.median(run[what] for run in recorded)
        peer = statistics.median(run[what] for run in plain)
        name = f"dask {args.tasks} tasks recorded, {what}"
        print(json.dumps({"bench": name, "ours": ours, "peer": peer, "ratio": ours / peer, "unit": "s"}))


if __name__ == "__main__":
    main()
