"""The memory page on a capture with very many allocations: from the first request to the picture, panning, zooming.

python bench/web_memory.py [--buffers 600000]
One JSON object per measurement. `frame` is the time between two frames while the pointer drags or the wheel turns,
`draw` what the drawing itself took, `reply` a window of the server; `ours` is the 95th percentile. No peer is measured.
"""

from __future__ import annotations

import argparse
import json
import shutil
import socket
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from bench.generate import many_buffers

MS = 1_000_000
COLLECT = """() => {
  const s = document.querySelector('.mem-canvas').memoryStage;
  window.collected = {frame: [], draw: []};
  let last = performance.now(), seen = s.frames;
  const tick = (now) => {
    if (s.frames !== seen) { window.collected.frame.push(now - last); window.collected.draw.push(s.lastFrame); }
    seen = s.frames;
    last = now;
    if (window.collected) requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}"""


def say(name: str, values: list[float], **facts: Any) -> None:
    p50, p95 = (round(float(np.percentile(values, share)), 2) for share in (50, 95))
    row = {"bench": name, "ours": p95, "p50": p50, "samples": len(values), "peer": None, "ratio": None, "unit": "ms"}
    print(json.dumps({**row, **facts}), flush=True)


def replies(address: str) -> None:
    found: list[float] = []
    rng = np.random.default_rng(1)
    for _ in range(60):
        length = int(10 ** rng.uniform(6, 10))
        t0 = int(rng.uniform(0, max(1, 10_000 * MS - length)))
        url = f"{address}api/v1/captures/many/memory/window?device=GPU&t0={t0}&t1={t0 + length}&px=2400"
        begin = time.perf_counter()
        with urllib.request.urlopen(url) as answer:
            answer.read()
        found.append((time.perf_counter() - begin) * 1000)
    say("memory window reply", found)


def moves(page: Any, count: int) -> None:
    box = page.locator(".mem-canvas").bounding_box()
    x, y = box["x"] + 600, box["y"] + 400
    spans = [("whole", ""), ("2 s", f"?t0={4000 * MS}&t1={6000 * MS}"), ("40 ms", f"?t0={5000 * MS}&t1={5040 * MS}")]
    for name, query in spans:
        page.evaluate("where => { location.hash = where }", f"#/many/memory{query}")
        time.sleep(1)
        page.mouse.move(x, y)
        page.evaluate(COLLECT)
        page.mouse.down()
        for i in range(90):
            page.mouse.move(x + 250 * np.sin(i / 10), y)
        page.mouse.up()
        for i in range(40):
            page.mouse.wheel(0, -60 if i < 20 else 60)
        time.sleep(0.3)
        found = page.evaluate("() => { const c = window.collected; window.collected = null; return c; }")
        bands = page.evaluate("document.querySelector('.mem-canvas').memoryStage.picture.bands.id.length")
        say("memory page frame", found["frame"], window=name, buffers=count, bands=bands)
        say("memory page draw", found["draw"], window=name, buffers=count, bands=bands)


def main() -> None:
    import uvicorn
    from playwright.sync_api import sync_playwright

    from peephole.server.app import create_app
    from peephole.server.library import Library

    parser = argparse.ArgumentParser()
    parser.add_argument("--buffers", type=int, default=600_000)
    parser.add_argument("--static", type=Path, help="a built page; the installed one when left out")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "many.peep"
        many_buffers(path, wanted.buffers)
        sock = socket.create_server(("127.0.0.1", 0))
        options = {"static": wanted.static} if wanted.static else {}
        app = create_app(Library([path]), **options)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{sock.getsockname()[1]}/"
        with sync_playwright() as playwright:
            arguments = ["--no-sandbox", "--disable-gpu"]
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
            page = browser.new_page(viewport={"width": 1600, "height": 900})
            begin = time.perf_counter()
            page.goto(f"{address}#/many/memory")
            page.wait_for_selector('section.view[data-shown="memory/GPU"]', timeout=120_000)
            drawn = (time.perf_counter() - begin) * 1000
            say("memory page drawn", [drawn], buffers=wanted.buffers)
            replies(address)
            moves(page, wanted.buffers)
            browser.close()
        server.should_exit = True
        thread.join(5)


if __name__ == "__main__":
    main()
