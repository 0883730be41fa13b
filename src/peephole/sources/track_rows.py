"""Tracks in the making: each gets its number when it is first asked for, and all their rows are appended at the end."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from peephole.model.sink import Sink
from peephole.model.tables import NONE


@dataclass(slots=True)
class TrackRow:
    """A row of the table; may be changed until the end."""

    name: str
    kind: str
    parent: int = NONE
    order: int = 0
    process: int = NONE
    unit: str | None = None
    rank: int = NONE
    host: str | None = None


class TrackRows:
    """Tracks by whatever the producer knows them by."""

    def __init__(self, first: int = 0) -> None:
        self._first = first
        self._numbers: dict[Hashable, int] = {}
        self._rows: list[TrackRow] = []

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, key: Hashable, row: TrackRow) -> int:
        """The number of a track, which is that row if it is new."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._first + len(self._rows)
            self._rows.append(row)
        return number

    def find(self, key: Hashable) -> int | None:
        """The number of a track that there is."""
        return self._numbers.get(key)

    def row(self, number: int) -> TrackRow:
        """The row of a track."""
        return self._rows[number - self._first]

    def finish(self, sink: Sink) -> int:
        """Appends the rows; gives the number of the next track."""
        rows = self._rows
        sink.append(
            "tracks",
            {
                "id": list(range(self._first, self._first + len(rows))),
                "name": [row.name for row in rows],
                "kind": [row.kind for row in rows],
                "parent": [row.parent for row in rows],
                "order": [max(-(1 << 31), min(row.order, (1 << 31) - 1)) for row in rows],
                "process": [row.process if 0 <= row.process < 1 << 31 else NONE for row in rows],
                "rank": [row.rank for row in rows],
                "host": [row.host for row in rows],
                "unit": [row.unit for row in rows],
            },
        )
        return self._first + len(rows)
