"""Events of a Chrome trace as columns, the form that both parsers give and the mapper takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NO_TIME = np.iinfo(np.int64).min
"""A time that is absent, not a number, or outside what 64 bits of nanoseconds hold."""


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
    args: list[str | None]
    """The JSON text of `args`."""

    def __len__(self) -> int:
        return len(self.phase)
