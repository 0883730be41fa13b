"""Packets and track events out of a trace's bytes: one compiled pass, no Python object per event.

Import this module only where its loops run: it brings numba in, and the first call compiles (numba keeps the result).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit  # noqa: TID253

(
    TIME, CLOCK, SEQUENCE, FLAGS, PAYLOAD, HAS, AT, END, EVENT, EVENT_END, TYPE, UUID, NAME_ID, NAME, NAME_END, VALUE,
    DELTA, PHASE, LENGTH, ASYNC_ID, SCOPE, CATEGORY, CATEGORY_TEXT, PROCESS, THREAD, OP, TRACK, NAME_CODE, DOMAIN,
    GENERATION,
) = range(30)  # fmt: skip
"""Columns of a packet. The last five are filled in when it is resolved (`event_scan`).

CATEGORY_TEXT: where its text begins, and in the lower 32 bits where it ends."""
COLUMNS: Final = 30

HAS_TIME, HAS_CLOCK, HAS_UUID, HAS_DELTA, HAS_ABSOLUTE, HAS_ARGS, HAS_FLOWS, HAS_EXTRA = 1, 2, 4, 8, 16, 32, 64, 128
HAS_INT, HAS_DOUBLE, HAS_EVENT, HAS_STATE, DROPPED, BROKEN, HAS_PACKED = 256, 512, 1024, 2048, 4096, 8192, 16384
HAS_PROCESS, HAS_THREAD, ENCLOSED, HAS_CPU = 32768, 65536, 131072, 262144
"""HAS_STATE: the packet changes what later ones mean. HAS_PACKED: it holds others. BROKEN: it is no message.

ENCLOSED: an old flow ends at the slice around it, not at the next. HAS_CPU: it says how long its thread ran."""

MORE, DAMAGED, STRANGE = 0, 1, 2
"""Why a pass stopped: it needs more bytes (or room), what stands there is no record, a length is absurd."""
LARGEST: Final = 256 << 20
"""Bytes of a packet from which on it is damage."""


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def varint(buf: Any, at: int, end: int) -> Any:
    """The number that stands there as 64 bits, and where it ends: -1 when it does not."""
    if at < end:
        byte = buf[np.uintp(at)]
        if byte < 0x80:
            return np.int64(byte), at + 1
    value = np.uint64(0)
    shift = np.uint64(0)
    for k in range(10):
        if at + k >= end:
            return np.int64(0), -1
        byte = buf[np.uintp(at + k)]
        value |= np.uint64(byte & 0x7F) << shift
        if byte < 0x80:
            return np.int64(value), at + k + 1
        shift += np.uint64(7)
    return np.int64(0), -1


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def fixed(buf: Any, at: int) -> Any:
    """Eight bytes as a number."""
    value = np.uint64(0)
    for k in range(8):
        value |= np.uint64(buf[np.uintp(at + k)]) << np.uint64(8 * k)
    return np.int64(value)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def field(buf: Any, at: int, end: int) -> Any:
    """Number and wire type of the field there, its value or size, where that begins, where it ends (-1: damage)."""
    tag, at = varint(buf, at, end)
    if at < 0 or tag < 8:
        return 0, 0, np.int64(0), 0, -1
    number, kind = tag >> 3, tag & 7
    if kind == 0:
        value, stop = varint(buf, at, end)
        return number, kind, value, at, stop
    if kind == 2:
        size, at = varint(buf, at, end)
        if at < 0 or size < 0 or size > end - at:
            return number, kind, size, at, -1
        return number, kind, size, at, at + size
    if kind == 1:
        if end - at < 8:
            return number, kind, np.int64(0), at, -1
        return number, kind, fixed(buf, at), at, at + 8
    if kind == 5:
        if end - at < 4:
            return number, kind, np.int64(0), at, -1
        return number, kind, np.int64(0), at, at + 4
    return number, kind, np.int64(0), at, -1


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def hash_of(buf: Any, at: int, end: int) -> int:
    """31 bits that stand for a text."""
    value = np.uint64(0xCBF29CE484222325)
    for k in range(at, end):
        value = (value ^ np.uint64(buf[np.uintp(k)])) * np.uint64(0x100000001B3)
    return np.int64((value ^ (value >> np.uint64(32))) & np.uint64(0x7FFFFFFF))  # type: ignore[return-value]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _legacy(buf: Any, at: int, end: int, rows: Any, n: int) -> bool:
    while at < end:
        number, kind, value, begin, stop = field(buf, at, end)
        if stop < 0:
            return False
        at = stop
        if number == 7 and kind == 2:
            rows[SCOPE, n] = hash_of(buf, begin, stop)
        if kind != 0:
            continue
        if number == 1 and rows[NAME_ID, n] == 0:
            rows[NAME_ID, n] = value
        elif number == 2:
            rows[PHASE, n] = value & 0xFF
            if rows[PHASE, n] in (102, 115, 116):  # an arrow's end, begin or middle
                rows[HAS, n] |= HAS_FLOWS
        elif number == 3:
            rows[LENGTH, n] = value
        elif number in (6, 10, 11):
            # what is global, local to a process or neither must not meet
            rows[ASYNC_ID, n] = value * 4 + (1 if number == 6 else 2 if number == 10 else 3)
        elif number == 13 and value:
            rows[HAS, n] |= HAS_FLOWS
        elif number == 12 and value:
            rows[HAS, n] |= ENCLOSED
        elif number in (4, 15):
            rows[HAS, n] |= HAS_CPU
        elif number == 18:
            rows[PROCESS, n] = value
            rows[HAS, n] |= HAS_PROCESS
        elif number == 19:
            rows[THREAD, n] = value
            rows[HAS, n] |= HAS_THREAD
    return True


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _event(buf: Any, at: int, end: int, rows: Any, n: int) -> bool:
    """Reads a track event into its row; False when it is damaged."""
    has = 0
    while at < end:
        number, kind, value, begin, stop = field(buf, at, end)
        if stop < 0:
            return False
        at = stop
        if number == 9 and kind == 0:
            rows[TYPE, n] = value
        elif number == 11 and kind == 0:
            rows[UUID, n] = value
            has |= HAS_UUID
        elif number == 10 and kind == 0:
            rows[NAME_ID, n] = value
        elif number == 23 and kind == 2:
            rows[NAME, n], rows[NAME_END, n] = begin, stop
        elif number == 30 and kind == 0:
            rows[VALUE, n] = value
            has |= HAS_INT
        elif number == 44 and kind == 1:
            rows[VALUE, n] = value
            has |= HAS_DOUBLE
        elif number == 1 and kind == 0:
            rows[DELTA, n] = value
            has |= HAS_DELTA
        elif number == 16 and kind == 0:
            rows[DELTA, n] = value
            has |= HAS_ABSOLUTE
        elif number in (36, 42, 47, 48):
            has |= HAS_FLOWS
        elif number in (12, 46):
            has |= HAS_EXTRA
        elif number == 6 and kind == 2:
            if not _legacy(buf, begin, stop, rows, n):
                return False
        elif number in (2, 8, 17, 20):
            has |= HAS_CPU
        elif number not in (31, 45):
            has |= HAS_ARGS
            if number == 22 and kind == 2:
                rows[CATEGORY_TEXT, n] = (begin << 32) | stop
            elif number == 3 and kind == 0:
                rows[CATEGORY, n] = value
            elif number == 3 and kind == 2:
                rows[CATEGORY, n], _ = varint(buf, begin, stop)
    rows[HAS, n] |= has
    return True


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _packet(buf: Any, at: int, end: int, rows: Any, n: int) -> None:
    """Reads a packet into its row, which holds zeros."""
    rows[AT, n], rows[END, n] = at, end
    has, event, event_end = 0, 0, 0
    while at < end:
        number, kind, value, begin, stop = field(buf, at, end)
        if stop < 0:
            rows[HAS, n] = BROKEN
            return
        at = stop
        if kind == 0:
            if number == 8:
                rows[TIME, n] = value
                has |= HAS_TIME
            elif number == 10:
                rows[SEQUENCE, n] = value
            elif number == 13:
                rows[FLAGS, n] |= value & 3
            elif number == 58:
                rows[CLOCK, n] = value
                has |= HAS_CLOCK
            elif number == 41 and value:
                rows[FLAGS, n] |= 1
            elif number == 42 and value:
                has |= DROPPED
        elif kind == 2:
            if number == 11:
                event, event_end = begin, stop
                has |= HAS_EVENT
                rows[PAYLOAD, n] = 11
            elif number in (12, 59):
                has |= HAS_STATE
                if not rows[PAYLOAD, n]:
                    rows[PAYLOAD, n] = number
            else:
                rows[PAYLOAD, n] = number
                if number in (2, 6, 43, 44, 60):
                    has |= HAS_STATE
                elif number in (50, 133):
                    has |= HAS_STATE | HAS_PACKED
    rows[HAS, n] = has
    if has & HAS_EVENT:
        rows[EVENT, n], rows[EVENT_END, n] = event, event_end
        if not _event(buf, event, event_end, rows, n):
            rows[HAS, n] = BROKEN


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def scan(buf: Any, at: int, end: int, rows: Any) -> Any:
    """Reads packets until bytes or room end: (how many, where the next record is, why it ended, strange ones).

    The rows hold zeros before.
    """
    n = strange = 0
    while n < rows.shape[1]:
        if at >= end:
            return n, at, MORE, strange
        tag, body = varint(buf, at, end)
        if body < 0:
            return n, at, MORE if end - at < 10 else DAMAGED, strange
        if tag != 10:
            number, kind, value, begin, stop = field(buf, at, end)
            if kind in (3, 4, 6, 7) or number == 0 or tag < 8:
                return n, at, DAMAGED, strange
            if stop < 0:
                return n, at, STRANGE if kind == 2 and (value < 0 or value > LARGEST) else MORE, strange
            strange += 1
            at = stop
            continue
        size, begin = varint(buf, body, end)
        if begin < 0:
            return n, at, MORE if end - body < 10 else DAMAGED, strange
        if size < 0 or size > LARGEST:
            return n, at, STRANGE, strange
        if size > end - begin:
            return n, at, MORE, strange
        _packet(buf, begin, begin + size, rows, n)
        n += 1
        at = begin + size
    return n, at, MORE, strange
