"""tinygrad's lists, read by places that stay. Standard library only.

What was ever put into a list has a place, counted from the beginning. The lists that are hidden from the program only
grow (`hidden.py`). Those that were there before the recording the program may clear at any moment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Reader:
    """Reads a list by places.

    What a program puts in and takes out between two looks is not seen, but nothing is taken for another.
    """

    def __init__(self, find: Callable[[], list[Any]], *, behind: bool) -> None:
        self._find = find
        self._list = find()
        self.start = 0
        """The place of the list's first item."""
        self.at = len(self._list) if behind else 0
        self._last: Any = self._list[self.at - 1] if self.at else None
        self._left: list[Any] = []
        """What was still to be read of a list that the program has put another in the place of."""

    def end(self) -> int:
        """The place of the next item."""
        current = self._find()
        if current is not self._list:
            self._left += self._rest(self._list)
            self._list, self._last = current, None
            self.start = self.at + len(self._left)
        if self._was_cleared(self._list):
            self.start, self._last = self.at + len(self._left), None
        return self.start + len(self._list)

    def between(self, end: int) -> list[Any]:
        """The items from where the reader is up to a place that `end` gave; it stays where it is."""
        left = self._left[: max(0, end - self.at)]
        begin = self.at + len(left) - self.start
        return left + self._list[max(0, begin) : max(0, end - self.start)]

    def take(self, end: int) -> list[Any]:
        """The same, and the reader moves on behind them."""
        found = self.between(end)
        own = max(0, len(found) - len(self._left))
        del self._left[: len(found)]
        self.at += len(found)
        if own:
            self._last = found[-1]
        return found

    def _rest(self, before: list[Any]) -> list[Any]:
        begin = self.at + len(self._left) - self.start
        return [] if self._was_cleared(before) else before[max(0, begin) :]

    def _was_cleared(self, own: list[Any]) -> bool:
        at = self.at + len(self._left) - self.start
        return at > len(own) or (at > 0 and self._last is not None and own[at - 1] is not self._last)
