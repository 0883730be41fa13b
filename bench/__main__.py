"""Runs the measurements, all or those named: `python -m bench [NAME…]`. Each prints JSON objects, one a line.

Every measurement is a program of its own, so that none disturbs the next. Larger sizes are options of the programs:
`python bench/seal.py --slices 24000000`. What each printed is kept in bench/results/NAME.json with the machine and the
date, and docs/benchmarks.md is drawn anew from all that is there.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
HELPERS = {"__init__", "__main__", "generate", "workloads", "results_page"}


def names() -> list[str]:
    """The measurements: every program of this folder that is no helper of others."""
    found = [path.stem for path in sorted(HERE.glob("*.py")) if path.stem not in HELPERS]
    return [name for name in found if "__main__" in (HERE / f"{name}.py").read_text("utf-8")]


def main() -> int:
    """The exit code: 0 when every measurement ended well."""
    wanted = sys.argv[1:] or names()
    unknown = [name for name in wanted if name not in names()]
    if unknown:
        print(f"There is no measurement {unknown[0]!r}; there are {', '.join(names())}.", file=sys.stderr)
        return 2
    failed = 0
    for name in wanted:
        print(f"# {name}", file=sys.stderr, flush=True)
        command = [sys.executable, str(HERE / f"{name}.py")]
        rows = []
        with subprocess.Popen(command, cwd=HERE.parent, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                rows += [json.loads(line)] if line.startswith("{") else []
        if process.returncode:
            failed += 1
            print(json.dumps({"bench": name, "error": f"exit code {process.returncode}"}), flush=True)
        elif rows:
            keep(name, rows)
    return 1 if failed else 0


def keep(name: str, rows: list[dict[str, Any]]) -> None:
    """Writes down what a measurement printed, where and when."""
    from bench.results_page import write

    RESULTS.mkdir(exist_ok=True)
    cores = os.cpu_count()
    machine = (
        f"{platform.system()} {platform.machine()}, {cores} cores, {_processor()}, Python {platform.python_version()}"
    )
    facts = {"bench": name, "date": datetime.now(UTC).strftime("%Y-%m-%d"), "machine": machine, "rows": rows}
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
