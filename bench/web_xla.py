"""Any pass's graph of a module of 20,000 instructions, from its address until it is drawn, in headless Chromium.

python bench/web_xla.py [--instructions 20000] [--megabytes 40]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from bench.web_graph import browser, build, new_page, peephole_served, report, until
from bench.xla_import import write

BUDGET = 1.0


def cpu_s() -> float:
    """Seconds of CPU of the processes under this one: the server and the browser."""
    parents: dict[int, int] = {}
    spent: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(") ")[2].split()
            parents[int(stat.parent.name)] = int(fields[1])
            spent[int(stat.parent.name)] = int(fields[11]) + int(fields[12])
    own = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in own} - own:
        own |= more
    return sum(spent[pid] for pid in own - {os.getpid()}) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instructions", type=int, default=20_000)
    parser.add_argument("--megabytes", type=int, default=40)
    options = parser.parse_args()
    from peephole.ingest import import_files
    from peephole.query.capture.contexts import steps
    from peephole.store.capture import open_capture

    with tempfile.TemporaryDirectory() as place, browser() as chromium:
        folder = Path(place)
        static = build(folder / "static")
        write(folder / "dump", options.instructions, options.megabytes << 20)
        capture = import_files([folder / "dump"], folder / "large.peep")
        listed = [one.id for one in steps(open_capture(capture), 0)]
        wanted = {"second": listed[1], "middle": listed[len(listed) // 2], "last": listed[-1]}
        with peephole_served(capture, static) as address:
            for name, step in wanted.items():
                page = new_page(chromium)
                page.goto(address)
                until(page, "!!document.querySelector('section.view')?.dataset.shown", 60)
                before = cpu_s()
                page.evaluate(f"location.hash = '#/large/rewrites?step={step}'")
                shown = "document.querySelector('section.view').dataset.shown"
                drawn = until(page, f"{shown} === '{step}/0'", 120)
                assert drawn is not None
                boxes = page.evaluate("document.querySelector('.graph').graphView.boxes.length")
                spent = round(cpu_s() - before, 2)
                report(f"draw_{name}_pass_{options.instructions}", drawn, budget=BUDGET, boxes=boxes, cpu_s=spent)
                page.close()


if __name__ == "__main__":
    main()
