"""tinygrad's lists, read to the end although the program may clear them at any moment. Standard library only.

What was ever put into a list has a place, counted from the beginning: the list holds the newest places, what the
program took out is put aside until it has been read.

    put aside [0 1 2 3] [4 5]   list [6 7 8]   end = 9
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from peephole.record.unseen import hide, unseen


class KeptList(list[Any]):
    """A list that puts aside what is taken out of it; otherwise, and in a pickle, the list that it stands for."""

    __slots__ = ("_aside", "_lock", "_removed")

    def __init__(self, items: Iterable[Any] = ()) -> None:
        super().__init__(items)
        self._removed = 0
        self._aside: list[tuple[int, list[Any]]] = []
        self._lock = threading.RLock()

    # what the reader calls

    def end(self) -> int:
        """How many items there ever were: the place of the next one."""
        with self._lock:
            return self._removed + len(self)

    def ever(self) -> int:
        """The same for the program itself, which must not be left with the lock, wherever it is interrupted."""
        return self._removed + len(self)

    def between(self, begin: int, end: int) -> list[Any]:
        """The items at these places."""
        with self._lock:
            found: list[Any] = []
            for start, items in self._aside:
                at = begin + len(found)
                if start <= at < min(end, start + len(items)):
                    found += items[at - start : end - start]
            at = begin + len(found) - self._removed
            return found + self[max(at, 0) : max(end - self._removed, 0)]

    def forget(self, before: int) -> None:
        """No longer puts aside what is before a place."""
        if self._aside:
            with self._lock:
                self._aside = [chapter for chapter in self._aside if chapter[0] + len(chapter[1]) > before]

    def forked(self) -> None:
        """Begins anew in a forked child, where another thread may have held the lock."""
        self._lock = threading.RLock()

    def _change(self, change: Callable[[], Any]) -> Any:
        with self._lock:
            before = self[:]
            done = change()
            known = set(map(id, before))
            stayed = len(self) if all(id(item) in known for item in self) else 0
            if before:
                self._aside.append((self._removed, before))
            self._removed += len(before) - stayed
            return done

    @unseen
    def __setitem__(self, index: Any, value: Any) -> None:
        try:
            if isinstance(index, slice):
                self._change(lambda: list.__setitem__(self, index, value))
            else:
                list.__setitem__(self, index, value)
        except BaseException as error:
            hide(error)
            raise

    def __reduce_ex__(self, protocol: Any) -> Any:
        return list, (list(self),)


def _changing(name: str) -> Callable[..., Any]:
    own: Callable[..., Any] = getattr(list, name)

    @unseen
    @functools.wraps(own)
    def change(self: KeptList, *args: Any, **words: Any) -> Any:
        try:
            return self._change(lambda: own(self, *args, **words))
        except BaseException as error:
            hide(error)
            raise

    return change


for _name in ("clear", "pop", "remove", "insert", "sort", "reverse", "__delitem__", "__imul__"):
    setattr(KeptList, _name, _changing(_name))


class KeptDict(dict[Any, Any]):
    """A dictionary that still finds, for its reader, what the program took out of it; otherwise a plain one."""

    __slots__ = ("aside",)

    def __init__(self, items: Any = ()) -> None:
        super().__init__(items)
        self.aside: dict[Any, Any] = {}
        """What was taken out."""

    def clear(self) -> None:
        """Takes everything out that is there now."""
        for key in list(self):
            self.pop(key, None)

    def pop(self, key: Any, *otherwise: Any) -> Any:
        """Takes one out."""
        if key in self:
            self.aside[key] = self[key]
        return super().pop(key, *otherwise)

    def popitem(self) -> Any:
        """Takes the last one out."""
        key, value = super().popitem()
        self.aside[key] = value
        return key, value

    # not __delitem__: with one of our own, putting something in would take several times as long

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (dict(self),)


class Reader:
    """Reads a list by places: a kept one, or one that others had taken hold of before it could be kept.

    Of the second kind what is put in and taken out between two looks is not seen, but nothing is taken for another.
    """

    def __init__(self, find: Callable[[], list[Any]], *, behind: bool) -> None:
        self._find = find
        self._list = find()
        self.start = 0
        """The place of the list's first item, of one that is not kept."""
        self._last: Any = None
        self.at = self._list.end() if isinstance(self._list, KeptList) else len(self._list)
        if not behind:
            self.at = 0
        elif self.at and not isinstance(self._list, KeptList):
            self._last = self._list[self.at - 1]
        self._left: list[Any] = []
        """What was still to be read of a list that the program has put another in the place of."""

    def end(self) -> int:
        """The place of the next item."""
        current = self._find()
        if current is not self._list:
            self._left += self._rest(self._list)
            self._list, self._last = current, None
            self.start = self.at + len(self._left)
            if isinstance(current, KeptList):
                self.start -= current.end() - len(current)
        if isinstance(self._list, KeptList):
            return self.start + self._list.end()
        if self._was_cleared(self._list):
            self.start, self._last = self.at + len(self._left), None
        return self.start + len(self._list)

    def between(self, end: int) -> list[Any]:
        """The items from where the reader is up to a place that `end` gave; it stays where it is."""
        left = self._left[: max(0, end - self.at)]
        begin = self.at + len(left) - self.start
        own = self._list
        if isinstance(own, KeptList):
            return left + own.between(begin, max(begin, end - self.start))
        return left + own[max(0, begin) : max(0, end - self.start)]

    def take(self, end: int) -> list[Any]:
        """The same, and the reader moves on behind them."""
        if isinstance(self._list, KeptList) and not self._left:
            self._list.forget(self.at - self.start)
        found = self.between(end)
        own = max(0, len(found) - len(self._left))
        del self._left[: len(found)]
        self.at += len(found)
        if own:
            self._last = found[-1]
        return found

    def forked(self) -> None:
        """Begins anew in a forked child."""
        if isinstance(self._list, KeptList):
            self._list.forked()

    def _rest(self, before: list[Any]) -> list[Any]:
        begin = self.at + len(self._left) - self.start
        if isinstance(before, KeptList):
            return before.between(begin, before.end())
        return [] if self._was_cleared(before) else before[max(0, begin) :]

    def _was_cleared(self, own: list[Any]) -> bool:
        at = self.at + len(self._left) - self.start
        return at > len(own) or (at > 0 and self._last is not None and own[at - 1] is not self._last)


def keep(module: ModuleType, *names: str) -> bool:
    """Puts kept ones in the place of a module's lists and dictionaries; False when others hold these already."""
    own = vars(module)
    names = tuple(name for name in names if type(own.get(name)) in (list, dict))
    for other in list(sys.modules.values()):
        if type(other) is ModuleType and other is not module and any(vars(other).get(n) is own[n] for n in names):
            return False
    for name in names:
        own[name] = KeptDict(own[name]) if type(own[name]) is dict else KeptList(own[name])
    return True
