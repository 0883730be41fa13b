"""The fields of tinygrad's nodes, as the bytes that go into the journal. Standard library only.

There are hundreds of thousands, and they stay, since a later graph may share them. As tuples they would all be looked
at whenever Python collects garbage, which then costs the program more than the recording of them does. So a node
whose texts are known is made a record when it is numbered (`matching.py`), and the others when they are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from peephole.sources.tinygrad.live.packing import Packed, node_op, node_parts

_SIMPLE: Final = (int, float, str, bool, bytes, type(None))


class NodeFields(Mapping[int, tuple[Any, ...]]):
    """What `uop_fields` says, whichever way it is kept.

    The dictionaries of numbers go by the `id` of a value: what is held here has its id for itself.
    """

    def __init__(self, kept: dict[int, Any], *, packed: bool, before: NodeFields | None = None, since: int = 0) -> None:
        """`before` knows the texts of the nodes up to `since`: they were numbered otherwise by then."""
        self.kept = kept
        self.packed = packed
        """Whether what is written may be kept as bytes: not in a dictionary that the program sees."""
        self.since = since
        self.ops: dict[int, int] = {}
        """The numbers of the texts of ops."""
        self.own: dict[int, int] = {}
        """The same of dtypes, args and tags that no other value shares its text with: they can be told from it."""
        self.said: dict[int, int] = {}
        """The same of metadata."""
        self.formats: dict[int, tuple[Packed, int, bytes, int]] = {}
        self._before = before
        self._ops: dict[int, Any] = {}
        self._values: dict[int, Any] = {}
        self._said: dict[int, Any] = {}
        self._held: list[Any] = []

    def __getitem__(self, number: int) -> tuple[Any, ...]:
        found = self.kept[number]
        return found if type(found) is not bytes else self._of(number)._unpacked(found)[:5]

    def __iter__(self) -> Iterator[int]:
        return iter(list(self.kept))

    def __len__(self) -> int:
        return len(self.kept)

    def whole(self, number: int) -> tuple[Any, ...]:
        """The fields of a node with its metadata."""
        found: Any = self.kept[number]
        node = found if type(found) is not bytes else self._of(number)._unpacked(found)
        return node if len(node) == 6 else (*node[:5], None)

    def may_be(self, number: int, op: str) -> bool:
        """Whether a node may be of that op, told without taking it apart where it is bytes."""
        found = self.kept.get(number)
        return type(found) is not bytes or getattr(self._of(number)._ops[node_op(found)], "name", op) == op

    def forget(self) -> None:
        """Packs no more: from here on texts have other numbers, and whoever is packing finds none."""
        for numbers in (self.ops, self.own, self.said, self.formats):
            numbers.clear()

    def learn(self, op: Any, number: int) -> None:
        """Learns the number of an op's text."""
        self._ops[number] = op
        self.ops[id(op)] = number

    def learn_value(self, value: Any, number: int) -> None:
        """Learns the number of a text of a dtype, arg or tag."""
        self._held.append(value)
        if value is None or _alike(self._values.setdefault(number, value), value):
            self.own[id(value)] = number

    def learn_metadata(self, said: Any, number: int) -> None:
        """Learns the number of a text of metadata."""
        self._held.append(said)
        self._said.setdefault(number, said)
        self.said[id(said)] = number

    def _of(self, number: int) -> NodeFields:
        return self if self._before is None or number >= self.since else self._before._of(number)

    def _unpacked(self, record: bytes) -> tuple[Any, ...]:
        op, dtype, src, arg, tag, said = node_parts(record)
        values = self._values
        return self._ops[op], values.get(dtype), src, values.get(arg), values.get(tag), self._said.get(said)


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
