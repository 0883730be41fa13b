"""Protobuf's wire format field by field, trusting no length: for messages that are few."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_LONGEST: Final = 10
Value = int | bytes


class Malformed(ValueError):
    """Bytes that are not a message."""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that stands there, of at most 64 bits, and where it ends."""
    value = 0
    for k in range(_LONGEST):
        if at + k >= len(data):
            raise Malformed("a number is cut off")
        byte = data[at + k]
        value |= (byte & 0x7F) << (7 * k)
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at + k + 1
    raise Malformed("a number has more than ten bytes")


def fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """Number and value of each field: a whole number (fixed ones as bits) or bytes; Malformed at the first fault."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, kind = tag >> 3, tag & 7
        if not number:
            raise Malformed("a field has the number 0")
        if kind == VARINT:
            value, at = varint(data, at)
            yield number, value
            continue
        if kind == BYTES:
            size, at = varint(data, at)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise Malformed(f"a field has the wire type {kind}")
        if size > len(data) - at:
            raise Malformed("a field goes past its message")
        piece = data[at : at + size]
        at += size
        yield number, piece if kind == BYTES else int.from_bytes(piece, "little")


def signed(value: Value, bits: int = 64) -> int:
    """A number as the signed one that it stands for."""
    if not isinstance(value, int):
        return 0
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def double(value: Value) -> float:
    """The bits of a fixed field as a number."""
    found: float = struct.unpack("<d", (value if isinstance(value, int) else 0).to_bytes(8, "little"))[0]
    return found


def text(value: Value) -> str:
    """A field that holds text; what is not UTF-8 in it is replaced."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def packed(value: Value) -> list[int]:
    """The numbers of a repeated field: one, or several packed into bytes."""
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        found.append(number)
    return found
