"""Opening what VIZ left: Peephole's import and first answer against the time until VIZ's own server is ready.

    python bench/tinygrad_open.py [FOLDER]      a folder with rewrites.pkl* and profile.pkl* of tinygrad

Without a folder, what VIZ leaves of mnist on the NULL device is opened.

Prints one JSON object per measurement (medians of three).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VIZ = """
import sys
from tinygrad.viz.serve import VizData, load_pickle, load_rewrites, get_profile
data = VizData(load_pickle(sys.argv[1], None))
load_rewrites(data)
get_profile(data, load_pickle(sys.argv[2], []))
"""


def seconds(command: list[str], env: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def report(name: str, ours: list[float], peer: list[float]) -> None:
    a, b = statistics.median(ours), statistics.median(peer)
    print(json.dumps({"bench": name, "ours": round(a, 3), "peer": round(b, 3), "ratio": round(a / b, 3), "unit": "s"}))


def main() -> None:
    if len(sys.argv) > 1:
        measure(Path(sys.argv[1]))
        return
    sys.path.insert(0, str(ROOT))
    from bench.web_page import record
    from bench.workloads import workload

    with tempfile.TemporaryDirectory() as folder:
        record(Path(folder), workload("mnist"))
        measure(Path(folder))


def measure(folder: Path) -> None:
    """Opens the pickles of a folder, ours and VIZ in turn."""
    rewrites, profile = next(folder.glob("rewrites.pkl*")), next(folder.glob("profile.pkl*"))
    first, again, peer = [], [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as temporary:
            env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PEEPHOLE_DIR": temporary}
            peer.append(seconds([sys.executable, "-c", VIZ, str(rewrites), str(profile)], env))
            show = [sys.executable, "-m", "peephole", "show", str(rewrites), "--ls"]
            first.append(seconds(show, env))
            again.append(seconds(show, env))
    report("tinygrad open: import and first answer", first, peer)
    report("tinygrad open: first answer of an imported capture", again, peer)


if __name__ == "__main__":
    main()
