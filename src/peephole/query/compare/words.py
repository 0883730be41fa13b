"""A comparison in words: the verdict, what could not be compared, what to know about the sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from peephole.query.compare.results import Comparison

if TYPE_CHECKING:
    from peephole.query.compare.recorded import Recorded


def missing_parts(a: Recorded, b: Recorded) -> set[str]:
    """The parts that only one side has."""
    has = [
        {
            "rewrites": side.compiled.has_steps,
            "code": any(unit.code for unit in side.compiled.units),
            "times": bool(side.runs.runs),
            "memory": bool(side.peaks),
        }
        for side in (a, b)
    ]
    return {part for part in has[0] if has[0][part] != has[1][part]}


def notes_of(a: Sequence[Recorded], b: Sequence[Recorded], missing: set[str]) -> list[str]:
    """Sentences about what cannot be compared, and about the sides."""
    one, two = a[0], b[0]
    notes = []
    if one.path and one.path == two.path:
        notes.append(f"Both sides are the same capture, {one.name}.")
    for side, which in ((one, "A"), (two, "B")):
        if not side.clean:
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
    }
    for part in ("rewrites", "code", "times", "memory"):
        if part in missing:
            without = two if _has(one, part) else one
            notes.append(f"{without.name} ({'B' if without is two else 'A'}) has no {words[part]}.")
    if one.source != two.source or set(one.frameworks) != set(two.frameworks):
        notes.append(f"A is a recording of {_framework(one)}, B of {_framework(two)}.")
    elif changed := [name for name in one.frameworks if one.frameworks[name] != two.frameworks.get(name)]:
        notes += [f"{name} {one.frameworks[name]} against {two.frameworks[name]}." for name in changed]
    if one.host and two.host and one.host != two.host:
        notes.append(f"A was recorded on {one.host}, B on {two.host}: times of different machines.")
    notes += _changed_since(one, "A") + _changed_since(two, "B")
    if not any(unit.is_kernel for side in (one, two) for unit in side.compiled.units) and one.runs.runs:
        notes.append("No code was recorded: kernels are known by their names alone.")
    return notes


def _has(side: Recorded, part: str) -> bool:
    if part == "rewrites":
        return side.compiled.has_steps
    if part == "code":
        return any(unit.code for unit in side.compiled.units)
    return bool(side.runs.runs) if part == "times" else bool(side.peaks)


def _framework(side: Recorded) -> str:
    return (
        ", ".join(f"{name} {version}" for name, version in side.frameworks.items())
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


def verdict_of(found: Comparison) -> Comparison:
    """The comparison with its verdict: one line that says what matters most."""
    changed, added, removed = (len(found.kernels_of(state)) for state in ("changed", "added", "removed"))
    kernels = len(found.kernels)
    parts = []
    if changed or added or removed:
        counts = [f"{n} {word}" for n, word in ((changed, "changed"), (added, "added"), (removed, "removed")) if n]
        parts.append(f"{', '.join(counts)} of {kernels} kernel{'s' if kernels != 1 else ''}")
    elif kernels:
        parts.append(f"the same {kernels} kernel{'s' if kernels != 1 else ''}")
    if found.rules and any(row.a != row.b for row in found.rules):
        count = sum(row.a != row.b for row in found.rules)
        parts.append(f"{count} rule{'s' if count != 1 else ''} fired more or less often")
    elif found.divergence and not (changed or added or removed):
        count = len(found.divergence)
        parts.append(f"{count} context{'s' if count != 1 else ''} rewritten otherwise")
    for row in found.memory:
        if row.peak_a and row.peak_a != row.peak_b:
            parts.append(f"peak memory of {row.device or 'the device'} {row.peak_b / row.peak_a - 1:+.1%}")
    parts += [f"{int(row.b - row.a):+,} launches" for row in found.counts if row.name == "launches" and row.a != row.b]
    if count := sum(row.differs for row in found.messages):
        parts.append(f"{count} kind{'s' if count != 1 else ''} of messages more or less often")
    claims = [row for row in found.times if row.verdict in ("slower", "faster") and row.group == "kernels"]
    if claims and found.a.kernel_ns and found.b.kernel_ns:
        share = found.b.kernel_ns / found.a.kernel_ns - 1
        slower, faster = (sum(row.verdict == word for row in claims) for word in ("slower", "faster"))
        made = [f"{n} {word}" for n, word in ((slower, "slower"), (faster, "faster")) if n]
        parts.append(f"kernels take {share:+.1%} ({', '.join(made)})")
    elif any(row.tested and row.group == "kernels" for row in found.times):
        parts.append("no time shown to differ")
    begins = [row for row in found.divergence if not row.follows]
    text = "The same: " if found.same else ""
    text += "; ".join(parts) if parts else ("nothing differs" if found.same else "they differ")
    text = text[0].upper() + text[1:]
    if begins and not found.same:
        first = begins[0]
        where = f" › {first.step}" if first.step else ""
        where += f" › match {first.match}" if first.match else ""
        text += f"; first in {first.context}{where}"
    return replace(found, verdict=text + ".")
