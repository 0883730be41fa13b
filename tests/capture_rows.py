"""The rows of a capture as dictionaries, for tests that look at all of them."""

from __future__ import annotations

from typing import Any

from peephole.model.tables import TABLES, Column
from peephole.store.capture import Capture
from peephole.store.tables.frame import Frame


def rows(capture: Capture, table: str) -> list[dict[str, Any]]:
    """All rows of a table."""
    frame = capture.read(table)
    columns = {column.name: _values(frame, column) for column in TABLES[table].columns}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _values(frame: Frame, column: Column) -> list[Any]:
    if column.type in ("str", "text"):
        return list(frame.texts(column.name))
    if column.type == "ids":
        lists = frame.lists(column.name)
        return [lists[row] for row in range(len(frame))]
    if column.type == "bytes":
        blobs = frame.blobs(column.name)
        return [blobs[row] for row in range(len(frame))]
    return list(frame[column.name].tolist())
