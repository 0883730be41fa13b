"""The page's budgets for graphs, in headless Chromium at 1600x900, with tinygrad's own viewer beside it.

Drawing: from the click on a step until its graph is on the screen; stepping: from the key until the next picture;
frames: pan and zoom over ten thousand boxes. The captures come from gpt (bench/workloads.py) on tinygrad's NULL
device; the graphs of 12,010 and 54,000 nodes are made from a seed (web/dev/samples.ts). The stock viewer gets 60 s.

    python bench/web_graph.py [--limit 60] [--folder RECORDINGS]
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gzip
import http.server
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from bench.web_page import ONE_KEY, WORKLOAD
from bench.web_timeline import ROOT, free_port

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

BUDGETS = {"12010": 2.0, "54000": 3.0}


def report(name: str, ours: float, peer: float | None = None, **more: Any) -> None:
    """One measurement, one line."""
    ratio = None if peer is None else round(peer / ours, 2)
    line = {"bench": name, "ours": round(ours, 4), "peer": peer, "ratio": ratio, "unit": "s", **more}
    print(json.dumps(line), flush=True)


def build(out: Path, page: str = "index.html") -> Path:
    """The page, built from this tree."""
    node = shutil.which("node")
    assert node is not None, "needs Node"
    command = [node, "scripts/build.mjs", f"--out={out}", f"--pages={page}"]
    subprocess.run(command, cwd=ROOT / "web", check=True)
    return out


@contextmanager
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    executable = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


def new_page(chromium: Browser) -> Page:
    page = chromium.new_page(viewport={"width": 1600, "height": 900})
    page.set_default_timeout(120_000)
    return page


@contextmanager
def folder_served(folder: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


def measure_alone(chromium: Browser, work: Path) -> None:
    """The graph by itself: large graphs, frames."""
    with folder_served(build(work / "alone", "dev/graph.html")) as address:
        page = new_page(chromium)
        page.goto(f"{address}graph.html")
        for size, budget in BUDGETS.items():
            page.evaluate(f"window.made = schedule({size})")
            times = [page.evaluate("show(window.made, 'fresh')") / 1e3 for _ in range(5)]
            report(
                f"draw_{size}_nodes", statistics.median(times), budget=budget, boxes=page.evaluate("view.boxes.length")
            )
        expand = """async () => {
          const began = performance.now();
          await view.expandAll();
          view.fit();
          view.renderNow();
          return performance.now() - began;
        }"""
        page.evaluate("show(schedule(12010), 'fresh')")
        took = page.evaluate(expand) / 1e3
        report("expand_all_12010_nodes", took, budget=2.0, boxes=page.evaluate("view.boxes.length"))
        page.evaluate("show(kernel(16, 16), 'fresh').then(() => view.expandAll())")
        boxes = page.evaluate("view.boxes.length")
        for name, act in {
            "pan_at_fit": "camera = {...view.camera, x: view.camera.x + 12 / view.camera.zoom}",
            "zoom_in": "camera = {...view.camera, zoom: view.camera.zoom * 1.03}",
            "pan_near": "camera = {...view.camera, x: view.camera.x - 20 / view.camera.zoom}",
        }.items():
            if name == "pan_at_fit":
                page.evaluate("view.fit()")
            frames = sorted(page.evaluate(f"frames(100, () => {{ view.{act} }})"))
            report(f"frame_p95_{name}", frames[94] / 1e3, budget=0.05, boxes=boxes, median=round(frames[50] / 1e3, 4))
        page.close()


def record(work: Path) -> tuple[Path, Path]:
    """A capture of the transformer, and the pickle that it came from; those of an earlier run when they are there."""
    if (work / "gpt.peep").exists():
        return work / "gpt.peep", next(work.glob("rewrites.pkl*"))
    env = {**os.environ, "TMPDIR": str(work), "DEV": "NULL", "VIZ": "-1", "STEPS": "1", "PEEPHOLE_DIR": str(work)}
    subprocess.run([sys.executable, str(WORKLOAD)], env=env, check=True, capture_output=True, timeout=600)
    pickle = next(work.glob("rewrites.pkl*"))
    capture = work / "gpt.peep"
    command = [sys.executable, "-m", "peephole", "import", "-o", str(capture), str(pickle)]
    subprocess.run(command, env=env, check=True, capture_output=True, timeout=600)
    return capture, pickle


def wanted_steps(capture: Path) -> dict[str, tuple[int, int, int]]:
    """Steps to draw by name: id, position of the context, position in the context."""
    from peephole.query.capture.contexts import contexts, steps
    from peephole.query.rewrites.step_graphs import graph_at
    from peephole.store.capture import open_capture

    opened = open_capture(capture)
    found: dict[str, tuple[int, int, int]] = {}
    for at, context in enumerate(contexts(opened)):
        for ordinal, step in enumerate(steps(opened, context.id)):
            if step.name == "early symbolic" and step.matches > 700 and "2350" not in found:
                size = len(graph_at(opened, step.id, 0).nodes.id)
                if 2300 < size < 2400:
                    found["2350"] = (step.id, at, ordinal)
            elif step.name == "devectorize2" and "100" not in found and step.matches > 20:
                size = len(graph_at(opened, step.id, 0).nodes.id)
                if 90 < size < 130:
                    found["100"] = (step.id, at, ordinal)
    return found


SERVER = """
import sys, uvicorn
from pathlib import Path
from peephole.server.app import create_app
from peephole.server.library import Library
app = create_app(Library([Path(sys.argv[1])]), static=Path(sys.argv[2]))
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[3]), log_level="error", lifespan="off")
"""


@contextmanager
def peephole_served(capture: Path, static: Path) -> Iterator[str]:
    """Our server in a process of its own, as the stock viewer's."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", SERVER, str(capture), str(static), str(port)])
    try:
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait()


@contextmanager
def stock_served(pickle: Path) -> Iterator[str]:
    port = free_port()
    env = {**os.environ, "PORT": str(port), "VIZ": "0", "DEV": "NULL", "BROWSER": ""}
    command = [
        sys.executable,
        "-m",
        "tinygrad.viz.serve",
        "--rewrites-path",
        str(pickle),
        "--profile-path",
        "/nonexistent",
    ]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "ready" in line:
                break
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.kill()
        process.wait()


def until(page: Page, script: str, limit: float) -> float | None:
    """Seconds until a script is true in the page; None when it is not within the limit."""
    began = time.perf_counter()
    while time.perf_counter() - began < limit:
        if page.evaluate(script):
            return time.perf_counter() - began
        time.sleep(0.004)
    return None


def ours_drawn(chromium: Browser, address: str, step: int) -> tuple[float, list[float]]:
    """Seconds from the address to the graph, and from each of thirty keys, one right after the other as a held key
    sends them, to the next picture."""
    page = new_page(chromium)
    page.goto(address)
    until(page, "!!document.querySelector('section.view')?.dataset.shown", 60)
    page.evaluate(f"location.hash = '#/gpt/rewrites?step={step}'")
    shown = "document.querySelector('section.view').dataset.shown"
    drawn = until(page, f"{shown} === '{step}/0'", 120)
    assert drawn is not None
    keys = [page.evaluate(ONE_KEY, [step, match]) / 1e3 for match in range(1, 31)]
    page.close()
    return drawn, keys[1:]


def stock_drawn(chromium: Browser, address: str, context: int, step: int, limit: float) -> float | None:
    page = new_page(chromium)
    page.goto(address)
    until(page, f"typeof setState === 'function' && document.querySelectorAll('.ctx-list ul').length > {context}", 60)
    place = f"{{ expandSteps: true, currentCtx: {context + 1}, currentStep: {step}, currentRewrite: 0 }}"
    page.evaluate(f"void setState({place})")
    drawn = until(page, "document.querySelectorAll('#nodes g.node').length > 5", limit)
    page.close()
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=60, help="seconds that the stock viewer gets for a graph")
    parser.add_argument("--folder", type=Path, help="keep the recordings there, and use those that are there")
    args = parser.parse_args()
    limit = args.limit
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        work = Path(folder)
        kept = args.folder or work
        kept.mkdir(exist_ok=True)
        static = build(work / "static")
        size = sum(len(gzip.compress(file.read_bytes())) for file in static.glob("assets/*.js"))
        print(json.dumps({"bench": "javascript_gzipped", "ours": size, "peer": None, "unit": "B", "budget": 300_000}))
        measure_alone(chromium, work)
        capture, pickle = record(kept)
        wanted = wanted_steps(capture)
        # one server after the other: the stock one goes on working on what its page has left
        with peephole_served(capture, static) as ours:
            taken = {name: ours_drawn(chromium, ours, step) for name, (step, _, _) in sorted(wanted.items())}
        with stock_served(pickle) as stock:
            for name, (_, context, ordinal) in sorted(wanted.items()):
                drawn, keys = taken[name]
                peer = stock_drawn(chromium, stock, context, ordinal, limit)
                note = {} if peer is not None else {"note": f"stock: not within {limit:.0f} s"}
                report(f"draw_{name}_nodes", drawn, None if peer is None else round(peer, 4), budget=1.0, **note)
                report(f"next_rewrite_{name}_nodes", statistics.median(keys), budget=0.1, worst=round(max(keys), 4))


if __name__ == "__main__":
    main()
