"""The planes of a profile: their tables of names, and their lines with the events in columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.sources.xla.profile import event_scan
from peephole.sources.xla.wire import Cut, Value, fields, signed, text

COMPILE_FROM: Final = 4 << 20
"""Bytes from which on compiling the loops pays."""
_HEADS: Final = 16
"""Fields of a line beside its events that are looked at."""


@dataclass(slots=True)
class Named:
    """An entry of a table of names, with its own facts by the name of the fact."""

    name: str
    facts: dict[str, Value] = field(default_factory=dict)


@dataclass(slots=True)
class Line:
    """A thread or a stream: its events as rows of `event_scan`'s columns."""

    id: int
    name: str
    begin: int
    """ns that the events' offsets count from."""
    events: NDArray[np.int64]
    data: bytes


@dataclass(slots=True)
class Plane:
    """A host, a device, or a table of facts."""

    name: str
    events: dict[int, Named]
    facts: dict[int, str]
    """Names of facts by number; some texts are kept there too."""
    own: dict[str, Value]
    lines: list[bytes]

    def read_lines(self, wanted: tuple[str, ...], quick: bool) -> Iterator[Line]:
        """The lines, one after the other; Cut for one that is damaged. `wanted`: facts with a column of their own."""
        numbers = {name: number for number, name in self.facts.items()}
        columns = np.array([numbers.get(name, -1) for name in wanted], np.int64)
        internal = np.array([number for number, name in self.facts.items() if name.startswith("_")], np.int64)
        count, read, _ = event_scan.compiled() if quick else event_scan.plain()
        for data in self.lines:
            buf: Any = np.frombuffer(data, np.uint8) if quick else data
            heads = np.zeros((_HEADS, 2), np.int64)
            events = count(buf, 0, len(data), heads)
            if events < 0:
                raise Cut("a line of a profile is damaged")
            id, name, begin = 0, "", 0
            for number, value in fields(b"".join(data[first:past] for first, past in heads.tolist())):
                if number == 1:
                    id = signed(value)
                elif number in (2, 11):
                    name = text(value) or name
                elif number == 3:
                    begin = signed(value)
            out = np.zeros((events, event_scan.FIRST_STAT + len(wanted)), np.int64)
            out[:, event_scan.FIRST_STAT :] = event_scan.MISSING
            read(buf, 0, len(data), columns, internal, out)
            yield Line(id, name, begin, out, data)


def read_planes(data: bytes) -> Iterator[Plane]:
    """The planes of an XSpace."""
    for number, value in fields(data):
        if number == 1 and isinstance(value, bytes):
            yield _plane(value)


def fact(value: bytes, names: dict[int, str]) -> tuple[str, Value | float]:
    """Name and value of an XStat."""
    number = 0
    found: Value | float = b""
    for part, one in fields(value):
        if part == 1 and isinstance(one, int):
            number = one
        elif part == 2 and isinstance(one, bytes) and len(one) == 8:
            found = float(np.frombuffer(one, "<f8")[0])
        elif part == 4:
            found = signed(one)
        elif part == 7 and isinstance(one, int):
            found = names.get(one, "").encode()
        elif part in (3, 5, 6):
            found = one
    return names.get(number, f"stat {number}"), found


def _plane(data: bytes) -> Plane:
    name = ""
    lines: list[bytes] = []
    raw_events: list[bytes] = []
    raw_facts: list[bytes] = []
    raw_own: list[bytes] = []
    for number, value in fields(data):
        if number == 2:
            name = text(value)
        elif isinstance(value, bytes):
            {3: lines, 4: raw_events, 5: raw_facts, 6: raw_own}.get(number, []).append(value)
    facts = {}
    for entry in raw_facts:
        key, inside = _entry(entry)
        facts[key] = next((text(value) for part, value in fields(inside) if part == 2), "")
    events = {}
    for entry in raw_events:
        key, inside = _entry(entry)
        named = Named("")
        for part, value in fields(inside):
            if part == 2 or (part == 4 and not named.name):
                named.name = text(value)
            elif part == 5 and isinstance(value, bytes):
                said, found = fact(value, facts)
                named.facts[said] = found if isinstance(found, (int, bytes)) else b""
        events[key] = named
    own = {}
    for value in raw_own:
        said, found = fact(value, facts)
        own[said] = found if isinstance(found, (int, bytes)) else b""
    return Plane(name, events, facts, own, lines)


def _entry(data: bytes) -> tuple[int, bytes]:
    """Key and value of a map's entry."""
    key, inside = 0, b""
    for part, value in fields(data):
        if part == 1:
            key = signed(value)
        elif part == 2 and isinstance(value, bytes):
            inside = value
    return key, inside
