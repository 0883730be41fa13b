"""The user's line of what tinygrad keeps no metadata for: a STORE (an assignment, a clone) and a COPY to a device.
Standard library only.

Nothing that the program can see changes: the methods that make these nodes are looked up through a descriptor that
notes who asks, and the note goes into the fields that are traced, not into tinygrad's own metadata. No frame of ours
stands between the program and tinygrad.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from peephole.record.unseen import hide, unseen
from peephole.sources.tinygrad.live import hidden
from peephole.sources.tinygrad.live.matching import Number
from peephole.sources.tinygrad.live.node_lines import Caller


class Noted:
    """What stands where a node's metadata would: an operation and the line that it was called on."""

    __slots__ = ("backward", "caller", "name")

    def __init__(self, name: str, caller: str) -> None:
        self.name = name
        self.caller = caller
        self.backward = False


class _Noting:
    """A method, and a note of whoever looks it up on a node; `rewriting` is what is under way in the compiler."""

    def __init__(self, plain: Any, word: str, metadata: Any, rewriting: list[Any]) -> None:
        self._plain = plain
        self._word = word
        self._metadata = metadata
        self._rewriting = rewriting
        self._caller = Caller()
        self.note = f"peephole_{word}"
        """What it is kept as, with the first source of the node that is about to be made."""

    @unseen
    def __get__(self, node: Any, owner: type | None = None) -> Any:
        try:
            if node is None:
                return self._plain
            if not self._rewriting:
                self._note(node)
            return self._plain.__get__(node, owner)
        except BaseException as error:
            hide(error)
            raise

    def _note(self, node: Any) -> None:
        asking = sys._getframe(2)
        line = self._caller.line(asking)
        if line:
            names = getattr(self._metadata.get(), "name", ""), self._caller.function(asking)
            node.__dict__[self.note] = Noted(next(filter(_is_told, names), self._word), line)


def _is_told(name: str) -> bool:
    """Whether a user knows a function of that name; `__iadd__` is one."""
    return bool(name) and (not name.startswith("_") or name.startswith("__"))


def add_effect_lines(ops: ModuleType, tensor: ModuleType) -> None:
    """Makes tinygrad's traced nodes carry the lines of assignments and copies."""
    kind, op = ops.UOp, ops.Ops
    traced = kind.__dict__.get("trace_num")
    quick = traced if isinstance(traced, Number) else None
    own: Callable[[Any], int] | None = getattr(traced, "fxn", None)
    if (own is None and quick is None) or not all(name in kind.__dict__ for name in ("store", "copy_to_device")):
        return
    rewriting = ops.active_rewrites
    store = _Noting(kind.__dict__["store"], "store", tensor._METADATA, rewriting)
    copy = _Noting(kind.__dict__["copy_to_device"], "copy", tensor._METADATA, rewriting)
    kind.store, kind.copy_to_device = store, copy
    notes = {op.STORE: store.note, op.COPY: copy.note}
    if quick is not None:
        quick.notes = notes
    elif own is not None:
        _note_numbered(ops, traced, own, notes)


def _note_numbered(ops: ModuleType, traced: Any, own: Callable[[Any], int], notes: dict[Any, str]) -> None:
    """Has tinygrad's own way of numbering nodes keep the notes."""
    fields, count = hidden.of(ops, "uop_fields"), ops.ucount

    @unseen
    def trace_num(node: Any) -> int:
        try:
            known = notes.get(node.op)
            noted = node.src[0].__dict__.get(known) if known and node.src and node.metadata is None else None
            if noted is None:
                return own(node)
            number: int = next(count)
            fields[number] = (node.op, node.dtype, tuple(s.trace_num for s in node.src), node.arg, node.tag, (noted,))
            return number
        except BaseException as error:
            hide(error)
            raise

    traced.fxn = trace_num
