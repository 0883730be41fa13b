"""pprof's profile.proto, gzipped: `go tool pprof`, pprof's web page and whatever else reads it.

The message has four kinds of parts, so that it is written here, in a page, rather than by a library and a generated
file.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from typing import BinaryIO

from peephole.query.capture.info import span
from peephole.render.protobuf import message, number, varint
from peephole.render.stacks import file_and_line, label, stacks, whole_tree
from peephole.store.capture import Capture


def write_pprof(capture: Capture, file: BinaryIO) -> int:
    """Writes calls and time of all tracks, the track's name as a label; gives the number of slices."""
    tree, slices = whole_tree(capture)
    texts = _Texts()
    with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6, mtime=0, filename="") as out:
        for kind, unit in (("calls", "count"), ("time", "nanoseconds")):
            out.write(message(1, number(1, texts[kind]) + number(2, texts[unit])))
        used: set[int] = set()
        track_key = texts["track"]
        for stack in stacks(tree):
            used.update(stack.functions)
            body = _packed(1, (own + 1 for own in reversed(stack.functions)))
            body += _packed(2, (stack.count, max(stack.own, 0)))
            body += message(3, number(1, track_key) + number(2, texts[label(stack.track)]))
            out.write(message(2, body))
        for own in sorted(used):
            name, place = tree.functions[own]
            path, line = file_and_line(place)
            location = number(1, own + 1) + message(4, number(1, own + 1) + (number(2, line) if line else b""))
            out.write(message(4, location))
            function = number(1, own + 1) + number(2, texts[label(name)]) + number(3, texts[label(name)])
            function += (number(4, texts[path]) if path else b"") + (number(5, line) if line else b"")
            out.write(message(5, function))
        whole = span(capture)
        if whole is not None:
            out.write(number(10, max(0, whole[1] - whole[0])))
        out.write(message(11, number(1, texts["time"]) + number(2, texts["nanoseconds"])) + number(12, 1))
        out.write(number(14, texts["time"]))
        for text in texts.values:
            out.write(message(6, text.encode("utf-8", "replace")))
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


def _packed(field: int, values: Iterable[int]) -> bytes:
    return message(field, *map(varint, values))
