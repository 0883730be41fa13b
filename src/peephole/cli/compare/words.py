"""Figures of a comparison in words, the same in the terminal and in Markdown."""

from __future__ import annotations

from peephole.cli.format import count, duration, size
from peephole.query.compare.results import Comparison, CountRow, Divergence, SideFacts, State
from peephole.query.compare.times import TimeRow
from peephole.query.compare.verdict import counted

SIGNS = {"added": "+", "removed": "-", "changed": "~", "same": "="}


def percent(a: float, b: float) -> str:
    """A change in per cent, of tenfold and more as a factor; empty when there is nothing to compare with."""
    if a and b / a >= 10:
        return f"×{b / a:,.0f}"
    return f"{b / a - 1:+.1%}" if a else ("" if not b else "new")


def verdict_words(row: TimeRow) -> str:
    """A verdict in words: not to be shown to differ is not to be the same."""
    if row.verdict in ("slower", "faster"):
        return row.verdict
    if not row.n_a or not row.n_b:
        return "new" if row.n_b else "gone"
    if not row.tested:
        return "too few runs"
    return "not shown to differ" if row.verdict == "unsure" else "no difference"


def p_words(row: TimeRow) -> str:
    """A p as people write it; empty where no test was made."""
    return "" if not row.tested else "< 0.001" if row.p < 0.001 else f"{row.p:.3f}" if row.p < 0.1 else f"{row.p:.2f}"


def median_words(value: float, n: int) -> str:
    """A median; a dash where there is none."""
    return duration(value) if n else "–"


def interval_words(row: TimeRow, side: str) -> str:
    """The interval of a median as ±, the larger half of it."""
    found, middle = (row.interval_a, row.median_a) if side == "a" else (row.interval_b, row.median_b)
    if found is None or not middle:
        return ""
    return f"±{max(middle - found[0], found[1] - middle) / middle:.0%}"


def where(row: Divergence) -> str:
    """`context › pass › match 3`."""
    name = (
        row.context
        if row.context_a == row.context_b or not (row.context_a and row.context_b)
        else (f"{row.context_a} → {row.context_b}")
    )
    parts = [name, *([row.step] if row.step else []), *([f"match {row.match}"] if row.match else [])]
    return " › ".join(parts)


def state_counts(found: Comparison) -> str:
    """`0 added, 0 removed, 2 changed, 4 same; of 3 halves 1 changed, 2 same`."""
    states: tuple[State, ...] = ("added", "removed", "changed", "same")
    words = ", ".join(f"{len(found.kernels_of(state)):,} {state}" for state in states)
    for kind in sorted({row.kind for row in found.kernels if not row.is_kernel}):
        rows = [row for row in found.kernels if row.kind == kind]
        counts = [(sum(row.state == state for row in rows), state) for state in states]
        words += f"; of {counted(len(rows), kind)} " + ", ".join(f"{n:,} {state}" for n, state in counts if n)
    return words


def count_words(row: CountRow) -> str:
    """`launches 12 → 14`, or one figure where both sides have it: `steps 205 (others)` where it is not of the same."""
    figures = [size(value) if row.name == "bytes" else count(round(value)) for value in (row.a, row.b)]
    if row.differs and row.a != row.b:
        return f"{row.name} {figures[0]} → {figures[1]}"
    return f"{row.name} {figures[0]}{' (others)' if row.differs else ''}"


def portion_words(found: Comparison) -> str:
    """What the change of all kernels' time is made of."""
    whole = f"{duration(found.a.kernel_ns)} → {duration(found.b.kernel_ns)}"
    parts = [f"{part.name} {'+' if part.ns >= 0 else '-'}{duration(abs(part.ns))}" for part in found.portions]
    return f"{whole}: {', '.join(parts)}"


def side_words(side: SideFacts) -> str:
    """A side in one line."""
    frameworks = ", ".join(f"{name} {version}".strip() for name, version in side.frameworks.items())
    what = f"  {frameworks or side.source}"
    return f"{', '.join(side.names)}{what}{'  (baseline)' if side.baseline else ''}"
