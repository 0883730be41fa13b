"""How often what was compiled in a context ran, and for how long: the one sum behind Top, Code, Schedule and search."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import numpy as np

from peephole.model.plain_names import plain
from peephole.query.calls.functions import Functions
from peephole.query.calls.tree import by_function, call_tree
from peephole.query.timeline.group_tracks import group_tracks
from peephole.store.capture import Capture

COUNTED: Final = 4_000_000
"""Slices up to which runs are counted per context: beyond, Top has them."""


@dataclass(frozen=True, slots=True)
class ContextRuns:
    """The runs of one context."""

    count: int
    total: int
    """ns"""


def runs_of_contexts(capture: Capture, only: Collection[int] | None = None) -> dict[int, ContextRuns] | None:
    """The runs on devices by context, of those that ran; None when there are too many slices to count at once.

    `only`: on these tracks. The compilation of a kernel is a slice of its context too, on the host, and no run.
    """
    if capture.count("slices") > COUNTED:
        return None
    if not capture.count("contexts"):
        return {}
    tracks = [row.id for row in group_tracks(capture, "kernels") if only is None or row.id in only]
    # as Top sums up its rows
    functions = Functions(capture, by_kernel=True)
    sums = by_function(call_tree(capture, tracks, together="kernels", functions=functions)).sums
    found: dict[int, ContextRuns] = {}
    for at in np.flatnonzero(sums.context >= 0).tolist():
        context = int(sums.context[at])
        before = found.get(context, ContextRuns(0, 0))
        found[context] = ContextRuns(before.count + int(sums.count[at]), before.total + int(sums.total[at]))
    return found


def context_serials(capture: Capture) -> dict[int, int]:
    """The how manieth of its name each context is, from 1: the 2 of `name#2`."""
    if not capture.count("contexts"):
        return {}
    frame = capture.read("contexts", ["id", "name"])
    seen: dict[str, int] = {}
    found = {}
    for id, name in zip(frame["id"].tolist(), frame.texts("name"), strict=True):
        own = plain(name)
        found[id] = seen[own] = seen.get(own, 0) + 1
    return found
