"""The six JAX programs of `jax_program.py`, run once for all workers of a test session."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "jax_program.py"
FLAGS = (
    "--xla_dump_hlo_pass_re=.* --xla_dump_hlo_as_text --xla_dump_hlo_as_proto --xla_dump_fusion_visualization "
    "--xla_dump_hlo_module_re=.*(train_step|block|recurrent|conv_gradient|layers|transformer_step|remainder).*"
)


@dataclass(frozen=True)
class JaxRun:
    """What a run left behind."""

    folder: Path

    @property
    def dump(self) -> Path:
        """XLA's dumps: text, protos, explanations of fusion, kernels."""
        return self.folder / "dump"

    @property
    def ir(self) -> Path:
        """JAX's own dumps: jaxprs and StableHLO."""
        return self.folder / "ir"

    @property
    def profile(self) -> Path:
        """The file of the profiler."""
        return next((self.folder / "profile").rglob("*.xplane.pb"))

    @property
    def output(self) -> str:
        """What the program printed."""
        return (self.folder / "output.txt").read_text()


def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of the session have."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base


@pytest.fixture(scope="session")
def jax_recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The capture of the six programs as `peephole run` records them; `.out` beside it is what they printed."""
    shared = shared_folder(tmp_path_factory)
    path = shared / "jax_recorded.peep"
    with (shared / "jax_recorded.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.with_suffix(".out").exists():
            command = [sys.executable, "-m", "peephole", "run", "--no-view", "--force", "-o", str(path), str(PROGRAM)]
            environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
            assert done.returncode == 0, done.stderr
            path.with_suffix(".out").write_text(done.stdout)
    return path


@pytest.fixture(scope="session")
def jax_run(tmp_path_factory: pytest.TempPathFactory) -> JaxRun:
    """The dumps and the profile of the six programs."""
    shared = shared_folder(tmp_path_factory)
    folder = shared / "jax_run"
    with (shared / "jax_run.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "output.txt").exists():
            folder.mkdir(exist_ok=True)
            environment = {
                **os.environ,
                "XLA_FLAGS": f"--xla_dump_to={folder / 'dump'} {FLAGS}",
                "JAX_DUMP_IR_TO": str(folder / "ir"),
                "JAX_DUMP_IR_MODES": "jaxpr,stablehlo",
                "JAX_PLATFORMS": "cpu",
            }
            command = [sys.executable, str(PROGRAM), str(folder / "profile")]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
            assert done.returncode == 0, done.stderr
            (folder / "output.txt").write_text(done.stdout)
    return JaxRun(folder)
