"""The order in which people count names."""

from __future__ import annotations

import re
from typing import Final

_NUMBERS: Final = re.compile(r"(\d+)")


def natural(text: str) -> tuple[tuple[int, int | str], ...]:
    """A sorting key by which worker_10 stands after worker_9."""
    parts = _NUMBERS.split(text)
    return tuple((0, int(part)) if part.isdecimal() and len(part) < 19 else (1, part) for part in parts if part)
