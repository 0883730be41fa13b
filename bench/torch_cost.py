"""What recording torch.compile costs: CPU time of a compilation, and of a training step once it is compiled.

python -m bench.torch_cost [ROUNDS]: plain and recorded processes in turn, one thread, C++ cache warm, FX caches off in
both; then both under torch.profiler, which the program takes itself. Prints a line of JSON with medians and ratios.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

PROGRAM: Final = """
import contextlib, json, sys, time
import torch
torch.set_num_threads(1)
import torch.nn.functional as F
from torch.profiler import profile, ProfilerActivity
from peephole.demo.block import Block, WIDTH
torch.manual_seed(0)
model = Block()
loss_of = torch.compile(lambda x, y: F.mse_loss(model(x), y))
x, y = torch.randn(8, 32, WIDTH), torch.randn(8, 32, WIDTH)
torch.compile(lambda x: x + 1)(x)  # what is loaded once is no compilation
def step():
    loss_of(x, y).backward()
begin = time.process_time()
step()
compiled = time.process_time() - begin
for _ in range(50): step()
def measured(profiled):
    steps = []
    for _ in range(20):
        with profile(activities=[ProfilerActivity.CPU]) if profiled else contextlib.nullcontext():
            begin = time.process_time()
            for _ in range(20): step()
            steps.append((time.process_time() - begin) / 20)
    return min(steps) * 1e6
print(json.dumps({"compile_s": compiled, "step_us": measured(False), "profiled_step_us": measured(True)}))
"""
LIMITS: Final = {"compile_s": 1.05, "step_us": 1.03, "profiled_step_us": 1.05}


def measured(program: Path, capture: Path | None) -> dict[str, float]:
    off = {"TORCHINDUCTOR_FX_GRAPH_CACHE": "0", "TORCHINDUCTOR_AUTOGRAD_CACHE": "0"}
    command = [str(program)]
    if capture is not None:
        command = ["-m", "peephole", "run", "--no-view", "--force", "-o", str(capture), *command]
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env={**os.environ, **off}, check=True
    )
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as folder:
        program, capture = Path(folder, "program.py"), Path(folder, "c.peep")
        program.write_text(PROGRAM, encoding="utf-8")
        measured(program, None)  # the C++ compiler's work is kept from here on
        plain, recorded = [], []
        for _ in range(rounds):
            plain.append(measured(program, None))
            recorded.append(measured(program, capture))
    for name, limit in LIMITS.items():
        a, b = (statistics.median(run[name] for run in runs) for runs in (plain, recorded))
        what, _, unit = name.rpartition("_")
        row = {"bench": f"torch recorded, CPU: {what.replace('_', ' ')}", "ours": round(b, 3), "peer": round(a, 3)}
        cost = {"of_unrecorded": round(b / a, 3), "limit": limit, "rounds": rounds, "peer_is": "unrecorded"}
        print(json.dumps({**row, "unit": {"us": "µs"}.get(unit, unit), **cost}), flush=True)


if __name__ == "__main__":
    main()
