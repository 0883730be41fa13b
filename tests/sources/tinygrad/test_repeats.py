"""Kernels that run again and again are written as plans and runs: the rows are those that events would make."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.sources.tinygrad.runs import PROGRAM, ROOT, content, environment, low, run

from peephole.store.capture import Capture, open_capture

SYMBOLIC = """
from tinygrad import Tensor, TinyJit, UOp

cache = Tensor.zeros(16, 8).contiguous().realize()

@TinyJit
def step(x, at):
    cache[at : at + 1].assign(x.reshape(1, 8) * 2)
    return (cache[: at + 1].max(axis=0).exp() + x).contiguous().sum().realize()

at = UOp.variable("at", 0, 15)
for i in range(12):
    x = Tensor([float(i)] * 8).contiguous().realize()
    step(x, at.bind(i))
__import__("time").sleep(1)  # the calls' contexts are known by now: from here on they are plans
step.captured.free_intermediates()  # their buffers are allocated anew
for i in range(12, 16):
    step(Tensor([float(i)] * 8).contiguous().realize(), at.bind(i))

from tinygrad.helpers import Context
with Context(PROFILE=0):
    step(x, at.bind(3))
with Context(PROFILE=1):  # the program looks at the events itself
    from tinygrad.helpers import cpu_events
    before = len([e for e in cpu_events if e.name == "exec"])
    step(x, at.bind(4))
    assert len([e for e in cpu_events if e.name == "exec"]) > before
"""
OLD = "import peephole.sources.tinygrad.live.repeats as r; r.plan_repeats = lambda *_: None\n"
COUNT = """
import peephole.sources.tinygrad.live.repeats as r
print("plans", next(r._book.planner._next) if r._book else 0)
"""
DECODE = (ROOT / "bench" / "decode.py").read_text().replace("from __future__ import annotations\n", "")
COPIES = PROGRAM.replace("    step(data)", "    step(data); __import__('time').sleep(0.25)")
"""Long enough for a call's context to be known when it runs again."""


def device_params() -> list[object]:
    no_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")
    return ["PYTHON", pytest.param("CPU", marks=no_clang)]


def recorded(folder: Path, program: str, device: str) -> tuple[Capture, int]:
    """The capture, and how many plans there were."""
    folder.mkdir()
    script = folder / "program.py"
    script.write_text(program)
    env = environment(folder, device, LAYERS="1", DIM="8", TOKENS="6", WARM="2")
    done = run([sys.executable, "-m", "peephole", "run", "-o", folder / "live.peep", script], env)
    plans = next((int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("plans")), 0)
    return open_capture(folder / "live.peep"), plans


def amounts(capture: Capture) -> list[tuple[str | None, list[tuple[str, int]]]]:
    """What the rates of each slice are rates of."""
    f = capture.read("slices")
    found = []
    for i in range(len(f)):
        args = json.loads(f.texts("args")[i] or "{}")
        dur = int(f["dur"][i])
        rates = [(name, round((value + 0.5) * dur / 1e9)) for name, value in args.items() if type(value) is int and dur]
        found.append((f.texts("name")[i], [rate for rate in rates if rate[0] != "bytes"]))
    return sorted(found)


@pytest.mark.parametrize("device", device_params())
@pytest.mark.parametrize("program", [SYMBOLIC, DECODE, COPIES], ids=["symbolic", "decode", "copies"])
def test_the_rows_are_those_of_the_events(tmp_path: Path, program: str, device: str) -> None:
    if device == "PYTHON" and program is DECODE:
        pytest.skip("minutes, and CPU says the same")
    new, plans = recorded(tmp_path / "new", "#" * (len(OLD) - 1) + "\n" + program + COUNT, device)
    old, none = recorded(tmp_path / "old", OLD + program + COUNT, device)
    assert plans > 0 and none == 0
    ours, theirs = (content(capture, str(tmp_path / name)) for capture, name in ((new, "new"), (old, "old")))
    for table in ("slices", "buffers", "uses", "tracks", "markers", "artifacts", "matches"):
        assert ours[table] == theirs[table], table
        assert ours[table] or table == "markers"
    assert amounts(new) == amounts(old)
    assert new.manifest.problems == old.manifest.problems == []


def test_what_ran_before_a_kill_is_there(tmp_path: Path) -> None:
    device = "CPU" if shutil.which("clang") else "PYTHON"
    script = tmp_path / "program.py"
    script.write_text(
        SYMBOLIC.partition("step.captured")[0]
        + "import time\ntime.sleep(1)\nfor i in range(200): step(x, at.bind(i % 16))\nprint('ran', flush=True)\n"
        + "time.sleep(60)\n"
    )
    env = environment(tmp_path, device)
    command = [sys.executable, "-m", "peephole", "run", "-o", str(tmp_path / "live.peep"), str(script)]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ran\n"
        child = next(
            facts["pid"]
            for path in (tmp_path / "live.peep" / "journal").glob("*/process.json")
            if (facts := json.loads(path.read_text()))
        )
        os.kill(child, signal.SIGKILL)
        process.wait(60)
    for _ in range(50):
        if not Path(f"/proc/{child}").exists():
            break
        time.sleep(0.1)
    capture = open_capture(tmp_path / "live.peep")
    slices, uses = capture.read("slices"), capture.read("uses")
    ran = [i for i in range(len(slices)) if '"at":' in (slices.texts("args")[i] or "")]
    assert len(ran) >= 200
    used = {low(number) for number in uses["slice"].tolist()}
    assert all(low(slices["correlation"][i]) in used for i in ran)
