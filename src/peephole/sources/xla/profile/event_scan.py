"""The events of a line out of its bytes: plain loops over numbers, which numba compiles for large files.

XLine {events 4: XEvent {metadata_id 1, offset_ps 2, duration_ps 3, stats 4: XStat {metadata_id 1, value 2 to 7}}}
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, Final

META, OFFSET, DURATION, STATS, STATS_END, FURTHER, FIRST_STAT = range(7)
"""Columns of an event; FURTHER: how many facts it has beside those that are wanted. Then one for each of those."""
MISSING: Final = -(1 << 62)


def varint(buf: Any, at: int, end: int) -> tuple[int, int]:
    """The number that stands there as 64 bits, and where it ends: -1 when it does not."""
    value = 0
    shift = 0
    while at < end and shift < 63:
        byte = int(buf[at])
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    if at < end and shift == 63:
        # the tenth byte has the highest bit alone: a negative number
        if buf[at] > 1:
            return 0, -1
        if buf[at] == 1:
            value = value - (1 << 62) - (1 << 62)
        return value, at + 1
    return 0, -1


def field(buf: Any, at: int, end: int) -> tuple[int, int, int, int]:
    """Number of the field there, its value or size, where its contents begin and end (-1: damage)."""
    tag, at = varint(buf, at, end)
    if at < 0:
        return 0, 0, 0, -1
    kind = tag & 7
    if kind == 0:
        value, stop = varint(buf, at, end)
        return tag >> 3, value, at, stop
    size = 8 if kind == 1 else 4
    if kind == 2:
        size, at = varint(buf, at, end)
    elif kind not in (1, 5):
        return 0, 0, 0, -1
    if at < 0 or size < 0 or size > end - at:
        return 0, 0, 0, -1
    return tag >> 3, size, at, at + size


def count_events(buf: Any, at: int, end: int, heads: Any) -> int:
    """How many events a line has; -1 when its bytes are damaged. `heads` gets where its other fields begin and end."""
    count = 0
    others = 0
    while at < end:
        begin = at
        number, _, _, at = field(buf, at, end)
        if at < 0:
            return -1
        if number == 4:
            count += 1
        elif others < len(heads):
            heads[others, 0] = begin
            heads[others, 1] = at
            others += 1
    return count


def read_events(buf: Any, at: int, end: int, wanted: Any, internal: Any, out: Any) -> int:
    """Fills a row of `out` for each event; how many there are.

    `wanted` are ids of facts that get a column of their own, `internal` of those that nobody is told.
    """
    row = 0
    while at < end:
        number, _, inside, at = field(buf, at, end)
        if number != 4:
            continue
        place = inside
        while place < at:
            part, value, first, place = field(buf, place, at)
            if place < 0:
                break
            if part <= 3:
                if part >= 1:
                    out[row, part - 1] = value
            elif part == 4:
                if out[row, STATS] == 0:
                    out[row, STATS] = inside
                out[row, STATS_END] = at
                stat = fact = MISSING
                while first < place:
                    kind, one, _, first = field(buf, first, place)
                    if first < 0:
                        break
                    if kind == 1:
                        stat = one
                    elif kind in (3, 4, 7):
                        fact = one
                known = False
                for slot in range(len(wanted)):
                    if wanted[slot] == stat:
                        out[row, FIRST_STAT + slot] = fact
                        known = True
                for slot in range(len(internal)):
                    if internal[slot] == stat:
                        known = True
                if not known:
                    out[row, FURTHER] += 1
        row += 1
    return row


def nest(start: Any, past: Any, ends: Any, depth: Any) -> None:
    """The depth of each event, sorted by start and longest first: below all that are still open."""
    top = 0
    for row in range(len(start)):
        at = 0
        while at < top and ends[at] > start[row]:
            at += 1
        if at == top and top < len(ends) - 1:
            top += 1
        ends[at] = past[row]
        depth[row] = at


@cache
def compiled() -> tuple[Callable[..., int], Callable[..., int], Callable[..., None]]:
    """`count_events`, `read_events` and `nest` as machine code."""
    import numba

    names = dict(globals())
    # in a namespace of their own, where they call each other: what stands here stays plain
    for name in ("varint", "field", "count_events", "read_events", "nest"):
        own = FunctionType(names[name].__code__, names, name)
        own.__module__, own.__qualname__ = __name__, name
        names[name] = numba.njit(cache=True, nogil=True)(own)
    return names["count_events"], names["read_events"], names["nest"]


def plain() -> tuple[Callable[..., int], Callable[..., int], Callable[..., None]]:
    """The same as they stand here, at once."""
    return count_events, read_events, nest
