"""Several captures a side: which they are, what the one in the middle has, and whether they were compiled alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from statistics import median_low
from typing import TYPE_CHECKING

from peephole.query.compare.remembered import counted_once

if TYPE_CHECKING:
    from peephole.query.compare.memory import Peak
    from peephole.query.compare.recorded import Recorded


def in_order(a: Sequence[Recorded], b: Sequence[Recorded]) -> tuple[list[Recorded], list[Recorded]]:
    """Both sides with each capture once; B in the order of A where both are the same captures."""
    one, two = _once(a), _once(b)
    return list(one.values()), [two[key] for key in (one if one.keys() == two.keys() else two)]


def _once(side: Sequence[Recorded]) -> dict[str, Recorded]:
    found: dict[str, Recorded] = {}
    for capture in side:
        found.setdefault(capture.path or str(id(capture)), capture)
    return found


def middle(side: Sequence[Recorded], count: Callable[[Recorded], float]) -> float:
    """What the capture in the middle has, the lower of two: a number that was counted."""
    return median_low(map(count, side))


def middle_peaks(side: Sequence[Recorded]) -> list[Peak]:
    """Of each device the peak in the middle of those of the captures."""
    own: dict[str, list[Peak]] = {}
    for capture in side:
        for peak in capture.peaks:
            own.setdefault(peak.device, []).append(peak)
    return [sorted(peaks, key=lambda peak: peak.bytes)[(len(peaks) - 1) // 2] for peaks in own.values()]


def middle_messages(side: Sequence[Recorded]) -> dict[str, int]:
    """Of each kind of messages how many the capture in the middle has."""
    kinds = dict.fromkeys(kind for capture in side for kind in capture.messages)
    return {kind: median_low(capture.messages.get(kind, 0) for capture in side) for kind in kinds}


def unlike(side: Sequence[Recorded], which: str) -> list[str]:
    """A sentence about captures of a side that were compiled otherwise than its first."""
    first, *more = side
    known = _compiled(first)
    others = [capture.name for capture in more if _compiled(capture) != known]
    if not others:
        return []
    figures = "; ".join(
        f"{capture.name} {len(capture.compiled.units):,}, {len(capture.compiled.step_id):,}, "
        f"{int(capture.compiled.step_matches.sum()):,}"
        for capture in side
    )
    return [
        f"{', '.join(others)} ({which}) {'was' if len(others) == 1 else 'were'} compiled otherwise than {first.name}: "
        f"kernels, rules and where they part are compared of {first.name} alone. "
        f"Contexts, steps, matches: {figures}."
    ]


def _compiled(side: Recorded) -> tuple[Counter[int], int, int]:
    """The code of all contexts, and how many steps and matches count."""
    once = counted_once(side.compiled)
    codes = Counter(unit.code for unit in side.compiled.units)
    return codes, int(once.sum()), int((side.compiled.step_matches * once).sum())
