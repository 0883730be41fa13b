"""Finds events and their fields in the bytes of a trace: compiled loops, no Python object per event.

Import this module only where its loops run: it brings numba in, and the first call compiles (numba keeps the result).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit  # noqa: TID253

from peephole.sources.chrome.batch import NO_TIME

FIELDS = ("ph", "ts", "dur", "pid", "tid", "name", "cat", "id", "args", "s", "bp", "scope", "id2")
FIELD = {name: i for i, name in enumerate(FIELDS)}

MORE, DONE, BROKEN = 0, 1, 2
"""Why a scan stopped: it needs more bytes (or more room), the array ended, an event is not JSON."""


NO_ARGS, PLAIN, ODD = 0, 1, 2
"""Args that are absent or empty, that are JSON as they stand, that need the plain parser."""

_QUOTE, _BACKSLASH, _COMMA, _COLON = 34, 92, 44, 58
_OPEN_BRACE, _CLOSE_BRACE, _OPEN_BRACKET, _CLOSE_BRACKET = 123, 125, 91, 93
_N_FIELDS = len(FIELDS)
_NO_TIME = int(NO_TIME)
_TENTH = 2**62 // 10
_DIGITS, _EXPONENT = 300, 3
"""From so many digits on a number, or an exponent of ten, may be larger than what a reader can hold."""


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _blank(byte: int) -> bool:
    return byte in (32, 10, 13, 9)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _field_of(buf: Any, at: int, size: int) -> int:
    """Number of the field whose name stands there, or -1."""
    a = buf[at]
    b = buf[at + 1] if size > 1 else 0
    c = buf[at + 2] if size > 2 else 0
    if size == 1:
        return 9 if a == 115 else -1
    if size == 2:
        if a == 112:  # p
            return 0 if b == 104 else -1
        if a == 116 and b == 115:
            return 1
        if a == 105 and b == 100:
            return 7
        return 10 if a == 98 and b == 112 else -1
    if size == 3:
        if a == 100 and b == 117 and c == 114:
            return 2
        if a == 112 and b == 105 and c == 100:
            return 3
        if a == 116 and b == 105 and c == 100:
            return 4
        if a == 99 and b == 97 and c == 116:
            return 6
        return 12 if a == 105 and b == 100 and c == 50 else -1
    d = buf[at + 3]
    if size == 4:
        if a == 110 and b == 97 and c == 109 and d == 101:
            return 5
        return 8 if a == 97 and b == 114 and c == 103 and d == 115 else -1
    if size == 5:
        return 11 if a == 115 and b == 99 and c == 111 and d == 112 and buf[at + 4] == 101 else -1
    return -1


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _string_end(buf: Any, at: int, end: int) -> int:
    """Position behind the closing quote of the string that opens at `at`, or -1 when it goes on."""
    at += 1
    while at < end:
        byte = buf[at]
        if byte == _QUOTE:
            return at + 1
        at += 2 if byte == _BACKSLASH else 1
    return -1


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _value_end(buf: Any, at: int, end: int) -> Any:
    """Position behind the value at `at`; -1 when it goes on, -2 when it is not JSON."""
    byte = buf[at]
    if byte == _QUOTE:
        return _string_end(buf, at, end)
    if byte in (_OPEN_BRACE, _OPEN_BRACKET):
        depth = 0
        while at < end:
            byte = buf[at]
            if byte == _QUOTE:
                at = _string_end(buf, at, end)
                if at < 0:
                    return -1
                # a text is followed by one of , : } ]: anything else is a stray quote
                look = at
                while look < end and _blank(buf[look]):
                    look += 1
                if look < end and buf[look] not in (_COMMA, _COLON, _CLOSE_BRACE, _CLOSE_BRACKET):
                    return -2
                continue
            if byte in (_OPEN_BRACE, _OPEN_BRACKET):
                depth += 1
            elif byte in (_CLOSE_BRACE, _CLOSE_BRACKET):
                depth -= 1
                if depth == 0:
                    return at + 1
            at += 1
        return -1
    start = at
    while at < end:
        byte = buf[at]
        if byte in (_COMMA, _CLOSE_BRACE, _CLOSE_BRACKET) or _blank(byte):
            return at if at > start else -2
        if byte in (_QUOTE, _OPEN_BRACE, _OPEN_BRACKET, _COLON):
            return -2
        at += 1
    return -1


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def scan(buf: Any, at: int, end: int, spans: Any) -> Any:
    """Fills spans[event, field] = (from, to) and gives (events, position, MORE | DONE | BROKEN).

    The position is the start of the first event that was not taken.
    """
    n = 0
    room = spans.shape[0]
    while True:
        while at < end and (_blank(buf[at]) or buf[at] == _COMMA):
            at += 1
        if at >= end or n == room:
            return n, at, MORE
        if buf[at] == _CLOSE_BRACKET:
            return n, at + 1, DONE
        if buf[at] != _OPEN_BRACE:
            return n, at, BROKEN
        start = at
        for f in range(_N_FIELDS):
            spans[n, f, 0] = -1
        at += 1
        while True:
            while at < end and (_blank(buf[at]) or buf[at] == _COMMA):
                at += 1
            if at >= end:
                return n, start, MORE
            if buf[at] == _CLOSE_BRACE:
                at += 1
                break
            if buf[at] != _QUOTE:
                return n, start, BROKEN
            key = at + 1
            at = _string_end(buf, at, end)
            if at < 0:
                return n, start, MORE
            size = at - 1 - key
            while at < end and _blank(buf[at]):
                at += 1
            if at >= end:
                return n, start, MORE
            if buf[at] != _COLON:
                return n, start, BROKEN
            at += 1
            while at < end and _blank(buf[at]):
                at += 1
            if at >= end:
                return n, start, MORE
            value = at
            at = _value_end(buf, at, end)
            if at == -1:
                return n, start, MORE
            if at == -2:
                return n, start, BROKEN
            look = at
            while look < end and _blank(buf[look]):
                look += 1
            if look >= end:
                return n, start, MORE
            if buf[look] != _COMMA and buf[look] != _CLOSE_BRACE:
                return n, start, BROKEN
            if 0 < size <= 5:
                f = _field_of(buf, key, size)
                if f >= 0:
                    spans[n, f, 0] = value
                    spans[n, f, 1] = at
        n += 1


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def times(buf: Any, spans: Any, n: int, field: int, out: Any, odd: Any) -> int:
    """Decimal microseconds to ns in `out`; rows in another notation are listed in `odd`, their number is given."""
    odd_count = 0
    for i in range(n):
        at, stop = spans[i, field, 0], spans[i, field, 1]
        if at < 0:
            out[i] = _NO_TIME
            continue
        negative = buf[at] == 45
        if negative:
            at += 1
        value = 0
        digits = 0
        decimals = -1
        good = at < stop
        while at < stop:
            byte = buf[at]
            if 48 <= byte <= 57:
                if decimals >= 0:
                    if decimals == 3:
                        good = good and byte == 48
                        at += 1
                        continue
                    decimals += 1
                if value >= _TENTH:
                    good = False
                    break
                value = value * 10 + (byte - 48)
                digits += 1
            elif byte == 46 and decimals < 0:
                decimals = 0
            else:
                good = False
                break
            at += 1
        if not good or digits == 0:
            odd[odd_count] = i
            odd_count += 1
            out[i] = _NO_TIME
            continue
        for _ in range(3 - max(decimals, 0)):
            if value >= _TENTH:
                good = False
                break
            value *= 10
        if good:
            out[i] = -value if negative else value
        else:
            out[i] = _NO_TIME
    return odd_count


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _hash_of(buf: Any, at: int, stop: int) -> Any:
    h = np.uint64(14695981039346656037)
    for k in range(at, stop):
        h = (h ^ np.uint64(buf[k])) * np.uint64(1099511628211)
    return h ^ (h >> np.uint64(32))


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def intern(
    buf: Any, spans: Any, first: int, n: int, field: int, out: Any, slots: Any, arena: Any, places: Any, count: int
) -> Any:
    """Numbers the distinct raw values of a field; gives (rows done, distinct values so far).

    Stops early when table or arena are nearly full; the caller makes them larger and calls again.
    """
    mask = np.uint64(slots.shape[0] - 1)
    used = places[count - 1, 1] if count else 0
    for i in range(first, n):
        at, stop = spans[i, field, 0], spans[i, field, 1]
        if at < 0:
            out[i] = -1
            continue
        size = stop - at
        if count * 2 >= slots.shape[0] or used + size > arena.shape[0] or count >= places.shape[0]:
            return i, count
        probe = _hash_of(buf, at, stop) & mask
        while True:
            entry = slots[probe]
            if entry < 0:
                for k in range(size):
                    arena[used + k] = buf[at + k]
                places[count, 0] = used
                used += size
                places[count, 1] = used
                slots[probe] = count
                out[i] = count
                count += 1
                break
            begin = places[entry, 0]
            if places[entry, 1] - begin == size:
                same = True
                for k in range(size):
                    if arena[begin + k] != buf[at + k]:
                        same = False
                        break
                if same:
                    out[i] = entry
                    break
            probe = (probe + np.uint64(1)) & mask
    return n, count


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def rehash(slots: Any, arena: Any, places: Any, count: int) -> None:
    """Fills an empty table with the values that the arena holds."""
    mask = np.uint64(slots.shape[0] - 1)
    for entry in range(count):
        probe = _hash_of(arena, places[entry, 0], places[entry, 1]) & mask
        while slots[probe] >= 0:
            probe = (probe + np.uint64(1)) & mask
        slots[probe] = entry


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def args_state(buf: Any, spans: Any, n: int, field: int, out: Any) -> None:
    """Tells args that may be kept as they stand from those that may not.

    That is no object, NaN, Infinity, control bytes, numbers that may be too large.
    """
    for i in range(n):
        at, stop = spans[i, field, 0], spans[i, field, 1]
        inner = at + 1
        while at >= 0 and inner < stop - 1 and _blank(buf[inner]):
            inner += 1
        if at < 0 or inner >= stop - 1:
            out[i] = NO_ARGS
            continue
        state = PLAIN if buf[at] == _OPEN_BRACE else ODD
        inside = False
        digits = 0
        most = _DIGITS
        while at < stop and state == PLAIN:
            byte = buf[at]
            if inside and byte == _BACKSLASH:
                at += 2
                continue
            if 48 <= byte <= 57 and not inside:
                digits += 1
            else:
                digits = 0
                if byte not in (43, 45):
                    most = _EXPONENT if byte in (69, 101) else _DIGITS
            if byte == _QUOTE:
                inside = not inside
            elif byte < 32 or digits >= most or (not inside and byte in (78, 73)):
                state = ODD
            at += 1
        out[i] = state
