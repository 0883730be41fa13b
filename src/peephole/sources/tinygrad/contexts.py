"""Contexts: a row for each group of steps that tinygrad tracked, from its TracingKey. Standard library only."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from peephole.model.tables import NONE
from peephole.sources.tinygrad.programs import Fields, Takes, kernel_name
from peephole.sources.tinygrad.text import fields_of, label, plain

_UNNAMED: Final = re.compile(r"(\w+) n\d+\Z")
"""What a group is called until it has ended: the function that was tracked, numbered."""
_KINDS: Final = (
    ("Callify ", "callify"),
    ("Schedule ", "schedule"),
    ("JIT ", "jit"),
    ("default ", "rewrites"),
    ("transform_to_call", "callify"),
    ("create_linear", "schedule"),
    ("create_schedule", "schedule"),
    ("complete_create_schedule", "schedule"),
    ("get_kernelize", "schedule"),
    ("get_rangeify", "schedule"),
    ("jit_lower", "jit"),
    ("do_to_program", "kernel"),
    ("get_program", "kernel"),
)


def unnamed(key: Any) -> str | None:
    """The tracked function while a group has not got its own name, which comes when it ends; None afterwards."""
    name = key.display_name
    found = _UNNAMED.match(name) if type(name) is str else None
    return found[1] if found and _keys(key) == (name,) and " " not in found[1] else None


class Contexts:
    """Makes the rows of contexts and remembers what links slices to them."""

    def __init__(self) -> None:
        self._outer: dict[tuple[Any, ...], int] = {}
        self.estimates: dict[int, Any] = {}
        """Context to tinygrad's estimates of its kernel."""
        self.takes: dict[int, Takes] = {}
        """Context to the buffers that its kernel takes."""
        self.by_key: dict[str | bytes, int] = {}
        """Name, function name or program key to the context that first had it."""
        self._names: dict[int, str] = {}
        self.all_by_key: dict[str | bytes, list[int]] = {}
        """The same to all contexts that had it: a program may be compiled again."""
        self._programs: dict[int, bytes] = {}
        """Context to the key of the program that it made."""
        self._owners: dict[int, tuple[tuple[Any, ...], list[int]]] = {}
        """The `id` of a key's tuple to the tuple, which is held for that, and the contexts that have it."""

    def opened(self, index: int, key: Any) -> int:
        """The parent of a context, which must be given in the order in which they were opened."""
        stack = _frames(key)
        inner = _below_wrapper(stack)
        parent = NONE
        # Whoever called through the wrapper of an open group has that group's callers at the end of its own stack.
        for at in range(1, len(inner)):
            if inner[at - 1][2] in ("__wrapper", "_wrapper") and (found := self._outer.get(_places(inner[at:]))):
                parent = found - 1
                break
        self._outer[_places(inner)] = index + 1
        return parent

    def row(self, index: int, key: Any, parent: int, group: Sequence[Any], fields: Fields) -> dict[str, Any]:
        """The row of a context. A kernel that failed never gets its name; its passes may know it."""
        name = self._names[index] = label(key.display_name)
        keys: list[str] = []
        self._programs.update((index, one) for one in _keys(key) if type(one) is bytes)
        if type(key.keys) is tuple and key.keys:
            owners = self._owners.setdefault(id(key.keys), (key.keys, []))[1]
            if index not in owners:
                owners.append(index)
        for one in _keys(key):
            if type(one) is str:
                keys.append(plain(one))
                self._link(plain(one), index)
            elif type(one) is bytes:
                keys.append(one.hex())
                self._link(one, index)
        self._link(name, index)
        kind = _kind(name, key)
        known = kernel_name(group, fields) if kind == "kernel" and unnamed(key) else None
        return {
            "id": index,
            "name": known or name,
            "kind": kind,
            "parent": parent,
            "function": unnamed(key),
            "keys": json.dumps(keys, separators=(",", ":")),
            "stack": stack_json(_frames(key)),
            "compiler": "tinygrad",
        }

    def adopt(self, index: int, name: str, keys: Sequence[str | bytes]) -> None:
        """Remembers a context whose row another process writes."""
        self._names[index] = name
        for key in keys:
            self._link(plain(key) if type(key) is str else key, index)
        self.by_key.setdefault(name, index)

    def called(self, name: str) -> int:
        """The context of that name or function name; NONE where several have it that made different programs."""
        first = self.by_key.get(name, NONE)
        others = self.all_by_key.get(name, ())
        made = self._programs.get(first)
        return first if all(one == first or (made and self._programs.get(one) == made) for one in others) else NONE

    def owner(self, keys: Any) -> int:
        """The context whose own keys these are, in a running program: its range has the same tuple. Else NONE."""
        found = self._owners.get(id(keys))
        return found[1][0] if found is not None and found[0] is keys and len(found[1]) == 1 else NONE

    def name(self, index: int, otherwise: str) -> str:
        """The name of a context, which is that of its kernel before it became an identifier."""
        return self._names.get(index, otherwise)

    def is_own_range(self, title: str, index: int) -> bool:
        """Whether a range of that title is the whole of a context, not a part of it (`compile r_16`)."""
        name = self._names.get(index, "")
        return title == name or (title.endswith(f" for {name}") and title.count(" ") == 2)

    def _link(self, key: str | bytes, index: int) -> None:
        self.by_key.setdefault(key, index)
        known = self.all_by_key.setdefault(key, [])
        if index not in known:
            known.append(index)


def stack_json(frames: tuple[Any, ...]) -> str | None:
    """A stack as the tables hold it, innermost first: JSON of [file, line, function, source]."""
    rows = [list(frame[:4]) for frame in frames[:100] if _is_frame(frame)]
    return json.dumps(rows, separators=(",", ":")) if rows else None


def _is_frame(frame: Any) -> bool:
    return (
        isinstance(frame, (tuple, list))
        and len(frame) >= 4
        and all(type(part) in (str, int, type(None)) for part in frame[:4])
    )


def _frames(key: Any) -> tuple[Any, ...]:
    stack = fields_of(key).get("tb")
    return tuple(frame for frame in stack if _is_frame(frame)) if isinstance(stack, (tuple, list)) else ()


def _below_wrapper(stack: tuple[Any, ...]) -> tuple[Any, ...]:
    """The stack from the caller of the tracked function outwards."""
    for at, frame in enumerate(stack[:3]):
        if frame[2] in ("__wrapper", "_wrapper"):
            return stack[at + 1 :]
    return stack


def _places(stack: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple((frame[0], frame[1]) for frame in stack)


def _kind(name: str, key: Any) -> str:
    for prefix, kind in _KINDS:
        if name.startswith(prefix):
            return kind
    return "kernel" if any(type(one) is not str for one in _keys(key)) else "other"


def _keys(key: Any) -> tuple[Any, ...]:
    return tuple(key.keys[:20]) if isinstance(key.keys, (tuple, list)) else ()


def link_keys(keys: Any) -> Iterable[str | bytes]:
    """What links a slice to its context: the program's key before its name, which several kernels may share."""
    yield from (key for key in tuple(keys)[:20] if type(key) is bytes)
    yield from (plain(key) for key in tuple(keys)[:20] if type(key) is str)
