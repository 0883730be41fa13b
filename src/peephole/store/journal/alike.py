"""Records of one kind and size, taken apart together instead of one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.journal import INLINE, KIND_FREE, KIND_RUN, RUN, SLOT
from peephole.store.journal.layouts import RowLayout
from peephole.store.journal.segments import Split, gather

MANY: Final = 64
_LAST_COUNTS: Final = frozenset(("tracks", "contexts", "steps", "buffers"))
"""Tables of which the last row of an id counts: rows of one segment must not change places."""


def uniform(found: Split, known: Mapping[int, RowLayout]) -> tuple[Sequence[int], list[tuple[int, bytes]]]:
    """Records of one size and kind together where there are many, and the numbers of all others.

    Rows whose tails are all null are of one size too; their fixed columns are handed over.
    """
    alike: list[tuple[int, bytes]] = []
    if len(found.record_kind) < MANY:
        return range(len(found.record_kind)), alike
    kinds, lengths = found.record_kind, found.record_length
    left = np.ones(len(kinds), np.bool_)
    for kind in np.flatnonzero(np.bincount(kinds)).tolist():
        layout = known.get(kind)
        if kind == KIND_FREE:
            size, tails = 16, 0
        elif kind == KIND_RUN:
            size, tails = RUN.size, 0
        elif layout is not None and not layout.one_list:
            size, tails = layout.size, len(layout.tails) * 4
        else:
            continue
        of_kind = kinds == kind
        own = np.flatnonzero(of_kind & (lengths == size + tails))
        if len(own) < MANY:
            continue
        data = gather(found, own, size + tails)
        if tails:
            null = (data[:, size:] == 0xFF).all(axis=1)
            own, data = own[null], data[null, :size]
        ordered = layout is not None and layout.table.name in _LAST_COUNTS
        if len(own) == 0 or (ordered and len(own) < np.count_nonzero(of_kind)):
            continue
        left[own] = False
        alike.append((kind, data.tobytes()))
    return np.flatnonzero(left).tolist(), alike


def with_ids(
    found: Split, others: Sequence[int], known: Mapping[int, RowLayout]
) -> tuple[Sequence[int], list[tuple[RowLayout, bytes, NDArray[np.int64], NDArray[np.int64]]]]:
    """Rows whose only column of no fixed size is a list of ids, where there are many, and the numbers of all others.

    For each table the fixed columns of its rows, where the list of each begins, and the lists.
    """
    listed: list[tuple[RowLayout, bytes, NDArray[np.int64], NDArray[np.int64]]] = []
    if len(others) < MANY:
        return others, listed
    left = np.array(others)
    taken_out = np.zeros(len(found.record_kind), np.bool_)
    kinds, lengths = found.record_kind, found.record_length
    for kind, layout in known.items():
        if not layout.one_list:
            continue
        size = layout.size
        own = left[(kinds[left] == kind) & (lengths[left] >= size + 4)]
        if len(own) < MANY:
            continue
        heads = gather(found, own, size + 4)
        taken = np.ascontiguousarray(heads[:, size:]).view("<u4")[:, 0].astype(np.int64)
        good = (taken == lengths[own] - size - 4) & (taken % 8 == 0)  # no list at all, or damaged: one by one
        own, heads, taken = own[good], heads[good], taken[good]
        counts = taken // 8
        offsets = np.concatenate([[0], np.cumsum(counts)])
        # lists begin at one place of their slots, so that all of them are among the words from some byte on
        begin = SLOT + size + 4 - INLINE
        words = np.frombuffer(found.data, "<i8", (len(found.data) - begin % 8) // 8, begin % 8)
        first = found.record_at[own] * (SLOT // 8) + begin // 8
        ids = words[np.repeat(first - offsets[:-1], counts) + np.arange(offsets[-1])]
        listed.append((layout, heads[:, :size].tobytes(), offsets, ids))
        taken_out[own] = True
    return left[~taken_out[left]].tolist(), listed
