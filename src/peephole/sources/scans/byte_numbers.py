"""Bytes by number in compiled loops: a hash table in plain arrays, no Python object per value.

Import this module only where its loops run: it brings numba in, and the first call compiles (numba keeps the result).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit  # noqa: TID253


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _hash_of(buf: Any, at: int, stop: int) -> Any:
    h = np.uint64(14695981039346656037)
    for k in range(at, stop):
        h = (h ^ np.uint64(buf[np.uintp(k)])) * np.uint64(1099511628211)
    return h ^ (h >> np.uint64(32))


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def same_bytes(buf: Any, at: int, size: int, arena: Any, places: Any, entry: int) -> bool:
    """Whether those bytes are what the table holds under that number."""
    begin = places[entry, 0]
    if places[entry, 1] - begin != size:
        return False
    for k in range(size):  # noqa: SIM110 - compiled
        if arena[np.uintp(begin + k)] != buf[np.uintp(at + k)]:
            return False
    return True


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def number_of(buf: Any, at: int, stop: int, slots: Any, arena: Any, places: Any, count: int) -> Any:
    """The number of those bytes in a table of `count` values; `count` itself when they are new and were added."""
    mask = np.uint64(slots.shape[0] - 1)
    size = stop - at
    probe = _hash_of(buf, at, stop) & mask
    while True:
        entry = slots[probe]
        if entry < 0:
            used = places[count - 1, 1] if count else 0
            for k in range(size):
                arena[used + k] = buf[np.uintp(at + k)]
            places[count, 0] = used
            places[count, 1] = used + size
            slots[probe] = count
            return count
        if same_bytes(buf, at, size, arena, places, entry):
            return entry
        probe = (probe + np.uint64(1)) & mask


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def rehash(slots: Any, arena: Any, places: Any, count: int) -> None:
    """Fills an empty table with the values that the arena holds."""
    mask = np.uint64(slots.shape[0] - 1)
    for entry in range(count):
        probe = _hash_of(arena, places[entry, 0], places[entry, 1]) & mask
        while slots[probe] >= 0:
            probe = (probe + np.uint64(1)) & mask
        slots[probe] = entry
