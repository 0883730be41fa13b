"""How often what was compiled in a context ran, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from peephole.store.capture import Capture

COUNTED: Final = 4_000_000
"""Slices up to which runs are counted per context: beyond, Top has them."""


@dataclass(frozen=True, slots=True)
class ContextRuns:
    """The runs of one context."""

    count: int
    total: int
    """ns"""


def runs_of_contexts(capture: Capture) -> dict[int, ContextRuns] | None:
    """The runs on devices by context, of those that ran; None when there are too many slices to count at once."""
    if capture.count("slices") > COUNTED:
        return None
    tracks = capture.read("tracks", ["id", "kind"])
    # the compilation of a kernel is a slice of its context too, on the host
    devices = [id for id, kind in zip(tracks["id"].tolist(), tracks.texts("kind"), strict=True) if kind == "device"]
    frame = capture.read("slices", ["track", "context", "dur"])
    keep = (frame["context"] >= 0) & np.isin(frame["track"], devices)
    contexts, place = np.unique(frame["context"][keep], return_inverse=True)
    counts = np.bincount(place, minlength=len(contexts))
    totals = np.zeros(len(contexts), np.int64)
    np.add.at(totals, place, frame["dur"][keep])
    columns = zip(contexts.tolist(), counts.tolist(), totals.tolist(), strict=True)
    return {context: ContextRuns(count, total) for context, count, total in columns}
