"""Measures windows of a sealed capture at every zoom, a JSON object a line: `python bench/pyramid.py [CAPTURE]`.

Without a capture, one of two million slices is made.

A window is all lanes of the capture at once, as a page that shows every track would ask for it. Times are given cold
(nothing decoded yet) and as in use: the pointer stays, the zoom goes on, and the view pans by a fifth. `cpu` is the
processor's time for the same, which a busy machine does not stretch.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

PIXELS = 1500
SLICES = 2_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", type=Path, nargs="?")
    parser.add_argument("--pixels", type=int, default=PIXELS)
    args = parser.parse_args()
    if args.capture:
        measure(args.capture, args.pixels)
        return
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from bench.generate import generate

    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "windows.peep"
        generate(made, SLICES)
        subprocess.run([sys.executable, "-m", "peephole", "info", str(made)], check=True, stdout=subprocess.DEVNULL)
        measure(made, args.pixels)


def measure(path: Path, pixels: int) -> None:
    """Prints how long the windows of a capture take."""
    from peephole.store.capture import open_capture

    began = time.perf_counter()
    capture = open_capture(path)
    lanes = capture.lanes()
    a, b = capture.span()
    opened = time.perf_counter() - began
    places = list(zip(lanes.track.tolist(), lanes.depth.tolist(), strict=True))
    rows = capture.count("slices")
    print(
        json.dumps(
            {"bench": "open", "ours": round(opened * 1e3, 1), "unit": "ms", "slices": rows, "lanes": len(places)}
        )
    )
    rng = np.random.default_rng(1)
    everything: list[float] = []
    everything_cpu: list[float] = []
    for zoom in range(0, 27):
        width = (b - a) >> zoom
        if width < pixels:
            break
        one, whole, entries, cpu = [], [], [], []
        for attempt in range(4):
            t0 = a + int(rng.integers(0, max(1, b - a - width)))
            for pan in range(3):
                begin = t0 + pan * width // 5
                total, used = time.perf_counter(), time.process_time()
                found = capture.windows(places, begin, begin + width, pixels)
                whole.append(time.perf_counter() - total)
                cpu.append(time.process_time() - used)
                entries.append(sum(len(lane) for lane in found))
                for track, depth in places[:: len(places) // 8]:
                    own = time.perf_counter()
                    capture.buckets(track, depth, begin, begin + width, pixels)
                    one.append(time.perf_counter() - own)
            if attempt == 0:
                cold = whole[0]
        everything += whole
        everything_cpu += cpu
        median = round(float(np.median(whole)) * 1e3, 2)
        line = {"bench": f"window 2^-{zoom}", "ours": median, "peer": 20.0, "ratio": median / 20, "unit": "ms",
                 "p95": round(float(np.percentile(whole, 95)) * 1e3, 2), "cold": round(cold * 1e3, 2),
                 "one lane": round(float(np.median(one)) * 1e3, 3), "cpu": round(float(np.median(cpu)) * 1e3, 2),
                 "entries": int(np.median(entries))}  # fmt: skip
        print(json.dumps(line))
    for number, value in (("median", 50), ("p95", 95)):
        figure = float(np.percentile(everything, value)) * 1e3
        busy = round(float(np.percentile(everything_cpu, value)) * 1e3, 2)
        found_line = {"bench": f"window {number}", "ours": round(figure, 2), "peer": 20.0, "unit": "ms", "cpu": busy}
        print(json.dumps(found_line))


if __name__ == "__main__":
    main()
