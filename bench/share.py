"""One file out of a large capture: `python bench/share.py [--slices 1000000] [--rounds 3]`; the peer is the budget.

Of generate.py's training run: seconds and bytes of `peephole share`, seconds from opening the file in Chromium, from
the disk and without a network, to the timeline with its figures.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BYTES, SECONDS = 10_000_000, 2.0
WATCH = """new MutationObserver(() => {
  if (!window.shownAt && document.querySelector('.krow')) window.shownAt = performance.now();
}).observe(document, {subtree: true, childList: true})"""
"""The figures beside the timeline come last, after its picture."""


def opened(browser: Any, file: Path) -> float:
    """Seconds until the timeline and its figures are there."""
    context = browser.new_context(viewport={"width": 1600, "height": 900}, offline=True)
    page = context.new_page()
    page.add_init_script(WATCH)
    page.goto("about:blank")
    time.sleep(1)  # a tab just made keeps the browser busy
    page.goto(f"{file.resolve().as_uri()}#//timeline")
    page.wait_for_selector(".krow", timeout=60_000)
    took = float(page.evaluate("window.shownAt")) / 1000
    context.close()
    return took


def main() -> None:
    """Measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slices", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        capture, file = folder / "it.peep", folder / "it.html"
        generate = [sys.executable, str(ROOT / "bench" / "generate.py"), "--slices", str(args.slices), "--seal"]
        subprocess.run([*generate, str(capture)], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
        began = time.perf_counter()
        share = [sys.executable, "-m", "peephole", "share", str(capture), "-o", str(file), "--json"]
        said = json.loads(subprocess.run(share, check=True, capture_output=True, text=True).stdout)
        took = time.perf_counter() - began
        executable = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        shown = [opened(browser, file) for _ in range(args.rounds)]
        browser.close()
    print(json.dumps({"bench": "share", "slices": args.slices, "share_s": round(took, 2), "bytes": said["bytes"],
                      "bytes_budget": BYTES, "open_s": round(statistics.median(shown), 2), "open_all_s": shown,
                      "open_budget_s": SECONDS, "left_out": [one["what"] for one in said["left_out"]]}))  # fmt: skip


if __name__ == "__main__":
    main()
