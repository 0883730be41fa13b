"""Events that are not JSON: mended where the fault is a stray quote, skipped and counted otherwise.

PyTorch writes names unescaped, so a quote in a name breaks the event, and nothing but that event.
"""

from __future__ import annotations

import re
from typing import Any

from peephole.sources.chrome.objects import DECODER

_NEXT_EVENT = re.compile(rb"\}\s*,\s*(?=\{)")
_PHASE = re.compile(rb'"ph"\s*:\s*"')


def next_event(data: bytes, start: int) -> int:
    """Position of the first event after the broken one at `start`, or -1 when none follows in `data`."""
    for found in _NEXT_EVENT.finditer(data, start):
        at = found.end()
        # an object inside args may look the same: an event says its phase before the next object ends
        close = data.find(b"}", at)
        if close >= 0 and _PHASE.search(data, at, close):
            return at
    return -1


def mend(text: str) -> dict[str, Any] | None:
    """The event with its stray quotes escaped, or None when that does not help."""
    out: list[str] = []
    at, inside = 0, False
    while at < len(text):
        char = text[at]
        if char == "\\" and inside:
            out.append(text[at : at + 2])
            at += 2
            continue
        if char == '"':
            if not inside:
                inside = True
            elif re.match(r"\s*([:}\]]|,\s*[\"{\[\d-]|$)", text[at + 1 :]):
                inside = False
            else:
                char = '\\"'
        out.append(char)
        at += 1
    try:
        value = DECODER.decode("".join(out).rstrip().rstrip(","))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
