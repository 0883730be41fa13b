"""How much was done in each context."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from peephole.store.tables.frame import Frame


def work_of_contexts(steps: Frame) -> dict[int, tuple[int, int]]:
    """How many steps and matches each context has, by its id; `steps` are the columns `context` and `matches`."""
    owners, place = np.unique(steps["context"], return_inverse=True)
    count = np.bincount(place, minlength=len(owners)).tolist()
    matches = np.bincount(place, np.maximum(steps["matches"], 0), len(owners)).astype(np.int64).tolist()
    return dict(zip(owners.tolist(), zip(count, matches, strict=True), strict=True))
