"""The compiled loop over a thread trace. Import it only where it runs: it brings numba in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit  # noqa: TID253

NO_OFFSET = np.int64(-(2**62))
"""State: no absolute time was seen yet."""
POSITION, TIME, OFFSET, ARCH = 0, 1, 2, 3
"""Places in the state: nibble, time, offset of absolute times, kind of stream."""


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _window(words: Any, nibble: int) -> Any:
    """The 64 bits that begin at a nibble."""
    word, shift = nibble >> 4, np.uint64((nibble & 15) << 2)
    if shift == np.uint64(0):
        return words[word]
    return (words[word] >> shift) | (words[word + 1] << (np.uint64(64) - shift))


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _bits(value: Any, low: int, width: int) -> Any:
    return np.int64((value >> np.uint64(low)) & ((np.uint64(1) << np.uint64(width)) - np.uint64(1)))


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def scan(
    words: Any, size: int, first: Any, fields: Any, marks: Any, keep: Any, state: Any, out_kind: Any, out_time: Any,
    out_wave: Any, out_simd: Any, out_cu: Any, out_op: Any, out_raw: Any, counts: Any,
) -> int:  # fmt: skip
    """Decodes until the data or the room for results ends; gives the number of results.

    `words` are the stream's `size` bytes as 64-bit numbers, with a word of zeros behind them.
    `keep[arch, kind]` says which packets are wanted; all are counted.
    """
    room = out_kind.shape[0]
    n = 0
    position, time, offset, arch = state[POSITION], state[TIME], state[OFFSET], state[ARCH]
    limit = size * 2 - 16
    while position <= limit and n < room:
        window = _window(words, position)
        kind = first[arch, np.int64(window & np.uint64(0xFF))]
        origin = arch
        if (window & np.uint64(0x7F)) == np.uint64(0x11):
            # a header says the layout; any other than 3 and 4 is a stream of CDNA
            layout = _bits(window, 7, 6)
            if layout == 4:
                arch = 1
            elif layout != 3:
                arch = 2
                origin = 2
                kind = first[2, np.int64(window & np.uint64(0xFF))]
        nibbles, clock = fields[origin, kind, 0], fields[origin, kind, 1]
        width = fields[origin, kind, 3]
        delta = _bits(window, fields[origin, kind, 2], width) if width else 0
        mark = False
        if clock == 1:
            mark = _bits(window, marks[origin, 0], 1) == 1 and _bits(window, marks[origin, 1], 1) == 0
            if mark:
                delta = 0
        elif clock == 2:
            delta += 4
        elif clock == 3:
            delta *= 4
        elif clock == 4 and _bits(window, 4, 12) == 0:
            absolute = _bits(window, 16, 48)
            if offset == NO_OFFSET:
                offset = absolute - time
            else:
                time = ((absolute - offset) & ~np.int64(3)) - 4
        time += delta
        counts[origin, kind] += 1
        if keep[origin, kind] or mark:
            out_kind[n] = origin << 5 | kind
            out_time[n] = time
            width = fields[origin, kind, 5]
            out_wave[n] = _bits(window, fields[origin, kind, 4], width) if width else -1
            width = fields[origin, kind, 7]
            out_simd[n] = _bits(window, fields[origin, kind, 6], width) if width else -1
            width = fields[origin, kind, 9]
            cu = np.int64(-1)
            if width:
                cu = _bits(window, fields[origin, kind, 8], width)
                if fields[origin, kind, 10] >= 0:
                    cu |= _bits(window, fields[origin, kind, 10], 1) << width
            out_cu[n] = cu
            width = fields[origin, kind, 12]
            out_op[n] = _bits(window, fields[origin, kind, 11], width) if width else -1
            out_raw[n] = window if nibbles >= 16 else window & ((np.uint64(1) << np.uint64(4 * nibbles)) - np.uint64(1))
            n += 1
        position += nibbles
    state[POSITION], state[TIME], state[OFFSET], state[ARCH] = position, time, offset, arch
    return n
