"""The viewer runs on Windows and macOS: nothing outside the recorder needs what only Linux has."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from tests.elsewhere import ABSENT

import peephole
from peephole.errors import PeepholeError

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "src" / "peephole").rglob("*.py"))
EVENTS = [
    {"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 5, "name": "outer"},
    {"ph": "X", "pid": 1, "tid": 1, "ts": 2, "dur": 1, "name": "inner"},
]


COMMAND = [sys.executable, str(ROOT / "tests" / "elsewhere.py")]


def elsewhere(*words: str, cwd: Path) -> str:
    """What a command says there."""
    command = [*COMMAND, *words]
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
    serve = [*COMMAND, "serve", "it.peep", "--no-open", "--port", "0"]
    with subprocess.Popen(serve, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = next(line for line in server.stdout if "http://" in line).split()[3]
            with urllib.request.urlopen(f"{address}api/v1/captures/it/timeline", timeout=120) as reply:
                assert reply.status == 200
        finally:
            server.terminate()


def test_recording_is_refused_there_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text("import peephole\nwith peephole.record('in.peep'):\n    pass\n")
    command = [*COMMAND, "run", "-o", "out.peep", "p.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2 and done.stderr.startswith("peephole: Recording needs Linux")
    assert done.stderr.count("\n") == 1 and [path.name for path in tmp_path.iterdir()] == ["p.py"]
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(os, "register_at_fork")
        with pytest.raises(PeepholeError, match="Recording needs Linux"), peephole.record(tmp_path / "in.peep"):
            pass
    assert not (tmp_path / "in.peep").exists()


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_modules_of_linux_are_imported_where_they_are_used(path: Path) -> None:
    for node in ast.parse(path.read_text("utf-8")).body:
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not {name.partition(".")[0] for name in names} & ABSENT, f"{path}:{node.lineno}"
