"""Slices that had not ended when the recording did: they count to the end of the trace."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np

from peephole.model.json_text import json_object
from peephole.store.capture import Capture

_LANES: Final = 4096
"""Lanes whose last slice is looked at."""


def unfinished(capture: Capture, tracks: Collection[int] | None = None) -> int:
    """How many slices of these tracks, or of all, have no end of their own."""
    lanes = capture.lanes()
    if not len(lanes):
        return 0
    frame = capture.read("tracks", ["id", "process"])
    order = np.argsort(frame["id"], kind="stable")
    known, process = frame["id"][order], frame["process"][order]
    own = np.full(len(lanes), -1, np.int64)
    if len(known):
        at = np.minimum(np.searchsorted(known, lanes.track), len(known) - 1)
        own = np.where(known[at] == lanes.track, process[at], -1)
    # one without an end is the last of its lane and ends with its process, or with the trace
    ends: dict[int, int] = {}
    for number, end in zip(own.tolist(), lanes.end.tolist(), strict=True):
        ends[number] = max(ends.get(number, end), end)
    last = np.array([ends[number] for number in own.tolist()])
    late = (lanes.end == last) | (lanes.end == lanes.end.max())
    if tracks is not None:
        late &= np.isin(lanes.track, np.fromiter(tracks, np.int64))
    found = 0
    for lane in np.flatnonzero(late)[:_LANES].tolist():
        row = int(lanes.first[lane] + lanes.count[lane]) - 1
        text = capture.read("slices", ["args"], slice(row, row + 1)).texts("args")[0]
        found += bool(text and '"open"' in text and (json_object(text) or {}).get("open") is True)
    return found
