"""Ways to damage a file: its bytes, its JSON, its lines. Each takes sound content and draws a damaged one."""

from __future__ import annotations

import copy
import gzip
import json
import struct
from collections.abc import Callable, Iterator
from typing import Any, Final

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]
Edit = Callable[[Draw, bytes], bytes]
"""Draws a damaged content out of a sound one."""

NUMBERS: Final = (
    0, 1, -1, 2, 3, 7, 127, 128, 255, 256, 32767, 32768, -32768, 65535, 65536, 2**31 - 1, 2**31, -(2**31), 2**32 - 1,
    2**53, 2**53 + 1, 2**61, 2**62, 2**63 - 1, 2**63, -(2**63), 2**64 - 1, 10**30, -(10**30),
)  # fmt: skip
TEXTS: Final = (
    "", "a", "\x1b[31mred", "\x00", "\n", "é", "\ud800", "𝒳" * 9, "x" * 5000, "../../etc/passwd", "<script>", "%s%n",
    "-1", "nan", "1e999", "null", "true", "{}", "[]", "9" * 400, "a\tb\rc", "\u202e", " ", "'; DROP TABLE slices; --",
)  # fmt: skip
_WIDTHS: Final = ("<B", "<H", "<I", "<Q", ">I")
_MOST: Final = 4
"""Edits of one mutant."""


def _place(draw: Draw, data: bytes | bytearray) -> int:
    return int(draw(st.integers(0, max(0, len(data) - 1))))


def _range(draw: Draw, data: bytes | bytearray) -> tuple[int, int]:
    at = _place(draw, data)
    return at, min(len(data), at + int(draw(st.sampled_from((1, 1, 2, 4, 8, 32, 300, 5000)))))


def _damage_once(draw: Draw, data: bytearray) -> None:
    how = draw(st.sampled_from(("flip", "byte", "number", "cut", "drop", "twice", "move", "zero", "text", "noise")))
    at, end = _range(draw, data)
    if how == "flip" and data:
        data[at] ^= 1 << draw(st.integers(0, 7))
    elif how == "byte" and data:
        data[at] = draw(st.sampled_from((0, 1, 0x7F, 0x80, 0xFE, 0xFF, 0x0A, 0x20, 0x22, 0x2E, 0x5B, 0x7B)))
    elif how == "number":
        width = draw(st.sampled_from(_WIDTHS))
        size = struct.calcsize(width)
        value = draw(st.sampled_from(NUMBERS)) % (1 << (8 * size))
        data[at : at + size] = struct.pack(width, value)
    elif how == "cut":
        del data[at:]
    elif how == "drop":
        del data[at:end]
    elif how == "twice":
        data[at:at] = data[at:end]
    elif how == "move":
        part = data[at:end]
        del data[at:end]
        to = _place(draw, data)
        data[to:to] = part
    elif how == "zero":
        data[at:end] = bytes(end - at)
    elif how == "text":
        data[at:at] = draw(st.sampled_from(TEXTS)).encode("utf-8", "surrogatepass")
    else:
        data[at:end] = draw(st.binary(min_size=1, max_size=16))


def damage_bytes(draw: Draw, data: bytes) -> bytes:
    """Some bytes changed, lost, repeated or moved."""
    out = bytearray(data)
    for _ in range(draw(st.integers(1, _MOST))):
        _damage_once(draw, out)
    return bytes(out)


def damage_inside(draw: Draw, data: bytes, begin: int, end: int) -> bytes:
    """The bytes between two places changed, their number kept, so that what frames them stays sound."""
    part = bytearray(data[begin:end])
    for _ in range(draw(st.integers(1, _MOST))):
        _damage_once(draw, part)
    return data[:begin] + bytes(part[: end - begin]).ljust(end - begin, b"\0") + data[end:]


def any_value(draw: Draw) -> Any:
    """A JSON value that nobody expects."""
    kind = draw(st.sampled_from(("number", "text", "float", "atom", "list", "object", "deep")))
    if kind == "number":
        return draw(st.sampled_from(NUMBERS))
    if kind == "text":
        return draw(st.sampled_from(TEXTS))
    if kind == "float":
        return draw(
            st.sampled_from((0.5, -0.0, 1e308, -1e308, 5e-324, 1e18, float("nan"), float("inf"), float("-inf")))
        )
    if kind == "atom":
        return draw(st.sampled_from((None, True, False)))
    if kind == "list":
        return draw(st.sampled_from(([], [None], [[]], [1, "a"], [{}] * 3)))
    if kind == "object":
        return draw(st.sampled_from(({}, {"": None}, {"name": 1}, {"args": {"a": []}}, {"\ud800": "x"})))
    value: Any = []
    for _ in range(draw(st.sampled_from((40, 900, 3000)))):
        value = [value]
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a JSON value: its container and its key there."""
    stack = [value]
    while stack:
        one = stack.pop()
        items = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
        for key, inner in items:
            yield one, key
            stack.append(inner)


def damage_value(draw: Draw, value: Any) -> Any:
    """A JSON value with some of its parts replaced, lost, repeated or exchanged."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, _MOST))):
        places = list(_places(value))
        if not places:
            return any_value(draw)
        box, key = places[draw(st.integers(0, len(places) - 1))]
        how = draw(st.sampled_from(("replace", "replace", "drop", "twice", "swap", "rename", "spread")))
        if how == "drop":
            del box[key]
        elif how == "twice" and isinstance(box, list):
            box[key:key] = [box[key]] * draw(st.sampled_from((1, 3, 60)))
        elif how == "swap":
            other, there = places[draw(st.integers(0, len(places) - 1))]
            box[key] = copy.deepcopy(other[there])
        elif how == "rename" and isinstance(box, dict):
            box[draw(st.sampled_from(TEXTS))] = box.pop(key)
        elif how == "spread":  # the same wrong value for this key wherever it is
            wrong = any_value(draw)
            for where, name in places:
                if name == key and isinstance(where, dict):
                    where[name] = wrong
        else:
            box[key] = any_value(draw)
    return value


def _dumped(draw: Draw, value: Any) -> bytes:
    try:
        text = json.dumps(value, ensure_ascii=draw(st.booleans()))
    except RecursionError:
        text = "[" * 100_000
    return text.encode("utf-8", "surrogatepass")


def damage_json(draw: Draw, data: bytes) -> bytes:
    """A JSON file, gzipped or not, whose structure or bytes are damaged."""
    if data.startswith(b"\x1f\x8b"):
        if draw(st.integers(0, 3)) == 0:
            return damage_bytes(draw, data)
        return gzip.compress(damage_json(draw, gzip.decompress(data)), 1)
    if draw(st.integers(0, 2)) == 0:
        return damage_bytes(draw, data)
    try:
        value = json.loads(data)
    except ValueError:
        return damage_bytes(draw, data)
    return _dumped(draw, damage_value(draw, value))


def _damage_line(draw: Draw, line: bytes) -> bytes:
    """One line, its fields (of JSON, or of words) changed."""
    if line.startswith(b"{"):
        try:
            return _dumped(draw, damage_value(draw, json.loads(line)))
        except ValueError:
            return damage_bytes(draw, line)
    for mark in (b" | ", b";", b" "):
        if mark in line and draw(st.booleans()):
            fields = line.split(mark)
            at = draw(st.integers(0, len(fields) - 1))
            wrong = draw(st.sampled_from((*TEXTS, *map(str, NUMBERS)))).encode("utf-8", "surrogatepass")
            fields[at] = draw(st.sampled_from((wrong, b"", fields[draw(st.integers(0, len(fields) - 1))])))
            return mark.join(fields)
    return damage_bytes(draw, line)


def damage_lines(draw: Draw, data: bytes) -> bytes:
    """A file of lines, gzipped or not, whose lines or bytes are damaged."""
    if data.startswith(b"\x1f\x8b"):
        try:
            return (
                gzip.compress(damage_lines(draw, gzip.decompress(data)), 1)
                if draw(st.booleans())
                else damage_bytes(draw, data)
            )
        except (OSError, EOFError):
            return damage_bytes(draw, data)
    if draw(st.integers(0, 2)) == 0:
        return damage_bytes(draw, data)
    lines = data.split(b"\n")
    for _ in range(draw(st.integers(1, _MOST))):
        at = draw(st.integers(0, len(lines) - 1))
        how = draw(st.sampled_from(("change", "change", "drop", "twice", "move", "join")))
        if how == "change":
            lines[at] = _damage_line(draw, lines[at])
        elif how == "drop" and len(lines) > 1:
            del lines[at]
        elif how == "twice":
            lines[at:at] = lines[at : at + 5] * draw(st.sampled_from((1, 2, 50)))
        elif how == "move":
            lines.insert(draw(st.integers(0, len(lines) - 1)), lines.pop(at))
        elif how == "join" and at + 1 < len(lines):
            lines[at : at + 2] = [lines[at] + lines[at + 1]]
    return b"\n".join(lines)
