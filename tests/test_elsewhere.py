"""The viewer runs on Windows and macOS: nothing outside the recorder needs what only Linux has."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.elsewhere import ABSENT

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "src" / "peephole").rglob("*.py"))
EVENTS = [
    {"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 5, "name": "outer"},
    {"ph": "X", "pid": 1, "tid": 1, "ts": 2, "dur": 1, "name": "inner"},
]


def elsewhere(*words: str, cwd: Path) -> str:
    """What a command says there."""
    command = [sys.executable, str(ROOT / "tests" / "elsewhere.py"), *words]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def test_captures_are_made_and_looked_at_without_linux(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": EVENTS}))
    assert "2 slices" in elsewhere("import", "t.json", "-o", "it.peep", cwd=tmp_path)
    assert "outer" in elsewhere("show", "it.peep", "-t", cwd=tmp_path)
    assert "2" in elsewhere("query", "SELECT count(*) FROM slices", "it.peep", cwd=tmp_path)
    elsewhere("pack", "it.peep", cwd=tmp_path)
    assert "slices" in elsewhere("info", "it.peep.zip", cwd=tmp_path)
    elsewhere("export", "it.peep", "-o", "out.json", cwd=tmp_path)
    assert "opens from disk" in elsewhere("share", "it.peep", "-o", "it.html", cwd=tmp_path)
    assert "inner" in elsewhere("search", "inner", "it.peep", cwd=tmp_path)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_modules_of_linux_are_imported_where_they_are_used(path: Path) -> None:
    for node in ast.parse(path.read_text("utf-8")).body:
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not {name.partition(".")[0] for name in names} & ABSENT, f"{path}:{node.lineno}"
