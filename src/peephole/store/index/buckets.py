"""Buckets of time: what a lane looks like from afar, exactly.

Time is cut into buckets of 2**level ns. An entry stands for one bucket, or for a run of buckets that one slice fills:

    slices    |=A=|  |B||=====C=================|   |D|
    buckets   |    :    |    :    :    :    :    :    |
    entries   [A:2 ][ C ][C fills 3 of them ][C ][ D ]       idle buckets have none

`busy` is how many ns of the bucket are taken, `count` how many slices begin in it, `row` the longest slice that
touches it. All three can be added up, so buckets of a coarser level come out of a finer one.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.store.tables.compiled_loops import compiled, fold_count, fold_into, has_numba, numba_loaded

Ints = NDArray[np.int64]
_COMPILE_FROM: Final = 400_000


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries of one lane and level, in order of time. `low` and `high` (exclusive) are numbers of buckets."""

    low: Ints
    high: Ints
    busy: Ints
    count: Ints
    row: Ints
    dur: Ints
    """Duration of the slice `row`, by which the longest is found."""
    name: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.low)

    def part(self, first: int, last: int) -> Entries:
        """Some of them."""
        s = slice(first, last)
        return Entries(self.low[s], self.high[s], self.busy[s], self.count[s], self.row[s], self.dur[s], self.name[s])


def join(parts: list[Entries]) -> Entries:
    """Entries that follow each other; those of one bucket on both sides of a seam become one."""
    parts = [part for part in parts if len(part)]
    if len(parts) == 1:
        return parts[0]
    whole = Entries(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Entries)))
    if np.all(whole.low[1:] > whole.low[:-1]):
        return whole
    return _grouped(whole.low, whole.high, whole.busy, whole.count, whole.dur, whole, None)


def of_slices(start: Ints, dur: Ints, name: NDArray[np.int32], first_row: int, level: int) -> Entries:
    """Entries of slices that don't overlap, sorted by start; their rows are first_row, first_row + 1, …"""
    rows = np.arange(first_row, first_row + len(start))
    return fold(Entries(start, start + dur, dur, np.ones(len(start), np.int64), rows, dur, name), level, 1)


def fold(items: Entries, shift: int, unit: int) -> Entries:
    """Entries of buckets that are 2**shift as wide as those of the items, which are `unit` ns wide."""
    if len(items) == 0:
        return items
    if (len(items) >= _COMPILE_FROM and has_numba()) or (numba_loaded() and len(items) > 256):
        return _compiled_fold(items, shift, unit)
    return _numpy_fold(items, shift, unit)


def _compiled_fold(items: Entries, shift: int, unit: int) -> Entries:
    columns = [np.ascontiguousarray(getattr(items, f.name)) for f in fields(Entries)]
    made = int(compiled(fold_count)(columns[0], columns[1], shift))
    out = [np.empty(made, column.dtype) for column in columns]
    compiled(fold_into)(*columns, shift, unit, *out)
    return Entries(*out)


def _numpy_fold(items: Entries, shift: int, unit: int) -> Entries:
    low, high = items.low, items.high
    a = low >> shift
    b = np.maximum((high - 1) >> shift, a)
    wide = np.flatnonzero(b > a)
    if len(wide) == 0:
        bucket, filled, busy, count, item = a, None, items.busy, items.count, None
    else:
        # each item gives one to three entries: where it begins, what it fills, where it ends
        pieces = 1 + (b > a) + (b > a + 1)
        at = np.cumsum(pieces) - pieces
        total = int(at[-1] + pieces[-1])
        item = np.repeat(np.arange(len(low)), pieces)
        bucket, filled = a[item], np.ones(total, np.int64)
        busy, count = np.zeros(total, np.int64), np.zeros(total, np.int64)
        count[at] = items.count
        busy[at] = np.where(b > a, (((a + 1) << shift) - low) * unit, items.busy)
        last = at[wide] + pieces[wide] - 1
        bucket[last] = b[wide]
        busy[last] = (high[wide] - (b[wide] << shift)) * unit
        long = wide[b[wide] > a[wide] + 1]
        middle = at[long] + 1
        bucket[middle] = a[long] + 1
        filled[middle] = b[long] - a[long] - 1
        busy[middle] = (filled[middle] << shift) * unit
    ends = bucket + 1 if filled is None else bucket + filled
    dur = items.dur if item is None else items.dur[item]
    return _grouped(bucket, ends, busy, count, dur, items, item)


def _grouped(
    bucket: Ints, ends: Ints, busy: Ints, count: Ints, dur: Ints, items: Entries, item: Ints | None
) -> Entries:
    """One entry for each run of equal buckets."""
    change = np.empty(len(bucket), np.bool_)
    change[0] = True
    np.not_equal(bucket[1:], bucket[:-1], out=change[1:])
    first = np.flatnonzero(change)
    longest = np.maximum.reduceat(dur, first)
    group = np.cumsum(change) - 1
    places = np.flatnonzero(dur == longest[group])
    own = group[places]
    new = np.empty(len(own), np.bool_)
    new[0] = True
    np.not_equal(own[1:], own[:-1], out=new[1:])
    best = places[new] if item is None else item[places[new]]
    sums = np.add.reduceat(busy, first), np.add.reduceat(count, first)
    return Entries(bucket[first], ends[first], *sums, items.row[best], longest, items.name[best])


def choose_level(start: Ints, dur: Ints, entries_wanted: float) -> int:
    """The finest level at which these slices make about that many entries, or fewer."""
    edges = np.empty(2 * len(start), np.int64)
    edges[0::2] = start
    edges[1::2] = start + dur
    gaps = np.maximum(np.diff(edges), 0)
    gaps = gaps[gaps > 0]
    if len(gaps) == 0:
        return 0
    power = np.frexp(gaps.astype(np.float64))[1] - 1
    counts = np.bincount(power, minlength=64).astype(np.float64)
    sums = np.bincount(power, gaps.astype(np.float64), minlength=64)
    for level in range(62):
        # a gap of more than a bucket starts an entry, shorter ones do in proportion to their length
        if counts[level:].sum() + sums[:level].sum() / 2.0**level <= entries_wanted:
            return level
    return 62
