"""The map of 10,000 ranks by 1,000 steps in a real Chromium: from the request to the picture, and the time of a frame.

    python bench/web_ranks.py [--ranks 10000] [--steps 1000]

Prints a JSON object per measurement. The budget of a frame is 16.7 ms.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.ranks import report, wide_run  # noqa: E402
from bench.web_timeline import serve, stop  # noqa: E402

WALK = """async (count) => {
  const host = document.querySelector('.rank-heat');
  const canvas = host.querySelector('canvas');
  const box = canvas.getBoundingClientRect();
  const paints = [], frames = [];
  let last = performance.now();
  for (let at = 0; at < count; at++) {
    const key = at % 2 ? 'ArrowRight' : 'ArrowDown';
    document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
    const there = {clientX: box.x + 150 + at, clientY: box.y + 60, bubbles: true};
    canvas.dispatchEvent(new PointerEvent('pointermove', there));
    host.dataset.frame = '';
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    frames.push(now - last);
    last = now;
    if (host.dataset.frame) paints.push(Number(host.dataset.frame));
  }
  return {frames, paints};
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=1_000)
    args = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as temporary:
        run = wide_run(Path(temporary) / "wide.peep", args.ranks, args.steps, args.steps)
        server, url = serve(run)
        try:
            with sync_playwright() as play:
                browser = play.chromium.launch(
                    executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
                )
                page = browser.new_page(viewport={"width": 1600, "height": 900})
                begun = time.perf_counter()
                page.goto(f"{url}#/wide/ranks")
                page.wait_for_selector(".srow", timeout=120_000)
                report("web ranks: from the request to map and step", time.perf_counter() - begun, None, "s")
                found = page.evaluate(WALK, 240)
                browser.close()
        finally:
            stop(server)
    paints = sorted(found["paints"])
    report("web ranks: painting a frame, 95th", paints[len(paints) * 95 // 100], 16.7, "ms", peer_is="the budget",
           median=statistics.median(paints), most=paints[-1], frames=len(paints))  # fmt: skip
    frames = sorted(found["frames"])
    report("web ranks: between frames, median", statistics.median(frames), 16.7, "ms", peer_is="60 a second",
           most=round(frames[-1], 1))  # fmt: skip


if __name__ == "__main__":
    main()
