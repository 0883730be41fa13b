"""A matcher that keeps what tinygrad's tracking one keeps, and does not count beside it. Standard library only.

tinygrad's reads the clock twice for each rule that it looks at, also for those that cannot match, and adds up a table
that is only printed when PRINT_MATCH_STATS or TRACK_MATCH_STATS asks for it. That is a good part of what recording a
compilation costs. Here the clock is read once for each rule that is tried.
"""

from __future__ import annotations

import linecache
import operator
import os
from collections.abc import Callable
from time import perf_counter
from types import CodeType, ModuleType
from typing import Any, Final
from weakref import ref

from peephole.sources.tinygrad.live import hidden
from peephole.sources.tinygrad.live.recode import plain_names

_TRACKS: Final = 2
_op: Final = operator.attrgetter("op")
_NAMES: Final = frozenset(
    ("Exception", "REWRITE_ERROR", "TRACK_MATCH_STATS", "UOp", "__name__", "active_rewrites", "append", "exc_info",
     "get", "isinstance", "issubset", "len", "location", "match_stats", "matches", "op", "pdict", "perf_counter",
     "print", "printable", "src", "sys", "time", "trace_num", "type", "Ops")
)  # fmt: skip
"""What the method that is replaced uses: another release's may do something else."""

_NUMBERS: Final = frozenset(
    ("next", "ucount", "op", "dtype", "tuple", "src", "arg", "tag", "TRACEMETA", "metadata", "uop_fields")
)
_NEEDED: Final = ("ucount", "uop_fields", "TRACEMETA", "all_metadata")


def match_quietly(ops: ModuleType) -> bool:
    """Puts ours in the place of the tracking matcher's method; False where that one is asked to count, or not known."""
    tracked: Any = getattr(ops, "TrackedPatternMatcher", None)
    if tracked is None or "_peephole" in vars(tracked) or not hasattr(ops, "active_rewrites"):
        return False
    if any(os.environ.get(name, "0") != "0" for name in ("PRINT_MATCH_STATS", "TRACK_MATCH_STATS")):
        return False
    own = tracked.rewrite.__code__
    used = plain_names(own)
    for inner in own.co_consts:
        used |= plain_names(inner) if isinstance(inner, CodeType) else set()
    if own.co_varnames[:3] != ("self", "uop", "ctx") or not used <= _NAMES or "match_stats" not in used:
        return False
    tracked.rewrite = _matcher(ops, tracked.rewrite)
    tracked._peephole = True
    return True


def track(ops: Any) -> None:
    """Makes matchers of the class that does not look, which is tinygrad's own one without VIZ, keep their matches."""
    tracked = ops.TrackedPatternMatcher
    plain = tracked.__mro__[1]
    if ops.PatternMatcher is tracked or "_peephole_plain" in vars(plain):
        return
    plain._peephole_plain = plain.rewrite
    plain.rewrite = tracked.rewrite


def plain_rewrite(kind: Any) -> Any:
    """The method of a matcher that does not look."""
    plain = kind.__mro__[-2]
    return vars(plain).get("_peephole_plain", plain.rewrite)


class Number:
    """A node's number, which its fields are kept under; given to a node after its sources, as tinygrad does."""

    def __init__(self, ops: Any, own: Any) -> None:
        self._ops = ops
        self._name = own.nm
        self._next = ops.ucount.__next__
        self._level = hidden.of(ops, "TRACEMETA")
        own_fields = hidden.of(ops, "uop_fields")
        self._mirror: Any = None
        if isinstance(own_fields, hidden.Fields):
            self._mirror = own_fields
            own_fields.by_node = True
        self.notes: dict[Any, str] = {}
        """Of an op that tinygrad keeps no metadata for: how a node's first source keeps what stands there."""
        self.__doc__ = own.__doc__

    def _fields(self) -> dict[int, Any]:
        """Where the nodes are; the program may put another dictionary there that is not hidden from it."""
        fields: dict[int, Any] = self._ops.uop_fields if self._mirror is None else self._mirror.kept
        return fields

    def __get__(self, node: Any, owner: object = None) -> Any:
        if node is None:
            return self
        name = self._name
        known = node.__dict__.get(name)
        shown = self._mirror is not None and self._mirror.switch.value >= _TRACKS
        if known is not None:
            if shown:
                self._mirror.show(known)
            return known
        fields, metadata = self._fields(), self._ops.all_metadata.data if self._level.value >= 2 else None
        notes = self.notes
        nodes: Any = None if self._mirror is None else self._mirror.nodes
        number = -1
        stack = [node]
        while stack:
            node = stack[-1]
            own = node.__dict__
            if name in own:
                stack.pop()
                continue
            below = node.src
            sources: list[int] = []
            ready = len(stack)
            for source in below:
                if (one := source.__dict__.get(name)) is None:
                    stack.insert(ready, source)  # the first of them is the next
                else:
                    sources.append(one)
            if len(stack) > ready:
                continue
            stack.pop()
            number = self._next()
            op, dtype, arg, tag = node.op, node.dtype, node.arg, node.tag
            said = None if metadata is None else metadata.get(ref(node))
            if said is None and op in notes and below and (noted := below[0].__dict__.get(notes[op])):
                said = (noted,)
            try:  # its texts are looked up after it has its number: see `NodeFields.forget`
                pack, length, middle, size = nodes.formats[len(sources)]
                texts = nodes.own
                fields[number] = pack(
                    length,
                    number,
                    nodes.ops[id(op)],
                    texts[id(dtype)],
                    texts[id(arg)],
                    texts[id(tag)],
                    middle,
                    nodes.said[id(said)],
                    0,
                    size,
                    *sources,
                )
            except (KeyError, AttributeError):  # a text that nobody has written yet, or nobody who writes them
                what = (op, dtype, tuple(sources), arg, tag)
                fields[number] = what if metadata is None and said is None else (*what, said)
            own[name] = number
        if shown:
            self._mirror.show(number)
        return number


def number_quickly(ops: Any) -> bool:
    """Numbers nodes without a walk for each; False where tinygrad's own way is another one."""
    node = ops.UOp
    own = vars(node).get("trace_num")
    code = getattr(getattr(own, "fxn", None), "__code__", None)
    if code is None or plain_names(code) != _NUMBERS or not all(hasattr(ops, name) for name in _NEEDED):
        return False
    node.trace_num = Number(ops, own)
    _stand_in(Number.__get__, type(own).__get__)
    return True


def _matcher(ops: Any, own: Callable[..., Any]) -> Callable[..., Any]:
    level, passes, node = hidden.of(ops, "TRACK_MATCH_STATS"), ops.active_rewrites, ops.UOp

    def rewrite(self: Any, uop: Any, ctx: Any = None) -> Any:
        rules = self.pdict.get(uop.op)
        if not rules:
            return None
        if level.value > 2:  # it prints each match
            return own(self, uop, ctx)
        below = uop.__dict__.get("_src_ops")
        if below is None:
            below = uop.__dict__["_src_ops"] = set(map(_op, uop.src))
        for rule, match, needs in rules:
            if not needs.issubset(below):
                continue
            begun = perf_counter()
            try:
                found = match(uop, ctx)
            except Exception as error:
                if passes and level.value == 2:
                    told = node(ops.Ops.REWRITE_ERROR, src=uop.src, arg=f"{type(error).__name__}\n{error}")
                    passes[-1].matches.append((uop.trace_num, told.trace_num, rule.location, 0))
                raise
            if found is None or found is uop:
                continue
            if passes and level.value == 2 and isinstance(found, node):
                took = perf_counter() - begun
                passes[-1].matches.append((uop.trace_num, found.trace_num, rule.location, took))
            return found
        return None

    _stand_in(rewrite, own if ops.PatternMatcher is ops.TrackedPatternMatcher else ops.PatternMatcher.rewrite)
    return rewrite


def _stand_in(ours: Any, own: Any) -> None:
    """Makes a traceback, and the stack that tinygrad keeps, say of our frame what they would say of its own.

    That is where its own calls what it is given: the last of its calls before the one that we stand in for can fail.
    """
    code, place = ours.__code__, _call_of(own.__code__)
    units = len(code.co_code) // 2
    where = b"".join((b"\0", _varint(place[1] - place[0]), _varint(place[2] + 1), _varint(place[3] + 1)))
    # one place for all: entries of up to eight instructions each, in the long form
    table = b"".join(bytes((0xF0 | min(8, units - at) - 1,)) + where for at in range(0, units, 8))
    ours.__code__ = code.replace(
        co_filename=own.__code__.co_filename,
        co_firstlineno=place[0],
        co_linetable=table,
        co_name=own.__code__.co_name,
        co_qualname=own.__code__.co_qualname,
    )
    ours.__qualname__, ours.__module__ = own.__qualname__, own.__module__


def _call_of(code: CodeType) -> tuple[int, int, int, int]:
    """Lines and columns of the call `match(uop, ctx)` or `self.fxn(node)`: the one that covers just that."""
    names = [f"{name}(" for name in ("match", "self.fxn")]
    for first, last, begin, end in code.co_positions():
        if first is None or last is None or begin is None or end is None:
            continue
        text = linecache.getline(code.co_filename, first).encode()[begin:end].decode("utf-8", "replace")
        if any(text.startswith(name) for name in names) and text.endswith(")"):
            return first, last, begin, end
    return code.co_firstlineno, code.co_firstlineno, 0, 0


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 63:
        found.append(64 | value & 63)
        value >>= 6
    return bytes((*found, value))
