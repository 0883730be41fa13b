"""Names without colours."""

from __future__ import annotations

import re
from typing import Final

_COLOUR_CODE: Final = re.compile(r"\x1b\[[0-9;]*m")


def plain(name: str | None) -> str:
    """A name without the colour codes that some producers put into it: what a user types."""
    return _COLOUR_CODE.sub("", name or "")
