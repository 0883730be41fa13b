"""The lines around a rule: out of the capture when it holds the file, else from this machine's copy of it."""

from __future__ import annotations

import ast
import tokenize
from functools import lru_cache
from pathlib import Path
from typing import Any

from peephole.store.capture import Capture

AROUND = 3
LONGEST = 40
LARGEST = 4 << 20


def rule_lines(capture: Capture, file: str | None, line: int) -> list[dict[str, Any]]:
    """Lines around a location, those of the rule itself marked; empty when the file is not to be had.

    The path comes from the capture, so it is data: only a regular Python file of sane size is read.
    """
    if not file or line < 1:
        return []
    lines = _captured(capture, file) or _on_disk(file)
    if line > len(lines):
        return []
    last = min(_end_of(tuple(lines), line), line + LONGEST)
    first = max(1, line - AROUND)
    return [
        {"number": number, "text": lines[number - 1][:500], "hit": line <= number <= last}
        for number in range(first, min(len(lines), last + AROUND) + 1)
    ]


def _captured(capture: Capture, file: str) -> tuple[str, ...]:
    frame = capture.read("artifacts", ["kind", "name"])
    kind, name = frame.texts("kind").code("file"), frame.texts("name").code(file)
    for row in ((frame.texts("kind").codes == kind) & (frame.texts("name").codes == name)).nonzero()[0].tolist():
        content = capture.read("artifacts", ["content"], rows=slice(row, row + 1)).blobs("content")[0]
        return tuple((content or b"").decode("utf-8", "replace").splitlines())
    return ()


@lru_cache(64)
def _on_disk(file: str) -> tuple[str, ...]:
    path = Path(file)
    try:
        if path.suffix != ".py" or not path.is_absolute() or not path.is_file() or path.stat().st_size > LARGEST:
            return ()
        with tokenize.open(path) as text:
            return tuple(text.read().splitlines())
    except (OSError, SyntaxError, ValueError):
        return ()


@lru_cache(64)
def _spans(lines: tuple[str, ...]) -> dict[int, int]:
    """For each line on which an element of a tuple, list or call begins: its last line."""
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    spans: dict[int, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Tuple, ast.FunctionDef, ast.Lambda, ast.Call)) and node.end_lineno is not None:
            # the largest element that begins on the line, unless it is the whole table
            length = node.end_lineno - node.lineno
            if length <= LONGEST:
                spans[node.lineno] = max(spans.get(node.lineno, 0), node.end_lineno)
    return spans


def _end_of(lines: tuple[str, ...], line: int) -> int:
    return _spans(lines).get(line, line)
