"""Loops that numba compiles: plain Python here, compiled when a caller asks, the machine code kept on disk."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable
from functools import cache
from typing import Any


def first_fit(start: Any, end: Any) -> Any:
    """For slices sorted by start: the lowest row that is free by then."""
    rows = [0] * len(start)
    busy = [(end[0], 0)]
    free = [0]
    free.pop()
    used = 1
    for i in range(1, len(start)):
        while busy and busy[0][0] <= start[i]:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            row = heapq.heappop(free)
        else:
            row = used
            used += 1
        rows[i] = row
        heapq.heappush(busy, (end[i], row))
    return rows


def fold_count(low: Any, high: Any, shift: int) -> int:
    """How many entries `fold_into` will make."""
    current = low[0] >> shift
    made = 1
    for i in range(len(low)):
        a = low[i] >> shift
        b = (high[i] - 1) >> shift if high[i] > low[i] else a
        if a != current:
            made += 1
            current = a
        if b > a:
            made += 1 if b == a + 1 else 2
            current = b
    return made


def fold_into(
    low: Any, high: Any, busy: Any, count: Any, row: Any, dur: Any, name: Any, shift: int, unit: int,
    o_low: Any, o_high: Any, o_busy: Any, o_count: Any, o_row: Any, o_dur: Any, o_name: Any,
) -> None:  # fmt: skip
    """Puts items into buckets of 2**shift units; see `buckets.fold`."""
    at = -1
    current = (low[0] >> shift) - 1
    for i in range(len(low)):
        a = low[i] >> shift
        b = (high[i] - 1) >> shift if high[i] > low[i] else a
        part = busy[i] if a == b else (((a + 1) << shift) - low[i]) * unit
        if a != current:
            at += 1
            current = a
            o_low[at] = a
            o_high[at] = a + 1
            o_busy[at] = 0
            o_count[at] = 0
            o_row[at] = row[i]
            o_dur[at] = dur[i]
            o_name[at] = name[i]
        elif dur[i] > o_dur[at]:
            o_row[at] = row[i]
            o_dur[at] = dur[i]
            o_name[at] = name[i]
        o_busy[at] += part
        o_count[at] += count[i]
        if b > a + 1:
            at += 1
            o_low[at] = a + 1
            o_high[at] = b
            o_busy[at] = ((b - a - 1) << shift) * unit
            o_count[at] = 0
            o_row[at] = row[i]
            o_dur[at] = dur[i]
            o_name[at] = name[i]
        if b > a:
            at += 1
            current = b
            o_low[at] = b
            o_high[at] = b + 1
            o_busy[at] = (high[i] - (b << shift)) * unit
            o_count[at] = 0
            o_row[at] = row[i]
            o_dur[at] = dur[i]
            o_name[at] = name[i]


def warm() -> None:
    """Loads or compiles what folding needs, so that small windows are quick as well."""
    if not has_numba():
        return
    import numpy as np

    one, name = np.zeros(1, np.int64), np.zeros(1, np.int32)
    compiled(fold_count)(one, one, 1)
    compiled(fold_into)(one, one, one, one, one, one, name, 1, 1, *([np.zeros(1, np.int64)] * 6), name)


def numba_loaded() -> bool:
    """Whether compiled code costs nothing more: numba is there already."""
    return "numba" in sys.modules and compiled.cache_info().currsize > 0


@cache
def has_numba() -> bool:
    """Whether numba can be loaded, which takes a second."""
    try:
        import numba
    except Exception:  # missing, or at odds with this numpy: numpy alone does as well, slower
        return False
    return bool(numba.__version__)


@cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as machine code; as it is where numba is missing."""
    if not has_numba():
        return function
    import numba

    try:
        made = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # nowhere to keep the machine code: it is compiled anew each time
        made = numba.njit(nogil=True)(function)
    return made  # type: ignore[no-any-return]
