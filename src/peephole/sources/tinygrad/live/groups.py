"""The contexts of a running tinygrad by place: the groups of its steps, and their names. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from peephole.sources.tinygrad.live.kept import KeptList, Reader


class Groups:
    """Reads `tracked_ctxs` and `tracked_keys`, which get an item each for every context."""

    def __init__(self, ops: ModuleType, *, behind: bool) -> None:
        self._ops = ops
        none: list[Any] = []
        self._groups = Reader(lambda: getattr(ops, "tracked_ctxs", none), behind=behind)
        self._keys = getattr(ops, "tracked_keys", none)
        self._end = self._groups.at

    def fresh(self) -> Iterator[tuple[int, Any, list[Any]]]:
        """Place, name and steps of each context that is new."""
        self._end = self._groups.end()
        first = self._groups.at
        for place, group in enumerate(self._groups.between(self._end), first):
            key = self.key(place, None)
            if key is None:
                self._end = place
                break
            yield place, key, group
        self._groups.take(self._end)

    def key(self, place: int, otherwise: Any) -> Any:
        """The name of a context as it is now; `otherwise` when it is no longer there."""
        own = self._ops.tracked_keys
        if isinstance(self._keys, KeptList) and (own is self._keys or place < self._keys.end()):
            found = self._keys.between(place, place + 1)
            return found[0] if found else otherwise
        at = place - self._groups.start
        return own[at] if 0 <= at < len(own) else otherwise

    def grows(self, place: int) -> bool:
        """Whether a context may still get steps: it is not over, or the last one, which gets those of none."""
        if place == self._end - 1:
            return True
        removed = self._groups.end() - len(self._ops.tracked_ctxs)
        return place - removed in getattr(self._ops, "active_group", ())

    def forget(self, before: int | None) -> None:
        """Says that the names before a place, or all that were read, are not asked for again."""
        if isinstance(self._keys, KeptList):
            self._keys.forget(self._end if before is None else before)

    def forked(self) -> None:
        """Begins anew in a forked child."""
        self._groups.forked()
        if isinstance(self._keys, KeptList):
            self._keys.forked()
