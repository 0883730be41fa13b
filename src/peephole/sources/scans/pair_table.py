"""PairTable: numbers by pairs of numbers, in arrays that compiled loops look into."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from peephole.sources.scans import pair_numbers


class PairTable:
    """A value for each pair of 64-bit numbers; `pair_numbers` finds and adds them."""

    def __init__(self) -> None:
        self.slots = np.full(1 << 10, -1, np.int32)
        self.keys = np.empty((1 << 9, 2), np.int64)
        self.values = np.empty(1 << 9, np.int32)
        self.count = 0

    def make_room(self, more: int) -> None:
        """Room for so many further pairs."""
        while (self.count + more) * 2 > len(self.slots):
            self.slots = np.full(len(self.slots) * 2, -1, np.int32)
            self.keys = np.concatenate([self.keys, np.empty_like(self.keys)])
            self.values = np.concatenate([self.values, np.empty_like(self.values)])
            pair_numbers.rehash(self.slots, self.keys, self.count)

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Forgets all pairs but those, which get other places."""
        keys, values = self.keys[: self.count][chosen], self.values[: self.count][chosen]
        self.slots = np.full(1 << 10, -1, np.int32)
        self.keys, self.values = np.empty((1 << 9, 2), np.int64), np.empty(1 << 9, np.int32)
        self.count = 0
        self.make_room(len(keys))
        self.count = len(keys)
        self.keys[: self.count], self.values[: self.count] = keys, values
        pair_numbers.rehash(self.slots, self.keys, self.count)

    def put(self, first: int, second: int, value: int) -> None:
        """Sets the value of a pair."""
        self.make_room(1)
        entry = pair_numbers.entry_of(np.int64(first), np.int64(second), self.slots, self.keys, self.count)
        self.values[entry] = value
        self.count = max(self.count, entry + 1)

    def put_new(self, first: int, second: int, value: int) -> None:
        """Sets the value of a pair that has none yet."""
        self.make_room(1)
        entry = pair_numbers.entry_of(np.int64(first), np.int64(second), self.slots, self.keys, self.count)
        if entry == self.count:
            self.values[entry] = value
            self.count += 1

    def get(self, first: int, second: int) -> int:
        """The value of a pair, -1 when there is none."""
        entry = pair_numbers.find(np.int64(first), np.int64(second), self.slots, self.keys)
        return int(self.values[entry]) if entry >= 0 else -1

    def entry(self, first: int, second: int) -> int:
        """The place of a pair, which is a new one when it is new."""
        self.make_room(1)
        found = pair_numbers.entry_of(np.int64(first), np.int64(second), self.slots, self.keys, self.count)
        if found == self.count:
            self.values[found] = 0
            self.count += 1
        return int(found)
