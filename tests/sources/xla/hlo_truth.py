"""HLO protos read without Peephole: what the importer's graphs are compared with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

Value = int | bytes


class Fact(NamedTuple):
    """An instruction: what it is, what it reads and calls, where it came from."""

    name: str
    op: str
    reads: tuple[str, ...]
    calls: tuple[str, ...]
    rest: bytes
    """All other fields but ids and the origin, as they lie in the file."""
    origin: bytes


def walk(data: bytes) -> Iterator[tuple[int, Value]]:
    """The fields of a message."""
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            yield tag >> 3, number()
        else:
            size = {1: 8, 5: 4}.get(tag & 7) or number()
            yield tag >> 3, data[at : at + size]
            at += size


def every(data: bytes, field: int) -> list[bytes]:
    """All messages of one field."""
    return [value for number, value in walk(data) if number == field and isinstance(value, bytes)]


def numbers(data: bytes, field: int) -> list[int]:
    """All numbers of one field, packed or not."""
    found: list[int] = []
    for number, value in walk(data):
        if number == field:
            if isinstance(value, int):
                found.append(value)
            else:
                shift = part = 0
                for byte in value:
                    part |= (byte & 127) << shift
                    shift += 7
                    if byte < 128:
                        found.append(part)
                        shift = part = 0
    return found


def text(data: bytes, field: int) -> str:
    """A text."""
    return b"".join(every(data, field)[-1:]).decode()


def module(path: Path) -> dict[str, list[Fact]]:
    """The computations of an HloProto in a file, with their instructions in the order of the schedule."""
    return computations(every(path.read_bytes(), 1)[0])


def computations(data: bytes) -> dict[str, list[Fact]]:
    """The same of an HloModuleProto."""
    found = {}
    raw = every(data, 3)
    named = {numbers(one, 5)[0]: text(one, 1) for one in raw}
    order = {}
    for schedule in every(data, 7):
        for entry in every(schedule, 1):
            order[numbers(entry, 1)[0]] = numbers(every(entry, 2)[0], 1)
    for one in raw:
        inside = every(one, 2)
        own = {numbers(each, 35)[0]: text(each, 1) for each in inside}
        (root,) = numbers(one, 6)
        facts = {}
        for each in inside:
            reads = tuple(own[number] for number in numbers(each, 36))
            calls = tuple(named[number] for number in numbers(each, 38))
            rest = b"".join(
                b"%d=%b;" % (field, value if isinstance(value, bytes) else b"%d" % value)
                for field, value in walk(each)
                if field not in (1, 2, 7, 35, 36, 37, 38)
            )
            (number,) = numbers(each, 35)
            rest += b"ROOT" if number == root else b""
            facts[number] = Fact(text(each, 1), text(each, 2), reads, calls, rest, b"".join(every(each, 7)))
        (identity,) = numbers(one, 5)
        found[text(one, 1)] = [facts[number] for number in order.get(identity, facts)]
    return found


def dumps(folder: Path, name: str) -> list[tuple[str, Path]]:
    """The protos of a module after each pass, in order, with what their names say."""
    found = []
    for path in folder.glob(f"{name}.*.hlo.pb"):
        if ordinal := re.fullmatch(re.escape(name) + r"\.(\d{4})\.(.+)\.hlo\.pb", path.name):
            found.append((ordinal[1], ordinal[2], path))
    return [(said, path) for _, said, path in sorted(found)]
