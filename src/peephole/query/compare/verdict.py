"""The verdict of a comparison: one line that says what matters most."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from peephole.model.amounts import duration
from peephole.query.compare.results import Comparison, KernelRow, State

_STATES: Final[tuple[State, ...]] = ("changed", "added", "removed")
_MOST_PEAKS: Final = 2
_NOISE: Final = " (where the code is the same this may be the machine's noise: more captures a side tell)"


def verdict_of(found: Comparison) -> Comparison:
    """The comparison with its verdict."""
    parts = [*_kernels(found), *_rewrites(found), *_memory(found)]
    parts += [f"{int(row.b - row.a):+,} launches" for row in found.counts if row.name == "launches" and row.a != row.b]
    if kinds := sum(row.differs for row in found.messages):
        parts.append(f"{counted(kinds, 'kind')} of messages more or less often")
    parts += _times(found)
    phases = _phases(found)
    parts += phases
    text = "" if not found.same else "Nothing but times to compare: " if phases else "The same: "
    text += "; ".join(parts) if parts else _nothing(found)
    text = text[0].upper() + text[1:]
    begins = [row for row in found.divergence if not row.follows]
    if begins and not found.same:
        first = begins[0]
        where = f" › {first.step}" if first.step else ""
        where += f" › match {first.match}" if first.match else ""
        text += f"; first in {first.context}{where}"
    return replace(found, verdict=text + ".")


def _nothing(found: Comparison) -> str:
    """Of sides with nothing to name: times that are not shown to differ may differ all the same."""
    if not found.same:
        return "they differ"
    if any(row.tested for row in found.times):
        return "no time shown to differ"
    return "too few runs to compare times" if found.times else "nothing differs"


def _kernels(found: Comparison) -> list[str]:
    """How many kernels differ, and how many of what else has code."""
    kinds: dict[str, list[KernelRow]] = {}
    for row in found.kernels:
        kinds.setdefault(row.kind, []).append(row)
    differing = {kind: [row for row in rows if row.state != "same"] for kind, rows in kinds.items()}
    if not any(differing.values()):
        rows = kinds.get("kernel", [])
        return [f"the same {counted(len(rows), 'kernel')}"] if rows else []
    parts = []
    for kind, rows in sorted(differing.items(), key=lambda item: item[0] != "kernel"):
        counts = [(sum(row.state == state for row in rows), state) for state in _STATES]
        words = ", ".join(f"{n:,} {state}" for n, state in counts if n)
        if words:
            parts.append(f"{words} of {counted(len(kinds[kind]), kind)}")
    return parts


def _rewrites(found: Comparison) -> list[str]:
    if fired := sum(row.a != row.b for row in found.rules):
        return [f"{counted(fired, 'rule')} fired more or less often"]
    if found.divergence and all(row.state == "same" for row in found.kernels):
        return [f"{counted(len(found.divergence), 'context')} rewritten otherwise"]
    return []


def _memory(found: Comparison) -> list[str]:
    rows = [row for row in found.memory if row.peak_a and row.peak_a != row.peak_b]
    rows.sort(key=lambda row: -abs(row.peak_b - row.peak_a))
    parts = [
        f"peak memory of {row.device or 'the device'} {row.peak_b / row.peak_a - 1:+.1%}" for row in rows[:_MOST_PEAKS]
    ]
    more = len(rows) - _MOST_PEAKS
    return [*parts, f"{counted(more, 'other peak')} differ{'s' if more == 1 else ''}"] if more > 0 else parts


def _times(found: Comparison) -> list[str]:
    """What is shown of times: of all kernels together, of single ones, of the host."""
    claims = {group: _claims(found, group) for group in ("kernels", "host")}
    total = next((row for row in found.totals if row.group == "kernels"), None)
    parts = []
    if total is not None and total.verdict in ("slower", "faster"):
        words = f"kernels take {total.change:+.1%}: {duration(total.median_a)} → {duration(total.median_b)}"
        parts.append(f"{words}, {claims['kernels']}" if claims["kernels"] else words)
    elif claims["kernels"]:
        parts.append(f"of the kernels {claims['kernels']}")
    elif any(row.tested and row.group == "kernels" for row in found.times):
        parts.append("no time shown to differ")
    if claims["host"]:
        parts.append(f"of the host's phases {claims['host']}")
    if parts and found.unexplained:
        parts[0] += ", with the same code"
    if parts and found.a.host and found.b.host and found.a.host != found.b.host:
        parts[-1] += " (on different machines)"
    if parts and found.perhaps_noise:
        parts[-1] += _NOISE
    return parts


def _phases(found: Comparison) -> list[str]:
    """Of recordings of a host alone, where functions come and go by chance: which both have."""
    rows = [row for row in found.times if row.group == "host"]
    if found.kernels or found.counts or found.messages or not rows:
        return []
    a, b = (sum(1 for row in rows if getattr(row, side) == 0) for side in ("count_b", "count_a"))
    if not a and not b:
        return []
    return [f"{len(rows) - a - b:,} host phases in both, {a:,} in A alone, {b:,} in B alone"]


def _claims(found: Comparison, group: str) -> str:
    """`3 slower, 1 faster`; empty when nothing is claimed."""
    rows = [row for row in found.times if row.group == group]
    counts = [(sum(row.verdict == word for row in rows), word) for word in ("slower", "faster")]
    return ", ".join(f"{n:,} {word}" for n, word in counts if n)


def counted(number: int, noun: str) -> str:
    """`1 kernel`, `3 halves`."""
    if number == 1:
        return f"{number:,} {noun}"
    return f"{number:,} {'halves' if noun == 'half' else noun + 's'}"
