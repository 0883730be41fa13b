"""AMD's machine code by tinygrad's tables. Needs tinygrad's package; nothing else that shows a capture does."""

from __future__ import annotations

import re
from typing import Final

from peephole.compilers.hardware import Instruction, Undecodable

_LONGEST: Final = 64
"""Bytes of the longest instruction, and more."""
_DUAL: Final = re.compile(r"^VOPD\(\w+\.(\w+), \w+\.(\w+), ")


def instructions(code: bytes, arch: str) -> list[Instruction]:
    """The instructions of a kernel; Undecodable when tinygrad is not installed or does not know one."""
    try:
        from tinygrad.renderer.amd import detect_format
    except ImportError:
        raise Undecodable(
            "Disassembly needs tinygrad on this machine: pip install tinygrad. "
            "Waves, occupancy and counters are shown without it."
        ) from None
    kind = "rdna3" if arch.startswith("gfx11") else "rdna4" if arch.startswith("gfx12") else "cdna"
    found: list[Instruction] = []
    offset = 0
    while offset < len(code):
        piece = code[offset : offset + _LONGEST]
        try:
            decoded = detect_format(piece, kind).from_bytes(piece)
        except Exception as error:  # the disassembler raises whatever its tables lead it to
            raise Undecodable(
                f"The instruction {offset:#x} bytes into the code is unknown to tinygrad's disassembler ({error})."
            ) from None
        distance = getattr(decoded, "simm16", 0) & 0xFFFF
        jump = (distance - 0x10000 if distance & 0x8000 else distance) * 4
        op = str(getattr(decoded, "op_name", ""))
        found.append(Instruction(offset, decoded.size(), op, _text(decoded), jump if "BRANCH" in op else 0))
        offset += decoded.size()
    return found


def _text(decoded: object) -> str:
    """The instruction; two in one are named as the others are."""
    return _DUAL.sub(lambda found: f"{found[1].lower()}, {found[2].lower()}(", str(decoded))
