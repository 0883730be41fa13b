"""Ways to damage a pickle: its bytes, its opcodes, and the byte strings inside it (hardware traces)."""

from __future__ import annotations

import pickletools
import struct
from functools import lru_cache
from typing import Any, Final, NamedTuple

from fuzz.edits import NUMBERS, TEXTS, Draw, damage_bytes, damage_inside
from hypothesis import strategies as st

_BLOB: Final = 300
"""Bytes from which a byte string counts as something with a structure of its own."""


class _Code(NamedTuple):
    """An opcode: its name and its bytes."""

    name: str
    data: bytes


@lru_cache(64)
def _codes(data: bytes) -> tuple[_Code, ...]:
    found = list(pickletools.genops(data))
    ends = [at for _, _, at in found[1:] if at is not None] + [len(data)]
    return tuple(
        _Code(op.name, data[at:end])
        for (op, _, at), end in zip(found, ends, strict=True)
        if at is not None and op.name != "FRAME"
    )


@lru_cache(64)
def _blobs(data: bytes) -> tuple[tuple[int, int], ...]:
    """Where the large byte strings are."""
    found = []
    for op, value, at in pickletools.genops(data):
        if isinstance(value, bytes) and len(value) >= _BLOB and at is not None:
            head = {"SHORT_BINBYTES": 2, "BINBYTES": 5, "BINBYTES8": 9}.get(op.name, 5)
            found.append((at + head, at + head + len(value)))
    return tuple(found)


def _long(value: int) -> bytes:
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def _wrong(draw: Draw) -> bytes:
    """Opcodes that push a value that nobody expects."""
    return bytes(_wrong_codes(draw))


def _wrong_codes(draw: Draw) -> Any:
    kind = draw(st.sampled_from(("number", "text", "bytes", "float", "atom", "empty", "class", "object", "deep")))
    if kind == "number":
        return _long(draw(st.sampled_from((*NUMBERS, 1 << 900))))
    if kind == "text":
        text = draw(st.sampled_from(TEXTS)).encode("utf-8", "surrogatepass")
        return b"X" + struct.pack("<I", len(text)) + text
    if kind == "bytes":
        return b"C\x05hello"
    if kind == "float":
        return b"G" + struct.pack(">d", draw(st.sampled_from((0.5, -1e308, 1e-320, float("nan"), float("inf")))))
    if kind == "atom":
        return draw(st.sampled_from((b"N", b"\x88", b"\x89")))
    if kind == "empty":
        return draw(st.sampled_from((b")", b"]", b"}")))
    name = draw(
        st.sampled_from(("tinygrad.uop\nOps", "tinygrad.dtype\nDType", "decimal\nDecimal", "builtins\nbytearray"))
    )
    if kind == "class":
        return b"c" + name.encode() + b"\n"
    if kind == "object":
        value = draw(st.sampled_from((b"X\x03\x00\x00\x00abc", b"K\x01", b"N", b"X\x02\x00\x00\x001e")))
        return b"c" + name.encode() + b"\n" + value + b"\x85R"
    return b")" + b"\x85" * draw(st.sampled_from((50, 2000, 100_000)))


def _damage_codes(draw: Draw, codes: list[_Code]) -> None:
    at = draw(st.integers(0, max(0, len(codes) - 2)))
    how = draw(st.sampled_from(("wrong", "wrong", "wrong", "other", "drop", "twice", "refer", "swap", "number")))
    if how == "wrong":
        # one that pushes a value, so that the rest of the pickle stays sound
        pushing = [i for i in range(at, min(at + 60, len(codes))) if _pushes(codes[i].name)]
        if pushing:
            codes[pushing[0]] = _Code("wrong", _wrong(draw))
    elif how == "other":
        codes[at] = codes[draw(st.integers(0, len(codes) - 2))]
    elif how == "drop":
        del codes[at]
    elif how == "twice":
        codes[at:at] = codes[at : at + draw(st.sampled_from((1, 2, 8, 40)))]
    elif how == "refer":
        places = [i for i in range(at, min(at + 200, len(codes))) if codes[i].name in ("BINGET", "LONG_BINGET")]
        if places:
            number = draw(st.integers(0, 300))
            codes[places[0]] = _Code("LONG_BINGET", b"j" + struct.pack("<I", number))
    elif how == "swap":
        other = draw(st.integers(0, len(codes) - 2))
        codes[at], codes[other] = codes[other], codes[at]
    else:
        places = [i for i in range(at, min(at + 200, len(codes))) if codes[i].name.startswith(("BININT", "LONG1"))]
        if places:
            codes[places[0]] = _Code("LONG1", _long(draw(st.sampled_from(NUMBERS))))


def _pushes(name: str) -> bool:
    return name.startswith(("BININT", "LONG1", "SHORT_BIN", "BINUNICODE", "BINFLOAT", "NONE", "NEW", "BINGET", "EMPTY"))


def damage_pickle(draw: Draw, data: bytes) -> bytes:
    """A pickle whose bytes, opcodes or inner byte strings are damaged."""
    how = draw(st.sampled_from(("bytes", "codes", "codes", "codes", "inside")))
    blobs = _blobs(data) if how == "inside" else ()
    if blobs:
        begin, end = draw(st.sampled_from(blobs))
        return damage_inside(draw, data, begin, end)
    if how == "bytes":
        return damage_bytes(draw, data)
    codes = list(_codes(data))
    for _ in range(draw(st.integers(1, 3))):
        _damage_codes(draw, codes)
    return b"".join(code.data for code in codes)


def damage_trace(draw: Draw, data: bytes) -> bytes:
    """A profile with hardware traces: mostly these are damaged."""
    blobs = _blobs(data)
    if not blobs or draw(st.integers(0, 3)) == 0:
        return damage_pickle(draw, data)
    begin, end = draw(st.sampled_from(blobs))
    return damage_inside(draw, data, begin, end)
