"""What a packet means by what came before it on its sequence: tracks, names and clocks, in one compiled pass.

Import this module only where its loops run: it brings numba in, and the first call compiles (numba keeps the result).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit  # noqa: TID253

from peephole.sources.perfetto.packet_scan import (
    ASYNC_ID,
    CATEGORY,
    CATEGORY_TEXT,
    CLOCK,
    DELTA,
    DOMAIN,
    DROPPED,
    ENCLOSED,
    EVENT,
    EVENT_END,
    FLAGS,
    GENERATION,
    HAS,
    HAS_ABSOLUTE,
    HAS_CLOCK,
    HAS_DELTA,
    HAS_EVENT,
    HAS_FLOWS,
    HAS_PROCESS,
    HAS_STATE,
    HAS_THREAD,
    HAS_TIME,
    HAS_UUID,
    NAME,
    NAME_CODE,
    NAME_END,
    NAME_ID,
    OP,
    PHASE,
    PROCESS,
    SCOPE,
    SEQUENCE,
    THREAD,
    TIME,
    TRACK,
    TYPE,
    UUID,
    field,
    fixed,
    hash_of,
    varint,
)  # fmt: skip
from peephole.sources.scans.byte_numbers import number_of
from peephole.sources.scans.pair_numbers import entry_of, find

NONE, BEGIN, STOP, INSTANT, COUNTER, STATE, COMPLETE, AROUND, NEXT, UNKNOWN, TIMELESS, LOST = range(12)
"""What an event does (OP). AROUND, NEXT: an arrow touches the slice there, or the next one.

The last three are counted and go no further."""
BY_UUID, BY_SEQUENCE, BY_ID, COUNTED, BY_THREAD = range(5)
"""What a track is known by: its uuid, a sequence, the id of an async event, a counter's uuid, process and thread."""
F_GOES_ON, F_ENDS, F_BEGINS = range(3)
"""What an event does to a flow that it is part of."""
S_GENERATION, S_VALID, S_TRACK, S_HAS_TRACK, S_CLOCK, S_REFERENCE, S_THREAD, S_HAS_THREAD = range(8)
SEQUENCE_COLUMNS: Final = 8
KINDS: Final = 8
"""Kinds of interned values in a generation; the table is asked for generation * KINDS + kind."""
K_NAME, K_CATEGORY, K_KEY, K_TEXT, K_PLACE, K_STACK, K_CORRELATION, K_SCOPE = range(8)
LEGACY_CLOCK: Final = 3
"""Times in microseconds of old events are of the monotonic clock."""
FIRST_OWN, LAST_OWN = 64, 127
"""Clocks that belong to one sequence."""


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _op(kind: int, phase: int, enclosed: bool) -> Any:
    """What an event does, and whether it is known by an id."""
    if kind:
        return (kind if kind <= STATE else UNKNOWN), False
    if phase == 66:
        return BEGIN, False
    if phase == 69:
        return STOP, False
    if phase in (73, 105, 82):
        return INSTANT, False
    if phase == 88:
        return COMPLETE, False
    if phase in (98, 83):
        return BEGIN, True
    if phase in (101, 70):
        return STOP, True
    if phase in (110, 84, 112):
        return INSTANT, True
    if phase in (115, 116, 102):
        return (NEXT if phase == 102 and not enclosed else AROUND), False
    return UNKNOWN, False


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _mixed(value: int, more: int) -> Any:
    h = (np.uint64(value) ^ np.uint64(more) * np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    return np.int64(h ^ (h >> np.uint64(31)))


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _scoped(
    buf: Any, rows: Any, row: int, phase: int, thread: int, generation: int, i_slots: Any, i_keys: Any, i_values: Any
) -> Any:
    """An id together with where it counts: among events of its category and scope, or name, and in its process."""
    category = hash_of(buf, rows[CATEGORY_TEXT, row] >> 32, rows[CATEGORY_TEXT, row] & 0xFFFFFFFF)
    if rows[CATEGORY, row]:
        entry = find(generation * KINDS + K_SCOPE, rows[CATEGORY, row], i_slots, i_keys)
        category = i_values[entry] if entry >= 0 else -rows[CATEGORY, row]
    key = _mixed(rows[ASYNC_ID, row], category)
    if rows[SCOPE, row]:
        key = _mixed(key, rows[SCOPE, row])
    elif phase in (83, 84, 112, 70, 115, 116, 102):  # the oldest kinds: begin and end have one name
        key = _mixed(key, rows[NAME_CODE, row] + (1 << 32))
    if rows[ASYNC_ID, row] & 3 == 2:
        key = _mixed(key, rows[PROCESS, row] if rows[HAS, row] & HAS_PROCESS else thread >> 32)
    return key


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def resolve(
    buf: Any, rows: Any, at: int, n: int, generations: int,
    q_slots: Any, q_keys: Any, q_count: int, sequences: Any,
    t_slots: Any, t_keys: Any, t_named: Any, t_count: int,
    i_slots: Any, i_keys: Any, i_values: Any,
    c_slots: Any, c_keys: Any, clocks: Any,
    n_slots: Any, n_arena: Any, n_places: Any, n_count: int,
) -> Any:  # fmt: skip
    """Resolves packets up to one that changes what later ones mean; gives its place and how full the tables are now."""
    while at < n:
        has = rows[HAS, at]
        sequence = entry_of(0, rows[SEQUENCE, at], q_slots, q_keys, q_count)
        if sequence == q_count:
            q_count += 1
            for column in range(SEQUENCE_COLUMNS):
                sequences[sequence, column] = 0
            sequences[sequence, S_GENERATION] = generations
            generations += 1
        state = sequences[sequence]
        if rows[FLAGS, at] & 1:
            rows[FLAGS, at] &= ~1
            state[S_GENERATION] = generations
            generations += 1
            state[S_VALID] = 1
            state[S_HAS_TRACK] = state[S_CLOCK] = 0
        elif has & DROPPED:
            state[S_VALID] = 0
            rows[HAS, at] = has = has & ~DROPPED
        rows[GENERATION, at] = state[S_GENERATION]
        rows[DOMAIN, at] = sequence
        if has & HAS_STATE:
            break
        at += 1
        if not has & HAS_EVENT:
            continue
        row = at - 1
        op, known_by_id = _op(rows[TYPE, row], rows[PHASE, row], has & ENCLOSED > 0)
        time, clock = rows[TIME, row], state[S_CLOCK]  # 0 is that of the trace
        if has & HAS_CLOCK:
            clock = rows[CLOCK, row]
        if not has & HAS_TIME:
            clock = LEGACY_CLOCK
            if has & HAS_DELTA:
                state[S_REFERENCE] += rows[DELTA, row]
                time = state[S_REFERENCE] * 1000
            elif has & HAS_ABSOLUTE:
                time = rows[DELTA, row] * 1000
            else:
                op = TIMELESS
        if FIRST_OWN <= clock <= LAST_OWN:
            own = find(sequence, clock, c_slots, c_keys)
            if own >= 0:
                if clocks[own, 2]:
                    clocks[own, 0] += time
                    time = clocks[own, 0]
                time *= clocks[own, 1]
            clock += (sequence + 1) * 128
        if rows[FLAGS, row] & 2 and not state[S_VALID]:
            op = LOST
        rows[OP, row] = op
        rows[TIME, row] = time
        rows[DOMAIN, row] = clock
        if op >= UNKNOWN:
            continue
        code = 0
        if rows[NAME_END, row] > rows[NAME, row]:
            code = number_of(buf, rows[NAME, row], rows[NAME_END, row], n_slots, n_arena, n_places, n_count)
            if code == n_count:
                n_count += 1
        elif rows[NAME_ID, row]:
            entry = find(state[S_GENERATION] * KINDS + K_NAME, rows[NAME_ID, row], i_slots, i_keys)
            code = i_values[entry] if entry >= 0 else -1
        rows[NAME_CODE, row] = code
        kind, key = BY_UUID, rows[UUID, row]
        if known_by_id or op in (AROUND, NEXT):
            rows[ASYNC_ID, row] = _scoped(
                buf, rows, row, rows[PHASE, row], state[S_THREAD], state[S_GENERATION], i_slots, i_keys, i_values
            )
        if known_by_id:
            kind, key = BY_ID, rows[ASYNC_ID, row]
        elif not has & HAS_UUID:
            if state[S_HAS_TRACK]:
                key = state[S_TRACK]
            elif has & HAS_THREAD:
                process = rows[PROCESS, row] if has & HAS_PROCESS else state[S_THREAD] >> 32
                kind, key = BY_THREAD, (process << 32) | (rows[THREAD, row] & 0xFFFFFFFF)
            elif state[S_HAS_THREAD]:
                kind, key = BY_THREAD, state[S_THREAD]
            else:
                kind, key = BY_SEQUENCE, rows[SEQUENCE, row]
        if op == COUNTER:
            kind = COUNTED
        track = entry_of(kind, key, t_slots, t_keys, t_count)
        if track == t_count:
            t_named[track] = 0
            t_count += 1
        if code > 0 and t_named[track] == 0:
            t_named[track] = code
        rows[TRACK, row] = track
    return at, generations, q_count, t_count, n_count


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _old_flow(buf: Any, at: int, end: int, known_by: int) -> Any:
    """Id of the flow that a legacy event is of, and what it does there; -1 for nothing."""
    phase, bound, direction = 0, np.int64(0), 0
    while at < end:
        number, kind, value, _, stop = field(buf, at, end)
        if stop < 0:
            break
        at = stop
        if kind == 0 and number == 2:
            phase = value & 0xFF
        elif kind == 0 and number == 8:
            bound = value
        elif kind == 0 and number == 13:
            direction = value
    if phase in (115, 116, 102):
        return known_by, F_BEGINS if phase == 115 else F_GOES_ON
    if direction in (1, 2, 3):
        return bound, F_ENDS if direction == 1 else F_BEGINS if direction == 2 else F_GOES_ON
    return bound, -1


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def flow_ids(buf: Any, rows: Any, chosen: Any, o_event: Any, o_id: Any, o_ends: Any) -> Any:
    """Lists the flow ids of the chosen packets' events by their place: (how many, the first without room, or -1)."""
    made = 0
    for place in range(chosen.shape[0]):
        row = chosen[place]
        if not rows[HAS, row] & HAS_FLOWS:
            continue
        at, end = rows[EVENT, row], rows[EVENT_END, row]
        if made + (end - at) > o_id.shape[0]:
            return made, place
        while at < end:
            number, kind, value, begin, stop = field(buf, at, end)
            if stop < 0:
                break
            at = stop
            if number == 6 and kind == 2 and made < o_id.shape[0]:
                flow, what = _old_flow(buf, begin, stop, rows[ASYNC_ID, row])
                if what >= 0:
                    o_event[made], o_id[made], o_ends[made] = place, flow, what
                    made += 1
            if number not in (36, 42, 47, 48):
                continue
            ends = number in (42, 48)
            if kind == 2:
                while begin < stop:
                    if number > 42:
                        if stop - begin < 8:
                            break
                        value, begin = fixed(buf, begin), begin + 8
                    else:
                        value, begin = varint(buf, begin, stop)
                        if begin < 0:
                            break
                    o_event[made], o_id[made], o_ends[made] = place, value, ends
                    made += 1
            elif kind in (0, 1):
                o_event[made], o_id[made], o_ends[made] = place, value, ends
                made += 1
    return made, -1
