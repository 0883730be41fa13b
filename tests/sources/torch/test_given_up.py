"""What Dynamo or a backend gives up on is the problem that the program's own log tells, and it ends the same."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.recorded_torch import PATIENCE, clean_environment

from peephole.ingest import import_files
from peephole.query.problems.problems import problems
from peephole.store.capture import Capture, open_capture

pytest.importorskip("torch")
pytestmark = pytest.mark.timeout(PATIENCE)

PROGRAM = """
import torch

def broken(gm, inputs):
    raise ValueError("not on this machine")

@torch.compile(backend=broken)
def refused(x):
    return x.sin()

def checked(x):
    if x.shape[0] == 3:
        raise KeyError("three")
    return x

@torch.compile(backend="eager")
def raises(x):
    return checked(x) + 1

@torch.compile(backend="eager", fullgraph=True)
def whole(x):
    y = x.sin()
    print("seen")
    return y

for function in (refused, raises):
    try:
        function(torch.ones(3))
    except Exception as error:
        print(function.__name__, type(error).__name__, error)
torch._dynamo.config.suppress_errors = True
print(refused(torch.ones(2, 2)).shape)
whole(torch.ones(3))
"""

LEFT_OUT = re.compile(r"^peephole: recorded .*\n|^[A-Z]\d{4} [\d:.]+ \d+ ", re.MULTILINE)
"""What Peephole says itself, and time and process of a line of torch's log."""


def said(capture: Capture) -> list[tuple[str, str, str, int, str]]:
    """Each problem but the slow ones: kind, compile id, file, line, what it is."""
    found = [one for one in problems(capture).problems if one.kind != "slow"]
    return sorted((one.kind, one.context_name, one.file or "", one.line, one.title) for one in found)


def test_what_is_given_up_is_a_problem_as_in_the_log(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    environment = {**clean_environment(), "PEEPHOLE_DIR": str(tmp_path), "OMP_NUM_THREADS": "1"}

    def ran(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words, str(program)],
            capture_output=True,
            text=True,
            env={**environment, **env},
            timeout=PATIENCE,
            check=False,
        )

    capture = str(tmp_path / "c.peep")
    recorded = ran("-m", "peephole", "run", "-o", capture, TORCH_TRACE=str(tmp_path / "trace"))
    plain = ran()
    assert (recorded.returncode, recorded.stdout) == (plain.returncode, plain.stdout) and plain.returncode == 1
    mine_said, plainly = (re.sub(LEFT_OUT, "", one.stderr) for one in (recorded, plain))
    assert mine_said == plainly
    mine = said(open_capture(capture))
    logs = list((tmp_path / "trace").iterdir())
    theirs = said(open_capture(import_files(logs, tmp_path / "log.peep")))
    assert mine == theirs
    lines = PROGRAM.splitlines()
    at = {lines[line - 1].strip() for kind, _, file, line, _ in mine if kind == "fallback" and file == str(program)}
    assert {'print("seen")', 'raise KeyError("three")'} <= at
    assert open_capture(capture).manifest.problems == []
