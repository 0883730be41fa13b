"""Recording is never in the way: hooks that fail, a torch whose internals moved, one that was there before us."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from peephole.query.capture.info import sampled
from peephole.store.capture import open_capture

pytest.importorskip("torch")

PROGRAM = """
import sys
import torch
import torch._dynamo, torch._inductor.compile_fx, torch._inductor.scheduler, torch._functorch.partitioners
import peephole
from peephole.sources.torch.live import passes

def function(x, y):
    return torch.relu(x @ y) + 1

x, y = torch.ones(4, 4), torch.full((4, 4), 0.5)
plain = function(x, y)
torch._functorch.partitioners.min_cut_rematerialization_partition = None  # a release that calls it otherwise

def fail(*args):
    raise RuntimeError("a hook of ours that fails")

passes.Passes._post_grad = fail
with peephole.record(sys.argv[1]):
    with torch.profiler.profile(profile_memory=True):
        with torch.no_grad():
            compiled = torch.compile(function)(x, y)
            compiled = torch.compile(function)(x, y)
assert torch.equal(plain, compiled)
with peephole.record(sys.argv[2]):
    with torch.no_grad():
        thrice = torch.compile(lambda x: x * 3)
        for _ in range(60):
            assert torch.equal(thrice(x), x * 3)
print("fine")
"""


def test_a_hook_that_fails_is_counted_and_the_program_goes_on(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PEEPHOLE", "TORCH"))}
    first, second = tmp_path / "a.peep", tmp_path / "b.peep"
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py"), str(first), str(second)],
        capture_output=True,
        text=True,
        env={**clean, "PEEPHOLE_DIR": str(tmp_path)},
        timeout=200,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr[-3000:]
    capture = open_capture(first)
    problems = [str(problem) for problem in capture.manifest.problems]
    assert any("a hook of torch failed" in problem and "that fails" in problem for problem in problems)
    assert any("recorded in part" in problem and "min_cut_remat" in problem for problem in problems)
    assert "this torch is recorded in part" in done.stderr
    # everything else is there
    names = list(capture.read("contexts", ["name"]).texts("name"))
    assert "0/0" in names and "0/0 inference" in names and any((name or "").startswith("cpp_fused") for name in names)
    steps = list(capture.read("steps", ["name"]).texts("name"))
    assert "lowering" in steps and "codegen" in steps and "post_grad_passes" not in steps
    # the profile that the program took itself, and its memory
    tracks = list(capture.read("tracks", ["name"]).texts("name"))
    assert "aten" in tracks and capture.count("buffers") > 0
    # another recording of the same process
    assert sampled(capture) == []
    (words,) = sampled(open_capture(second))  # kernels are timed in some runs only: counts say so
    timed = re.match(r"kernels were timed in (\d+) of 60 runs of compiled code", words)
    assert timed is not None and open_capture(second).count("slices") > 60
    names = list(open_capture(second).read("slices", ["name"]).texts("name"))
    assert sum((name or "").startswith("cpp_fused") for name in names) == int(timed[1]) < 60
    again = [name or "" for name in open_capture(second).read("contexts", ["name"]).texts("name")]
    assert sum(name.endswith(" inference") for name in again) == 1 and len(again) == 3
