"""A rule as its author wrote it: the lines around it, where it ends, which function it calls."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from peephole.query.rewrites.step_graphs import rule_lines as numbered_lines
from peephole.store.capture import Capture

AROUND = 3
LONGEST = 40
"""Lines of one rule that are shown."""
_WHOLE_FILE = 1 << 24


@dataclass(frozen=True, slots=True)
class Span:
    """Last line of what begins on a line, and the handler when that is a rule: (pattern, handler)."""

    last: int
    handler: str | None


def rule_lines(capture: Capture, file: str | None, line: int) -> list[dict[str, Any]]:
    """Lines around a location, those of the rule itself marked; empty when the file is not at hand."""
    lines = _lines(capture, file, line)
    if not lines:
        return []
    last = min(_span(lines, line).last, line + LONGEST)
    first = max(1, line - AROUND)
    return [
        {"number": number, "text": lines[number - 1][:500], "hit": line <= number <= last}
        for number in range(first, min(len(lines), last + AROUND) + 1)
    ]


def rule_handler(capture: Capture, file: str | None, line: int) -> str | None:
    """The function that a rule calls (`lambda …` for one without a name); None when it is not to be seen."""
    lines = _lines(capture, file, line)
    return _span(lines, line).handler if lines else None


def _lines(capture: Capture, file: str | None, line: int) -> tuple[str, ...]:
    return tuple(text for _, text in numbered_lines(capture, file, line, _WHOLE_FILE))


def _span(lines: tuple[str, ...], line: int) -> Span:
    return _spans(lines).get(line, Span(line, None))


@lru_cache(64)
def _spans(lines: tuple[str, ...]) -> dict[int, Span]:
    """For each line on which an element of a table begins: how far it goes, and what it calls."""
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    last: dict[int, int] = {}
    handlers: dict[int, list[str | None]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.List):  # a table of rules: (pattern, handler)
            for element in node.elts:
                if isinstance(element, ast.Tuple) and len(element.elts) == 2:
                    handlers.setdefault(element.lineno, []).append(_handler(element.elts[1]))
        if not isinstance(node, (ast.Tuple, ast.FunctionDef, ast.Lambda, ast.Call)) or node.end_lineno is None:
            continue
        # the largest element that begins on the line, unless it is the whole table
        if node.end_lineno - node.lineno <= LONGEST:
            last[node.lineno] = max(last.get(node.lineno, 0), node.end_lineno)
    # several rules on one line: which one fired is not to be seen
    single = {line: found[0] for line, found in handlers.items() if len(found) == 1}
    return {line: Span(end, single.get(line)) for line, end in last.items()}


def _handler(node: ast.expr) -> str | None:
    if isinstance(node, ast.Lambda):
        return "lambda " + ast.unparse(node.body)[:120]
    return ast.unparse(node)[:120] if isinstance(node, (ast.Name, ast.Attribute, ast.Call)) else None
