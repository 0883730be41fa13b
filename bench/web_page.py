"""The page: from `peephole serve` to something to click on, beside stock VIZ over the same pickles; JavaScript's size;
the next rewrite from key to picture.

python bench/web_page.py [--workload PROGRAM.py] [--times 3] [--folder RECORDINGS]
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from bench.web_timeline import ROOT, free_port, serve, stop
from bench.workloads import workload

WORKLOAD = workload("gpt")
PROGRAM = "from tinygrad import Tensor\n((Tensor.rand(64, 64) @ Tensor.rand(64, 64)).softmax(-1).sum()).realize()\n"
ONE_KEY = """([step, match]) => new Promise(done => {
  const view = document.querySelector('section.view'), begun = performance.now();
  const watch = new MutationObserver(() => {
    if (view.dataset.shown !== `${step}/${match}`) return;
    watch.disconnect();
    requestAnimationFrame(() => done(performance.now() - begun));
  });
  watch.observe(view, {attributeFilter: ['data-shown']});
  document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
})"""


def report(name: str, ours: float, peer: float | None, unit: str, **more: Any) -> None:
    ratio = None if peer is None or not ours else round(peer / ours, 2)
    row = {"bench": name, "ours": round(ours, 3), "peer": peer and round(peer, 3), "ratio": ratio, "unit": unit}
    print(json.dumps({**row, **more}), flush=True)


def ours(page: Any, capture: Path) -> float:
    """Seconds from starting the command to a tree that can be clicked."""
    begun = time.perf_counter()
    process, address = serve(capture)
    try:
        page.goto(address)
        page.wait_for_selector(".tree .row")
        return time.perf_counter() - begun
    finally:
        stop(process)


def stock(page: Any, pickles: dict[str, Path]) -> float | None:
    """The same for stock VIZ, None when it does not get there in a minute."""
    port = free_port()
    begun = time.perf_counter()
    command = [sys.executable, "-m", "tinygrad.viz.serve"]
    command += ["--rewrites-path", str(pickles["rewrites"]), "--profile-path", str(pickles["profile"])]
    env = {**os.environ, "PORT": str(port)}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True, env=env)
    try:
        while time.perf_counter() - begun < 60:
            try:
                page.goto(f"http://127.0.0.1:{port}/")
                break
            except Exception:
                time.sleep(0.02)
        page.wait_for_selector(".ctx-list ul", timeout=60_000)
        return time.perf_counter() - begun
    except Exception:
        return None
    finally:
        stop(process)


def record(folder: Path, workload: Path) -> dict[str, Path]:
    """The pickles that VIZ writes for a program on the NULL device."""
    env = {**os.environ, "DEV": "NULL", "VIZ": "-1", "TMPDIR": str(folder)}
    subprocess.run([sys.executable, str(workload)], env=env, check=True, stdout=subprocess.DEVNULL)
    return {name: next(folder.glob(f"{name}.pkl*")) for name in ("rewrites", "profile")}


def stepping(page: Any, capture: Path) -> tuple[float, dict[str, int]]:
    """Milliseconds from the key to the picture, in the pass with the largest graph among those with most matches."""
    process, address = serve(capture)
    try:
        api = f"{address}api/v1/captures/{capture.name.removesuffix('.peep')}"
        with urllib.request.urlopen(f"{api}/steps") as answer:
            steps = json.load(answer)
        matches, step = max(
            (count, step)
            for count, step, name in zip(steps["matches"], steps["id"], steps["name"], strict=True)
            if steps["names"][name] == "early symbolic"
        )
        page.goto(f"{address}#/{capture.name.removesuffix('.peep')}/rewrites?step={step}")
        page.wait_for_selector(f'section.view[data-shown="{step}/0"]', timeout=60_000)
        taken = []
        for match in range(1, min(matches, 21) + 1):
            taken.append(page.evaluate(ONE_KEY, [step, match]))
            time.sleep(0.15)  # the user looks at it
        with urllib.request.urlopen(f"{api}/steps/{step}/graph") as answer:
            nodes = len(json.load(answer)["id"])
        return statistics.median(taken), {"nodes": nodes, "matches": matches}
    finally:
        stop(process)


def sizes() -> None:
    """Gzipped bytes of the scripts that a browser loads."""
    with tempfile.TemporaryDirectory() as out:
        node = shutil.which("node")
        assert node, "needs Node"
        subprocess.run([node, "scripts/build.mjs", f"--out={out}"], cwd=ROOT / "web", check=True)
        scripts = [gzip.compress(path.read_bytes()) for path in Path(out).glob("assets/*.js")]
        total = sum(map(len, scripts)) / 1000
    found = importlib.util.find_spec("tinygrad")
    assert found and found.origin
    static = Path(found.origin).parent / "viz"
    peer = [path for path in static.rglob("*.js") if path.is_file()]
    report("page: JavaScript, gzipped", total, sum(len(gzip.compress(p.read_bytes())) for p in peer) / 1000, "kB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", type=Path, default=WORKLOAD)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="keep the recordings there, and use those that are there")
    args = parser.parse_args()
    sizes()
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = args.folder or Path(name)
        folder.mkdir(exist_ok=True)
        workload = args.workload
        if not workload.exists():
            workload = folder / "prog.py"
            workload.write_text(PROGRAM)
        capture = folder / "bench.peep"
        if capture.exists():
            pickles = {name: next(folder.glob(f"{name}.pkl*")) for name in ("rewrites", "profile")}
        else:
            pickles = record(folder, workload)
            command = [sys.executable, "-m", "peephole", "import", *map(str, pickles.values()), "-o", str(capture)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        manifest = json.loads((capture / "manifest.json").read_text("utf-8"))
        executable = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1600, "height": 900})
        mine = [ours(page, capture) for _ in range(args.times)]
        theirs = [taken for _ in range(args.times) if (taken := stock(page, pickles)) is not None]
        nodes = manifest.get("tables", {}).get("nodes")
        peer = statistics.median(theirs) if theirs else None
        report("page: serve to interactive", statistics.median(mine), peer, "s", nodes=nodes)
        taken, facts = stepping(page, capture)
        report("page: next rewrite, key to picture", taken, None, "ms", **facts)
        browser.close()


if __name__ == "__main__":
    main()
