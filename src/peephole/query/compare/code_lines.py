"""The code of a kernel on both sides, line by line, equal lines next to each other."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from peephole.query.compare.compiled import code_of

if TYPE_CHECKING:
    from peephole.store.capture import Capture

_LONGEST: Final = 20_000
"""Lines up to which code is compared line by line; beyond, all that is not common at both ends differs."""


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of either side: numbers from 1, 0 where a side has none."""

    kind: Literal["same", "changed", "removed", "added"]
    number_a: int
    number_b: int
    text_a: str
    text_b: str


@dataclass(frozen=True, slots=True)
class CodeLines:
    """The code of both sides."""

    language: str
    lines: tuple[CodeLine, ...]
    removed: int
    """Lines that only A has, and changed ones."""
    added: int


def code_lines(a: Capture | None, unit_a: int, b: Capture | None, unit_b: int, equal: bool = False) -> CodeLines:
    """The code of two contexts; -1 for a side that has none. With `equal` they differ in accidents alone."""
    text_a, language_a = code_of(a, unit_a) if a is not None and unit_a >= 0 else ("", "")
    text_b, language_b = code_of(b, unit_b) if b is not None and unit_b >= 0 else ("", "")
    old, new = text_a.splitlines(), text_b.splitlines()
    lines: list[CodeLine] = []
    stretches = [("equal", 0, len(old), 0, len(new))] if equal and len(old) == len(new) else _opcodes(old, new)
    for tag, a0, a1, b0, b1 in stretches:
        for at in range(max(a1 - a0, b1 - b0)):
            i, j = a0 + at, b0 + at
            one, two = i < a1, j < b1
            kind: Literal["same", "changed", "removed", "added"] = (
                "changed" if one and two else "removed" if one else "added"
            )
            lines.append(
                CodeLine(
                    "same" if tag == "equal" else kind, i + 1 if one else 0, j + 1 if two else 0,
                    old[i] if one else "", new[j] if two else "",
                )
            )  # fmt: skip
    removed = sum(line.kind != "same" and line.number_a > 0 for line in lines)
    added = sum(line.kind != "same" and line.number_b > 0 for line in lines)
    return CodeLines(language_a or language_b, tuple(lines), removed, added)


def unified(found: CodeLines, around: int = 3) -> list[tuple[str, str]]:
    """The same as a difference in one column: a sign (blank, -, +, @ for what is left out) and the text."""
    near: set[int] = set()
    for at, line in enumerate(found.lines):
        if line.kind != "same":
            near.update(range(at - around, at + around + 1))
    result: list[tuple[str, str]] = []
    pending: list[tuple[str, str]] = []
    skipped = 0
    for at, line in enumerate(found.lines):
        if at not in near:
            skipped += 1
            continue
        if line.kind == "same" and pending:
            result, pending = result + pending, []
        if skipped:
            result, pending = [*result, *pending, ("@", f"{skipped:,} equal line{'s' if skipped != 1 else ''}")], []
            skipped = 0
        if line.kind == "same":
            result.append((" ", line.text_a))
            continue
        if line.number_a:
            result.append(("-", line.text_a))
        if line.number_b:
            pending.append(("+", line.text_b))
    result += pending
    return [*result, ("@", f"{skipped:,} equal line{'s' if skipped != 1 else ''}")] if skipped and result else result


def _opcodes(old: list[str], new: list[str]) -> list[tuple[str, int, int, int, int]]:
    if max(len(old), len(new)) <= _LONGEST:
        return list(difflib.SequenceMatcher(None, old, new, autojunk=len(old) > 2000).get_opcodes())
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    a, b = len(old) - tail, len(new) - tail
    return [("equal", 0, head, 0, head), ("replace", head, a, head, b), ("equal", a, len(old), b, len(new))]
