"""Hunts faults of one kind: Hypothesis draws mutants and makes the failing ones small; each is run by `trial`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fuzz.edits import Draw
from fuzz.kinds import Kind
from fuzz.mutant import Mutant
from fuzz.trial import Verdict
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky

from fuzz import trial

SHRINK_S: Final = 30
"""Seconds in which a failing mutant is made smaller."""


@dataclass
class Found:
    """A mutant that failed, as small as it was made."""

    kind: str
    mutant: Mutant
    verdict: Verdict


@dataclass
class Tally:
    """What became of the mutants of a kind."""

    mutants: int = 0
    refused: int = 0
    faults: int = 0
    slowest: float = 0.0
    found: list[Found] = field(default_factory=list)


class _Fault(Exception):
    """A mutant failed in a way that is not known yet."""


def hunt(
    kind: Kind, seeds: Path, number: int, most: int, end: float, known: set[str],
    run: Callable[[Mutant], Verdict] = trial.run,
) -> Tally:  # fmt: skip
    """Tries up to `most` mutants of a kind, none after `end` (monotonic); `known` learns how they failed."""
    tally = Tally()
    failed: dict[str, Found] = {}
    shrink_until = 0.0

    def fails(mutant: Mutant) -> bool:
        nonlocal shrink_until
        digest = mutant.digest()
        if digest in failed:  # asked for again: how it went is known, and shall not change
            return True
        now = time.monotonic()
        if now > (shrink_until or end):
            return False
        verdict = run(mutant)
        tally.mutants += 1
        tally.refused += verdict.refused
        tally.slowest = max(tally.slowest, verdict.seconds)
        if not verdict.fault:
            return False
        tally.faults += 1
        where = f"{kind.name} {verdict.where}"
        if where in known or any(where != other.verdict.where for other in failed.values()):
            return False
        shrink_until = shrink_until or now + SHRINK_S
        failed[digest] = Found(kind.name, mutant, Verdict(verdict.fault, where))
        return True

    @st.composite
    def mutants(draw: Draw) -> Mutant:
        return kind.make(draw, seeds)

    @seed(number)
    @settings(
        max_examples=most,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
    )
    @given(mutants())
    def once(mutant: Mutant) -> None:
        if fails(mutant):
            raise _Fault

    with contextlib.suppress(_Fault, Flaky):
        once()
    if failed:
        smallest = min(failed.values(), key=lambda found: len(found.mutant.packed("")))
        known.add(smallest.verdict.where)
        tally.found.append(smallest)
    return tally
