"""A command's answer as rows: what `--json` prints, read back. Agent and terminal cannot disagree this way."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Sequence
from typing import Any

from peephole.errors import PeepholeError


def exists(name: str) -> bool:
    """Whether there is a command of that name."""
    from peephole.cli.main import COMMANDS

    return any(command.name == name for command in COMMANDS)


def rows(name: str, *words: str) -> list[dict[str, Any]]:
    """The objects that a command prints with `--json`; PeepholeError with its own sentence where it refuses."""
    from peephole.cli.main import find, load, parser_of

    command = find(name)
    module = load(command)
    parser = parser_of(command, module)
    parse = parser.parse_intermixed_args if getattr(module, "INTERMIXED", False) else parser.parse_args
    out, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        try:
            module.run(parse(["--json", *words]))
        except SystemExit as refused:
            if refused.code:
                raise PeepholeError(_sentence(said.getvalue())) from None
    return [json.loads(line) for line in out.getvalue().splitlines() if line]


def _sentence(said: str) -> str:
    """What the parser of a command line complained about."""
    lines: Sequence[str] = said.strip().splitlines()
    return lines[-1].partition("error: ")[2] or lines[-1] if lines else "The command refused these arguments."
