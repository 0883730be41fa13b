"""A tape in the page: from `peephole serve` to the drawn Messages and Timeline in Chromium; the peer is the budget.

python bench/web_tape.py [TAPE] [--rounds 3]

The tape is the one of bench/tape.py. "imported" opens a capture that is there already, "raw" the tape's own file, with
its import; "page" counts from the browser's request alone, to a server that has read nothing yet.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.tape import REAL, made_up  # noqa: E402
from bench.web_timeline import serve, stop  # noqa: E402

BUDGET = 1.5
SETTLED = 1.0
"""A tab just made keeps the browser busy for 0.7 s of CPU, which is no part of opening a tape."""
WATCH = """new MutationObserver(() => {
  if (!window.shownAt && document.querySelector('section.view[data-shown]')) window.shownAt = performance.now();
}).observe(document, {subtree: true, childList: true, attributes: true, attributeFilter: ['data-shown']})"""
"""The page notes itself when it has drawn: asking it from outside would take half a second more."""


def drawn(page: Any, address: str, view: str) -> float:
    """Opens a view and waits until it is on the screen; seconds from the request to the picture."""
    page.goto(f"{address}#//{view}")
    page.wait_for_selector("section.view[data-shown]", timeout=60_000)
    return float(page.evaluate("window.shownAt")) / 1000


def main() -> None:
    """Measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tape", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    from playwright.sync_api import sync_playwright

    from peephole.ingest import import_files

    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        tape = args.tape or (REAL if REAL.exists() else made_up(folder))
        capture = import_files([tape], folder / "tape.peep")
        executable = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        for view in ("messages", "timeline"):
            times: dict[str, list[float]] = {"imported": [], "raw": [], "page": []}
            for i in range(args.rounds):
                for kind, target in (("imported", capture), ("raw", tape)):
                    os.environ["PEEPHOLE_DIR"] = str(folder / f"{view}-{i}")  # so that nothing is imported already
                    page = browser.new_page(viewport={"width": 1600, "height": 900})
                    page.add_init_script(WATCH)
                    page.goto("about:blank")
                    time.sleep(SETTLED)
                    began = time.perf_counter()
                    process, address = serve(target)
                    started = time.perf_counter() - began
                    taken = drawn(page, address, view)
                    times[kind].append(started + taken)
                    if kind == "imported":
                        times["page"].append(taken)
                    page.close()
                    stop(process)
            for kind, seconds in times.items():
                ours = statistics.median(seconds)
                about = {"load": round(os.getloadavg()[0], 1), "peer_is": "the budget"}
                row = {"bench": f"tape in the page: {view}, {kind}", "ours": round(ours, 3), "peer": BUDGET}
                print(json.dumps({**row, "ratio": round(BUDGET / ours, 2), "unit": "s", **about}), flush=True)
        browser.close()


if __name__ == "__main__":
    main()
