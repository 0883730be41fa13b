"""Events of a Chrome trace as columns, the form that both parsers give and the mapper takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from peephole.model.sink import Utf8

NO_TIME = np.iinfo(np.int64).min
"""A time that is absent, not a number, or outside what 64 bits of nanoseconds hold."""
MAX_EVENT = 256 << 20
"""Bytes of an event from which on it is damage, and ends the reading."""


class Args(Protocol):
    """The JSON texts of events' args, by row; None where there are none."""

    def __getitem__(self, row: int, /) -> str | None: ...

    def texts(self, rows: NDArray[np.int64]) -> list[str | None]:
        """Those of many events."""


class ListedArgs(list[str | None]):
    """Args that are texts already."""

    def texts(self, rows: NDArray[np.int64]) -> list[str | None]:
        """Those of many events."""
        return [self[row] for row in rows.tolist()]


@dataclass(slots=True)
class CounterValues:
    """Numbers of counter events in the order of the file."""

    row: NDArray[np.int64]
    key: NDArray[np.int32]
    """Number of the series' name among `names`."""
    value: NDArray[np.float64]
    names: list[str]


class Interner:
    """Texts by number, in order of their first appearance; number 0 is the empty text."""

    def __init__(self) -> None:
        self.values: list[str] = [""]
        self._numbers: dict[str, int] = {"": 0}

    def __call__(self, text: str) -> int:
        """The number of a text, a new one when it is new."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.values)
            self.values.append(text)
        return number


@dataclass(slots=True)
class EventBatch:
    """Some events in file order. Codes point into the reader's one Interner; -1 means that the key was absent."""

    phase: NDArray[np.uint8]
    """First byte of `ph`; 0 when there is none."""
    ts: NDArray[np.int64]
    dur: NDArray[np.int64]
    pid: NDArray[np.int32]
    tid: NDArray[np.int32]
    name: NDArray[np.int32]
    category: NDArray[np.int32]
    id: NDArray[np.int32]
    """`id`, or what `id2` says: its global part, or the local one together with the process."""
    scope: NDArray[np.int32]
    """`scope` of an async event."""
    reach: NDArray[np.uint8]
    """First byte of `s`: g, p or t for an instant event; 0 when absent."""
    encloses: NDArray[np.bool_]
    """`bp` is "e": a flow's end binds to the slice around it."""
    args: Args
    packed: Utf8 | None = None
    """Args, begun with the category, of the complete events that have a time: where they are there already."""
    moments: Utf8 | None = None
    """The same of the instant events."""
    counters: CounterValues | None = None
    """What counter events say, where all of them say it plainly."""

    def __len__(self) -> int:
        return len(self.phase)
