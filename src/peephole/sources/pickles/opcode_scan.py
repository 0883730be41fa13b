"""A first pass over a pickle, before any of it is loaded. Standard library only.

The standard library's unpickler is fast and its memory can be made to explode by a few bytes: a memo index or a
length of billions, a dictionary keyed by a tuple whose hash takes for ever. This pass follows the opcodes without
building anything, refuses what a capture never needs, checks each length against what is left of the file, and
returns a stream in which every dictionary is one of ours (`standin.Mapping`), which looks at its keys.
"""

from __future__ import annotations

import re
from typing import Final

from peephole.sources.pickles.standin import Refused

_RUN: Final = re.compile(
    rb"(?:[()\]Natesule0-2Rbo\x81\x85-\x89\x92-\x94]"  # no argument
    rb"|[Khq]."  # one byte: a small number, memo get and put
    rb"|M.."
    rb"|[Jj]...."
    rb"|G........)*+",
    re.DOTALL,
)
"""As many opcodes of fixed length as there are; possessive, so that its memory does not grow with the run."""

_COUNTED: Final = {0x8C: 1, 0x43: 1, 0x55: 1, 0x8A: 1, 0x58: 4, 0x42: 4, 0x54: 4, 0x8B: 4, 0x8D: 8, 0x8E: 8, 0x96: 8}
"""Opcode to the width of its length: texts, bytes, long integers, bytearrays."""
_LINES: Final = {ord("I"): 1, ord("L"): 1, ord("F"): 1, ord("S"): 1, ord("V"): 1, ord("g"): 1, ord("c"): 2, ord("i"): 2}
"""Opcode to how many lines of text follow it."""
_FORBIDDEN: Final = {
    ord("P"): "a persistent object",
    ord("Q"): "a persistent object",
    0x82: "an extension code",
    0x83: "an extension code",
    0x84: "an extension code",
    ord("d"): "an old-style dictionary",
    0x8F: "a set",
    0x90: "a set",
    0x91: "a set",
    0x97: "an out-of-band buffer",
    0x98: "an out-of-band buffer",
}
_PROTO, _FRAME, _STOP, _DICT, _PUT, _LONG_PUT = 0x80, 0x95, ord("."), ord("}"), ord("p"), ord("r")


def checked(data: bytes, dictionary: bytes) -> bytes:
    """The same pickle with `dictionary` (opcodes that push an empty one) for each empty dictionary; or Refused."""
    size = len(data)
    parts: list[bytes] = []
    run = _RUN.match
    pos = start = 0
    while True:
        found = run(data, pos)
        assert found is not None
        pos = found.end()
        if pos >= size:
            raise Refused("it ends in the middle")
        code = data[pos]
        if code == _DICT:
            parts.append(data[start:pos])
            parts.append(dictionary)
            pos += 1
            start = pos
        elif (width := _COUNTED.get(code)) is not None:
            end = pos + 1 + width
            pos = end + int.from_bytes(data[pos + 1 : end], "little")
            if pos > size:
                raise Refused("it ends in the middle")
        elif code == _FRAME:
            # Frames only help a reader that streams, and their lengths are no longer right.
            parts.append(data[start:pos])
            pos += 9
            start = pos
        elif code == _STOP:
            parts.append(data[start : pos + 1])
            return b"".join(parts)
        elif code == _PROTO:
            if data[pos + 1 : pos + 2] > b"\x05":
                raise Refused("it is written in a pickle protocol that is not known")
            pos += 2
        elif code == _LONG_PUT:
            if int.from_bytes(data[pos + 1 : pos + 5], "little") > pos:
                raise Refused("it remembers more objects than it holds")
            pos += 5
        elif code == _PUT:
            end = _line(data, pos)
            text = data[pos + 1 : end - 1]
            if not text.isdigit() or len(text) > 12 or int(text) > pos:
                raise Refused("it remembers more objects than it holds")
            pos = end
        elif (lines := _LINES.get(code)) is not None:
            for _ in range(lines):
                pos = _line(data, pos)
        elif code in _FORBIDDEN:
            raise Refused(f"it holds {_FORBIDDEN[code]}")
        else:
            raise Refused("it is no pickle, or is damaged")


def _line(data: bytes, pos: int) -> int:
    end = data.find(b"\n", pos)
    if end < 0:
        raise Refused("it ends in the middle")
    return end + 1
