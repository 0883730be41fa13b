"""The program that `peephole demo` records, and what it needs on this machine."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path
from typing import Final

PROGRAMS: Final = {"tinygrad": "train.py", "torch": "block.py"}
"""Programs by the package that they train with; the first whose package is there is taken."""
CHANGE: Final = "tanh"
"""What the second recording's ACTIVATION is: one word of the program that is changed, to have something to compare."""
FRAMEWORK: Final = "tinygrad"
"""The package that is recommended where there is none."""


def framework() -> str:
    """The package that the demo trains with; empty when none of them is installed."""
    return next((name for name in PROGRAMS if importlib.util.find_spec(name) is not None), "")


def program() -> Path:
    """The program of that package."""
    return Path(__file__).with_name(PROGRAMS[framework() or FRAMEWORK])


def device() -> str:
    """The device that it runs on: the one asked for, else the CPU where tinygrad's compiler is there."""
    other = framework() != FRAMEWORK
    return os.environ.get("DEV") or ("CPU" if other or shutil.which("clang") else "PYTHON")


def interpreted(device: str) -> bool:
    """Whether kernels on that device run in an interpreter, so that their times are not worth showing."""
    return device == "PYTHON"
