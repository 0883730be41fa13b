"""Protocol buffers as they lie in a file: numbered fields, without a schema. Unknown fields are passed over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from peephole.errors import CaptureError

Value = int | bytes
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST: Final = 10
"""Bytes of the longest number."""


class Cut(CaptureError):
    """The bytes end in the middle of a field, or are no protocol buffer at all."""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins there, and where the next field begins."""
    result = shift = 0
    for place in range(at, min(at + _LONGEST, len(data))):
        byte = data[place]
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, place + 1
        shift += 7
    raise Cut("a protocol buffer ends in the middle of a number")


def fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """The fields of a message in order: numbers as int, texts and messages as bytes. Cut when the bytes end early."""
    at, size = 0, len(data)
    while at < size:
        tag = data[at]
        if tag < 0x80:
            at += 1
        else:
            tag, at = varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = varint(data, at)
            yield tag >> 3, value
        elif kind == _BYTES:
            length, at = varint(data, at)
            if at + length > size:
                raise Cut("a protocol buffer ends in the middle of a field")
            yield tag >> 3, data[at : at + length]
            at += length
        elif kind in (_FIXED64, _FIXED32):
            length = 8 if kind == _FIXED64 else 4
            if at + length > size:
                raise Cut("a protocol buffer ends in the middle of a field")
            yield tag >> 3, data[at : at + length]
            at += length
        else:
            raise Cut("these bytes are no protocol buffer")


def packed(value: Value) -> list[int]:
    """The numbers of a repeated field: one of them, or all of them packed into bytes."""
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        found.append(number)
    return found


def text(value: Value) -> str:
    """A text; bytes that are no UTF-8 are shown as what they are."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def signed(value: Value) -> int:
    """A number that may be negative, which protocol buffers write as a large one."""
    number = value if isinstance(value, int) else int.from_bytes(value, "little")
    return number - (1 << 64) if number >= 1 << 63 else number
