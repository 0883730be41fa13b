"""Gets ready for a hardware trace: what takes a second the first time is done before somebody waits for it."""

from __future__ import annotations

import contextlib

import numpy as np

from peephole.query.hardware.decode import SILENT, decode
from peephole.query.hardware.mapping import map_instructions
from peephole.query.hardware.program import Program
from peephole.store.capture import Capture


def get_ready(capture: Capture) -> bool:
    """Loads the compiled loops and the disassembler; False when the capture has no trace to use them on."""
    if not capture.count("hardware"):
        return False
    none, no = np.empty(0, np.int64), np.empty(0, np.bool_)
    map_instructions(decode(bytes(64), SILENT), Program(none, none, (), (), none, no, no, no, ()))
    with contextlib.suppress(ImportError):
        import tinygrad.renderer.amd  # noqa: F401
    return True
