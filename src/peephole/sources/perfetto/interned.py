"""Values that a sequence names by number until it is cleared: texts, places, stacks."""

from __future__ import annotations

import json
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.sources.perfetto import packet_scan
from peephole.sources.perfetto.annotations import frame_text, place
from peephole.sources.perfetto.event_scan import (
    K_CATEGORY,
    K_CORRELATION,
    K_KEY,
    K_NAME,
    K_PLACE,
    K_SCOPE,
    K_STACK,
    K_TEXT,
    KINDS,
)  # fmt: skip
from peephole.sources.scans.byte_table import ByteTable
from peephole.sources.scans.pair_table import PairTable
from peephole.sources.scans.wire import fields, packed, text

_TEXTS: Final = {1: K_CATEGORY, 2: K_NAME, 3: K_KEY, 29: K_TEXT, 43: K_CORRELATION}
"""Fields of InternedData that hold a number and a text."""
_FUNCTIONS, _FRAMES, _STACKS, _PATHS, _SOURCES, _MAPPINGS, _PLACES = 5, 6, 7, 17, 18, 19, 4
_MUCH: Final = 1 << 18
"""Values from which on those of cleared sequences are forgotten."""
_FRAMES_KEPT: Final = 1024
"""Frames of a stack that are shown."""


class Interned:
    """All of them, by generation: each time that a sequence is cleared, its numbers mean something else.

    A number that is told again without that keeps what it meant, as in Perfetto's engine."""

    def __init__(self, names: ByteTable) -> None:
        self.table = PairTable()
        self.names = names
        self.json = ByteTable()
        """Pieces of JSON by number, as they are put into args."""
        self.json.add(b"{}")
        self._much = _MUCH
        self._parts: dict[tuple[int, int, int], Any] = {}
        """What stacks are made of: by generation, field and number."""

    def take(self, generation: int, message: bytes) -> None:
        """Takes an InternedData."""
        later: list[tuple[int, bytes]] = []
        for number, value in fields(message):
            if not isinstance(value, bytes):
                continue
            if number in _TEXTS:
                self._text(generation, _TEXTS[number], value)
            elif number == _PLACES:
                self._put(generation, K_PLACE, _number(value), _inner(place(value)))
            elif number in (_FUNCTIONS, _PATHS, _SOURCES, _MAPPINGS):
                self._part(generation, number, value)
            elif number in (_FRAMES, _STACKS):
                later.append((number, value))  # these name the others
        for wanted in (_FRAMES, _STACKS):
            for number, value in later:
                if number == wanted:
                    (self._frame if number == _FRAMES else self._stack)(generation, value)

    def forget(self, live: NDArray[np.int64]) -> None:
        """Lets go of what cleared sequences meant, when there is much of it: `live` are the generations of today."""
        if self.table.count < self._much:
            return
        self.table.keep(np.isin(self.table.keys[: self.table.count, 0] // KINDS, live))
        known = set(live.tolist())
        self._parts = {key: value for key, value in self._parts.items() if key[0] in known}
        self._much = max(_MUCH, 2 * self.table.count)

    def value(self, generation: int, kind: int, number: int) -> Any:
        """What was interned, as what its JSON says; None when nothing was."""
        code = self.table.get(generation * KINDS + kind, number)
        if code < 0:
            return None
        raw = self.json.raw(code)
        if kind == K_CATEGORY:
            raw = b'"' + raw + b'"'
        return json.loads(b"{" + raw + b"}" if kind == K_PLACE else raw)

    def _text(self, generation: int, kind: int, message: bytes) -> None:
        iid, value = 0, b""
        for number, found in fields(message):
            if number == 1 and isinstance(found, int):
                iid = found
            elif number == 2 and isinstance(found, bytes):
                value = found
        if kind == K_NAME:
            self.table.put_new(generation * KINDS + kind, _bits(iid), self.names.add(value))
            return
        if kind == K_CATEGORY:
            self.table.put_new(generation * KINDS + K_SCOPE, _bits(iid), packet_scan.hash_of(value, 0, len(value)))
        quoted = json.dumps(text(value), ensure_ascii=False)
        self._put(generation, kind, iid, quoted[1:-1] if kind == K_CATEGORY else quoted)

    def _put(self, generation: int, kind: int, iid: int, piece: str) -> None:
        self.table.put_new(generation * KINDS + kind, _bits(iid), self.json.add(piece.encode("utf-8", "replace")))

    def _part(self, generation: int, kind: int, message: bytes) -> None:
        iid: int = 0
        value: Any = [] if kind == _MAPPINGS else ""
        for number, found in fields(message):
            if number == 1 and isinstance(found, int):
                iid = found
            elif kind == _MAPPINGS and number == 7:
                value += packed(found)
            elif kind != _MAPPINGS and number == 2:
                value = text(found)
        self._parts.setdefault((generation, kind, iid), value)

    def _frame(self, generation: int, message: bytes) -> None:
        found = {number: value for number, value in fields(message) if isinstance(value, int)}
        function = self._parts.get((generation, _FUNCTIONS, found.get(2, 0)), "")
        file = self._parts.get((generation, _SOURCES, found.get(5, 0)), "")
        if not file:
            path = self._parts.get((generation, _MAPPINGS, found.get(3, 0)), [])
            file = "/".join(self._parts.get((generation, _PATHS, part), "") for part in path)
        if not function and 4 in found:
            function = hex(found[4])
        self._parts.setdefault((generation, _FRAMES, found.get(1, 0)), frame_text(function, file, found.get(6, 0)))

    def _stack(self, generation: int, message: bytes) -> None:
        iid, frames = 0, []
        for number, found in fields(message):
            if number == 1 and isinstance(found, int):
                iid = found
            elif number == 2:
                frames += packed(found)
        names = [self._parts.get((generation, _FRAMES, frame), "?") for frame in frames[:_FRAMES_KEPT]]
        self._put(generation, K_STACK, iid, json.dumps(names, ensure_ascii=False))


def _number(message: bytes) -> int:
    return next((value for number, value in fields(message) if number == 1 and isinstance(value, int)), 0)


def _inner(found: dict[str, Any]) -> str:
    """An object's JSON without its braces; a place that says nothing still has to say something."""
    return json.dumps(found or {"location": None}, ensure_ascii=False)[1:-1]


def _bits(value: int) -> int:
    """A number of 64 bits as the signed one that arrays hold."""
    return value - (1 << 64) if value >> 63 else value
