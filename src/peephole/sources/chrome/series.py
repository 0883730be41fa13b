"""Values of counters to rows, all of a batch at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peephole.sources.chrome.batch import CounterValues, EventBatch
from peephole.sources.chrome.tracks import Tracks

Known = dict[tuple[int, int, str], int]
"""Tracks by the numbers of process and counter and the name of the series."""


class Series:
    """The values of a batch's counters, and which series each is of."""

    def __init__(self, batch: EventBatch, values: CounterValues) -> None:
        self._values = values
        self._time = batch.ts[values.row]
        pid, name = batch.pid[values.row], batch.name[values.row]
        order = np.lexsort((values.key, name, pid))
        columns = [column[order] for column in (pid, name, values.key)]
        change = np.ones(len(order), np.bool_)
        change[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
        heads = np.flatnonzero(change)
        self._of: NDArray[np.int64] = np.empty(len(order), np.int64)
        self._of[order] = np.cumsum(change) - 1
        self._keys = [(int(pid[at]), int(name[at]), values.names[values.key[at]]) for at in order[heads].tolist()]
        first = np.minimum.reduceat(order, heads) if len(order) else order
        self._first = values.row[first].tolist()
        self._rank = first.tolist()

    def __len__(self) -> int:
        return len(self._time)

    def new_rows(self, known: Known) -> list[int]:
        """Events that name a series for the first time."""
        return [row for row, key in zip(self._first, self._keys, strict=True) if key not in known]

    def open(self, row: int, known: Known, tracks: Tracks, text: Callable[[int], str]) -> None:
        """Gives the new series of an event their tracks."""
        new = [i for i, first in enumerate(self._first) if first == row and self._keys[i] not in known]
        for pid, name, series in (self._keys[i] for i in sorted(new, key=self._rank.__getitem__)):
            known[pid, name, series] = tracks.counter(text(pid), text(name), series)

    def columns(self, known: Known) -> dict[str, Any]:
        """The rows of the table."""
        numbers = np.array([known[key] for key in self._keys], np.int32)
        return {"track": numbers[self._of], "time": self._time, "value": self._values.value}
