"""The program that `peephole demo` records, and what it needs on this machine."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path
from typing import Final

FRAMEWORK: Final = "tinygrad"
"""The package that the program trains with."""
PROGRAM: Final = Path(__file__).with_name("train.py")


def is_ready() -> bool:
    """Whether what the program needs is installed."""
    return importlib.util.find_spec(FRAMEWORK) is not None


def device() -> str:
    """The device that it runs on: the one asked for, else the CPU where its compiler is there."""
    return os.environ.get("DEV") or ("CPU" if shutil.which("clang") else "PYTHON")
