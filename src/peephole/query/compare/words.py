"""A comparison in words: what could not be compared, what to know about the sides."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from peephole.query.compare.several import unlike
from peephole.query.compare.verdict import counted
from peephole.query.timeline.group_tracks import GROUPS

if TYPE_CHECKING:
    from peephole.query.compare.recorded import Recorded
    from peephole.query.compare.times import TimeRow


_GROUP_WORDS: Final = {"kernels": "kernel", "copies": "transfer", "host": "host phase", "messages": "message"}
_PART_WORDS: Final = {"rewrites": "rewrites", "code": "code", "memory": "buffers"}
_TELL: Final = (
    "the machine, or what ran beside the program, may be the reason. "
    "Several recordings a side tell (`peephole diff A1 A2 A3 -- B1 B2 B3`)."
)
UNEXPLAINED: Final = f"Kernels whose code is the same took another time: {_TELL}"
HOST: Final = f"Phases of the host took another time, and their code is not recorded: {_TELL}"


def in_common(a: Recorded, b: Recorded, times: Sequence[TimeRow]) -> bool:
    """Whether there is anything that both sides have: a part that is exact, kernels, or something timed of one name."""
    if any(_has(a, part) and _has(b, part) for part in ("rewrites", "code", "memory", "messages")):
        return True
    ran = [any(row.group == "kernels" and getattr(row, side) for row in times) for side in ("count_a", "count_b")]
    return all(ran) or any(row.count_a and row.count_b for row in times)


def held(a: Recorded, b: Recorded) -> str:
    """What each side has, as the end of a sentence."""
    parts = []
    for side, which in ((a, "A"), (b, "B")):
        counts = {group: len({run.name for run in side.runs.runs if run.group == group}) for group in GROUPS}
        words = [counted(count, _GROUP_WORDS[group]) for group, count in counts.items() if count]
        words += [word for part, word in _PART_WORDS.items() if _has(side, part)]
        parts.append(f"{which} has {', '.join(words)}")
    return "; ".join(parts)


def missing_parts(a: Recorded, b: Recorded) -> set[str]:
    """The parts that only one side has."""
    has = [
        {
            "rewrites": side.compiled.has_steps,
            "code": any(unit.code for unit in side.compiled.units),
            "times": bool(side.runs.runs),
            "memory": bool(side.peaks),
            "messages": bool(side.messages),
            "compile": bool((side.compiled.step_dur > 0).any()),
        }
        for side in (a, b)
    ]
    return {part for part in has[0] if has[0][part] != has[1][part]}


def notes_of(a: Sequence[Recorded], b: Sequence[Recorded], missing: set[str]) -> list[str]:
    """Sentences about what cannot be compared, and about the sides."""
    one, two = a[0], b[0]
    notes = [*_on_both(a, b), *unlike(a, "A"), *unlike(b, "B")]
    for side, which in ((one, "A"), (two, "B")):
        if side.live:
            notes.append(f"{side.name} ({which}) is still being recorded: what there is by now is compared.")
        elif not side.clean:
            notes.append(f"{side.name} ({which}) ended without closing: what it recorded until then is compared.")
        if side.dropped:
            notes.append(f"{side.name} ({which}) lost {side.dropped:,} records, so its counts are too small.")
        if side.capture is None:
            notes.append(f"{side.name} ({which}) is a baseline: hashes and figures, no graphs and no code.")
        if not side.runs.exact:
            notes.append(f"{side.name} ({which}) has so many slices that medians come from a part of each name's runs.")
    words = {
        "rewrites": "rewrites, so rules, passes and where they part are not compared",
        "code": "code, so kernels are known by their names there",
        "times": "slices, so times and launches are not compared",
        "memory": "buffers, so memory is not compared",
        "messages": "messages, so their numbers are not compared",
    }
    for part in ("rewrites", "code", "times", "memory", "messages"):
        if part in missing:
            without = two if _has(one, part) else one
            notes.append(f"{without.name} ({'B' if without is two else 'A'}) has no {words[part]}.")
    if "compile" in missing and "rewrites" not in missing:
        notes.append("Only one side has times of passes, so compile times are not compared.")
    if one.source != two.source or set(one.frameworks) != set(two.frameworks):
        notes.append(f"A is a recording of {_framework(one)}, B of {_framework(two)}.")
    elif changed := [name for name in one.frameworks if one.frameworks[name] != two.frameworks.get(name)]:
        notes += [f"{name} {one.frameworks[name]} against {two.frameworks[name]}." for name in changed]
    if one.host and two.host and one.host != two.host:
        notes.append(f"A was recorded on {one.host}, B on {two.host}: times of different machines.")
    notes += _changed_since(one, "A") + _changed_since(two, "B")
    ran = any(run.group == "kernels" for side in (one, two) for run in side.runs.runs)
    if ran and not any(unit.is_kernel for side in (one, two) for unit in side.compiled.units):
        notes.append("No code was recorded: kernels are known by their names alone.")
    return notes


def _on_both(a: Sequence[Recorded], b: Sequence[Recorded]) -> list[str]:
    there = {side.path for side in b if side.path}
    shared = {side.path: side.name for side in a if side.path in there}
    if not shared:
        return []
    names = ", ".join(shared.values())
    if all(side.path in shared for side in (*a, *b)):
        return [f"Both sides are the same {'capture' if len(shared) == 1 else 'captures'}, {names}."]
    return [f"{names} {'is' if len(shared) == 1 else 'are'} on both sides."]


def _has(side: Recorded, part: str) -> bool:
    if part == "rewrites":
        return side.compiled.has_steps
    if part == "code":
        return any(unit.code for unit in side.compiled.units)
    return bool({"times": side.runs.runs, "memory": side.peaks, "messages": side.messages}[part])


def _framework(side: Recorded) -> str:
    return (
        ", ".join(f"{name} {version}".strip() for name, version in side.frameworks.items())
        or side.source
        or "something unknown"
    )


def _changed_since(side: Recorded, which: str) -> list[str]:
    """Files of rules that are newer than the recording: their lines may be others by now."""
    from datetime import datetime

    try:
        made = datetime.fromisoformat(side.created).timestamp()
    except ValueError:
        return []
    if side.capture is None:
        return []
    newer = []
    for file in {rule.file for rule in side.compiled.rules if rule.file.endswith(".py")}:
        try:
            if Path(file).stat().st_mtime > made:
                newer.append(Path(file).name)
        except OSError:
            continue
    names = ", ".join(sorted(newer)[:4])
    return (
        [f"{names} changed after {side.name} ({which}) was recorded, so the text of its rules may be off."]
        if newer
        else []
    )
