"""Protobuf's wire format, written."""

from __future__ import annotations

import struct


def varint(value: int) -> bytes:
    """A number of 64 bits; a negative one as its two's complement."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """A field that is a whole number."""
    return varint(field << 3) + varint(value)


def fixed(field: int, value: int) -> bytes:
    """A field of eight bytes."""
    return varint(field << 3 | 1) + (value & 0xFFFF_FFFF_FFFF_FFFF).to_bytes(8, "little")


def double(field: int, value: float) -> bytes:
    """A field that is a decimal number."""
    return varint(field << 3 | 1) + struct.pack("<d", value)


def text(field: int, value: str) -> bytes:
    """A field that is a text."""
    return message(field, value.encode("utf-8", "replace"))


def message(field: int, *parts: bytes) -> bytes:
    """A field that holds other fields."""
    size = sum(map(len, parts))
    return b"".join((varint(field << 3 | 2), varint(size), *parts))
