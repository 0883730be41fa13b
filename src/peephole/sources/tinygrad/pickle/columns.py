"""Rows on their way into a sink: collected into columns, handed over many at a time."""

from __future__ import annotations

from typing import Any, Final

from peephole.model.sink import Sink
from peephole.model.tables import TABLES

_BATCH: Final = 50_000


class Columns:
    """Takes rows one by one, like a recorder does, and gives them to a sink in columns."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self._tracks: dict[str, int] = {}
        self._correlations = 0

    def row(self, table: str, **columns: Any) -> None:
        """Takes one row; a column that is left out gets its default."""
        rows = self._rows.get(table)
        if rows is None:
            rows = self._rows[table] = []
        rows.append(columns)
        if len(rows) >= _BATCH:
            self._flush(table)

    def track(self, name: str, kind: str, order: int, unit: str | None) -> int:
        """The number of the track of that name; a new one is written."""
        number = self._tracks.get(name)
        if number is None:
            number = self._tracks[name] = len(self._tracks)
            self.row("tracks", id=number, name=name, kind=kind, order=order, unit=unit)
        return number

    def new_correlation(self) -> int:
        """A number by which uses and flows can name a slice."""
        self._correlations += 1
        return self._correlations

    def problem(self, reason: str, count: int = 1, example: str = "") -> None:
        """Counts something that was not understood."""
        self.sink.problem(reason, count, example)

    def flush(self) -> None:
        """Gives everything to the sink."""
        for table in list(self._rows):
            self._flush(table)

    def _flush(self, table: str) -> None:
        rows = self._rows.pop(table)
        columns: dict[str, list[Any]] = {}
        for column in TABLES[table].columns:
            if any(column.name in row for row in rows):
                name, default = column.name, column.default
                columns[name] = [row.get(name, default) for row in rows]
        self.sink.append(table, columns)
