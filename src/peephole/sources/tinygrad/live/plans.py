"""Makes plans (model/journal.py) of kernels: what is known about one whichever time it runs. Standard library only."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

from peephole.model.tables import NONE
from peephole.record.rows import json_text, text_bytes
from peephole.sources.tinygrad.own_ranges import Known

if TYPE_CHECKING:
    from peephole.sources.tinygrad.timeline import Timeline

_LONGEST_WAIT: Final = 5_000_000_000
"""A kernel whose context has not come by then was compiled before the recording began."""


class Planner:
    """Numbers plans."""

    def __init__(self, timeline: Timeline, *, linked: bool) -> None:
        self._timeline = timeline
        self._linked = linked
        self._next = itertools.count()
        self.unallocated = timeline.unallocated

    def plan(self, known: Known, uses: Sequence[tuple[int, str, int]], since: int) -> tuple[int, bytes] | None:
        """The number of a new plan, and its payload; None while nobody knows the kernel's context.

        ValueError when there cannot be one.
        """
        title, context, amounts = self._timeline.repeated(known)
        if amounts is None:
            raise ValueError("its amounts cannot be said")
        if context == NONE and self._linked and perf_counter_ns() - since < _LONGEST_WAIT:
            return None
        number = next(self._next)
        plan: dict[str, Any] = {
            "plan": number,
            "track": self._timeline.track(known[0]),
            "name": title,
            "context": context,
            "amounts": amounts,
            "uses": uses,
        }
        return number, text_bytes(json_text(plan))
