"""ByteTable: values by number, each once, found by their bytes."""

from __future__ import annotations

import numpy as np

from peephole.sources.scans import byte_numbers


class ByteTable:
    """Raw values by number; `byte_numbers.number_of` finds and adds them."""

    def __init__(self) -> None:
        self.slots = np.full(1 << 12, -1, np.int32)
        self.arena = np.empty(1 << 18, np.uint8)
        self.places = np.empty((1 << 11, 2), np.int64)
        self.count = 0

    def grow(self) -> None:
        """Twice as much room."""
        self.slots = np.full(len(self.slots) * 2, -1, np.int32)
        self.arena = np.concatenate([self.arena, np.empty_like(self.arena)])
        self.places = np.concatenate([self.places, np.empty_like(self.places)])
        byte_numbers.rehash(self.slots, self.arena, self.places, self.count)

    def has_room(self, values: int, size: int) -> bool:
        """Whether so many values of so many bytes may be added."""
        used = int(self.places[self.count - 1, 1]) if self.count else 0
        most = self.count + values
        return most * 2 <= len(self.slots) and most <= len(self.places) and used + size <= len(self.arena)

    def add(self, value: bytes) -> int:
        """The number of a value, a new one when it is new."""
        while not self.has_room(1, len(value)):
            self.grow()
        data = np.frombuffer(value, np.uint8)
        number = int(byte_numbers.number_of(data, 0, len(data), self.slots, self.arena, self.places, self.count))
        self.count = max(self.count, number + 1)
        return number

    def raw(self, code: int) -> bytes:
        """The bytes of a value."""
        return self.arena[self.places[code, 0] : self.places[code, 1]].tobytes()
