"""The compiled walk of waves through their program. Import it only where it runs: it brings numba in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit  # noqa: TID253

START, END, ISSUE, MASK, EXEC, LAND, READY, LOST = 1, 2, 3, 4, 5, 6, 7, 8
"""What a packet means for the walk; 0 is nothing."""
JUMPS, OTHER, DECIDES = 1, 2, 4
"""Flags of an ISSUE: a taken jump; the instruction of another SIMD, which moves no program counter; a packet that says
whether a branch was taken."""
ASTRAY = 1 << 40
QUEUES = 8
"""Queues of dispatched instructions: SALU, VALU, VMEM, LDS, and the same for other SIMDs."""


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def walk(
    role: Any, flags: Any, queue: Any, queue2: Any, wave: Any, selected: Any, mask: Any, size: Any, target: Any,
    branches: Any, indirect: Any, skipped: Any, pcs: Any, adrift: Any, pending: Any, heads: Any, out_packet:
    Any, out_wave: Any, out_inst: Any, out_link: Any, problems: Any, begin: int, base: int,
) -> Any:  # fmt: skip
    """Follows each wave's program counter and links what executes to what was dispatched.

    Gives (rows, packets done): it stops early when the results are full. A row is a packet and a wave; `out_inst` is
    the instruction (-1: not known), `out_link` for an execution the row of its dispatch (-1: none).
    `pcs[wave]` is the next instruction (-1: no such wave), `pending[queue]` a ring of dispatched rows. `adrift[wave]`
    counts the instructions since a jump to a computed address (-1: none): they are not known until a LAND packet, whose
    `mask` is the instruction plus one (0: outside the program), comes right behind the jump. Where packets were LOST,
    all waves are adrift from ASTRAY on until they end, and what was dispatched is forgotten.
    `problems`: 0 packets of waves that never started, 1 program counters that left the program, 2 executions without
    a dispatch, 3 a branch without its jump packet, 4 waves that started twice, 5 instructions of waves adrift,
    6 of waves astray.
    """
    n = 0
    rows = out_packet.shape[0]
    count = size.shape[0]
    ring = pending.shape[1]
    for i in range(begin, role.shape[0]):
        what = role[i]
        if what == 0:
            continue
        if n + 18 > rows:
            return n, i
        if what == START:
            if selected[i]:
                if pcs[wave[i]] >= 0:
                    problems[4] += 1
                pcs[wave[i]] = 0
                adrift[wave[i]] = -1
            continue
        if what == END:
            if selected[i]:
                at = pcs[wave[i]] if adrift[wave[i]] < 0 else -1
                out_packet[n], out_wave[n], out_inst[n], out_link[n] = i, wave[i], at, -1
                n += 1
                pcs[wave[i]] = -1
            continue
        if what == MASK:
            for w in range(16):
                if mask[i] & np.uint64(1 << w):
                    at = pcs[w]
                    if at < 0:
                        problems[0] += 1
                    elif adrift[w] >= 0:
                        problems[5 if adrift[w] < ASTRAY else 6] += 1
                        adrift[w] += 1
                        at = -1
                    elif at >= count:
                        problems[1] += 1
                        at = -1
                    out_packet[n], out_wave[n], out_inst[n], out_link[n] = i, w, at, -1
                    n += 1
                    if at >= 0:
                        pcs[w] = at + 1
            continue
        if what == ISSUE:
            at = np.int64(-1)
            w = wave[i]
            if not flags[i] & OTHER:
                at = pcs[w]
                if at < 0:
                    problems[0] += 1
                elif adrift[w] >= 0:
                    problems[5 if adrift[w] < ASTRAY else 6] += 1
                    adrift[w] += 1
                    at = -1
                else:
                    while at < count and skipped[at]:
                        at += 1
                    if at >= count:
                        problems[1] += 1
                        at = -1
                        pcs[w] = count
                    elif indirect[at]:
                        adrift[w] = 0
                    elif flags[i] & JUMPS:
                        pcs[w] = target[at] if target[at] >= 0 else count
                    else:
                        if branches[at] and not flags[i] & DECIDES:
                            problems[3] += 1
                        pcs[w] = at + 1
            out_packet[n], out_wave[n], out_inst[n], out_link[n] = i, w, at, -1
            if queue[i] >= 0:
                q = queue[i]
                pending[q, heads[q, 1] % ring] = base + n
                heads[q, 1] += 1
            n += 1
            continue
        if what == EXEC:
            for turn in range(2):
                q = queue[i] if turn == 0 else queue2[i]
                if q < 0:
                    continue
                link = np.int64(-1)
                if heads[q, 0] < heads[q, 1]:
                    link = pending[q, heads[q, 0] % ring]
                    heads[q, 0] += 1
                else:
                    problems[2] += 1
                out_packet[n], out_wave[n], out_inst[n], out_link[n] = i, -1 - q, -1, link
                n += 1
            continue
        if what == LAND:
            w = wave[i]
            if adrift[w] == 0 and mask[i] > np.uint64(0):
                pcs[w] = np.int64(mask[i]) - 1
                adrift[w] = -1
            continue
        if what == LOST:
            for w in range(adrift.shape[0]):
                adrift[w] = ASTRAY
            for q in range(QUEUES):
                heads[q, 0] = heads[q, 1]
            continue
        if what == READY:
            for w in range(16):
                if mask[i] & np.uint64(1 << w) and pcs[w] >= 0:
                    out_packet[n], out_wave[n], out_inst[n], out_link[n] = i, w, -1, -1
                    n += 1
    return n, role.shape[0]
