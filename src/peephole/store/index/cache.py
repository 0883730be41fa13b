"""Things that were used lately, up to a number of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Cache(Generic[K, V]):
    """Forgets what was used longest ago when the bytes go beyond the limit. Safe to share between threads."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._bytes = 0
        self._items: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """What was put under the key, or None."""
        with self._lock:
            found = self._items.get(key)
            if found is None:
                return None
            self._items.move_to_end(key)
            return found[0]

    def put(self, key: K, value: V, size: int) -> None:
        """Keeps a value of that many bytes."""
        with self._lock:
            old = self._items.pop(key, None)
            self._bytes += size - (old[1] if old else 0)
            self._items[key] = (value, size)
            while self._bytes > self._limit and len(self._items) > 1:
                _, (_, gone) = self._items.popitem(last=False)
                self._bytes -= gone
