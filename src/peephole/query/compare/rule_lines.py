"""Which rule of one recording is which of the other: by their text where lines have moved."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.query.compare.compiled import RuleLine

LINES: Final = "line numbers of rules"
_LIKE: Final = 0.5
_MOST_PAIRS: Final = 2500
_TELLING: Final = 12
"""Characters of a line below which it may be anybody's: `),`."""
Lines = Callable[[str], Sequence[str]]
"""The lines of a file as a recording saw it; none when it is not at hand."""


@dataclass(frozen=True, slots=True)
class RulePairs:
    """The rules of both sides."""

    b_of_a: NDArray[np.int64]
    """The rule of B that each of A's is, -1 for none."""
    moved: bool
    """Whether one is on another line."""
    edited: list[tuple[int, int]]
    """Those whose text differs."""


def rule_pairs(a: Sequence[RuleLine], b: Sequence[RuleLine], lines_a: Lines, lines_b: Lines) -> RulePairs:
    """Pairs of rules: of one file, on the same line or on the line that it became; then those of one text alone."""
    found = np.full(len(a), -1, np.int64)
    at_b = {(rule.file, rule.line): at for at, rule in enumerate(b)}
    moved, edited = False, []
    other = _files({rule.file for rule in a}, {rule.file for rule in b})
    maps: dict[str, dict[int, int] | None] = {}
    for at, rule in enumerate(a):
        file = other.get(rule.file)
        if file is None:
            continue
        if rule.file not in maps:
            maps[rule.file] = _line_map(lines_a(rule.file), lines_b(file), a, b, rule.file, file)
        known = maps[rule.file]
        line = rule.line if known is None else known.get(rule.line)
        place = at_b.get((file, line)) if line is not None else None
        if place is None:
            continue
        found[at] = place
        moved |= line != rule.line
        if rule.text is not None and b[place].text is not None and rule.text != b[place].text:
            edited.append((at, place))
    for at, place in _by_text_alone(a, b, found):
        found[at] = place
        moved = True
    return RulePairs(found, moved, edited)


def _by_text_alone(a: Sequence[RuleLine], b: Sequence[RuleLine], found: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Rules that stand before others now, or in another file: those left of one text, as many on either side."""
    taken = set(found.tolist())
    left: dict[str, tuple[list[int], list[int]]] = {}
    for side, rules in enumerate((a, b)):
        for at, rule in enumerate(rules):
            free = found[at] < 0 if side == 0 else at not in taken
            if free and rule.text is not None and len(rule.text) >= _TELLING:
                left.setdefault(rule.text, ([], []))[side].append(at)
    pairs: list[tuple[int, int]] = []
    for one, two in left.values():
        if len(one) == len(two):
            one.sort(key=lambda at: (a[at].file, a[at].line))
            two.sort(key=lambda at: (b[at].file, b[at].line))
            pairs += zip(one, two, strict=True)
    return pairs


def _files(a: set[str], b: set[str]) -> dict[str, str]:
    """For each file of A the same file of B: equal, or with the most folders in common from the end on."""
    found = {file: file for file in a & b}
    taken = set(found)
    ranked = sorted(
        ((_common(x, y), x, y) for x in a - taken for y in b - taken if _common(x, y)),
        key=lambda item: (-item[0], item[1], item[2]),
    )
    for _, x, y in ranked:
        if x not in found and y not in taken:
            found[x] = y
            taken.add(y)
    return found


def _common(x: str, y: str) -> int:
    """How many parts of two paths are equal from the end on."""
    count = 0
    for one, two in zip(reversed(_parts(x)), reversed(_parts(y)), strict=False):
        if one != two:
            break
        count += 1
    return count


def _parts(path: str) -> list[str]:
    return path.replace("\\", "/").split("/")


def _line_map(
    old: Sequence[str], new: Sequence[str], a: Sequence[RuleLine], b: Sequence[RuleLine], file_a: str, file_b: str
) -> dict[int, int] | None:
    """Line of A to line of B; None when no line has moved, as far as is known."""
    if not old or not new:
        return _by_texts([r for r in a if r.file == file_a], [r for r in b if r.file == file_b])
    if old == new:
        return None
    known: dict[int, int] = {}
    for tag, a0, a1, b0, b1 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal" or (tag == "replace" and a1 - a0 == b1 - b0):
            known.update((a0 + i + 1, b0 + i + 1) for i in range(a1 - a0))
        elif tag == "replace":
            known.update((a0 + i + 1, b0 + j + 1) for i, j in _alike(old[a0:a1], new[b0:b1]))
    return known


def _alike(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Of lines that were replaced by more or fewer, those that are much like one of the others, in order."""
    found, first = [], 0
    if len(old) * len(new) > _MOST_PAIRS:
        return []
    for i, text in enumerate(old):
        likeness = [
            (difflib.SequenceMatcher(None, text, other).ratio(), -j) for j, other in enumerate(new) if j >= first
        ]
        best, place = max(likeness, default=(0.0, 0))
        if best > _LIKE:
            found.append((i, -place))
            first = -place + 1
    return found


def _by_texts(a: Sequence[RuleLine], b: Sequence[RuleLine]) -> dict[int, int] | None:
    """The same out of the rules' own texts, where the files are not at hand: equal texts in their order."""
    texts_a, texts_b = [rule.text or f":{rule.line}" for rule in a], [rule.text or f":{rule.line}" for rule in b]
    if not any(rule.text for rule in a) or not any(rule.text for rule in b):
        return None
    known: dict[int, int] = {}
    for block in difflib.SequenceMatcher(None, texts_a, texts_b, autojunk=False).get_matching_blocks():
        known.update((a[block.a + i].line, b[block.b + i].line) for i in range(block.size))
    return known
