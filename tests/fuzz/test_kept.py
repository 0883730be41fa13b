"""What `make fuzz` found stays mended: each mutant that once failed is run again, with the same limits."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
KEPT = sorted((HERE / "kept").glob("*.zip"))


@pytest.fixture(scope="module")
def verdicts() -> dict[str, str]:
    """How each of them goes: one process that has imported everything runs them, each in a fork of its own."""
    command = [sys.executable, "-m", "fuzz.trial", *map(str, KEPT)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(line) for line in done.stdout.splitlines())


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_kept_mutant_is_answered_or_refused(verdicts: dict[str, str], path: Path) -> None:
    assert verdicts[str(path)] == ""
