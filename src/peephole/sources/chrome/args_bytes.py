"""Args of slices as bytes that go into the table: compiled loops, no Python object per event.

Import this module only where its loops run: it brings numba in, and the first call compiles (numba keeps the result).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit  # noqa: TID253

from peephole.sources.chrome.json_scan import NO_ARGS

ELSEWHERE = 3
"""A state of args beside those of `json_scan`: their text stands in a second buffer."""

_KEYS = 64
"""Keys of an object up to which each is compared with all others."""
_EXACT = 15
"""Digits of a number that come out of a double as they went in."""


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def skip_blank(buf: Any, at: int, stop: int) -> int:
    """Position of what follows the blanks at `at`."""
    while at < stop and buf[at] in (32, 10, 13, 9):
        at += 1
    return at


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _copied(buf: Any, at: int, stop: int, out: Any, pos: int) -> int:
    for k in range(stop - at):
        out[pos + k] = buf[at + k]
    return pos + stop - at


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def text_end(buf: Any, at: int, stop: int) -> int:
    """Position behind a text without escapes and control bytes, -1 for another."""
    at += 1
    while at < stop and buf[at] != 34:
        if buf[at] < 32 or buf[at] == 92:
            return -1
        at += 1
    return at + 1 if at < stop else -1


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _word_end(buf: Any, at: int, stop: int, first: int, others: Any) -> int:
    """Position behind `true`, `false` or `null`, -1 for another word."""
    if at + 1 + len(others) > stop or buf[at] != first:
        return -1
    for k in range(len(others)):
        if buf[at + 1 + k] != others[k]:
            return -1
    return at + 1 + len(others)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _number_end(buf: Any, at: int, stop: int) -> int:
    """Position behind a number that Python would write as it stands, -1 for another."""
    negative = buf[at] == 45
    if negative:
        at += 1
    begin = at
    while at < stop and 48 <= buf[at] <= 57:
        at += 1
    whole = at - begin
    if whole == 0 or whole > 200 or (whole > 1 and buf[begin] == 48):
        return -1
    zero = buf[begin] == 48
    if at >= stop or buf[at] not in (46, 69, 101):
        return -1 if negative and zero else at
    if buf[at] != 46:
        return -1
    point = at
    at += 1
    zeros = 0
    while at < stop and 48 <= buf[at] <= 57:
        if buf[at] == 48 and zeros == at - point - 1:
            zeros += 1
        at += 1
    decimals = at - point - 1
    if decimals == 0 or (at < stop and buf[at] in (69, 101)):
        return -1
    if decimals > 1 and buf[at - 1] == 48:
        return -1
    if zero and zeros > 3:
        return -1  # written with an exponent
    digits = decimals - zeros if zero else whole + decimals
    return at if digits <= _EXACT else -1


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _scalar_end(buf: Any, at: int, stop: int) -> Any:
    if at >= stop:
        return -1
    byte = buf[at]
    if byte == 34:
        return text_end(buf, at, stop)
    if byte == 45 or 48 <= byte <= 57:
        return _number_end(buf, at, stop)
    if byte == 116:
        return _word_end(buf, at, stop, 116, (114, 117, 101))
    if byte == 102:
        return _word_end(buf, at, stop, 102, (97, 108, 115, 101))
    return _word_end(buf, at, stop, 110, (117, 108, 108))


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _compacted(buf: Any, at: int, stop: int, out: Any, pos: int, keys: Any) -> int:
    """Writes an object without the blanks between its parts; gives the position behind it, -1 when the object is not
    as simple as that: escapes, objects in it, numbers that are written otherwise, a key twice."""
    if buf[at] != 123:
        return -1
    out[pos] = 123
    pos += 1
    at = skip_blank(buf, at + 1, stop)
    count = 0
    while True:
        if at >= stop or buf[at] != 34 or count == _KEYS:
            return -1
        end = text_end(buf, at, stop)
        if end < 0:
            return -1
        h = np.uint64(14695981039346656037)
        for k in range(at, end):
            h = (h ^ np.uint64(buf[k])) * np.uint64(1099511628211)
        for k in range(count):
            if keys[k] == h:
                return -1
        keys[count] = h
        count += 1
        pos = _copied(buf, at, end, out, pos)
        at = skip_blank(buf, end, stop)
        if at >= stop or buf[at] != 58:
            return -1
        out[pos] = 58
        pos += 1
        at = skip_blank(buf, at + 1, stop)
        depth = 0
        while True:
            if at < stop and buf[at] == 91:
                depth += 1
                out[pos] = 91
                pos += 1
                at = skip_blank(buf, at + 1, stop)
                if at >= stop or buf[at] != 93:
                    continue
            else:
                end = _scalar_end(buf, at, stop)
                if end < 0:
                    return -1
                pos = _copied(buf, at, end, out, pos)
                at = skip_blank(buf, end, stop)
            while depth > 0 and at < stop and buf[at] == 93:
                depth -= 1
                out[pos] = 93
                pos += 1
                at = skip_blank(buf, at + 1, stop)
            if depth == 0:
                break
            if at >= stop or buf[at] != 44:
                return -1
            out[pos] = 44
            pos += 1
            at = skip_blank(buf, at + 1, stop)
        if at >= stop:
            return -1
        if buf[at] == 125:
            out[pos] = 125
            return pos + 1 if at + 1 == stop else -1
        if buf[at] != 44:
            return -1
        out[pos] = 44
        pos += 1
        at = skip_blank(buf, at + 1, stop)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def compact(buf: Any, rows: Any, args: Any, states: Any, out: Any) -> int:
    """Writes the args of those rows without blanks into `out` and tells so in their span and state; gives the bytes
    that were written. What is not simple stays as it is."""
    pos = 0
    keys = np.empty(_KEYS, np.uint64)
    for i in range(rows.shape[0]):
        row = rows[i]
        end = _compacted(buf, args[0, row], args[1, row], out, pos, keys)
        if end >= 0:
            args[0, row], args[1, row] = pos, end
            states[row] = ELSEWHERE
            pos = end
    return pos


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def sizes(rows: Any, args: Any, states: Any, codes: Any, bounds: Any, offsets: Any, missing: Any) -> None:
    """Where each row's text begins among those that `join` will write, and which have none."""
    total = 0
    for i in range(rows.shape[0]):
        row = rows[i]
        head = bounds[codes[row] + 1, 1] - bounds[codes[row] + 1, 0]
        offsets[i] = total
        missing[i] = False
        if states[row] != NO_ARGS:
            total += head + args[1, row] - args[0, row]
        elif head:
            total += head + 1
        else:
            missing[i] = True
    offsets[rows.shape[0]] = total


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def join(
    buf: Any, other: Any, rows: Any, args: Any, states: Any, codes: Any, bounds: Any, heads: Any, out: Any
) -> None:
    """Writes each row's args, begun with the head of its category: `{"cat":"x"` and `{"a":1}` are one object."""
    pos = 0
    for i in range(rows.shape[0]):
        row = rows[i]
        first, last = bounds[codes[row] + 1, 0], bounds[codes[row] + 1, 1]
        at, stop = args[0, row], args[1, row]
        if last > first:
            pos = _copied(heads, first, last, out, pos)
            if states[row] == NO_ARGS:
                out[pos] = 125
                pos += 1
                continue
            out[pos] = 44
            pos += 1
            at += 1
        if states[row] == ELSEWHERE:
            pos = _copied(other, at, stop, out, pos)
        elif states[row] != NO_ARGS:
            pos = _copied(buf, at, stop, out, pos)
