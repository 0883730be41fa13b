"""Stock JAX programs recorded with `peephole run`: their passes, the same results, after a kill too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from peephole.query.capture.contexts import contexts, steps
from peephole.sources.xla.live import attach
from peephole.store.capture import open_capture

PROGRAM = """
import os, signal, sys
import jax, jax.numpy as jnp

@jax.jit
def f(x):
    return jnp.tanh(x @ x).sum(0)

print(f(jnp.ones((8, 8))).tolist())
if "kill" in sys.argv:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_same_program_with_its_passes(tmp_path: Path) -> None:
    script = tmp_path / "prog.py"
    script.write_text(PROGRAM)
    flags = "--xla_cpu_enable_fast_min_max=true"
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags, "PEEPHOLE_DIR": str(tmp_path)}
    plain = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment, check=True)
    path = tmp_path / "jax.peep"
    command = [sys.executable, "-m", "peephole", "run", "--no-view", "-o", str(path), str(script), "kill"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert done.returncode == -9 and done.stdout == plain.stdout
    capture = open_capture(path)
    assert capture.manifest.problems == [] and not (path / "left").exists()
    modules = {one.name.partition(".")[2]: one for one in contexts(capture) if one.kind == "module"}
    names = [step.name for step in steps(capture, modules["jit_f"].id)]
    assert {"before_optimizations", "fusion", "cpu_after_optimizations"} <= set(names)
    (small,) = [one for name, one in modules.items() if name == "jit_broadcast_in_dim"]
    assert len(steps(capture, small.id)) <= 2, "one operation: kept out of the way"


def test_a_flag_that_the_library_does_not_know_is_not_given() -> None:
    library = attach._library()
    assert library is not None
    assert attach._known(library, ["xla_dump_to", "xla_no_such_flag_at_all"]) == ["xla_dump_to"]
