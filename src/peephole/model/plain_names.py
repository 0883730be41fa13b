"""Names without colours."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

_COLOUR_CODE: Final = re.compile(r"\x1b\[[0-9;]*m")


def plain(name: str | None) -> str:
    """A name without the colour codes that some producers put into it: what a user types."""
    return _COLOUR_CODE.sub("", name or "")


def numbered(names: Iterable[str | None]) -> list[str]:
    """What a user calls each of these: the plain name, with `#2` behind it for the second of that name."""
    seen: Counter[str] = Counter()
    found = []
    for own in names:
        name = plain(own)
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return found
