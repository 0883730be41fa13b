"""Allocations and releases of a database as buffers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from peephole.model.sink import Sink, Strings
from peephole.model.tables import NONE
from peephole.sources.parted_rows import Ints, PartedRows, together


class AllocationRows:
    """Pairs what was allocated with what was freed at the same address of the same space.

    `taken_again`: what is allocated where something lies ends that, or else leaves it as it was.
    """

    def __init__(self, folder: Path | None, taken_again: bool) -> None:
        self._rows = PartedRows(8, folder)
        self._taken_again = taken_again
        self._devices: dict[str, int] = {}
        self._lone = self._count = 0

    def append(
        self, space: Ints, address: Ints, order: Ints, time: Ints, size: Ints, device: Strings, freed: NDArray[np.bool_]
    ) -> None:
        """Takes events; `order` is when they happened, `time` when an allocation was done, and whether it is a
        release."""
        used = set(np.unique(device.codes[~freed]).tolist())  # a release need not say whose memory it was
        own = np.array(
            [self._devices.setdefault(name, len(self._devices)) if code in used else 0
             for code, name in enumerate(device.values)], np.int64
        )  # fmt: skip
        numbers = np.arange(self._count, self._count + len(space))
        self._count += len(space)
        key = address * 31 + space
        self._rows.append(
            key, space, address, order, numbers, time, np.maximum(size, 0), own[device.codes] << 1 | freed
        )

    def finish(self, sink: Sink, first: int, lone_reason: str) -> int:
        """Appends the buffers; gives the number of the next one. Releases of what was never allocated are counted."""
        for (rows,) in together(self._rows):
            first = self._pair(sink, rows, first)
        if self._lone:
            sink.problem(lone_reason, self._lone)
        return first

    def _pair(self, sink: Sink, rows: Ints, first: int) -> int:
        _, space, address, order, number, time, size, what = rows[:, np.lexsort((rows[4], rows[3], rows[2], rows[1]))]
        freed = what & 1 > 0
        goes_on = np.zeros(len(space) + 1, np.bool_)
        goes_on[1:-1] = (space[1:] == space[:-1]) & (address[1:] == address[:-1])
        follows, followed = goes_on[:-1], goes_on[1:]
        before = np.append(True, freed)[:-1]
        self._lone += int((freed & (before | ~follows)).sum())
        after, then = np.append(freed, False)[1:], np.append(order, 0)[1:]
        ended = followed & (after | self._taken_again)
        own = np.flatnonzero(~freed)
        own = own[np.lexsort((number[own], order[own]))]
        if len(own):
            names = list(self._devices)
            columns = {
                "id": np.arange(first, first + len(own)),
                "device": Strings(what[own] >> 1, names),
                "alloc": time[own],
                "free": np.where(ended, then, NONE)[own],
                "bytes": size[own],
            }
            sink.append("buffers", columns)
        return first + len(own)
