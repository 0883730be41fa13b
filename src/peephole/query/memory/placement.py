"""Where each buffer stands in the picture: the lowest offset that is free for its whole life, never shared in time."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.tables import NONE
from peephole.store.tables.compiled_loops import compiled

Ints = NDArray[np.int64]
_ENDLESS: Final = 1 << 62
_COMPILED: Final = 4000
"""Buffers from which loading numba takes less time than it saves."""
_FEW: Final = 3000
"""Buffers up to which those that live long are placed first; each is compared with all that stand already."""
_ROOM: Final = 256
"""Holes of a page: the holes are kept in pages, each with its largest, so that neither search nor insertion is long."""


def place(alloc: Ints, free: Ints, size: Ints) -> Ints:
    """The offset of each buffer; `free` is -1 for one that was never freed."""
    n = len(alloc)
    if not n:
        return np.zeros(0, np.int64)
    if n <= _FEW:
        return longest_first(alloc, np.where(free == NONE, _ENDLESS, np.maximum(free, alloc)), size)
    freed = np.flatnonzero(free != NONE)
    who = np.concatenate([np.arange(n), -1 - freed])
    # as in `memory`: at one moment what was there goes before anything new comes, and nothing goes before it came
    late = np.concatenate([np.ones(n, np.int64), np.where(alloc[freed] >= free[freed], 2, 0)])
    time = np.concatenate([alloc, np.maximum(free[freed], alloc[freed])])
    who = who[np.lexsort((late, time))]
    bounded = np.clip(size, 0, _ENDLESS // (2 * n))
    walk = compiled(first_fit) if n >= _COMPILED else first_fit
    offset = np.zeros(n, np.int64)
    pages = 2 * n // _ROOM + 4
    shape = (pages, _ROOM)
    walk(who, bounded, offset, np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros((4, pages), np.int64))
    return offset


def longest_first(alloc: Ints, end: Ints, size: Ints) -> Ints:
    """Each buffer at the lowest offset that is free for its life, the long-lived before the short-lived.

    What lives long then lies at the bottom and what comes and goes above it: hardly higher than the total ever is.
    """
    bounded = np.clip(size, 0, _ENDLESS // (2 * len(size)))
    offset = np.zeros(len(size), np.int64)
    order = np.lexsort((np.arange(len(size)), -bounded, -(end - alloc)))
    order = order[bounded[order] > 0]
    for at, b in enumerate(order.tolist()):
        others = order[:at]
        others = others[(alloc[others] < end[b]) & (end[others] > alloc[b])]
        if not len(others):
            continue
        others = others[np.argsort(offset[others], kind="stable")]
        below = offset[others]
        tops = np.maximum.accumulate(below + bounded[others])
        # the first hole that is large enough: below the lowest, between two, or above all
        floors = np.concatenate([[0], tops])
        room = np.concatenate([below, [_ENDLESS]]) - floors
        offset[b] = floors[int(np.argmax(room >= bounded[b]))]
    return offset


def first_fit(who: Any, size: Any, offset: Any, at: Any, room: Any, table: Any) -> None:
    """Walks allocs (who >= 0) and frees (-1 - who). Holes lie in `at` and `room`, by page, in the order of offsets.

    `table` has a row for the order of the pages, the holes of each, the largest hole of each, and pages to reuse.
    """
    order, count, largest, spare = table[0], table[1], table[2], table[3]
    full = at.shape[1]
    at[0, 0], room[0, 0] = 0, 1 << 62
    count[0], largest[0] = 1, 1 << 62
    pages, made, spares = 1, 1, 0
    for event in who:
        b = event if event >= 0 else -1 - event
        s = size[b]
        if s == 0:
            continue
        touched, emptied = -1, -1
        if event >= 0:
            k = 0
            while largest[order[k]] < s:
                k += 1
            p = order[k]
            i = 0
            while room[p, i] < s:
                i += 1
            offset[b] = at[p, i]
            at[p, i] += s
            room[p, i] -= s
            touched = k
            if room[p, i] == 0:
                for j in range(i, count[p] - 1):
                    at[p, j], room[p, j] = at[p, j + 1], room[p, j + 1]
                count[p] -= 1
        else:
            o = offset[b]
            # the page whose first hole is the last one before the buffer, then the hole in it
            low, high = 0, pages
            while high - low > 1:
                middle = (low + high) // 2
                if at[order[middle], 0] <= o:
                    low = middle
                else:
                    high = middle
            k = low
            p = order[k]
            i = 0
            while i < count[p] and at[p, i] <= o:
                i += 1
            # hole i - 1 is below, hole i (or the first of the next page) above: the endless one is always above
            below = i > 0 and at[p, i - 1] + room[p, i - 1] == o
            k2, i2 = (k, i) if i < count[p] else (k + 1, 0)
            q = order[k2]
            above = at[q, i2] == o + s
            touched = k
            if below:
                room[p, i - 1] += s
                if above:
                    room[p, i - 1] += room[q, i2]
                    for j in range(i2, count[q] - 1):
                        at[q, j], room[q, j] = at[q, j + 1], room[q, j + 1]
                    count[q] -= 1
                    if q != p:
                        emptied = k2
            elif above:
                at[q, i2] = o
                room[q, i2] += s
                touched = k2
            else:
                if count[p] == full:
                    # the page is full: its upper half becomes a page of its own
                    if spares:
                        spares -= 1
                        q = spare[spares]
                    else:
                        q = made
                        made += 1
                    half = full // 2
                    for j in range(half, full):
                        at[q, j - half], room[q, j - half] = at[p, j], room[p, j]
                    count[q], count[p] = full - half, half
                    for j in range(pages, k + 1, -1):
                        order[j] = order[j - 1]
                    order[k + 1] = q
                    pages += 1
                    emptied = k + 1
                    if i > half:
                        i -= half
                        p, touched, emptied = q, k + 1, k
                for j in range(count[p], i, -1):
                    at[p, j], room[p, j] = at[p, j - 1], room[p, j - 1]
                at[p, i], room[p, i] = o, s
                count[p] += 1
        # the later page first: leaving one out moves those behind it
        for k in (max(touched, emptied), min(touched, emptied)):
            if k < 0:
                continue
            p = order[k]
            if count[p] == 0:
                for j in range(k, pages - 1):
                    order[j] = order[j + 1]
                pages -= 1
                spare[spares] = p
                spares += 1
                continue
            most = 0
            for j in range(count[p]):
                most = max(most, room[p, j])
            largest[p] = most
