"""Two clocks at one moment. Standard library only."""

from __future__ import annotations

from time import perf_counter_ns, time_ns
from typing import Final

_TRIES: Final = 8
_CLOSE: Final = 2_000
"""ns between two looks at one clock with a look at the other in between; more when the process was put aside."""


def same_moment() -> tuple[int, int]:
    """`perf_counter_ns` and `time_ns` of one moment: of some tries the one in which nothing came between."""
    least, best = -1, (0, 0)
    for _ in range(_TRIES):
        before, wall, after = perf_counter_ns(), time_ns(), perf_counter_ns()
        if least < 0 or after - before < least:
            least, best = after - before, ((before + after) // 2, wall)
        if least <= _CLOSE:
            break
    return best
