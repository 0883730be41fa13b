"""Which release of tinygrad wrote a pickle: it does not say so itself, but its classes and their fields do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from peephole.sources.tinygrad.enums import REFERENCE
from peephole.sources.tinygrad.text import fields_of


def of_rewrites(rewrites: list[list[Any]], classes: Iterable[str]) -> str:
    """The release whose rewrites these are, or the nearest one before it that is known."""
    names = {name.rpartition(".")[2] for name in classes}
    first = next((step for steps in rewrites for step in steps), None)
    if first is None or "walk" in fields_of(first):
        return REFERENCE
    if names & {"ShapeTracker", "BasicBlock"} or "tinygrad.schedule.kernelize.Kernel" in classes:
        return "0.11.0"
    return "0.13.0" if names & {"CallInfo", "ProgramInfo", "Target"} else "0.12.0"


def of_profile(events: list[Any], classes: Iterable[str]) -> str:
    """The release whose profile this is, or the nearest one before it that is known."""
    names = {name.rpartition(".")[2] for name in classes}
    if names & {"ShapeTracker", "BasicBlock"}:
        return "0.11.0"
    for event in events:
        fields = fields_of(event)
        if type(event).__name__ == "ProfileRangeEvent":
            if "is_copy" in fields:
                return "0.12.0"
            return REFERENCE if "profile_key" in fields and "PtrDType" not in names else "0.13.0"
    return REFERENCE
