"""Gets ready for a hardware trace: what takes a second the first time is done before somebody waits for it."""

from __future__ import annotations

import contextlib

from peephole.compilers import decode_instructions
from peephole.errors import PeepholeError
from peephole.query.hardware.decode import SILENT, decode
from peephole.query.hardware.mapping import map_instructions
from peephole.query.hardware.program import NO_PROGRAM
from peephole.store.capture import Capture


def get_ready(capture: Capture) -> bool:
    """Loads the compiled loops and the disassembler; False when the capture has no trace to use them on."""
    if not capture.count("hardware"):
        return False
    map_instructions(decode(bytes(64), SILENT), NO_PROGRAM)
    with contextlib.suppress(PeepholeError):
        decode_instructions(b"", "")
    return True
