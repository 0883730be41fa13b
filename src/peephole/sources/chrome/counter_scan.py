"""What counter events say, where it is a plain object of numbers: a compiled loop.

Import this module only where its loops run: it brings numba in, and the first call compiles (numba keeps the result).
"""

from __future__ import annotations

from typing import Any

from numba import njit  # noqa: TID253

from peephole.sources.chrome.args_bytes import ELSEWHERE, skip_blank, text_end
from peephole.sources.chrome.json_scan import NO_ARGS
from peephole.sources.scans.byte_numbers import number_of

SHORTEST = 5
"""Bytes that a value takes at least: `"":1,`."""
_EXACT = 15
"""Digits of a number that a double holds, so that dividing by a power of ten rounds once, as parsing does."""


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _number(buf: Any, at: int, stop: int) -> Any:
    """The number that stands there and the position behind it, -1 when it is not as plain as digits and a point."""
    negative = buf[at] == 45
    if negative:
        at += 1
    begin = at
    value = 0
    scale = 1.0
    point = -1
    while at < stop and (48 <= buf[at] <= 57 or (buf[at] == 46 and point < 0)):
        if buf[at] == 46:
            point = at
        else:
            value = value * 10 + (buf[at] - 48)
            if point >= 0:
                scale *= 10.0
        at += 1
        if at - begin > _EXACT + 1:
            return 0.0, -1
    whole = (point if point >= 0 else at) - begin
    digits = at - begin - (1 if point >= 0 else 0)
    if whole == 0 or digits > _EXACT or (whole > 1 and buf[begin] == 48) or point == at - 1:
        return 0.0, -1
    if (at < stop and buf[at] in (69, 101)) or (negative and value == 0):
        return 0.0, -1
    return (-value if negative else value) / scale, at


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def values(
    buf: Any, other: Any, rows: Any, args: Any, states: Any, slots: Any, arena: Any, places: Any, count: int,
    o_row: Any, o_key: Any, o_value: Any,
) -> Any:  # fmt: skip
    """Lists every number of those events' args: (how many, -1 when one is not plain; values of the table)."""
    made = 0
    for i in range(rows.shape[0]):
        row = rows[i]
        if states[row] == NO_ARGS:
            return -1, count
        data = other if states[row] == ELSEWHERE else buf
        stop = args[1, row]
        first = made
        at = skip_blank(data, args[0, row] + 1, stop)
        while True:
            if at >= stop or data[at] != 34:
                return -1, count
            end = text_end(data, at, stop)
            if end < 0:
                return -1, count
            key = number_of(data, at, end, slots, arena, places, count)
            if key == count:
                count += 1
            for k in range(first, made):
                if o_key[k] == key:
                    return -1, count
            at = skip_blank(data, end, stop)
            if at >= stop or data[at] != 58:
                return -1, count
            at = skip_blank(data, at + 1, stop)
            value, end = _number(data, at, stop)
            if end < 0:
                return -1, count
            o_row[made], o_key[made], o_value[made] = row, key, value
            made += 1
            at = skip_blank(data, end, stop)
            if at < stop and data[at] == 44:
                at = skip_blank(data, at + 1, stop)
                continue
            if at == stop - 1 and data[at] == 125:
                break
            return -1, count
    return made, count
