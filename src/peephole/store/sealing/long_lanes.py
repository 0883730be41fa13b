"""A lane of more overlapping slices than memory should hold: laid out window by window, through a spool of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from peephole.store.sealing.chunks import Slices
from peephole.store.sealing.spool import PART, RECORD, Part, Records, SliceSpool
from peephole.store.tables.lanes import MAX_DEPTH, Ints, more_sublanes, runs

LONG: Final = 1 << 20
"""Slices of a lane up to which it is laid out at once."""


def lay_out_long(spool: SliceSpool, part: Part, shift: int, folder: Path) -> tuple[SliceSpool, int] | None:
    """The slices on their rows in a spool, `shift` rows lower than they were, and how many rows more than one they
    take. None when these are more than a depth can name."""
    laid = SliceSpool(folder, in_memory=0, settled=True)
    ends: Ints = np.zeros(0, np.int64)
    try:
        for window in spool.windows(part, PART):
            slices = ended(window)
            slices = slices.take(np.lexsort((-slices.dur, slices.start)))
            rows, ends = more_sublanes(slices.start, slices.dur, ends)
            if int(slices.depth[0]) + shift + len(ends) > MAX_DEPTH:
                laid.close()
                return None
            slices.depth[:] = slices.depth + shift + rows
            laid.append(_records(slices))
    except BaseException:
        laid.close()
        raise
    return laid, len(ends) - 1


def _records(slices: Slices) -> Records:
    records = np.empty(len(slices), RECORD)
    for name in RECORD.names or ():
        records[name] = getattr(slices, name)
    return records


def ended(slices: Slices) -> Slices:
    """Lanes without the open slices of which a later row says when they ended; of several open ones the longest."""
    is_open = slices.open > 0
    if not is_open.any():
        return slices
    slices = slices.take(np.lexsort((slices.dur, slices.start, slices.depth, slices.track)))
    is_open = slices.open > 0
    bounds = runs(slices.track, slices.depth, slices.start)
    group = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    closed = np.zeros(len(bounds) - 1, np.bool_)
    closed[group[~is_open]] = True
    last = np.zeros(len(slices), np.bool_)
    last[bounds[1:] - 1] = True
    return slices.take(np.flatnonzero(~is_open | (last & ~closed[group])))
