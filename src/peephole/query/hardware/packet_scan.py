"""The compiled loop over a thread trace. Import it only where it runs: it brings numba in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit  # noqa: TID253

POSITION, TIME, OFFSET, ARCH, STOP, DAMAGE, DAMAGE_TIME, COUNTS = 0, 1, 2, 3, 4, 5, 6, 7
"""Places in the state: nibble, time, offset of absolute times, kind of stream, whether damage ends it, nibble and time
of the first damage (-1: none); from the last on, packets by code."""
NO_OFFSET = -(2**62)
"""State: no absolute time was seen yet."""
ROW_BYTES = 22
"""Bytes that one packet takes in the results."""


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def scan(words: Any, size: int, lead: Any, fields: Any, state: Any, out: Any, room: int) -> Any:
    """Decodes until the data or the room for results ends; gives the number of results.

    `words` are the stream's `size` bytes as 64-bit numbers, with a word of zeros behind them. `lead` and `fields` are
    those of packets.Tables. `out` has ROW_BYTES for each of `room` packets: the columns time, raw (64 bits), op (16),
    kind, wave, simd, cu (8), one after the other. There is one array of results and few branches because a stream may
    be as short as 300 packets and a branch on a packet's type is guessed wrong as often as not.
    """
    out_time = out[: 8 * room].view(np.int64)
    out_raw = out[8 * room : 16 * room].view(np.uint64)
    out_op = out[16 * room : 18 * room].view(np.int16)
    out_kind = out[18 * room : 19 * room]
    out_wave = out[19 * room : 20 * room].view(np.int8)
    out_simd = out[20 * room : 21 * room].view(np.int8)
    out_cu = out[21 * room : 22 * room].view(np.int8)
    # unsigned places: a signed one costs a test for negative numbers at every access
    zero, one, all_but_one = np.uint64(0), np.uint64(1), np.uint64(63)
    n, room_, limit = zero, np.uint64(room), np.uint64(max(size * 2 - 16, 0))
    position, time, offset = np.uint64(state[POSITION]), state[TIME], state[OFFSET]
    arch = np.uint64(state[ARCH])
    if size < 8:
        return 0
    while position <= limit and n < room_:
        shift = (position & np.uint64(15)) << np.uint64(2)
        at = position >> np.uint64(4)
        # a shift by 64 is undefined, so the second word goes in two steps
        window = (words[at] >> shift) | ((words[at + one] << one) << (all_but_one - shift))
        first = np.uint64(lead[(arch << np.uint64(8)) | (window & np.uint64(0xFF))])
        begin = position
        position += first & np.uint64(31)
        code = first >> np.uint64(5)
        f = code << np.uint64(5)
        delta = ((window >> fields[f]) & fields[f + one]) * fields[f + np.uint64(2)] + fields[f + np.uint64(3)]
        keep = fields[f + np.uint64(4)]
        special = fields[f + np.uint64(5)]
        if special != zero:
            if special == one:
                # a sample of the real-time clock moves no time; it and a mark of lost packets are always wanted
                real, lost = (window >> fields[f + np.uint64(20)]) & one, (window >> np.uint64(8)) & one
                delta *= one - (real & (lost ^ one))
                keep |= real ^ lost
            elif special == np.uint64(2):
                if (window >> np.uint64(4)) & np.uint64(0xFFF) == zero:
                    absolute = np.int64(window >> np.uint64(16))
                    if offset == NO_OFFSET:
                        offset = absolute - time
                    else:
                        time = ((absolute - offset) & ~np.int64(3)) - 4
            elif special != np.uint64(3):
                wrong = special == np.uint64(4)
                if wrong:
                    code = fields[f + np.uint64(23)]
                else:
                    wrong = ((window >> fields[f + np.uint64(7)]) & fields[f + np.uint64(8)]) > np.uint64(9)
                if wrong and state[DAMAGE] < 0:
                    state[DAMAGE], state[DAMAGE_TIME] = np.int64(begin), time
                    if state[STOP] != 0:
                        position = limit + one
                        break
            else:
                # a header says the layout; any other than 3 and 4 is a stream of CDNA
                layout = (window >> np.uint64(7)) & np.uint64(63)
                if layout == np.uint64(4):
                    arch = one
                elif layout != np.uint64(3):
                    arch = np.uint64(2)
                    code = np.uint64(lead[(arch << np.uint64(8)) | (window & np.uint64(0xFF))]) >> np.uint64(5)
        time += np.int64(delta)
        state[np.uint64(COUNTS) + code] += 1
        out_time[n] = time
        out_raw[n] = window & fields[f + np.uint64(6)]
        out_kind[n] = code
        out_wave[n] = ((window >> fields[f + np.uint64(7)]) & fields[f + np.uint64(8)]) | fields[f + np.uint64(9)]
        out_simd[n] = ((window >> fields[f + np.uint64(10)]) & fields[f + np.uint64(11)]) | fields[f + np.uint64(12)]
        half = ((window >> fields[f + np.uint64(16)]) & fields[f + np.uint64(17)]) << fields[f + np.uint64(18)]
        cu = ((window >> fields[f + np.uint64(13)]) & fields[f + np.uint64(14)]) | fields[f + np.uint64(15)]
        out_cu[n] = cu | half
        out_op[n] = ((window >> fields[f + np.uint64(19)]) & fields[f + np.uint64(21)]) | fields[f + np.uint64(22)]
        n += keep
    state[POSITION], state[TIME], state[OFFSET], state[ARCH] = np.int64(position), time, offset, np.int64(arch)
    return np.int64(n)
