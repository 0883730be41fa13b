"""The fields of tinygrad's nodes, as bytes once they are written. Standard library only.

There are hundreds of thousands, and they stay, since a later graph may share them. As tuples they would all be looked
at whenever Python collects garbage, which then costs the program more than the recording of them does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from peephole.sources.tinygrad.live.packing import node_parts

_SIMPLE: Final = (int, float, str, bool, bytes, type(None))


class NodeFields(Mapping[int, tuple[Any, ...]]):
    """What `uop_fields` says, whichever way it is kept."""

    def __init__(self, kept: dict[int, Any], *, packed: bool, before: NodeFields | None = None, since: int = 0) -> None:
        """`before` knows the texts of the nodes up to `since`: they were numbered otherwise by then."""
        self.kept = kept
        self.packed = packed
        """Whether what is written may be kept as bytes: not in a dictionary that the program sees."""
        self.since = since
        self._before = before
        self._ops: dict[int, Any] = {}
        self._values: dict[int, Any] = {}
        self.several: set[int] = set()
        """The ids of values that share their text with another one, so that the text does not say which it is."""

    def __getitem__(self, number: int) -> tuple[Any, ...]:
        found = self.kept[number]
        if type(found) is not bytes:
            return found  # type: ignore[no-any-return]
        return self._before[number] if self._before is not None and number < self.since else self._unpacked(found)

    def __iter__(self) -> Iterator[int]:
        return iter(list(self.kept))

    def __len__(self) -> int:
        return len(self.kept)

    def learn_op(self, op: Any, number: int) -> None:
        """Learns what a number of an op's text stands for."""
        self._ops[number] = op

    def learn(self, value: Any, number: int) -> None:
        """Learns what a number of a text stands for."""
        if value is not None and not _alike(self._values.setdefault(number, value), value):
            self.several.add(id(value))

    def _unpacked(self, record: bytes) -> tuple[Any, ...]:
        op, dtype, arg, tag, src = node_parts(record)
        values = self._values
        return self._ops[op], values.get(dtype), src, values.get(arg), values.get(tag)


def _alike(one: Any, other: Any) -> bool:
    """Whether two values of one text are the same for whoever reads them."""
    if one is other:
        return True
    kind = type(one)
    if kind is not type(other):
        return False
    if kind is tuple:
        return len(one) == len(other) and all(map(_alike, one, other))
    return kind in _SIMPLE
