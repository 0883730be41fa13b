"""A node as it was recorded, by its id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from peephole.query.rewrites.graph_labels import recorded_type_name

if TYPE_CHECKING:
    from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class RecordedNode:
    """One row of the table `nodes`."""

    id: int
    src: list[int]
    op: str | None
    dtype: str | None
    arg: str | None
    tag: str | None
    shape: str | None
    metadata: str | None
    """The tensor operation that it came from."""
    name: str | None
    """What it is called from graph to graph, where instructions have names."""
    type: str
    """Its element type as a user reads it."""


def recorded_node(capture: Capture, id: int) -> RecordedNode | None:
    """The node of that id; None for one that only a replay made."""
    if not capture.count("nodes"):
        return None
    ids = capture.read("nodes", ["id"])["id"]
    row = int(np.searchsorted(ids, id))
    if row >= len(ids) or ids[row] != id:
        return None
    frame = capture.read("nodes", rows=slice(row, row + 1))
    texts = {name: frame.texts(name)[0] for name in ("op", "dtype", "arg", "tag", "shape", "metadata", "name")}
    return RecordedNode(id, frame.lists("src")[0], **texts, type=recorded_type_name(capture, texts["dtype"] or ""))
