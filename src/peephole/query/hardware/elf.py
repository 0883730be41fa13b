"""What is needed of a kernel's binary: its code and the resources that its descriptor asks for."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from peephole.errors import CaptureError

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")


@dataclass(frozen=True, slots=True)
class Section:
    """A named part of an ELF file."""

    name: str
    address: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Resources:
    """What one workgroup or lane of the kernel takes."""

    vgprs: int
    lds_bytes: int
    scratch_bytes: int


def sections(binary: bytes) -> dict[str, Section]:
    """The sections of a 64-bit ELF file; CaptureError when it is none."""
    try:
        return _sections(binary)
    except (struct.error, IndexError, ValueError):
        raise CaptureError("The kernel's binary is not a 64-bit ELF file, so its code cannot be shown.") from None


def _sections(binary: bytes) -> dict[str, Section]:
    magic, *_, table, _, _, _, _, size, count, names = _HEADER.unpack_from(binary)
    if magic[:5] != b"\x7fELF\x02":
        raise ValueError(magic)
    size = size or _SECTION.size  # a small assembler may leave it out
    headers = [_SECTION.unpack_from(binary, table + i * size) for i in range(count)]
    texts = binary[headers[names][4] : headers[names][4] + headers[names][5]]
    found = {}
    for header in headers:
        name = texts[header[0] : texts.index(b"\0", header[0])].decode("utf-8", "replace")
        content = b"" if header[1] == 8 else binary[header[4] : header[4] + header[5]]
        found[name] = Section(name, header[3], content)
    return found


def resources(binary: bytes, arch: str) -> Resources | None:
    """The resources of the first kernel descriptor; None when the binary has none.

    Registers are counted in steps that depend on the generation and, since RDNA, on the width of a wave.
    """
    rodata = sections(binary).get(".rodata")
    if rodata is None or len(rodata.content) < 64:
        return None
    lds, scratch = struct.unpack_from("<II", rodata.content)
    (settings,) = struct.unpack_from("<I", rodata.content, 48)
    (properties,) = struct.unpack_from("<H", rodata.content, 56)
    unified = arch.startswith(("gfx90a", "gfx94", "gfx95"))
    wave32 = not arch.startswith("gfx9") and properties & 1 << 10
    return Resources(((settings & 0x3F) + 1) * (8 if unified or wave32 else 4), lds, scratch)
