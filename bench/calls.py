"""Call trees of nested slices, in the query and in the page: `python bench/calls.py [CAPTURE…] [--slices N…]`.

Without captures those of generate.py's nested threads are made, 1M and, asked for with --slices 24000000, more. `cpu`
is the processor's time, which a busy machine does not stretch; the peer is the budget. Each tree is made in a process
of its own, cold, and once more in the same process. The page's frames are all that come while the flame graph is
panned, the selection moves and a branch is zoomed to and left, in a tree of few functions and in one where hardly two
calls are the same node.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

BUDGETS = {1_000_000: 0.5, 24_000_000: 2.0}
FRAME = 33.0
FRAMES = """() => new Promise(done => {
  const flame = document.querySelector('.flame'), list = document.querySelector('.call-list .vlist'), gaps = [];
  const press = key => list.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
  const draws = [];
  let turn = 0, last = performance.now(), zooms = 0;
  const step = now => {
    gaps.push(now - last);
    draws.push(+flame.dataset.frame);
    last = now;
    if (++turn > 360) return done({gaps: gaps.slice(2), draws: draws.slice(2), zooms});
    flame.scrollTop = Math.abs((turn * 9) % 400 - 200);
    if (turn % 6 === 0) press(turn % 24 === 0 ? 'ArrowUp' : 'ArrowDown');
    if (turn % 60 === 30) { press('Enter'); zooms++; }
    if (turn % 60 === 0) press('Escape');
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})"""


USED = """import json, os, subprocess, sys, time
began = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(child.pid, 0)
assert status == 0
print(json.dumps([time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss // 1024]))"""
"""What a command takes; a small program, since a child begins with the memory of the one that starts it."""


def report(bench: str, ours: float, peer: float, unit: str, **about: Any) -> None:
    row = {"bench": bench, "ours": round(ours, 3), "peer": peer, "ratio": round(peer / ours, 2), "unit": unit}
    print(json.dumps({**row, **about, "load": round(os.getloadavg()[0], 1), "peer_is": "the budget"}), flush=True)


def once(path: Path) -> None:
    """Makes the tree twice and prints the times."""
    from peephole.query.calls.tree import call_tree, inverted
    from peephole.store.capture import open_capture

    capture = open_capture(path)
    slices, found = capture.count("slices"), []
    for _ in range(2):
        began, used = time.perf_counter(), time.process_time()
        tree = call_tree(capture)
        found.append((time.perf_counter() - began, time.process_time() - used))
    began = time.perf_counter()
    inverted(tree)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps([slices, len(tree), memory, time.perf_counter() - began, *found]))


def query(path: Path) -> None:
    """Reports the times of a few processes."""
    runs = []
    for _ in range(3):
        out = subprocess.run(
            [sys.executable, __file__, "--once", str(path)], check=True, capture_output=True, text=True
        )
        runs.append(json.loads(out.stdout))
    slices, nodes, memory = runs[0][:3]
    budget = next(limit for size, limit in BUDGETS.items() if slices <= 1.2 * size)
    for name, at in (("cold", 4), ("again", 5)):
        wall, cpu = (statistics.median(run[at][which] for run in runs) for which in (0, 1))
        report(f"call tree of {slices:,} slices, {name}", wall, budget, "s", cpu=round(cpu, 3), nodes=nodes, mb=memory)
    report("inverted", statistics.median(run[3] for run in runs), budget, "s", nodes=nodes)


def top(folder: Path) -> None:
    """Reports what `show -t` takes of 872,000 kernels with args, and of a million tracks."""
    from peephole.model.sink import Joined, Strings
    from peephole.store.writer import CaptureWriter

    many, names = 872_000, [f"r_{i}" for i in range(50)]
    with CaptureWriter(folder / "args.peep") as writer:
        row = np.arange(many)
        writer.append("tracks", {"id": [0, 1], "name": ["GPU", "GPU:1"], "kind": ["device"] * 2})
        writer.append("contexts", {"id": list(range(50)), "name": names, "kind": ["kernel"] * 50})
        args = Joined(['{"flops":', row * 13 + 1_000_000, ',"bytes_per_s":', row * 7, ',"grid":[', row % 64, ",1,1]}"])
        times = {"track": (row % 2).astype(np.int32), "start": row * 10, "dur": np.full(many, 9)}
        writer.append("slices", {**times, "name": Strings(row % 50, names), "context": row % 50, "args": args})
    with CaptureWriter(folder / "tracks.peep") as writer:
        row = np.arange(1_000_000)
        titles = {"id": row.astype(np.int32), "name": [f"t{i}" for i in range(len(row))]}
        writer.append("tracks", {**titles, "kind": ["thread"] * len(row)})
        times = {"track": row.astype(np.int32), "start": row * 10, "dur": np.full(len(row), 7)}
        writer.append("slices", {**times, "name": Strings(row % 50, names)})
    for name, seconds in (("args", 0.6), ("tracks", 5.0)):
        command = [sys.executable, "-c", USED, sys.executable, "-m", "peephole", "show", "-t", f"{folder / name}.peep"]
        wall, cpu, memory = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        report(f"show -t, {name}", wall, seconds, "s", cpu=round(cpu, 3), mb=memory)


def page(path: Path, what: str) -> None:
    """Reports how long frames of the flame graph take."""
    from bench.web_timeline import p95, serve, stop
    from playwright.sync_api import sync_playwright

    process, address = serve(path)
    try:
        with sync_playwright() as playwright:
            executable = shutil.which("chromium") or shutil.which("google-chrome")
            browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
            view = browser.new_page(viewport={"width": 1600, "height": 900})
            view.goto(f"{address}#//calls?thread=*")
            view.wait_for_selector("section.view[data-shown]", timeout=60_000)
            boxes = view.evaluate("+document.querySelector('.flame').dataset.boxes")
            found = view.evaluate(FRAMES)
            about = {"boxes": boxes, "median": round(statistics.median(found["gaps"]), 1), "zooms": found["zooms"]}
            report(f"flame graph, {what}, frame p95", p95(found["gaps"]), FRAME, "ms", **about)
            report(f"flame graph, {what}, drawing one, p95", p95(found["draws"]), FRAME, "ms", boxes=boxes)
            browser.close()
    finally:
        stop(process)


def main() -> None:
    """Measures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captures", type=Path, nargs="*")
    parser.add_argument("--slices", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--once", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.once:
        once(args.once)
        return
    from bench.generate import nested

    with tempfile.TemporaryDirectory() as folder:
        paths = list(args.captures)
        for slices in args.slices if not paths else []:
            paths.append(Path(folder) / f"nested-{slices}.peep")
            nested(paths[-1], slices)
        for path in paths:
            query(path)
        page(paths[-1], "as given" if args.captures else "few functions")
        if not args.captures:
            nested(Path(folder) / "many.peep", 1_000_000, functions=20_000)
            query(Path(folder) / "many.peep")
            page(Path(folder) / "many.peep", "20,000 functions")
        top(Path(folder))


if __name__ == "__main__":
    main()
