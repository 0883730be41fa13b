"""Two captures compared by `peephole diff`: seconds and memory. Nobody else compares compilations, so there is no peer.

python -m bench.compare A.peep B.peep [--rounds 3]

Budgets: two recordings of gpt in 3 s, two traces of 24 million slices in 10 s and 1 GB.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("a")
    parser.add_argument("b")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    wall, same = [], None
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(args.rounds):
        begun = time.perf_counter()
        command = [sys.executable, "-m", "peephole", "diff", args.a, args.b, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wall.append(time.perf_counter() - begun)
        same = json.loads(done.stdout)["same"]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    figures = {"wall_s": statistics.median(wall), "cpu_s": cpu / args.rounds, "largest_kb": after.ru_maxrss}
    print(json.dumps({"work": f"diff {args.a} {args.b}", "same": same, **figures}))


if __name__ == "__main__":
    main()
