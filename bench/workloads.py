"""The programs that are measured: those that the figures in the notes are of, else our own of the same kind."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_NOTED = ROOT.parent / "shared" / "workloads"


def workload(name: str) -> Path:
    """The program of that name: `add`, `mnist` or `gpt`."""
    noted = _NOTED / f"{name}.py"
    return noted if noted.is_file() else Path(__file__).with_name("programs") / f"{name}.py"
