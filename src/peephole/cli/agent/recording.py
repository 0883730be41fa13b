"""The one tool that runs something: records a program, offered only where the user allowed it."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from peephole.cli.agent.session import Arguments, Session
from peephole.cli.agent.sizes import plain
from peephole.cli.agent.tools import Tool
from peephole.errors import PeepholeError
from peephole.model.folder import SUFFIX, captures_folder, free_name, safe_name

_PATIENCE: Final = 600
_TAIL: Final = 2_000


def record(session: Session, given: Arguments) -> Arguments:
    """Runs a command under `peephole run` and says what capture it left, how it ended and what it printed last."""
    words = given["command"]
    if not words:
        raise PeepholeError("command is the program and its arguments, such as ['train.py', '--epochs', '1'].")
    seconds = min(max(given.get("timeout_s", 120), 1), _PATIENCE)
    out = free_name(captures_folder() / f"{safe_name(Path(words[0]).stem)}{SUFFIX}")
    out.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "peephole", "run", "--no-view", "-o", str(out), *words]
    with tempfile.TemporaryFile() as said:
        try:
            code: int | None = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, timeout=seconds, check=False
            ).returncode
        except subprocess.TimeoutExpired:
            code = None
        said.seek(max(said.seek(0, 2) - _TAIL, 0))
        tail = said.read().decode("utf-8", "replace")
    if not out.exists():
        raise PeepholeError(f"Nothing was recorded; {shlex.join(words)[:200]} said: {plain(tail.strip()[-600:])}")
    ended = f"exit code {code}" if code is not None else f"stopped after {seconds} s"
    return {**session.about(out, "timeline"), "ended": ended, "last_output": plain(tail), "ask_next": ["overview()"]}


TOOL: Final = Tool(
    "record",
    "Runs a Python program and records it: ['train.py', '--epochs', '1'], ['-m', 'pytest', 'x'], ['--', 'mpirun', …]. "
    "It runs code; keep it short.",
    record,
    {
        "command": ("array", "the program and its arguments"),
        "timeout_s": ("integer", "seconds (default 120, at most 600)"),
    },
    ("command",),
    command="run",
    reads_only=False,
)
