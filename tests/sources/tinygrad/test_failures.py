"""A rule that raises is recorded with its traceback, and the program runs as if nobody had looked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from peephole.store.capture import open_capture

PROGRAM = """
from tinygrad import Tensor
from tinygrad.uop.ops import UOp, Ops, UPat, PatternMatcher, graph_rewrite

def refuse(m):
    raise ValueError("cannot do this")

def compile_it():
    x = UOp.variable("x", 0, 100)
    graph_rewrite(x * 3, PatternMatcher([(UPat(Ops.MUL, name="m"), refuse)]), name="refusing")

try:
    compile_it()
except ValueError as error:
    print("raised:", error)
"""


def test_a_rule_that_raises_has_its_traceback(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "peephole", "run", "-o", "prog.peep", "prog.py"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=120)
    assert "raised: cannot do this" in done.stdout
    frame = open_capture(tmp_path / "prog.peep").read("steps", ["name", "error"])
    [error] = [error for name, error in zip(frame.texts("name"), frame.texts("error"), strict=True) if error]
    lines = error.splitlines()
    assert lines[0] == "Traceback (most recent call last):" and lines[-1] == "ValueError: cannot do this"
    places = [line.strip() for line in lines if line.strip().startswith("File ") and "prog.py" in line]
    assert [place.rpartition(" in ")[2] for place in places] == ["<module>", "compile_it", "refuse"]
    assert "failures.py" not in error, "our own frames are not in it"


UNRENDERED = """
from tinygrad import Device, Tensor
from tinygrad.renderer.cstyle import CStyleLanguage

def refuse(self, *args):
    raise ValueError("cannot write this")

Device[Device.DEFAULT]  # opened first: it has kernels of its own
CStyleLanguage.render = refuse
try:
    (Tensor.empty(8, 4) * 3).sum(1).realize()
except ValueError as error:
    print("raised:", error)
"""


@pytest.mark.skipif(shutil.which("clang") is None, reason="tinygrad's CPU device needs clang")
@pytest.mark.parametrize("only", [(), ("--rewrites-only",)])
def test_a_kernel_that_fails_is_called_what_its_passes_call_it(tmp_path: Path, only: tuple[str, ...]) -> None:
    (tmp_path / "prog.py").write_text(UNRENDERED)
    command = [sys.executable, "-m", "peephole", "run", *only, "-o", "prog.peep", "prog.py"]
    environment = {**os.environ, "DEV": "CPU"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True, timeout=120
    )
    assert "raised: cannot write this" in done.stdout
    frame = open_capture(tmp_path / "prog.peep").read("contexts", ["name", "kind", "function"])
    rows = zip(frame.texts("kind"), frame.texts("name"), frame.texts("function"), strict=True)
    assert [row[1:] for row in rows if row[0] == "kernel"] == [("r_8_4", "do_to_program")]
