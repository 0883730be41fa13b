"""How quickly a tape is read and drawn, and with how much memory: one JSON object per measurement.

python bench/tape.py [TAPE] [--peer path/to/gt/scripts/visualize.py]

The tape is ../shared/fixtures/gt/10_long_4w_6000iters.log where present, else one of the same size that is made up.
GT cannot be installed from PyPI; with --peer its script (gt/scripts/visualize.py of github bwasti/gt2; needs numpy
and matplotlib alone) runs in the same minute. Without it the peer's figure is the 34.5 s and 501 MB that were noted on
another day, and "noted" says so.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peephole.sources.base import no_progress
from peephole.sources.gt import SOURCE
from peephole.sources.gt.reader import read_columns

REAL = Path(__file__).resolve().parents[2] / "shared/fixtures/gt/10_long_4w_6000iters.log"
NOTED = {"seconds": 34.5, "memory": 501.0}
LINES_PER_SECOND = 300_000


class Nowhere:
    def append(self, table: str, columns: Any) -> None: ...
    def problem(self, reason: str, count: int = 1, example: str = "") -> None: ...
    def describe(self, **facts: Any) -> None: ...


def made_up(folder: Path, events: int = 120_183) -> Path:
    """A tape of one client and four workers with as many events."""
    lines = []
    for i in range(events):
        kind = i % 5
        event = ("RECV", "MODIFIER_INJECT", "WORKER_RECV", "WORKER_SEND", "SEND")[kind]
        who = f"WORKER worker_{i // 5 % 4}" if kind in (2, 3) else "CLIENT CLIENT 006b8b456b"
        command = "WorkerBatch" if kind in (2, 3) else "BinaryOp"
        size = "" if kind == 1 else " |       110B"
        details = "[1 cmds: WorkerBinaryOp]" if kind == 3 else "success=True" if kind in (2, 4) else "op=matmul left=0"
        source, _, name = who.partition(" ")
        text = f"{3 + i / 6000:7.3f}s | #{i + 1:04d} | {event:12} | {source} {name:20} | {command:15}"
        lines.append(f"{text}{size} | {details}\n")
    path = folder / "made_up.log"
    path.write_text("".join(lines))
    return path


def timed(command: Sequence[str], **environment: str) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and MB of a command."""
    begin = time.perf_counter()
    child = subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{command[0]} failed")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def tell(bench: str, ours: float, peer: float, unit: str, better: str, **more: Any) -> None:
    """One line; `ratio` is how many times better we are."""
    ratio = peer / ours if better == "less" else ours / peer
    print(json.dumps({"bench": bench, "ours": ours, "peer": peer, "ratio": ratio, "unit": unit, **more}), flush=True)


def main() -> None:
    """Measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tape", nargs="?", type=Path)
    parser.add_argument("--peer", type=Path, help="GT's own script")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tape = args.tape or (REAL if REAL.exists() else made_up(folder))
        lines = tape.read_bytes().count(b"\n")
        parse, rows = [], []
        for _ in range(args.rounds):
            begin = time.perf_counter()
            read_columns(tape, Nowhere())
            parse.append(time.perf_counter() - begin)
            begin = time.perf_counter()
            SOURCE.read([tape], Nowhere(), no_progress)
            rows.append(time.perf_counter() - begin)
        limit = {"peer_is": "the budget"}
        tell("tape parsed into columns", lines / min(parse), LINES_PER_SECOND, "lines/s", "more", **limit)
        tell("tape parsed into rows", lines / min(rows), LINES_PER_SECOND, "lines/s", "more", **limit)
        best = (9e9, 9e9, 9e9)
        for i in range(max(1, args.rounds // 2)):
            # a folder of its own each time, so that nothing is imported already
            command = [sys.executable, "-m", "peephole", "visualize", str(tape), "--output", str(folder / "ours.png")]
            best = min(best, timed(command, PEEPHOLE_DIR=str(folder / str(i))))
        noted = {} if args.peer else {"noted": "peer was measured on another day, not in this run"}
        peer = (NOTED["seconds"], NOTED["seconds"], NOTED["memory"])
        if args.peer:
            peer = timed([sys.executable, str(args.peer), str(tape), "--output", str(folder / "peer.png")])
        tell("tape picture, wall", best[0], peer[0], "s", "less", **noted)
        tell("tape picture, cpu", best[1], peer[1], "s", "less", **noted)
        tell("tape picture, memory", best[2], peer[2], "MB", "less", **noted)


if __name__ == "__main__":
    main()
