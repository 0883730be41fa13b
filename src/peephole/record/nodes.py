"""Nodes of the program's own graphs, recorded once each and known by identity."""

from __future__ import annotations

import enum
import weakref
from collections.abc import Iterable
from typing import Any, Final

from peephole.record import active
from peephole.record.recorder import Recorder

_FIELDS: Final = ("op", "dtype", "arg", "tag", "shape")
"""Taken from an object's attributes; its `name` is not, since many a class has one that names something else."""
_GIVEN: Final = frozenset((*_FIELDS, "metadata", "name"))


class NodeBook:
    """The nodes that a recording has seen. An object is not kept alive, unless it cannot be referred to weakly."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._ids: dict[int, tuple[int, Any]] = {}
        recorder.on_fork(self._ids.clear)

    def find(self, of: object) -> int:
        """The number of an object that was recorded, 0 when it was not."""
        known = self._ids.get(id(of))
        return 0 if known is None else known[0]

    def add(self, of: object, fields: dict[str, Any], sources: list[int]) -> int:
        """Records a node and gives its number; `of` None means that nobody will ask for it by object."""
        number = self.recorder.new_id()
        if of is not None:
            self._ids[id(of)] = (number, self._reference(of))
        texts = {name: _text(value) for name, value in fields.items() if value is not None}
        self.recorder.row("nodes", id=number, src=sources, **texts)
        return number

    def _reference(self, of: object) -> object:
        ids, key = self._ids, id(of)
        try:
            return weakref.ref(of, lambda _: ids.pop(key, None))
        except TypeError:
            return of  # its identity is only good while it lives


def node(of: object = None, *, src: Iterable[Any] | None = None, **fields: Any) -> int:
    """The number of a node: the same for the same object, -1 when nothing is recorded.

    Give the object alone when it has `op` and `src` attributes (and `dtype`, `arg`, `tag`, `shape` where it likes),
    or name these as keywords, with or without an object. `src` holds objects or numbers. Nodes are immutable: fields
    count when an object is seen first. So an instruction that passes alter in place is recorded without its object,
    again whenever it is another: `name`, which is only ever given, says which instruction it is.
    """
    recorder = active.recorder
    if recorder is None:
        return -1
    book = book_of(recorder)
    if of is not None:
        if type(of) is int:
            return of
        known = book.find(of)
        if known:
            return known
        if not fields and src is None:
            return _add_graph(book, of)
    unknown = fields.keys() - _GIVEN
    if unknown:
        raise TypeError(f"a node has no {', '.join(sorted(unknown))}")
    return book.add(of, fields, [node(source) for source in src or ()])


def book_of(recorder: Recorder) -> NodeBook:
    """The recorder's node book."""
    if recorder.nodes is None:
        recorder.nodes = NodeBook(recorder)
    book: NodeBook = recorder.nodes
    return book


def _add_graph(book: NodeBook, root: object) -> int:
    """Records an object and what it stands on, sources first; no recursion, graphs are deep."""
    stack: list[Any] = [root]
    while stack:
        top = stack[-1]
        if book.find(top):
            stack.pop()
            continue
        sources = tuple(getattr(top, "src", None) or ())
        waiting = [source for source in sources if type(source) is not int and not book.find(source)]
        if waiting:
            stack += waiting
            continue
        stack.pop()
        fields = {name: getattr(top, name, None) for name in _FIELDS}
        if fields["op"] is None:
            fields["op"] = type(top).__name__
        book.add(top, fields, [source if type(source) is int else book.find(source) for source in sources])
    return book.find(root)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, enum.Enum):
        return value.name
    try:
        return repr(value)
    except Exception as error:  # the program's __repr__ may fail in any way and must not stop it
        return f"<{type(value).__name__}: {type(error).__name__}>"
