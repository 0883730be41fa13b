"""Files that a recorded program's tools left in the capture, as further rows of it."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from peephole.model.left_files import LEFT, READER
from peephole.model.sink import ColumnValues
from peephole.model.tables import TABLES
from peephole.store.journal.global_ids import global_ids, is_id
from peephole.store.journal.track_numbers import Tracks
from peephole.store.sealing.build import Builder


def join_left_files(folder: Path, builder: Builder, processes: list[dict[str, Any]], tracks: Tracks) -> None:
    """Adds the rows of what each process left. What cannot be read is counted, and the rest of the capture is there."""
    free = max((p["ordinal"] for p in processes if isinstance(p.get("ordinal"), int)), default=0) + 1
    left = folder / LEFT
    for place in sorted(left.iterdir()) if left.is_dir() else ():
        # the name of a folder is data: only a source of ours is meant
        source, module = place.name, READER.format(source=place.name)
        if not re.fullmatch("[a-z]+", source) or find_spec(f"peephole.sources.{source}") is None:
            continue
        for own in sorted(place.iterdir()) if place.is_dir() else ():
            started = next((p.get("started") for p in processes if str(p.get("pid")) == own.name), None)
            rows = _Renumbered(builder, free, tracks)
            free += 1
            try:
                importlib.import_module(module).read_left(own, rows, started if isinstance(started, int) else 0)
            except Exception as error:  # a tool's files are no reason to lose what was recorded
                builder.manifest.problem(f"what {source} left could not be read: {type(error).__name__}: {error}", 1)


class _Renumbered:
    """A sink whose rows get ids that no process of the capture has."""

    def __init__(self, builder: Builder, ordinal: int, tracks: Tracks) -> None:
        self._builder, self._ordinal, self._tracks = builder, ordinal, tracks

    def append(self, table: str, columns: Mapping[str, ColumnValues]) -> None:
        """Adds rows."""
        declared = TABLES[table]
        shifted: dict[str, Any] = dict(columns)
        for name, values in columns.items():
            column = declared.column(name)
            if column.unit in ("track", "tracks.id"):
                shifted[name] = self._tracks.globals(self._ordinal, np.asarray(values, np.int64))
                continue
            if not is_id(declared, column):
                continue
            if column.type == "ids":
                offsets, inner = values  # type: ignore[misc]
                shifted[name] = (offsets, global_ids(np.asarray(inner, np.int64), self._ordinal))
            else:
                shifted[name] = global_ids(np.asarray(values, np.int64), self._ordinal)
        self._builder.append(table, shifted)

    def problem(self, reason: str, count: int = 1, example: str = "") -> None:
        """Counts something that was not understood."""
        self._builder.manifest.problem(reason, count, example)

    def describe(self, **facts: Any) -> None:
        """Adds facts to the manifest."""
        self._builder.manifest.describe(facts)
