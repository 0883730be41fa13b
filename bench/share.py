"""One file out of a large capture: `python bench/share.py [--slices 1000000] [--rounds 3]`; the peer is the budget.

Of generate.py's training run: seconds and bytes of `peephole share`, seconds from opening the file from the disk to the
timeline with its figures, in Chromium without a network and, where it is installed, in Firefox.
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
sys.path.insert(0, str(ROOT))
BYTES, SECONDS = 10_000_000, 2.0
WATCH = """new MutationObserver(() => {
  if (!window.shownAt && document.querySelector('.krow')) window.shownAt = performance.now();
}).observe(document, {subtree: true, childList: true})"""
"""The figures beside the timeline come last, after its picture."""
SHOWN = "return document.querySelector('.krow') && performance.now()"


def in_chromium(file: Path, rounds: int) -> list[float]:
    """Seconds until the timeline and its figures are there, without a network."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        executable = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        shown = [_opened(browser, file) for _ in range(rounds)]
        browser.close()
    return shown


def _opened(browser: Any, file: Path) -> float:
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


def in_firefox(executable: str, file: Path, rounds: int, folder: Path) -> list[float]:
    """The same in Firefox; asked every 20 ms whether it is there, and when it began, by the page's own clock."""
    from tests.web.marionette import firefox

    shown = []
    with firefox(executable, folder, "light") as fox:
        fox.size(1600, 985)
        for _ in range(rounds):
            fox.go("about:blank")
            time.sleep(1)
            fox.go(f"{file.resolve().as_uri()}#//timeline")
            while not (at := fox.evaluate(SHOWN)):
                time.sleep(0.02)
            shown.append(float(at) / 1000)
    return shown


def report(what: str, ours: float, peer: float, unit: str, **more: Any) -> None:
    """A line of JSON."""
    row = {"bench": f"share: {what}", "ours": ours, "peer": peer, "ratio": round(peer / ours, 2), "unit": unit}
    print(json.dumps({**row, "peer_is": "the budget", **more}), flush=True)


def main() -> None:
    """Measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slices", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        capture, file = folder / "it.peep", folder / "it.html"
        generate = [sys.executable, str(ROOT / "bench" / "generate.py"), "--slices", str(args.slices), "--seal"]
        subprocess.run([*generate, str(capture)], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
        began = time.perf_counter()
        share = [sys.executable, "-m", "peephole", "share", str(capture), "-o", str(file), "--json"]
        said = json.loads(subprocess.run(share, check=True, capture_output=True, text=True).stdout)
        made = round(time.perf_counter() - began, 2)
        left_out = "; ".join(one["what"] for one in said["left_out"])
        report("the file", said["bytes"] / 1e6, BYTES / 1e6, "MB", slices=args.slices, made_s=made, left_out=left_out)
        found = {"Chromium": in_chromium(file, args.rounds)}
        if (executable := shutil.which("firefox-esr") or shutil.which("firefox")) is not None:
            (folder / "profile").mkdir()
            found["Firefox"] = in_firefox(executable, file, args.rounds, folder / "profile")
    for browser, times in found.items():
        median = round(statistics.median(times), 2)
        report(f"opened from disk in {browser}", median, SECONDS, "s", slowest=max(times), rounds=args.rounds)


if __name__ == "__main__":
    main()
