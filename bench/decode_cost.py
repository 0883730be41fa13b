"""What recording costs a program in its steady state: an LLM's decode (bench/decode.py), plain, recorded and under VIZ.

    python bench/decode_cost.py [--rounds 3] [--device CPU]

Prints one JSON object: ms of CPU a token, medians of rounds that alternate between the three. The program's process is
measured, once its JIT is warm: that is where recording may not be felt.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WAYS: dict[str, dict[str, str]] = {"plain": {}, "ours": {"PEEPHOLE": "1"}, "peer": {"VIZ": "-1"}}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="CPU")
    args = parser.parse_args()
    drop = ("VIZ", "PROFILE", "PEEPHOLE", "PEEPHOLE_CAPTURE", "PEEPHOLE_ONLY", "DEBUG")
    kept = {name: value for name, value in os.environ.items() if name not in drop}
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        env = {**kept, "DEV": args.device, "TMPDIR": folder, "PEEPHOLE_DIR": folder, "CACHELEVEL": "0", "PARALLEL": "0"}
        for _ in range(args.rounds):
            for way, more in WAYS.items():
                command = [sys.executable, str(ROOT / "bench" / "decode.py")]
                done = subprocess.run(command, env={**env, **more}, capture_output=True, text=True, check=True)
                found[way].append(json.loads(done.stdout.splitlines()[0])["cpu_ms"])
    plain, ours, peer = (statistics.median(found[way]) for way in WAYS)
    bench = {"bench": "tinygrad decode, CPU a token", "ours": ours, "peer": peer, "ratio": round(ours / peer, 3)}
    print(json.dumps({**bench, "unit": "ms", "unrecorded": plain, "of unrecorded": round(ours / plain, 3)}))


if __name__ == "__main__":
    main()
