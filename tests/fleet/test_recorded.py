"""Programs of several ranks that are recorded, and real gloo runs: the slow rank is found by rank and step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.rank_traces import check_shifted_clocks

from peephole.cli.main import main
from peephole.query.ranks.critical_path import critical_path
from peephole.query.ranks.run import open_run
from peephole.store.capture import open_capture

ROOT = Path(__file__).resolve().parents[2]
TRAIN = """
import atexit, os, pathlib, time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
torch.set_num_threads(1)
dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for step in range(7):
    if dist.get_rank() == 2 and step in (3, 5):
        time.sleep(1.5)
    optimizer.zero_grad()
    model(torch.randn(8, 64)).sum().backward()
    optimizer.step()
dist.barrier()
# gloo aborts a rank whose peer closes its sockets while it still reads: nobody leaves before everybody is through
pathlib.Path(f"through{dist.get_rank()}").touch()
while len(list(pathlib.Path(".").glob("through*"))) < dist.get_world_size():
    time.sleep(0.01)
dist.destroy_process_group()
# and one whose threads ask for an interpreter that is being taken apart: all that Python does at its end, but for that
atexit._run_exitfuncs()
os._exit(0)
"""

PROFILED = (
    TRAIN.replace(
        "for step in range(7):",
        """when = torch.profiler.schedule(wait=0, warmup=1, active=6, repeat=1)
write = lambda profile: profile.export_chrome_trace(f"rank{dist.get_rank()}.json")
profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], schedule=when, on_trace_ready=write)
profile.start()
profile.step()
for step in range(1, 7):""",
    )
    .replace("    optimizer.step()\n", "    optimizer.step()\n    profile.step()\n")
    .replace("dist.barrier()", "profile.stop()\ndist.barrier()")
)
"""The same with torch's profiler, each rank with a file of its own."""

FORKED = """
import os, pathlib, sys, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
torch.set_num_threads(1)
program = compile(pathlib.Path("train.py").read_text(), "train.py", "exec")
begin = dist.init_process_group
ranks = {}
for rank in range(int(sys.argv[1])):
    ranks[os.fork()] = rank
    if 0 in ranks:
        where = {"init_method": pathlib.Path("store").absolute().as_uri(), "rank": rank, "world_size": int(sys.argv[1])}
        dist.init_process_group = lambda kind: begin(kind, **where)
        exec(program, {"__name__": "__main__"})
failed = [rank for pid, rank in ranks.items() if os.waitpid(pid, 0)[1]]
sys.exit(f"ranks {failed} failed" if failed else 0)
"""
"""Runs train.py as so many ranks, of which one has loaded torch for all."""


def torchrun(ranks: int, *words: str) -> list[str]:
    return [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), *words]


def ranks_of(path: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["ranks", str(path), "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.slow
def test_a_recorded_torchrun_is_a_run_by_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "train.py"
    script.write_text(TRAIN)
    out = tmp_path / "run.peep"
    command = [sys.executable, "-m", "peephole", "run", "-o", str(out), "--", *torchrun(4, str(script))]
    subprocess.run(command, check=True, capture_output=True, timeout=250, cwd=tmp_path)
    rows = ranks_of(out, capsys)
    assert sorted(row["rank"] for row in rows) == [0, 1, 2, 3] and rows[0]["rank"] == 2
    assert {3, 5} <= set(rows[0]["slow_steps"]) and all(not {3, 5} & set(row["slow_steps"]) for row in rows[1:])
    found = open_run(open_capture(out))
    assert any(leg.rank == 2 and leg.end_ns - leg.start_ns > 1_400_000_000 for leg in critical_path(found, 3))
    assert "gloo:all_reduce" in set(found.tables["collectives"]["name"])


@pytest.mark.slow
def test_eight_real_ranks_of_gloo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.py").write_text(PROFILED)
    (tmp_path / "fork.py").write_text(FORKED)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PEEPHOLE")}
    command = [sys.executable, "fork.py", "8"]
    ran = subprocess.run(command, check=False, capture_output=True, timeout=280, cwd=tmp_path, env=environment)
    assert ran.returncode == 0, ran.stderr.decode(errors="replace")[-4000:]
    files = sorted(map(str, tmp_path.glob("rank*.json")))
    assert main(["import", *files, "-o", str(tmp_path / "run")]) == 0
    rows = ranks_of(tmp_path / "run.peep", capsys)
    assert len(rows) == 8 and rows[0]["rank"] == 2
    assert {3, 5} <= set(rows[0]["slow_steps"]) and all(not {3, 5} & set(row["slow_steps"]) for row in rows[1:])
    # the same files from eight hosts, each with a clock of its own
    check_shifted_clocks(sorted(tmp_path.glob("rank*.json")), {2: (3, 5)}, tmp_path)


def test_a_recorded_dask_cluster_is_a_run_by_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run.peep"
    command = [sys.executable, "-m", "peephole", "run", "-o", str(out), str(ROOT / "examples" / "dask_matmul.py")]
    subprocess.run(command, check=True, capture_output=True, timeout=250, cwd=tmp_path)
    rows = ranks_of(out, capsys)
    assert sorted(row["rank"] for row in rows) == [0, 1, 2, 3] and all(row["busy_ns"] > 0 for row in rows)
    assert main(["ranks", str(out), "--kernels", "--json"]) == 0
    names = {json.loads(line)["name"] for line in capsys.readouterr().out.splitlines()}
    assert {"randn", "matmul", "relu"} <= names
