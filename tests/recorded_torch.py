"""Programs under torch.compile, recorded once for all workers of a test session: alone, and as a pair of ranks."""

from __future__ import annotations

import fcntl
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from peephole.store.capture import Capture, open_capture

PROGRAM = Path(__file__).with_name("torch_program.py")
NAMES = ("block", "mlp", "conv", "inference", "breaks", "dynamic", "library", "branches")
PATIENCE = 1200
"""Seconds that a run may take: a machine with other work compiles many times slower than an idle one."""
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2")
_OUTPUT, _ERRORS, _CAPTURE = "output.txt", "errors.txt", "c.peep"


@dataclass(frozen=True)
class TorchRun:
    """A recorded run, and what torch wrote down itself while it ran. A rank is -1 where there is one process."""

    folder: Path
    ranks: tuple[int, ...] = (-1,)

    @cached_property
    def capture(self) -> Capture:
        """The recording."""
        return open_capture(self.folder / _CAPTURE)

    @property
    def printed(self) -> str:
        """What the program printed."""
        return (self.folder / _OUTPUT).read_text("utf-8")

    @property
    def errors(self) -> str:
        """What it, torch and Peephole said beside that."""
        return (self.folder / _ERRORS).read_text("utf-8")

    def truth(self, rank: int) -> list[Any]:
        """[compile id, pass, graph] of a rank, taken by the program."""
        suffix = "" if rank < 0 else f".{rank}"
        return list(json.loads((self.folder / f"truth.json{suffix}").read_text("utf-8")))

    def fusion_log(self, rank: int) -> str:
        """The lines of TORCH_LOGS=+fusion of a rank."""
        start = "" if rank < 0 else f"[rank{rank}]:"
        lines = (self.folder / "fusion.txt").read_text("utf-8").splitlines()
        return "\n".join(line for line in lines if line.startswith(start))

    def log_records(self, rank: int) -> list[tuple[dict[str, Any], str]]:
        """The records of TORCH_TRACE of a rank with their payloads."""
        (path,) = (self.folder / "trace").glob("*.log" if rank < 0 else f"*rank_{rank}_*.log")
        found: list[tuple[dict[str, Any], list[str]]] = []
        for line in path.read_text("utf-8").splitlines():
            if line.startswith("\t"):
                found[-1][1].append(line[1:])
            else:
                found.append((json.loads(line.partition("] ")[2]), []))
        return [(record, "\n".join(lines)) for record, lines in found]

    @cached_property
    def rank_of(self) -> dict[int, int]:
        """The rank that each context belongs to, by the chain of its parents."""
        frame = self.capture.read("contexts", ["id", "parent", "name"])
        names = dict(zip(frame["id"].tolist(), frame.texts("name"), strict=True))
        parents = dict(zip(frame["id"].tolist(), frame["parent"].tolist(), strict=True))

        def root(context: int) -> int:
            while parents[context] >= 0:
                context = parents[context]
            return context

        found = {context: re.fullmatch(r"rank (\d+)", names[root(context)] or "") for context in names}
        return {context: -1 if rank is None else int(rank[1]) for context, rank in found.items()}


def clean_environment() -> dict[str, str]:
    """The environment without what would change what is recorded."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PEEPHOLE", "TORCH"))}


def run(*command: str | Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end, which must be a good one."""
    words, environment = list(map(str, command)), {**clean_environment(), "OMP_NUM_THREADS": "1", **(env or {})}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def _once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], tuple[str, str]]) -> Path:
    """A folder with the output and the errors of a run that whoever comes first makes."""
    base = factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    folder = shared / name
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / _OUTPUT).exists():
            folder.mkdir(exist_ok=True)
            output, errors = make(folder)
            (folder / _ERRORS).write_text(errors, "utf-8")
            (folder / _OUTPUT).write_text(output, "utf-8")
    return folder


def _recorded(factory: pytest.TempPathFactory, name: str, command: Callable[[Path], list[str | Path]]) -> Path:
    """The folder of a recorded run."""

    def make(folder: Path) -> tuple[str, str]:
        env = {
            "TORCH_TRACE": str(folder / "trace"),
            "TORCH_LOGS": "+fusion",
            "TORCH_LOGS_OUT": str(folder / "fusion.txt"),
            "PEEPHOLE_DIR": str(folder),
        }
        peephole = (sys.executable, "-m", "peephole", "run", "--force", "-o", folder / _CAPTURE)
        done = run(*peephole, *command(folder), env=env)
        return done.stdout, done.stderr

    return _once(factory, name, make)


@pytest.fixture(scope="session")
def torch_run(tmp_path_factory: pytest.TempPathFactory) -> TorchRun:
    """All programs of one process, one after the other."""
    folder = _recorded(tmp_path_factory, "torch_run", lambda here: [PROGRAM, here / "truth.json", *NAMES])
    return TorchRun(folder)


@pytest.fixture(scope="session")
def torch_pair(tmp_path_factory: pytest.TempPathFactory) -> TorchRun:
    """A program that two ranks train together, under torchrun."""
    folder = _recorded(
        tmp_path_factory, "torch_pair", lambda here: ["--", *TORCHRUN, PROGRAM, here / "truth.json", "ddp"]
    )
    return TorchRun(folder, (0, 1))


@pytest.fixture(scope="session")
def torch_plain(tmp_path_factory: pytest.TempPathFactory, torch_run: TorchRun, torch_pair: TorchRun) -> TorchRun:
    """What all of them print without being recorded: the pair, and the others in its first rank's process.

    After the recordings, which leave the compiled C++ behind.
    """

    def make(_: Path) -> tuple[str, str]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        group = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
        with ThreadPoolExecutor(2) as pool:
            ranks = [
                pool.submit(run, sys.executable, PROGRAM, "-", "ddp", *own, env={**group, "RANK": str(rank)})
                for rank, own in enumerate((NAMES, ()))
            ]
            done = [rank.result() for rank in ranks]
        return "".join(one.stdout for one in done), "".join(one.stderr for one in done)

    return TorchRun(_once(tmp_path_factory, "torch_plain", make))
