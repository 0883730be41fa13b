"""How quickly captures of torch.compile open: of one transformer block, and of a program of many.

python -m bench.torch_large [BLOCKS] [FOLDER]: records a training step of one block and of BLOCKS (64) of them, which
takes minutes, or takes the captures that a run before left in FOLDER. Prints a line of JSON: the size of each, the time
to open it until its tree and the first graph are there, and the time of a match in its largest pass.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

PROGRAM: Final = """
import sys, time
import torch
from torch import nn
import torch.nn.functional as F
from peephole.demo.block import Block, WIDTH
torch.set_num_threads(1)
torch.manual_seed(0)
model = nn.ModuleList(Block() for _ in range(int(sys.argv[1])))
def loss(x, y):
    for block in model: x = block(x)
    return F.mse_loss(x, y)
x, y = torch.randn(8, 32, WIDTH), torch.randn(8, 32, WIDTH)
begin = time.perf_counter()
torch.compile(loss)(x, y).backward()
print(time.perf_counter() - begin)
"""
OPEN: Final = """
import json, sys, time
begin, cpu = time.perf_counter(), time.process_time()
from peephole.store.capture import open_capture
from peephole.query.capture.contexts import contexts
from peephole.query.rewrites.step_graphs import graph_at
from peephole.server.graph_wire import graph_reply
capture = open_capture(sys.argv[1])
tree = contexts(capture)
steps = capture.read("steps", ["id", "root"])
first = next(int(id) for id, root in zip(steps["id"], steps["root"], strict=True) if root >= 0)
graph_reply(capture, graph_at(capture, first, 0))
print(json.dumps([time.perf_counter() - begin, time.process_time() - cpu]))
"""
MOST_SAMPLED: Final = 40


def recorded(folder: Path, blocks: int) -> tuple[Path, float | None]:
    """A capture of so many blocks, and how long it took to compile where it was made just now."""
    capture, program = folder / f"blocks{blocks}.peep", folder / "program.py"
    if capture.exists():
        return capture, None
    program.write_text(PROGRAM, encoding="utf-8")
    words = [sys.executable, "-m", "peephole", "run", "--no-view", "-o", str(capture), str(program), str(blocks)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return capture, float(done.stdout.split()[-1])


def opened(path: Path) -> list[float]:
    """Seconds, and of CPU, from the start of the imports until tree and first graph are there."""
    done = subprocess.run([sys.executable, "-c", OPEN, str(path)], capture_output=True, text=True, check=True)
    found: list[float] = json.loads(done.stdout)
    return found


def stepped(path: Path) -> dict[str, Any]:
    """The pass with the most entries, and how long a match of it takes."""
    from peephole.compilers.traces import trace_of
    from peephole.query.rewrites.step_graphs import count_matches, graph_at, step_name
    from peephole.server.graph_wire import graph_reply
    from peephole.store.capture import open_capture

    capture = open_capture(path)
    frame = capture.read("steps", ["id", "root", "matches"])
    rows = zip(frame["matches"].tolist(), frame["id"].tolist(), frame["root"].tolist(), strict=True)
    step = max((matches, id) for matches, id, root in rows if root >= 0)[1]
    begin = time.process_time()
    graph = graph_at(capture, step, 0)
    graph_reply(capture, graph)
    first = time.process_time() - begin
    count = count_matches(capture, step)
    times = []
    for match in random.Random(1).sample(range(1, count + 1), min(count, MOST_SAMPLED)):
        begin = time.process_time()
        graph_reply(capture, graph_at(capture, step, match))
        times.append(time.process_time() - begin)
    name = step_name(trace_of(capture), step)
    return {
        "pass": name,
        "nodes": len(graph.nodes.id),
        "matches": count,
        "first_cpu_s": round(first, 3),
        "match_cpu_s": round(statistics.median(times), 4),
        "slowest_cpu_s": round(max(times), 4),
    }


def main() -> None:
    blocks = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[2] if len(sys.argv) > 2 else temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for count, limit in ((1, 1.0), (blocks, 2.0)):
            path, compiled = recorded(folder, count)
            opened(path)  # files are in memory from here on
            times = [opened(path) for _ in range(3)]
            wall, cpu = (round(statistics.median(column), 3) for column in zip(*times, strict=True))
            of_it = {"bench": f"torch, {count} blocks: opened", "ours": wall, "peer": limit, "unit": "s", "cpu": cpu}
            of_it |= {"peer_is": "the budget", **stepped(path)}
            if compiled is not None:
                of_it["compile_s"] = round(compiled, 1)
            of_it["bytes"] = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
            print(json.dumps(of_it), flush=True)


if __name__ == "__main__":
    main()
