"""Begins and ends to slices: a stack per track, in one compiled pass over events in the order of time.

Import this module only where its loops run: it brings numba in, and the first call compiles (numba keeps the result).
"""

from __future__ import annotations

from typing import Any, Final

from numba import njit  # noqa: TID253

from peephole.sources.perfetto.event_scan import AROUND, BEGIN, COMPLETE, NEXT, STATE, STOP

E_TRACK, E_START, E_NAME, E_ARGS, E_ARGS_END, E_NUMBER, E_BELOW = range(7)
"""Columns of an open slice; its number is 0 when the place is free, and E_BELOW the next free one then."""
ENTRY: Final = 7
O_TRACK, O_START, O_DUR, O_NAME, O_NUMBER, O_BEGIN, O_BEGIN_END, O_END, O_END_END = range(9)
OUT: Final = 9


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _close(top: Any, track: int, entries: Any, free: int, time: int, first: int, past: int, out: Any, made: int) -> int:
    """Ends the innermost slice of a track; gives its place, which is free now."""
    entry = top[track]
    open_ = entries[entry]
    row = out[made]
    row[O_TRACK], row[O_START], row[O_NAME], row[O_NUMBER] = track, open_[E_START], open_[E_NAME], open_[E_NUMBER]
    row[O_DUR] = max(0, time - open_[E_START])
    row[O_BEGIN], row[O_BEGIN_END], row[O_END], row[O_END_END] = open_[E_ARGS], open_[E_ARGS_END], first, past
    top[track] = open_[E_BELOW]
    open_[E_NUMBER] = 0
    open_[E_BELOW] = free
    return entry  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def match(
    time: Any, track: Any, op: Any, name: Any, args: Any, args_end: Any, length: Any, order: Any,
    top: Any, last: Any, whole: Any, entries: Any, free: int, number: int, out: Any, bound: Any,
) -> Any:  # fmt: skip
    """Goes through events in that order.

    Gives (slices made, head of the free places, the next number, ends without a begin, events out of order); `bound`
    gets the number of the slice that each event begins or ends, or that its arrow touches. `whole` has for each track
    the last slice that came with its length (number, end), the latest event whose arrow waits for a slice, and the
    slice that arrows of earlier windows get: -1 while they wait for it.
    """
    whole[:, 2] = 0
    made = lone = late = 0
    for i in range(order.shape[0]):
        e = order[i]
        t = track[e]
        if time[e] < last[t]:
            late += 1
        else:
            last[t] = time[e]
        what = op[e]
        if what == AROUND:
            if whole[t, 0] > 0 and whole[t, 1] >= time[e] and (top[t] < 0 or entries[top[t], E_NUMBER] < whole[t, 0]):
                bound[e] = whole[t, 0]
            elif top[t] >= 0:
                bound[e] = entries[top[t], E_NUMBER]
            continue
        if what == NEXT:
            bound[e] = -whole[t, 2]  # the one that waits as well
            whole[t, 2] = e + 1
            continue
        if what in (STOP, STATE):
            if top[t] >= 0:
                bound[e] = entries[top[t], E_NUMBER]
                first, past = (args[e], args_end[e]) if what == STOP else (0, 0)
                free = _close(top, t, entries, free, time[e], first, past, out, made)
                made += 1
            elif what == STOP:
                lone += 1
            if what == STOP or name[e] == 0:
                continue
        if what in (BEGIN, STATE):
            entry = free
            free = entries[entry, E_BELOW]
            row = entries[entry]
            row[E_TRACK], row[E_START], row[E_NAME], row[E_NUMBER], row[E_BELOW] = t, time[e], name[e], number, top[t]
            row[E_ARGS], row[E_ARGS_END] = args[e], args_end[e]
            top[t] = entry
        else:
            row = out[made]
            row[O_TRACK], row[O_START], row[O_NAME], row[O_NUMBER] = t, time[e], name[e], number
            row[O_DUR] = length[e] if what == COMPLETE else 0
            row[O_BEGIN], row[O_BEGIN_END], row[O_END], row[O_END_END] = args[e], args_end[e], 0, 0
            made += 1
            if what == COMPLETE:
                whole[t, 0], whole[t, 1] = number, time[e] + length[e]
        bound[e] = number
        if whole[t, 3] < 0:
            whole[t, 3] = number
        other = whole[t, 2]
        whole[t, 2] = 0
        while other > 0:
            waits = bound[other - 1]
            bound[other - 1] = number
            other = -waits
        number += 1
    return made, free, number, lone, late
