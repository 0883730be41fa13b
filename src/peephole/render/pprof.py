"""pprof's profile.proto, gzipped: `go tool pprof`, pprof's web page and whatever else reads it.

The message has four kinds of parts and the wire format two kinds of fields, so that it is written here, in a page,
rather than by a library and a generated file.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from typing import BinaryIO

from peephole.query.capture.info import span
from peephole.render.stacks import file_and_line, label, stacks, whole_tree
from peephole.store.capture import Capture


def write_pprof(capture: Capture, file: BinaryIO) -> int:
    """Writes calls and time of all tracks, the track's name as a label; gives the number of slices."""
    tree, slices = whole_tree(capture)
    texts = _Texts()
    out = bytearray()
    for kind, unit in (("calls", "count"), ("time", "nanoseconds")):
        out += _part(1, _number(1, texts[kind]) + _number(2, texts[unit]))
    used: set[int] = set()
    track_key = texts["track"]
    for stack in stacks(tree):
        used.update(stack.functions)
        body = _packed(1, (number + 1 for number in reversed(stack.functions)))
        body += _packed(2, (stack.count, max(stack.own, 0)))
        body += _part(3, _number(1, track_key) + _number(2, texts[label(stack.track)]))
        out += _part(2, body)
    for number in sorted(used):
        name, place = tree.functions[number]
        path, line = file_and_line(place)
        location = _number(1, number + 1) + _part(4, _number(1, number + 1) + (_number(2, line) if line else b""))
        out += _part(4, location)
        function = _number(1, number + 1) + _number(2, texts[label(name)]) + _number(3, texts[label(name)])
        function += (_number(4, texts[path]) if path else b"") + (_number(5, line) if line else b"")
        out += _part(5, function)
    whole = span(capture)
    if whole is not None:
        out += _number(10, max(0, whole[1] - whole[0]))
    out += _part(11, _number(1, texts["time"]) + _number(2, texts["nanoseconds"])) + _number(12, 1)
    out += _number(14, texts["time"])
    for text in texts.values:
        out += _part(6, text.encode("utf-8", "replace"))
    with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6, mtime=0, filename="") as packed:
        packed.write(out)
    return slices


class _Texts:
    """The table of texts; the first one is empty, as pprof wants it."""

    def __init__(self) -> None:
        self._numbers = {"": 0}

    def __getitem__(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def values(self) -> list[str]:
        return list(self._numbers)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _part(field: int, body: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(body)) + body


def _packed(field: int, values: Iterable[int]) -> bytes:
    return _part(field, b"".join(map(_varint, values)))
