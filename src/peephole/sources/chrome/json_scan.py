"""Events and their fields out of the bytes of a trace: one compiled pass, no Python object per event.

Import this module only where its loops run: it brings numba in, and the first call compiles (numba keeps the result).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit  # noqa: TID253
from numpy.typing import NDArray

from peephole.sources.chrome.batch import NO_TIME
from peephole.sources.scans.byte_numbers import number_of, same_bytes

FIELDS = ("ph", "ts", "dur", "pid", "tid", "name", "cat", "id", "args", "s", "bp", "scope", "id2")
FIELD = {name: i for i, name in enumerate(FIELDS)}
TEXTS = ("pid", "id", "tid", "name", "cat", "scope")
"""Fields whose values are numbered by their bytes, in the order in which the Interner gets them."""

MORE, DONE, BROKEN, FULL = 0, 1, 2, 3
"""Why a pass stopped: it needs more bytes (or more room for events), the array ended, an event is not JSON, the tables
are too small."""

NO_ARGS, PLAIN, ODD = 0, 1, 2
"""Args that are absent or empty, that are JSON as they stand, that need a closer look."""

_QUOTE, _BACKSLASH, _COMMA, _COLON = 34, 92, 44, 58
_OPEN_BRACE, _CLOSE_BRACE, _OPEN_BRACKET, _CLOSE_BRACKET = 123, 125, 91, 93
_N_FIELDS = len(FIELDS)
_PH, _TS, _DUR, _ARGS, _S, _BP, _ID2 = (FIELD[name] for name in ("ph", "ts", "dur", "args", "s", "bp", "id2"))
_CODED = tuple(FIELD[name] for name in TEXTS)
_N_CODED = len(_CODED)
_NO_TIME = int(NO_TIME)
_TENTH = 2**62 // 10
_DIGITS, _EXPONENT = 300, 3
"""From so many digits on a number, or an exponent of ten, may be larger than what a reader can hold."""


_IS_TEXT, _IS_DIGIT, _IS_SIGN, _IS_EXPONENT, _IS_OPEN, _IS_CLOSE, _IS_ODD = range(1, 8)


def _flags(**kinds: bytes) -> NDArray[np.uint8]:
    """A table of all bytes: 0, or the number of the kind that a byte is of."""
    table = np.zeros(256, np.uint8)
    for number, members in enumerate(kinds.values(), 1):
        table[list(members)] = number
    return table


_CONTROL = bytes(range(32))
_STOPS = _flags(stop=_CONTROL + b'"\\')
"""What is not the next letter of a text."""
_ENDS = _flags(end=b",}] \t\r\n", never=b'"{[:')
"""What ends a number or a word, and what cannot stand in one."""
_FOLLOWS = _flags(follow=b",:}]")
"""What may follow a text; anything else tells of a stray quote."""
_KINDS = _flags(
    text=b'"', digit=b"0123456789", sign=b"+-", exponent=b"eE", open=b"{[", close=b"}]", odd=_CONTROL + b"NI"
)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _blank(byte: int) -> bool:
    return byte in (32, 10, 13, 9)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _field_of(buf: Any, at: int, size: int) -> int:
    """Number of the field whose name stands there, or -1."""
    a = buf[np.uintp(at)]
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
        if _STOPS[buf[np.uintp(at)]] == 0:
            at += 1
            continue
        byte = buf[np.uintp(at)]
        if byte == _QUOTE:
            return at + 1
        at += 2 if byte == _BACKSLASH else 1
    return -1


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _value_end(buf: Any, at: int, end: int) -> Any:
    """Position behind the value at `at`; -1 when it goes on, -2 when it is not JSON."""
    byte = buf[np.uintp(at)]
    if byte == _QUOTE:
        return _string_end(buf, at, end)
    if byte in (_OPEN_BRACE, _OPEN_BRACKET):
        depth = 0
        while at < end:
            byte = buf[np.uintp(at)]
            if byte == _QUOTE:
                at = _string_end(buf, at, end)
                if at < 0:
                    return -1
                # a text is followed by one of , : } ]: anything else is a stray quote
                look = at
                while look < end and _blank(buf[np.uintp(look)]):
                    look += 1
                if look < end and buf[np.uintp(look)] not in (_COMMA, _COLON, _CLOSE_BRACE, _CLOSE_BRACKET):
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
        kind = _ENDS[buf[np.uintp(at)]]
        if kind == 0:
            at += 1
            continue
        return at if kind == 1 and at > start else -2
    return -1


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _args_end(buf: Any, at: int, end: int) -> Any:
    """Position behind the object or array at `at` as `_value_end` gives it, and whether it may be kept as it stands.

    It may not when it is no object or holds NaN, Infinity, control bytes, numbers that may be too large.
    """
    start = at
    state = PLAIN if buf[np.uintp(at)] == _OPEN_BRACE else ODD
    depth = 0
    most = _DIGITS
    while at < end:
        byte = buf[np.uintp(at)]
        kind = _KINDS[byte]
        if kind == _IS_TEXT:
            at += 1
            while at < end:
                byte = buf[np.uintp(at)]
                if _STOPS[byte] == 0:
                    at += 1
                    continue
                if byte == _QUOTE:
                    break
                if byte == _BACKSLASH:
                    at += 1
                else:
                    state = ODD
                at += 1
            if at >= end:
                return -1, state
            at += 1
            look = at
            while look < end and _blank(buf[np.uintp(look)]):
                look += 1
            if look < end and _FOLLOWS[buf[np.uintp(look)]] == 0:
                return -2, state
            most = _DIGITS
            continue
        if kind == _IS_DIGIT:
            first = at
            while at < end and _KINDS[buf[np.uintp(at)]] == _IS_DIGIT:
                at += 1
            if at - first >= most:
                state = ODD
            continue
        if kind == _IS_SIGN:
            at += 1
            continue
        most = _EXPONENT if kind == _IS_EXPONENT else _DIGITS
        if kind == _IS_OPEN:
            depth += 1
        elif kind == _IS_CLOSE:
            depth -= 1
            if depth == 0:
                inner = start + 1
                while inner < at and _blank(buf[np.uintp(inner)]):
                    inner += 1
                return at + 1, NO_ARGS if inner >= at else state
        elif kind == _IS_ODD:
            state = ODD
        at += 1
    return -1, state


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _time(buf: Any, at: int, stop: int) -> Any:
    """Decimal microseconds as ns, and whether they are written in another way than digits and a point."""
    negative = buf[np.uintp(at)] == 45
    if negative:
        at += 1
    value = 0
    digits = 0
    decimals = -1
    if at >= stop:
        return _NO_TIME, True
    while at < stop:
        byte = buf[np.uintp(at)]
        if 48 <= byte <= 57:
            if decimals >= 0:
                if decimals == 3:
                    if byte != 48:
                        return _NO_TIME, True
                    at += 1
                    continue
                decimals += 1
            if value >= _TENTH:
                return _NO_TIME, True
            value = value * 10 + (byte - 48)
            digits += 1
        elif byte == 46 and decimals < 0:
            decimals = 0
        else:
            return _NO_TIME, True
        at += 1
    if digits == 0:
        return _NO_TIME, True
    for _ in range(3 - max(decimals, 0)):
        if value >= _TENTH:
            return _NO_TIME, False
        value *= 10
    return -value if negative else value, False


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _event(buf: Any, at: int, end: int, spans: Any) -> Any:
    """Where the fields of the event at `at` are: (position behind it, -1 when it goes on, -2 when it is not JSON; the
    state of its args). Of a key that comes twice the last one counts."""
    for f in range(_N_FIELDS):
        spans[f, 0] = -1
    state = NO_ARGS
    at += 1
    while True:
        while at < end and (_blank(buf[np.uintp(at)]) or buf[np.uintp(at)] == _COMMA):
            at += 1
        if at >= end:
            return -1, state
        if buf[np.uintp(at)] == _CLOSE_BRACE:
            return at + 1, state
        if buf[np.uintp(at)] != _QUOTE:
            return -2, state
        key = at + 1
        at = _string_end(buf, at, end)
        if at < 0:
            return -1, state
        size = at - 1 - key
        while at < end and _blank(buf[np.uintp(at)]):
            at += 1
        if at >= end:
            return -1, state
        if buf[np.uintp(at)] != _COLON:
            return -2, state
        at += 1
        while at < end and _blank(buf[np.uintp(at)]):
            at += 1
        if at >= end:
            return -1, state
        value = at
        f = _field_of(buf, key, size) if 0 < size <= 5 else -1
        if f == _ARGS:
            if buf[np.uintp(at)] in (_OPEN_BRACE, _OPEN_BRACKET):
                at, state = _args_end(buf, at, end)
            else:
                at = _value_end(buf, at, end)
                inner = value + 1
                while inner < at - 1 and _blank(buf[np.uintp(inner)]):
                    inner += 1
                state = NO_ARGS if inner >= at - 1 else ODD
        else:
            at = _value_end(buf, at, end)
        if at < 0:
            return at, state
        look = at
        while look < end and _blank(buf[np.uintp(look)]):
            look += 1
        if look >= end:
            return -1, state
        if buf[np.uintp(look)] != _COMMA and buf[np.uintp(look)] != _CLOSE_BRACE:
            return -2, state
        if f >= 0:
            spans[f, 0] = value
            spans[f, 1] = at


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _first(buf: Any, spans: Any, f: int) -> int:
    """First letter of a field's text, 0 for none."""
    return buf[spans[f, 0] + 1] if spans[f, 0] >= 0 and spans[f, 1] - spans[f, 0] > 2 else 0


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def parse(
    buf: Any, at: int, end: int, n: int, letters: Any, times: Any, codes: Any, args: Any, states: Any,
    odd: Any, odd_count: int, slots: Any, arena: Any, places: Any, count: int,
) -> Any:  # fmt: skip
    """Appends events to the columns: (events, position, MORE | DONE | BROKEN | FULL, odd values, values of the table).

    The position is the start of the first event that was not taken. `letters` are those of ph, s and bp; `times` ts and
    dur in ns; `codes` the numbers of TEXTS in the table of bytes, -1 for none; `odd` lists times in another notation
    and every id2 as (event, field, from, to).
    """
    room = letters.shape[1]
    spans = np.empty((_N_FIELDS, 2), np.int64)
    last = np.full(_N_CODED, -1, np.int64)
    while True:
        while at < end and (_blank(buf[np.uintp(at)]) or buf[np.uintp(at)] == _COMMA):
            at += 1
        if at >= end or n == room:
            return n, at, MORE, odd_count, count
        if buf[np.uintp(at)] == _CLOSE_BRACKET:
            return n, at + 1, DONE, odd_count, count
        if buf[np.uintp(at)] != _OPEN_BRACE:
            return n, at, BROKEN, odd_count, count
        stop, state = _event(buf, at, end, spans)
        if stop < 0:
            return n, at, MORE if stop == -1 else BROKEN, odd_count, count
        size = 0
        for f in _CODED:
            if spans[f, 0] >= 0:
                size += spans[f, 1] - spans[f, 0]
        used = places[count - 1, 1] if count else 0
        most = count + _N_CODED
        if most * 2 > slots.shape[0] or most > places.shape[0] or used + size > arena.shape[0]:
            return n, at, FULL, odd_count, count
        if odd_count + 3 > odd.shape[0]:
            return n, at, FULL, odd_count, count
        for i in range(_N_CODED):
            f = _CODED[i]
            begin = spans[f, 0]
            if begin < 0:
                codes[i, n] = -1
                continue
            # neighbours are often alike, which is quicker to see than to look up
            if last[i] < 0 or not same_bytes(buf, begin, spans[f, 1] - begin, arena, places, last[i]):
                last[i] = number_of(buf, begin, spans[f, 1], slots, arena, places, count)
                if last[i] == count:
                    count += 1
            codes[i, n] = last[i]
        letters[0, n] = _first(buf, spans, _PH)
        letters[1, n] = _first(buf, spans, _S)
        letters[2, n] = _first(buf, spans, _BP)
        for i in range(2):
            f = _TS + i
            times[i, n] = _NO_TIME
            if spans[f, 0] >= 0:
                times[i, n], strange = _time(buf, spans[f, 0], spans[f, 1])
                if strange:
                    odd[odd_count, 0], odd[odd_count, 1] = n, f
                    odd[odd_count, 2], odd[odd_count, 3] = spans[f, 0], spans[f, 1]
                    odd_count += 1
        if spans[_ID2, 0] >= 0:
            odd[odd_count, 0], odd[odd_count, 1] = n, _ID2
            odd[odd_count, 2], odd[odd_count, 3] = spans[_ID2, 0], spans[_ID2, 1]
            odd_count += 1
        args[0, n], args[1, n] = (spans[_ARGS, 0], spans[_ARGS, 1]) if spans[_ARGS, 0] >= 0 else (0, 0)
        states[n] = state
        n += 1
        at = stop


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def first_seen(codes: Any, seen: Any, out: Any) -> int:
    """Lists the codes that were not seen yet, in order, and marks them; gives how many."""
    made = 0
    for i in range(codes.shape[0]):
        code = codes[i]
        if code >= 0 and not seen[code]:
            seen[code] = True
            out[made] = code
            made += 1
    return made
