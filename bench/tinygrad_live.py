"""Recording tinygrad live against VIZ=-1: CPU and wall time, peak memory, and the time from the last line to the end.

Serial on both sides (PARALLEL=0), and once more as the program is without VIZ, which compiles in parallel: recorded
against unrecorded. Peephole's own files are compiled first, as pip does for what it installs.

    python bench/tinygrad_live.py [--rounds 3] [--steps 50] [--device NULL] [program]

Prints one JSON object per measurement: medians of the rounds, which alternate between the two.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from bench.workloads import ROOT, workload

MEASURED = (("wall", "s"), ("peak memory", "MB"), ("last line to exit", "s"), ("CPU time", "s"))
Row = tuple[float, float, float, float]
LAST_LINE = "\nimport time as _t, os as _o; open(_o.environ['LAST_LINE'], 'w').write(str(_t.time()))\n"


def run(command: list[str], env: dict[str, str], folder: Path) -> Row:
    """Seconds, megabytes, seconds from the last line of the program to the end, CPU seconds."""
    mark = folder / "last"
    start = time.time()
    process = subprocess.Popen(command, env={**env, "LAST_LINE": str(mark)}, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    end = time.time()
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    cpu = usage.ru_utime + usage.ru_stime
    return end - start, usage.ru_maxrss / 1024, end - float(mark.read_text()), cpu


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program", nargs="?", default=str(workload("mnist")))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", default="50")
    parser.add_argument("--device", default="NULL")
    args = parser.parse_args()
    compileall.compile_dir(ROOT / "src", quiet=1)
    ours, peer, whole, parallel, unrecorded = [], [], [], [], []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        program = folder / "program.py"
        program.write_text(Path(args.program).read_text() + LAST_LINE)
        env = {**os.environ, "DEV": args.device, "STEPS": args.steps, "TMPDIR": temporary, "CACHELEVEL": "0"}
        env["PYTHONPATH"] = str(ROOT / "src")
        for name in ("VIZ", "PROFILE", "PEEPHOLE", "PEEPHOLE_CAPTURE", "PARALLEL"):
            env.pop(name, None)
        free, env = env, {**env, "PARALLEL": "0"}
        for number in range(args.rounds):
            # The recorded process itself, without the sealing that follows in the one that started it.
            capture = folder / f"r{number}.peep"
            code = (
                "import sys; from peephole.record.place import begin_capture; begin_capture(sys.argv[1], 'bench', [])"
            )
            subprocess.run([sys.executable, "-c", code, str(capture)], env=env, check=True)
            live = {**env, "PEEPHOLE": "1", "PEEPHOLE_CAPTURE": str(capture)}
            peer.append(run([sys.executable, str(program)], {**env, "VIZ": "-1"}, folder))
            ours.append(run([sys.executable, str(program)], live, folder))
            command = [sys.executable, "-m", "peephole", "run", "-o", str(folder / f"whole{number}.peep"), str(program)]
            whole.append(run(command, env, folder))
            command[5] = str(folder / f"parallel{number}.peep")
            parallel.append(run(command, free, folder))
            unrecorded.append(run([sys.executable, str(program)], free, folder))
    report("tinygrad live wall of `peephole run`, sealed", "s", whole, peer, 0)
    report("tinygrad live CPU time of `peephole run`, sealed", "s", whole, peer, 3)
    report("tinygrad live wall of `peephole run`, parallel, against unrecorded", "s", parallel, unrecorded, 0)
    for index, (name, unit) in enumerate(MEASURED):
        report(f"tinygrad live {name}", unit, ours, peer, index)


def report(name: str, unit: str, ours: list[Row], peer: list[Row], index: int) -> None:
    """Prints the medians of one measurement."""
    a, b = (statistics.median(row[index] for row in rows) for rows in (ours, peer))
    bench = {"bench": name, "ours": round(a, 3), "peer": round(b, 3), "ratio": round(a / b, 3)}
    print(json.dumps({**bench, "unit": unit}))


if __name__ == "__main__":
    main()
