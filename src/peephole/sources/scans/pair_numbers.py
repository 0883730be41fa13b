"""Pairs of numbers by number in compiled loops: a hash table in plain arrays.

Import this module only where its loops run: it brings numba in, and the first call compiles (numba keeps the result).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit  # noqa: TID253


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _hash_of(first: int, second: int) -> Any:
    h = np.uint64(first) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(second) * np.uint64(0xC2B2AE3D27D4EB4F)
    h = (h ^ (h >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return h ^ (h >> np.uint64(32))


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def find(first: int, second: int, slots: Any, keys: Any) -> int:
    """The entry of a pair, or -1."""
    mask = np.uint64(slots.shape[0] - 1)
    probe = _hash_of(first, second) & mask
    while True:
        entry = slots[probe]
        if entry < 0 or (keys[entry, 0] == first and keys[entry, 1] == second):
            return entry  # type: ignore[no-any-return]
        probe = (probe + np.uint64(1)) & mask


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def entry_of(first: int, second: int, slots: Any, keys: Any, count: int) -> int:
    """The entry of a pair in a table of `count`; `count` itself when it is new and was added."""
    mask = np.uint64(slots.shape[0] - 1)
    probe = _hash_of(first, second) & mask
    while True:
        entry = slots[probe]
        if entry < 0:
            keys[count, 0], keys[count, 1] = first, second
            slots[probe] = count
            return count
        if keys[entry, 0] == first and keys[entry, 1] == second:
            return entry  # type: ignore[no-any-return]
        probe = (probe + np.uint64(1)) & mask


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def rehash(slots: Any, keys: Any, count: int) -> None:
    """Fills an empty table with the pairs that there are."""
    mask = np.uint64(slots.shape[0] - 1)
    for entry in range(count):
        probe = _hash_of(keys[entry, 0], keys[entry, 1]) & mask
        while slots[probe] >= 0:
            probe = (probe + np.uint64(1)) & mask
        slots[probe] = entry
