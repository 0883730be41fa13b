"""Categories and annotations of events as JSON: compiled loops, no Python object per event.

Import this module only where its loops run: it brings numba in, and the first call compiles (numba keeps the result).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit  # noqa: TID253

from peephole.sources.perfetto.event_scan import (
    K_CATEGORY,
    K_CORRELATION,
    K_KEY,
    K_PLACE,
    K_STACK,
    K_TEXT,
    KINDS,
)  # fmt: skip
from peephole.sources.perfetto.packet_scan import EVENT, EVENT_END, GENERATION, HAS, HAS_ARGS, field, varint
from peephole.sources.scans.pair_numbers import find

_QUOTE, _COMMA = 34, 44
_LONGEST = 32
"""Bytes that a number or a key of ours takes at most."""
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_CAT = np.frombuffer(b'"cat":"', np.uint8)
_CORRELATION = np.frombuffer(b'"correlation":', np.uint8)
_CALLSTACK = np.frombuffer(b'"callstack":', np.uint8)
_TRUE, _FALSE = np.frombuffer(b"true", np.uint8), np.frombuffer(b"false", np.uint8)
ODD, FULL = -1, -2
"""What ends the writing of an event: something for Python to look at, no room."""


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _put(out: Any, o: int, data: Any, first: int, past: int) -> int:
    if o + (past - first) + _LONGEST > out.shape[0]:
        return FULL
    for k in range(first, past):
        out[o + k - first] = data[k]
    return o + past - first


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _escaped(out: Any, o: int, buf: Any, first: int, past: int) -> int:
    """Writes letters of a text; what is not ASCII is left to Python, since it may not be UTF-8."""
    if o + 6 * (past - first) + _LONGEST > out.shape[0]:
        return FULL
    for k in range(first, past):
        byte = buf[np.uintp(k)]
        if byte >= 0x7F:
            return ODD
        if byte in (_QUOTE, 92):
            out[o] = 92
            o += 1
        elif byte < 32:
            out[o], out[o + 1], out[o + 2], out[o + 3] = 92, 117, 48, 48
            out[o + 4] = _HEX[byte >> 4]
            byte = _HEX[byte & 15]
            o += 5
        out[o] = byte
        o += 1
    return o


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _digits(out: Any, o: int, value: Any) -> int:
    """Writes an unsigned number."""
    size = 1
    rest = value // np.uint64(10)
    while rest:
        size += 1
        rest //= np.uint64(10)
    for k in range(size):
        out[o + size - 1 - k] = 48 + value % np.uint64(10)
        value //= np.uint64(10)
    return o + size


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _number(out: Any, o: int, value: int, signed: bool) -> int:
    if o + _LONGEST > out.shape[0]:
        return FULL
    if signed and value < 0:
        out[o] = 45
        return _digits(out, o + 1, np.uint64(0) - np.uint64(value))  # type: ignore[no-any-return]
    return _digits(out, o, np.uint64(value))  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _interned(out: Any, o: int, key: int, value: int, i_slots: Any, i_keys: Any, i_values: Any, j_arena: Any,
              j_places: Any) -> int:  # fmt: skip
    entry = find(key, value, i_slots, i_keys)
    if entry < 0:
        return ODD
    code = i_values[entry]
    return _put(out, o, j_arena, j_places[code, 0], j_places[code, 1])  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _annotation(buf: Any, at: int, end: int, base: int, out: Any, o: int, i_slots: Any, i_keys: Any, i_values: Any,
                j_arena: Any, j_places: Any) -> int:  # fmt: skip
    """Writes `"name":value` of a plain annotation."""
    name_id = name = name_end = held = 0
    value = begin_of = stop_of = 0
    while at < end:
        number, kind, found, begin, stop = field(buf, at, end)
        if stop < 0:
            return ODD
        at = stop
        if number == 1 and kind == 0:
            name_id = found
        elif number == 10 and kind == 2:
            name, name_end = begin, stop
        elif (number in (2, 3, 4, 7, 17) and kind == 0) or (number == 6 and kind == 2):
            held, value, begin_of, stop_of = number, found, begin, stop
        else:
            return ODD
    if not held:
        return ODD
    if name_end > name:
        if o + _LONGEST > out.shape[0]:
            return FULL
        out[o] = _QUOTE
        o = _escaped(out, o + 1, buf, name, name_end)
        if o < 0:
            return o
        out[o] = _QUOTE
        o += 1
    else:
        o = _interned(out, o, base + K_KEY, name_id, i_slots, i_keys, i_values, j_arena, j_places)
        if o < 0:
            return o
    out[o] = 58
    o += 1
    if held == 2:
        return _put(out, o, _TRUE if value else _FALSE, 0, 4 if value else 5)  # type: ignore[no-any-return]
    if held in (3, 4):
        return _number(out, o, value, held == 4)  # type: ignore[no-any-return]
    if held == 17:
        return _interned(out, o, base + K_TEXT, value, i_slots, i_keys, i_values, j_arena, j_places)  # type: ignore[no-any-return]
    if o + _LONGEST > out.shape[0]:
        return FULL
    out[o] = _QUOTE
    o += 1
    if held == 6:
        o = _escaped(out, o, buf, begin_of, stop_of)
        if o < 0:
            return o
    else:  # a pointer
        out[o], out[o + 1] = 48, 120
        digits = 1
        rest = np.uint64(value) >> np.uint64(4)
        while rest:
            digits += 1
            rest >>= np.uint64(4)
        for k in range(digits):
            out[o + 2 + k] = _HEX[(np.uint64(value) >> np.uint64(4 * (digits - 1 - k))) & np.uint64(15)]
        o += 2 + digits
    out[o] = _QUOTE
    return o + 1


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _event(buf: Any, at: int, end: int, base: int, out: Any, o: int, i_slots: Any, i_keys: Any, i_values: Any,
           j_arena: Any, j_places: Any) -> int:  # fmt: skip
    """Writes the object of an event; gives where it ends."""
    if o + _LONGEST > out.shape[0]:
        return FULL
    out[o] = 123
    o += 1
    begun, first = o, True
    look = at
    while look < end:  # categories stand first
        number, kind, value, begin, stop = field(buf, look, end)
        if stop < 0:
            return ODD
        look = stop
        if number not in (3, 22):
            continue
        while begin < stop:
            if first:
                o = _put(out, o, _CAT, 0, _CAT.shape[0])
            elif o + _LONGEST <= out.shape[0]:
                out[o] = _COMMA
                o += 1
            else:
                o = FULL
            if o < 0:
                return o
            first = False
            if number == 22:
                o = _escaped(out, o, buf, begin, stop)
                begin = stop
            else:
                if kind == 2:
                    value, begin = varint(buf, begin, stop)
                    if begin < 0:
                        return ODD
                else:
                    begin = stop
                o = _interned(out, o, base + K_CATEGORY, value, i_slots, i_keys, i_values, j_arena, j_places)
            if o < 0:
                return o
    if not first:
        if o + _LONGEST > out.shape[0]:
            return FULL
        out[o] = _QUOTE
        o += 1
    while at < end:
        number, kind, value, begin, stop = field(buf, at, end)
        at = stop
        if number not in (4, 34, 52, 54, 56):
            if number in (21, 33, 53, 55, 57):
                return ODD
            continue
        if o + _LONGEST > out.shape[0]:
            return FULL
        if o > begun:
            out[o] = _COMMA
            o += 1
        if number == 4 and kind == 2:
            o = _annotation(buf, begin, stop, base, out, o, i_slots, i_keys, i_values, j_arena, j_places)
        elif number == 34:
            o = _interned(out, o, base + K_PLACE, value, i_slots, i_keys, i_values, j_arena, j_places)
        elif number == 56:
            o = _put(out, o, _CALLSTACK, 0, _CALLSTACK.shape[0])
            if o >= 0:
                o = _interned(out, o, base + K_STACK, value, i_slots, i_keys, i_values, j_arena, j_places)
        else:
            o = _put(out, o, _CORRELATION, 0, _CORRELATION.shape[0])
            if o >= 0 and number == 52:
                o = _number(out, o, value, False)
            elif o >= 0:
                o = _interned(out, o, base + K_CORRELATION, value, i_slots, i_keys, i_values, j_arena, j_places)
        if o < 0:
            return o
    if o == begun:
        return begun - 1  # nothing to say
    if o + _LONGEST > out.shape[0]:
        return FULL
    out[o] = 125
    return o + 1


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def write(buf: Any, rows: Any, chosen: Any, place: int, spans: Any, out: Any, o: int, i_slots: Any, i_keys: Any,
          i_values: Any, j_arena: Any, j_places: Any) -> Any:  # fmt: skip
    """Writes args of the chosen packets from `place` on until the room ends: (where to go on, bytes written).

    `spans` says where those of each are; its begin is -1 for what Python has to look at.
    """
    while place < chosen.shape[0]:
        row = chosen[place]
        spans[0, place] = spans[1, place] = o
        if rows[HAS, row] & HAS_ARGS:
            stop = _event(buf, rows[EVENT, row], rows[EVENT_END, row], rows[GENERATION, row] * KINDS, out, o,
                          i_slots, i_keys, i_values, j_arena, j_places)  # fmt: skip
            if stop == FULL:
                return place, o
            if stop == ODD:
                spans[0, place] = -1
            else:
                spans[1, place] = o = stop
        place += 1
    return place, o


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def gather(arena: Any, first: Any, past: Any, out: Any, offsets: Any) -> None:
    """Puts pieces of an arena one after the other."""
    o = 0
    for i in range(first.shape[0]):
        offsets[i] = o
        for k in range(first[i], past[i]):
            out[o] = arena[np.uintp(k)]
            o += 1
    offsets[first.shape[0]] = o


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def join(arena: Any, spans: Any, out: Any, offsets: Any) -> None:
    """Puts two JSON objects for each row (columns 0-1 and 2-3 of its spans, either may be empty) together as one."""
    o = 0
    for i in range(spans.shape[0]):
        offsets[i] = o
        a0, a1, b0, b1 = spans[i, 0], spans[i, 1], spans[i, 2], spans[i, 3]
        if a1 > a0 and b1 > b0:
            a1 -= 1
        for k in range(a0, a1):
            out[o] = arena[np.uintp(k)]
            o += 1
        if b1 > b0 and a1 > a0:
            out[o] = _COMMA
            o += 1
            b0 += 1
        for k in range(b0, b1):
            out[o] = arena[np.uintp(k)]
            o += 1
    offsets[spans.shape[0]] = o
