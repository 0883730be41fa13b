"""Memory that the C library keeps after it was freed."""

from __future__ import annotations

import ctypes


def give_back() -> None:
    """Gives it back to the system, where the C library can: what reading used is no use to sealing."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return
