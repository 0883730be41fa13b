"""Track numbers of many processes as one series."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

_FIRST: Final = 1 << 8


class Tracks:
    """Gives the tracks of all processes numbers of one series, in the order in which they turn up."""

    def __init__(self) -> None:
        self._numbers: dict[int, Any] = {}
        self.owner: list[tuple[int, int]] = []

    def globals(self, process: int, local: Any) -> Any:
        """The capture's numbers of a process's track numbers; negative ones stay."""
        local = np.asarray(local, np.int64)
        known = self._numbers.get(process)
        if known is None:
            known = self._numbers[process] = np.full(_FIRST, -1, np.int64)
        if len(local) == 0:
            return local
        largest = int(local.max())
        if largest >= len(known):
            known = np.concatenate([known, np.full(max(len(known), largest + 1 - len(known)), -1, np.int64)])
            self._numbers[process] = known
        if int(local.min()) >= 0:
            # nearly always: no negative numbers, and all of them known
            found = known[local]
            if int(found.min()) >= 0:
                return found
        found = np.where(local < 0, local, known[np.maximum(local, 0)])
        if len(new := local[(found < 0) & (local >= 0)]):
            # not np.unique, which loads numpy.ma when it is asked for nothing else
            for number in np.flatnonzero(np.bincount(new)).tolist():
                known[number] = len(self.owner)
                self.owner.append((process, number))
            found = np.where(local < 0, local, known[np.maximum(local, 0)])
        return found
