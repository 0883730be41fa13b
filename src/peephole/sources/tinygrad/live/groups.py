"""The contexts of a running tinygrad by place: the groups of its steps, and their names. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from peephole.sources.tinygrad.live import hidden
from peephole.sources.tinygrad.live.lists import Reader


class Groups:
    """Reads `tracked_ctxs` and `tracked_keys`, which get an item each for every context."""

    def __init__(self, ops: ModuleType, *, behind: bool) -> None:
        self._ops = ops
        self._groups = Reader(lambda: self._list("tracked_ctxs"), behind=behind)
        self._end = self._groups.at

    def _list(self, name: str) -> list[Any]:
        found: list[Any] = hidden.recorded(self._ops, name) if hasattr(self._ops, name) else []
        return found

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
        keys = self._list("tracked_keys")
        at = place - self._groups.start
        return keys[at] if 0 <= at < len(keys) else otherwise

    def grows(self, place: int) -> bool:
        """Whether a context may still get steps: it is not over, or the last one, which gets those of none."""
        if place == self._end - 1:
            return True
        removed = self._groups.end() - len(self._list("tracked_ctxs"))
        return place - removed in getattr(self._ops, "active_group", ())
