"""Measures sealing and the first look at a capture, a JSON object a line: `python bench/seal.py --slices 24000000`."""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SEAL = """
import json, resource, sys, time
from peephole.store.journal.seal import seal
began = time.perf_counter()
seal(sys.argv[1])
print(json.dumps([time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def line(name: str, ours: float, peer: float | None, unit: str, budget: str) -> None:
    """One measurement. `peer` is the budget's figure where the budget names a number and no other tool."""
    ratio = None if not peer else round(ours / peer, 3)
    print(json.dumps({"bench": name, "ours": round(ours, 3), "peer": peer, "ratio": ratio, "unit": unit, "of": budget}))


def folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def command(capture: Path, *words: str) -> float:
    """Seconds that a command takes, the better of two runs."""
    times = []
    for _ in range(2):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "peephole", *words, str(capture)], check=True, capture_output=True)
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slices", type=int, default=2_000_000)
    parser.add_argument("--keep", type=Path, help="leave the capture there")
    args = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from bench.generate import generate

    folder = Path(tempfile.mkdtemp(prefix="peephole-bench-"))
    capture = args.keep or folder / "bench.peep"
    try:
        count = generate(capture, args.slices)
        journal = folder_bytes(capture)
        out = subprocess.run([sys.executable, "-c", SEAL, str(capture)], check=True, capture_output=True, text=True)
        seconds, peak = json.loads(out.stdout)
        line("seal rate", count / seconds / 1e6, 3.0, "M slices/s", "at least 3")
        line("seal memory", peak, 1536, "MB", "at most 1536")
        slices = (capture / "slices.parquet").stat().st_size
        index = folder_bytes(capture / "index")
        line("bytes a slice", slices / count, 5.0, "B", "at most 5")
        line("bytes a slice, with index", (slices + index) / count, 6.5, "B", "at most 6.5")
        line("journal bytes a slice", journal / count, 40, "B", "at most 40")
        for name, words, budget in (("info", ["info", "--json"], 0.5), ("show -t", ["show", "-t", "--json"], 2.0)):
            try:
                line(name, command(capture, *words), budget, "s", f"at most {budget}")
            except subprocess.CalledProcessError as error:
                print(json.dumps({"bench": name, "error": error.stderr.decode()[-200:]}))
        print(json.dumps({"slices": count, "own memory MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
