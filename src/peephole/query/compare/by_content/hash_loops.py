"""The loops over a capture's nodes that hash them by content: plain Python for few nodes, compiled for many."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.store.tables.compiled_loops import compiled, has_numba

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]

_PRIME: Final = 0x9E3779B97F4A7C15
_MASK: Final = (1 << 64) - 1
_SHIFT: Final = 29
_FEW: Final = 30_000
"""Nodes up to which loading numba takes longer than doing without."""


def forward(words: Any, offsets: Any, sources: Any, out: Any, prime: Any, mask: Any, shift: Any) -> None:
    """Hash of every node: its own word, then those of its sources in order. A source that comes later is a constant."""
    for i in range(len(words)):
        h = words[i]
        for k in range(offsets[i], offsets[i + 1]):
            s = sources[k]
            x = out[s] if 0 <= s < i else prime
            h = ((h ^ x) * prime) & mask
            h ^= h >> shift
        out[i] = h


def spread(own: Any, offsets: Any, sources: Any, out: Any) -> None:
    """Marks every node that has, or reaches, one that is marked by itself."""
    for i in range(len(own)):
        found = own[i]
        for k in range(offsets[i], offsets[i + 1]):
            s = sources[k]
            if 0 <= s < i and out[s]:
                found = True
        out[i] = found


def reach(starts: Any, offsets: Any, sources: Any, wanted: Any, seen: Any, stamp: int, stack: Any, found: Any) -> int:
    """Collects the wanted nodes that can be reached through wanted ones; gives their number. `seen` holds the stamp."""
    count = 0
    for j in range(len(starts)):
        first = starts[j]
        if first < 0 or not wanted[first] or seen[first] == stamp:
            continue
        seen[first] = stamp
        stack[0] = first
        top = 1
        while top:
            top -= 1
            row = stack[top]
            found[count] = row
            count += 1
            for k in range(offsets[row], offsets[row + 1]):
                s = sources[k]
                if s >= 0 and wanted[s] and seen[s] != stamp:
                    seen[s] = stamp
                    stack[top] = s
                    top += 1
    return count


def again(
    rows: Any, words: Any, offsets: Any, sources: Any, numbered: Any, base: Any, out: Any, prime: Any, mask: Any,
    shift: Any,
) -> None:  # fmt: skip
    """`forward` over some rows, ascending, with words of their own (`words[i]` is that of `rows[i]`)."""
    for i in range(len(rows)):
        row = rows[i]
        h = words[i]
        for k in range(offsets[row], offsets[row + 1]):
            s = sources[k]
            x = prime
            if 0 <= s < row:
                x = out[s] if numbered[s] else base[s]
            h = ((h ^ x) * prime) & mask
            h ^= h >> shift
        out[row] = h


class Loops:
    """The loops for one graph of so many nodes: over arrays when compiled, over lists when they are few."""

    def __init__(self, offsets: Ints, sources: Ints) -> None:
        size = len(offsets) - 1
        self._fast = size > _FEW and has_numba()
        self._offsets: Any = offsets if self._fast else offsets.tolist()
        self._sources: Any = sources if self._fast else sources.tolist()
        self._size = size
        self._seen: Any = np.full(size, -1, np.int64) if self._fast else [-1] * size
        self._stack: Any = np.zeros(size + 1, np.int64) if self._fast else [0] * (size + 1)
        self._found: Any = np.zeros(size + 1, np.int64) if self._fast else [0] * (size + 1)
        self._stamp = 0

    def _numbers(self) -> tuple[Any, Any, Any]:
        return (np.uint64(_PRIME), np.uint64(_MASK), np.uint64(_SHIFT)) if self._fast else (_PRIME, _MASK, _SHIFT)

    def forward(self, words: Hashes) -> Hashes:
        """The hash of every node."""
        if self._fast:
            out = np.zeros(self._size, np.uint64)
            compiled(forward)(words, self._offsets, self._sources, out, *self._numbers())
            return out
        plain = [0] * self._size
        forward(words.tolist(), self._offsets, self._sources, plain, *self._numbers())
        return np.array(plain, np.uint64)

    def spread(self, own: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which nodes have or reach one of these."""
        if not own.any():
            return own
        if self._fast:
            out = np.zeros(self._size, np.bool_)
            compiled(spread)(own, self._offsets, self._sources, out)
            return out
        plain = [False] * self._size
        spread(own.tolist(), self._offsets, self._sources, plain)
        return np.array(plain, np.bool_)

    def reach(self, starts: Ints, wanted: NDArray[np.bool_]) -> Ints:
        """The wanted nodes that these reach through wanted ones, ascending."""
        self._stamp += 1
        held = (self._offsets, self._sources, wanted if self._fast else wanted.tolist(), self._seen, self._stamp)
        loop = compiled(reach) if self._fast else reach
        count = loop(starts if self._fast else starts.tolist(), *held, self._stack, self._found)
        return np.sort(np.array(self._found[:count], np.int64))

    def again(self, rows: Ints, words: Hashes, numbered: NDArray[np.bool_], base: Hashes, out: Hashes) -> None:
        """The hashes of these rows with other words, into `out`."""
        if self._fast:
            compiled(again)(rows, words, self._offsets, self._sources, numbered, base, out, *self._numbers())
            return
        plain = dict.fromkeys(rows.tolist(), 0)
        again(
            rows.tolist(), words.tolist(), self._offsets, self._sources, numbered.tolist(), base.tolist(), plain,
            *self._numbers(),
        )  # fmt: skip
        out[rows] = np.array(list(plain.values()), np.uint64)
