"""How long each command takes on a small capture, next to a Python that only imports numpy and pyarrow.parquet.

python bench/commands.py [--slices 2000] [--tries 5]

`ours` is the median wall time; `cpu` is what the process computed, which other work on the machine does not change.
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
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT = 0.3
"""Seconds that a command may take."""
FLOOR = [sys.executable, "-c", "import numpy, pyarrow.parquet"]
COMMANDS = (
    ["--help"],
    ["ls", "{folder}"],
    ["info", "{capture}"],
    ["show", "{capture}"],
    ["show", "-t", "{capture}"],
    ["show", "--ls", "{capture}"],
    ["idle", "{capture}"],
    ["rules", "{capture}"],
    ["why", "step", "wait", "{capture}"],
    ["origin", "step", "{capture}"],
    ["query", "select count(*) from slices", "{capture}"],
)


def measured(command: list[str], tries: int) -> tuple[float, float]:
    """Medians of wall and CPU seconds."""
    wall, cpu = [], []
    for _ in range(tries):
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(command, capture_output=True, check=False, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
        wall.append(time.perf_counter() - begun)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(wall), statistics.median(cpu)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--slices", type=int, default=2_000)
    parser.add_argument("--tries", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        capture = folder / "small.peep"
        making = [sys.executable, str(HERE / "generate.py"), "--slices", str(args.slices), "--seal", str(capture)]
        subprocess.run(making, check=True, stdout=subprocess.DEVNULL)
        floor = measured(FLOOR, args.tries)
        for words in COMMANDS:
            own = [word.format(folder=folder, capture=capture) for word in words]
            wall, cpu = measured([sys.executable, "-m", "peephole", *own], args.tries)
            print(json.dumps({
                "bench": f"command {' '.join(words[:-1]) or words[0]}",
                "ours": round(wall, 3), "unit": "s", "cpu": round(cpu, 3),
                "limit": LIMIT, "peer": round(floor[0], 3), "peer_cpu": round(floor[1], 3),
                "peer_is": "import numpy, pyarrow.parquet",
            }), flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
