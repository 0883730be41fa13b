"""What this machine can record and show, and what to install for the rest. Nothing is imported that is looked for.

It stands on top of all rooms, as frameworks.py does: it names programs and packages that no room may know.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PATIENCE: Final = 5
"""Seconds that a tool may take to say its version."""


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that Peephole can use: whether it is there, what it is good for, and how to get it."""

    group: str
    """`record`, `show` or `tool`."""
    name: str
    version: str | None
    """Null where it is not there."""
    gives: str
    get: str
    """The command that installs it; empty where it is there."""
    problem: str = ""
    """Why it cannot be used although it is there."""

    @property
    def works(self) -> bool:
        """Whether it is there and can be used."""
        return self.version is not None and not self.problem


@dataclass(frozen=True, slots=True)
class _Package:
    name: str
    least: tuple[int, ...]
    gives: str


_RECORDED: Final = (
    _Package("tinygrad", (0, 12), "every rewrite, kernel, buffer and JIT batch of a tinygrad program"),
    _Package("torch", (2, 6), "every pass, match, fusion and kernel of torch.compile"),
    _Package("jax", (0, 6), "every HLO pass, fusion and kernel of a JAX program"),
    _Package("distributed", (2024, 1), "a Dask cluster: scheduler, workers, tasks"),
)

_TOOLS: Final = (
    ("clang", "clang", "tinygrad's CPU device (without it: its interpreter, far slower)"),
    ("g++", "g++", "kernels that torch.compile makes on the CPU"),
    ("objdump", "binutils", "machine code of kernels"),
    ("chromium", "chromium", "the tests of the page; any browser shows it"),
    ("node", "nodejs", "building the page from source; an installed Peephole has it inside"),
)


def parts() -> Iterator[Part]:
    """Everything that is looked for, what records first."""
    yield _recorder()
    for package in _RECORDED:
        yield _package(package)
    yield _page()
    for command, debian, gives in _TOOLS:
        yield _tool(command, debian, gives)


def _recorder() -> Part:
    """Any Python program. Recording needs what only Linux has: see docs/platforms.md."""
    problem = (
        "" if sys.platform == "linux" else f"recording needs Linux, and this is {platform.system()}; viewing works"
    )
    gives = "any Python program: spans, markers, counters, memory, rewrites"
    return Part("record", "Python", platform.python_version(), gives, "", problem)


def _package(package: _Package) -> Part:
    try:
        version = importlib.metadata.version(package.name)
    except importlib.metadata.PackageNotFoundError:
        version = None
        if importlib.util.find_spec(package.name) is not None:
            version = "a checkout"
    wanted = ".".join(map(str, package.least))
    get = "" if version else f"pip install '{package.name}>={wanted}'"
    known = tuple(int(part) for part in re.findall(r"\d+", version or "")[: len(package.least)])
    old = bool(known) and known < package.least
    problem = f"{wanted} or newer is needed: pip install -U {package.name}" if old else ""
    return Part("record", package.name, version, package.gives, get, problem)


def _page() -> Part:
    """The page's bundle, which a wheel carries and a checkout builds."""
    from peephole import __version__

    built = (Path(__file__).parent / "server" / "static" / "index.html").is_file()
    gives = "the page that `peephole serve` shows, and every view of the terminal"
    return Part("show", "page", __version__ if built else None, gives, "" if built else "make web")


def _tool(command: str, debian: str, gives: str) -> Part:
    path = shutil.which(command)
    get = "" if path else _install(debian)
    return Part("tool", command, _version_of(path) if path else None, gives, get)


def _install(debian: str) -> str:
    if sys.platform == "darwin":
        return "xcode-select --install" if debian in ("clang", "g++", "binutils") else f"brew install {debian}"
    return f"apt-get install {debian}"


def _version_of(path: str) -> str:
    """What a tool says its version is, `there` where it does not say."""
    try:
        asked = subprocess.run(
            [path, "--version"], capture_output=True, text=True, errors="replace", timeout=_PATIENCE, check=False,
            stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return "there"
    found = re.search(r"\d+(?:\.\d+)+", asked.stdout)
    return found[0] if found else "there"
