"""Runs the measurements, all or those named: `python -m bench [--full] [NAME…]`. Each prints JSON objects, one a line.

Every measurement is a program of its own, so that none disturbs the next. Without `--full` each gets the sizes of
bench/short.py, with which it ends within minutes on two cores; with it the sizes that the budgets are of. What each
printed is kept in bench/results/NAME.json with the machine, its load and the date, and docs/benchmarks.md is drawn
anew from all that is there.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.results_page import names, write
from bench.short import SECONDS, SHORT

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"


def main() -> int:
    """The exit code: 0 when every measurement ended well."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Runs measurements, all or those named.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(names())}")
    parser.add_argument("--full", action="store_true", help="in the sizes that the budgets are of; takes hours")
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in names()]
    if unknown:
        print(f"There is no measurement {unknown[0]!r}; there are {', '.join(names())}.", file=sys.stderr)
        return 2
    failed = [name for name in args.names or names() if not measured(name, args.full)]
    if failed:
        print(f"{len(failed)} did not end well: {', '.join(failed)}.", file=sys.stderr)
    return 1 if failed else 0


def measured(name: str, full: bool) -> bool:
    """Runs one measurement and keeps what it printed; whether it ended well."""
    options = [] if full else SHORT.get(name, [])
    print(f"# {' '.join([name, *options])}", file=sys.stderr, flush=True)
    load = os.getloadavg()[0]
    command = [sys.executable, "-m", f"bench.{name}", *options]
    rows = []
    late = threading.Event()
    with subprocess.Popen(
        command, cwd=HERE.parent, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:

        def stop() -> None:
            late.set()
            os.killpg(process.pid, signal.SIGKILL)

        clock = threading.Timer(SECONDS, stop)
        if not full:
            clock.start()
        for line in process.stdout or ():
            print(line, end="", flush=True)
            rows += [json.loads(line)] if line.startswith("{") else []
        process.wait()
        clock.cancel()
    if process.returncode:
        why = f"not done after {SECONDS} s" if late.is_set() else f"exit code {process.returncode}"
        print(json.dumps({"bench": name, "error": why}), flush=True)
        return False
    if rows:
        keep(name, options, load, rows)
    return True


def keep(name: str, options: list[str], load: float, rows: list[dict[str, Any]]) -> None:
    """Writes down what a measurement printed, where and when, and how busy the machine was before it."""
    RESULTS.mkdir(exist_ok=True)
    cores = os.cpu_count()
    machine = (
        f"{platform.system()} {platform.machine()}, {cores} cores, {_processor()}, Python {platform.python_version()}"
    )
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    facts = {"bench": name, "options": options, "date": when, "machine": machine, "load": round(load, 1), "rows": rows}
    (RESULTS / f"{name}.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    write()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown processor"
    )


if __name__ == "__main__":
    sys.exit(main())
