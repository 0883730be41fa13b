"""Numbers in what people write, and the order in which they count names."""

from __future__ import annotations

import re
from typing import Final

_NUMBERS: Final = re.compile(r"(\d+)")


def whole_number(text: str) -> int:
    """The number that digits mean; -1 for any other text, and for digits beyond everything that is counted here."""
    return int(text) if text.isdecimal() and len(text) < 19 else -1


def natural(text: str) -> tuple[tuple[int, int | str], ...]:
    """A sorting key by which worker_10 stands after worker_9."""
    parts = _NUMBERS.split(text)
    return tuple((0, number) if (number := whole_number(part)) >= 0 else (1, part) for part in parts if part)
