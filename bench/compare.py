"""Two captures compared: in the terminal, one kernel of them, in the page, and two traces of many slices.

python bench/compare.py [--folder RECORDINGS] [--slices 24000000] [--rounds 3]

`peer` is the budget: nobody else compares compilations. gpt and mnist are recorded twice on NULL, gpt once more without
optimisations, so that there is everything to compare; the page is measured from its address to its table with a server
that was started anew each time. Slices: two traces with other seeds; leave `--slices` out for three million.
"""

from __future__ import annotations

import argparse
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
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from bench.web_timeline import NOTED, free_port, stop
from bench.workloads import workload


def report(name: str, ours: float, budget: float, unit: str, **more: Any) -> None:
    row = {"bench": name, "ours": round(ours, 3), "peer": budget, "ratio": round(budget / ours, 2), "unit": unit}
    print(json.dumps({**row, "holds": ours <= budget, **more}), flush=True)


def recording(folder: Path, name: str, program: str, **env: str) -> Path:
    """A recording of a program on NULL; one that is there already is taken."""
    out = folder / f"{name}.peep"
    if not out.exists():
        command = [sys.executable, "-m", "peephole", "run", "-o", str(out), str(workload(program))]
        variables = {**os.environ, "DEV": "NULL", "PARALLEL": "0", "CACHELEVEL": "0", **env}
        subprocess.run(command, env=variables, check=True, capture_output=True)
    return out


def trace(folder: Path, slices: int, seed: int) -> Path:
    """A sealed capture of about that many slices."""
    from bench.generate import generate

    from peephole.store.journal.seal import seal

    out = folder / f"trace{slices}_{seed}.peep"
    if not out.exists():
        generate(out, slices, seed)
        seal(out)
    return out


def diff(rounds: int, *words: str | Path) -> tuple[float, float, float]:
    """Seconds and CPU seconds, medians, and the most MB of `peephole diff` in a process of its own each time."""
    wall, cpu, most = [], [], 0.0
    command = [sys.executable, "-m", "peephole", "diff", *map(str, words), "--json"]
    for _ in range(rounds):
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall.append(time.perf_counter() - began)
        assert process.returncode in (0, 1), f"exit code {process.returncode}"
        cpu.append(used.ru_utime + used.ru_stime)
        most = max(most, used.ru_maxrss / 1024)
    return statistics.median(wall), statistics.median(cpu), most


def changed_kernel(a: Path, b: Path) -> str:
    """The name of a kernel that differs."""
    command = [sys.executable, "-m", "peephole", "diff", str(a), str(b), "--json"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    return str(next(row["kernel"] for row in found["divergence"] if row["kernel"] and row["kind"] == "match"))


def cpu_of(process: int) -> float:
    """Seconds of CPU that a process has spent."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def tables(page: Any, a: Path, b: Path) -> tuple[float, float, float, float]:
    """Seconds until the table of kernels is drawn, three times: from starting the command, from its address (the
    comparison has begun then), and of a second page of that server. Last the server's CPU until the first was drawn."""
    command = [sys.executable, "-m", "peephole", "serve", str(a), str(b), "--no-open", "--port", str(free_port())]
    began = time.time()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None

    def drawn() -> float:
        page.goto(f"{address}#/{a.stem}/compare?a={a.stem}&b={b.stem}")
        page.wait_for_selector("section.view[data-shown] .cmp-kernels tbody tr", timeout=60_000)
        return float(page.evaluate("window.drawnAt")) / 1000

    try:
        address = process.stdout.readline().split()[3]
        up = time.time()
        cold = drawn()
        spent = cpu_of(process.pid)
        page.goto("about:blank")
        again = time.time()
        return cold - began, cold - up, drawn() - again, spent
    finally:
        stop(process)


def asked(a: Path, b: Path, kernel: str) -> float:
    """Seconds of the server's answer about one kernel of a comparison that is made."""
    command = [sys.executable, "-m", "peephole", "serve", str(a), str(b), "--no-open", "--port", str(free_port())]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        below = f"{process.stdout.readline().split()[3]}api/v1/captures/{a.stem}/compare/{b.stem}"
        with urllib.request.urlopen(below) as answer:
            answer.read()
        began = time.perf_counter()
        with urllib.request.urlopen(f"{below}/kernel?name={quote(kernel)}") as answer:
            answer.read()
        return time.perf_counter() - began
    finally:
        stop(process)


def in_page(pairs: dict[str, tuple[Path, Path]], rounds: int) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        executable = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1600, "height": 900})
        page.add_init_script(NOTED)
        for name, (a, b) in pairs.items():
            taken = [tables(page, a, b) for _ in range(rounds)]
            command, address, warm, cpu = (statistics.median(column) for column in zip(*taken, strict=True))
            what = f"compare: tables of {name} in the page"
            report(f"{what}, from the command", command, 1.5, "s", server_cpu_s=round(cpu, 2))
            report(f"{what}, from the address, cold", address, 1.5, "s")
            report(f"{what}, warm", warm, 1.5, "s")
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="keep the recordings there, and use those that are there")
    parser.add_argument("--slices", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    folder = args.folder or Path(tempfile.mkdtemp(prefix="peephole-bench-"))
    folder.mkdir(exist_ok=True)
    try:
        gpt, again = recording(folder, "gpt1", "gpt"), recording(folder, "gpt2", "gpt")
        plain = recording(folder, "gpt_noopt", "gpt", NOOPT="1")
        mnist = recording(folder, "mnist1", "mnist"), recording(folder, "mnist2", "mnist")
        for name, other in (("twice", again), ("without optimisations", plain)):
            wall, cpu, mb = diff(args.rounds, gpt, other)
            report(f"compare: gpt, {name}", wall, 3.0, "s", cpu_s=round(cpu, 2), mb=round(mb))
        kernel = changed_kernel(gpt, plain)
        wall, cpu, _ = diff(args.rounds, gpt, plain, "--kernel", kernel)
        report("compare: one kernel's divergence, a process and all", wall, 1.0, "s", cpu_s=round(cpu, 2))
        report("compare: one kernel's divergence, in the page", asked(gpt, plain, kernel), 1.0, "s")
        wall, cpu, mb = diff(1, trace(folder, args.slices, 1), trace(folder, args.slices, 2))
        report(f"compare: traces of {args.slices:,} slices", wall, 10.0, "s", cpu_s=round(cpu, 2))
        report(f"compare: traces of {args.slices:,} slices, memory", mb, 1000, "MB")
        in_page({"gpt": (gpt, plain), "mnist": mnist}, args.rounds)
    finally:
        if args.folder is None:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
