"""Answers cut to a size: an agent pays for each character, so what is left out is counted and can be asked for."""

from __future__ import annotations

import json
from typing import Any, Final

LIMIT: Final = 8_000
"""Characters of an answer, unless the caller asks for more."""
LARGEST: Final = 50_000
_TEXT: Final = 2_000
"""Characters of one text inside an answer."""


def plain(value: Any, text: int = _TEXT) -> Any:
    """A value whose texts are data only: control characters made visible, long ones cut with their length said."""
    if isinstance(value, str):
        return _plain_text(value, text)
    if isinstance(value, dict):
        return {_plain_text(str(key), 200): plain(item, text) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item, text) for item in value]
    return value


def _plain_text(value: str, longest: int) -> str:
    left = len(value) - longest
    if left > 0:
        value = value[:longest]
    if not value.isprintable():
        value = "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in value)
    return f"{value}… ({left:,} more characters)" if left > 0 else value


def page_of(rows: list[dict[str, Any]], offset: int, limit: int) -> tuple[list[dict[str, Any]], int]:
    """As many rows from `offset` on as fit into `limit` characters, and where to go on; -1 when that was all."""
    taken: list[dict[str, Any]] = []
    used = 0
    for row in rows[offset:]:
        row = plain(row)
        used += len(json.dumps(row, ensure_ascii=False))
        if taken and used > limit:
            break
        taken.append(row)
    end = offset + len(taken)
    return taken, end if end < len(rows) else -1
