"""The rows of a capture as dictionaries, for tests that look at all of them."""

from __future__ import annotations

from typing import Any

from peephole.model.tables import TABLES
from peephole.store.capture import Capture


def rows(capture: Capture, table: str) -> list[dict[str, Any]]:
    """All rows of a table."""
    frame = capture.read(table)
    columns = {
        column.name: list(frame.texts(column.name) if column.type in ("str", "text") else frame[column.name].tolist())
        for column in TABLES[table].columns
    }
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
