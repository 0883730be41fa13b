"""Rules for CI: which differences make a comparison fail."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from peephole.errors import PeepholeError
from peephole.query.compare.results import Comparison

DEFAULT: Final = "kernels,code,rules,memory,launches,flops,bytes,matches,messages"
_TERM: Final = re.compile(r"([a-z]+)\s*(?:>\s*(\d+(?:\.\d+)?)\s*%?)?")
_SHARES: Final = frozenset(("memory", "time", "compile"))
_NEEDS: Final = {
    "code": "code", "rules": "rewrites", "matches": "rewrites", "compile": "compile",
    "time": "times", "launches": "times", "flops": "times", "bytes": "times", "memory": "memory",
    "messages": "messages",
}  # fmt: skip
_CALLED: Final = {"compile": "times of passes"}
_USUAL: Final = {"compile": 20.0}
"""Per cent where none is said: compile times differ from run to run."""


@dataclass(frozen=True, slots=True)
class Term:
    """One condition: what may not differ, or not by more than so many per cent."""

    what: str
    above: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A condition that does not hold, and why."""

    term: str
    why: str


@dataclass(frozen=True, slots=True)
class Gate:
    """What came of all conditions."""

    failures: tuple[Failure, ...]
    unknown: tuple[Failure, ...]
    """Conditions that cannot be judged, since one side lacks what they are about."""

    @property
    def exit_code(self) -> int:
        """0 when all conditions hold, 1 when one does not, 2 when none fails but one cannot be judged."""
        return 1 if self.failures else 2 if self.unknown else 0


def terms(text: str) -> list[Term]:
    """The conditions of `kernels,memory>1%`; PeepholeError for what is none."""
    found = []
    for part in text.split(","):
        one = _TERM.fullmatch(part.strip())
        if one is None or one[1] not in {*DEFAULT.split(","), *_SHARES}:
            known = ", ".join(sorted({*DEFAULT.split(","), *_SHARES}))
            raise PeepholeError(f"--fail-on does not know {part.strip()!r}; it takes {known}, some with >N%.")
        if one[2] is not None and one[1] not in _SHARES:
            raise PeepholeError(f"--fail-on: {one[1]} is exact and takes no per cent; memory, time and compile do.")
        found.append(Term(one[1], float(one[2]) if one[2] else _USUAL.get(one[1]), part.strip()))
    return found


def judged(found: Comparison, conditions: list[Term]) -> Gate:
    """Which of these conditions do not hold."""
    failures, unknown = [], []
    for term in conditions:
        needed = _NEEDS.get(term.what, "")
        if needed in found.missing:
            unknown.append(Failure(term.text, f"only one side has {_CALLED.get(needed, needed)}"))
        elif why := _why(found, term):
            failures.append(Failure(term.text, why))
    return Gate(tuple(failures), tuple(unknown))


def _why(found: Comparison, term: Term) -> str:
    """Why a condition does not hold; empty when it does."""
    if term.what == "kernels":
        counts = [(len(found.kernels_of(state)), state) for state in ("added", "removed")]
        return ", ".join(f"{n} {state}" for n, state in counts if n)
    if term.what == "code":
        changed = sum(row.state == "changed" for row in found.kernels)
        return f"{changed} changed" if changed else ""
    if term.what == "rules":
        count = sum(row.a != row.b for row in found.rules)
        return f"{count} fired more or less often" if count else ""
    if term.what == "memory":
        return "; ".join(
            f"{row.device or 'device'} {row.peak_a:,} to {row.peak_b:,} bytes"
            for row in found.memory
            if (row.peak_a != row.peak_b if term.above is None else _grew(row.peak_a, row.peak_b, term.above))
        )
    if term.what == "time":
        limit = (term.above or 0.0) / 100
        slower = [row for row in (*found.totals, *found.times) if row.verdict == "slower" and row.change > limit]
        return "; ".join(f"{row.name} {row.change:+.1%}" for row in slower[:5])
    if term.what == "compile":
        a, b = found.a.compile_ns, found.b.compile_ns
        return f"{b / a - 1:+.1%}" if a and _grew(a, b, term.above or 0.0) else ""
    if term.what == "messages":
        count = sum(row.differs for row in found.messages)
        return f"{count} kinds more or less often" if count else ""
    names = ("steps", "matches") if term.what == "matches" else (term.what,)
    rows = [row for row in found.counts if row.name in names and row.differs]
    why = "; ".join(f"{row.name} {row.a:,.0f} to {row.b:,.0f}" for row in rows)
    if term.what == "matches" and found.divergence and not why:
        count = len(found.divergence)
        why = f"{count} context{'s' if count != 1 else ''} rewritten otherwise"
    return why


def _grew(a: float, b: float, percent: float) -> bool:
    return b > a * (1 + percent / 100)
