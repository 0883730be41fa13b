"""Call trees deeper than a track has rows: what is deeper stands in the last row, side by side."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.store.capture import Capture
from peephole.store.tables.lanes import CUT_SHORT, MAX_DEPTH, Lanes

DEEPEST: Final = MAX_DEPTH
"""The depth at which such a tree ends; that of what nothing called is 0."""


def cut_tracks(capture: Capture, lanes: Lanes) -> NDArray[np.int64]:
    """The tracks of these lanes whose calls are deeper than the tree says."""
    last = lanes.track[lanes.depth == MAX_DEPTH]
    known = len(last) and any(one.get("reason") == CUT_SHORT for one in capture.manifest.problems)
    return last.astype(np.int64) if known else np.zeros(0, np.int64)
