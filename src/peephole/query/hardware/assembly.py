"""A kernel's binary as assembly, made when it is looked at.

AMD's instructions are decoded by a compiler's tables. For the CPU the machine's objdump decodes the bytes of .text, and
nothing but those: the file around them is read by our own reader, since a stranger's capture must be safe to open.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from peephole.errors import PeepholeError
from peephole.query.hardware.elf import sections
from peephole.query.hardware.program import disassemble

_MACHINES: Final = {62: "i386:x86-64", 183: "aarch64"}
_LINE: Final = re.compile(r"^\s*([0-9a-f]+):\s+((?:[0-9a-f]{2,8} )+)\s*(.*)$")
_SECONDS: Final = 20
_MEMORY: Final = 1 << 30
_LONGEST: Final = 16 << 20


def assembly(binary: bytes, language: str) -> str | None:
    """The instructions, one a line with its address; None when this machine cannot tell them."""
    try:
        if language.startswith("gfx"):
            program = disassemble(binary, language)
            return "\n".join(f"{pc:8x}:  {text}" for pc, text in zip(program.pc.tolist(), program.text, strict=True))
        return _cpu(binary)
    except PeepholeError:
        return None


def _cpu(binary: bytes) -> str | None:
    tool = shutil.which("objdump")
    text = sections(binary).get(".text")
    (machine,) = struct.unpack_from("<H", binary, 18)
    if tool is None or text is None or not text.content or machine not in _MACHINES or len(text.content) > _LONGEST:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.bin"
        path.write_bytes(text.content)
        command = [tool, "-D", "-b", "binary", "-m", _MACHINES[machine], str(path)]
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_SECONDS, check=False, preexec_fn=_bounded
            )
            lines = (_LINE.match(line) for line in done.stdout.splitlines())
            return "\n".join(f"{int(m[1], 16):8x}:  {m[3].strip()}" for m in lines if m and m[3]) or None
    return None


def _bounded() -> None:
    """Runs in the child: a decoder that goes wild ends instead of taking the machine with it."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
