"""How wide a text is and how it is cut, without asking a font: the advances of DejaVu Sans, which is drawn."""

from __future__ import annotations

import unicodedata
from typing import Final

_REGULAR: Final = (
    32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34,
    84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79, 60, 79, 69, 63, 61, 73, 68, 99,
    69, 61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63, 63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52,
    39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84,
)  # fmt: skip
_BOLD: Final = (
    35, 46, 52, 84, 70, 100, 87, 31, 46, 46, 52, 84, 38, 42, 38, 37, 70, 70, 70, 70, 70, 70, 70, 70, 70, 70, 40, 40,
    84, 84, 84, 58, 100, 77, 76, 73, 83, 68, 68, 82, 84, 37, 37, 77, 64, 100, 84, 85, 73, 85, 77, 72, 68, 81, 77,
    110, 77, 72, 73, 46, 37, 46, 84, 50, 50, 67, 72, 59, 72, 68, 44, 72, 71, 34, 34, 67, 34, 104, 71, 69, 72, 72,
    49, 60, 48, 71, 65, 92, 65, 65, 58, 71, 37, 71, 84,
)  # fmt: skip
"""Advances of the ASCII characters from the blank on, in hundredths of the font size."""


def width(text: str, size: float, bold: bool = False) -> float:
    """The width of a text in px at a font size in px; for what is not ASCII never less than the font takes."""
    advances = _BOLD if bold else _REGULAR
    total = 0
    for c in text:
        if " " <= c <= "~":
            total += advances[ord(c) - 32]
        elif unicodedata.combining(c):
            continue
        else:
            total += 105 if unicodedata.east_asian_width(c) in "WF" or ord(c) > 0xFFFF else 90
    return total * size / 100 + 0.5


def visible(text: str) -> str:
    """A text with control characters made visible: names on a tape are data, whoever wrote them."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text)


def shorten(text: str, limit: int) -> str:
    """A text of at most so many characters that keeps its head."""
    text = visible(text)
    return text if len(text) <= limit else text[: max(1, limit - 1)] + "…"


def wrap(text: str, size: float, room: float) -> list[str]:
    """A text in lines of at most so many px, broken at blanks."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and width(f"{lines[-1]} {word}", size) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def size_text(size: int) -> str:
    """Bytes for people, in the tape's own 1024-based units: `64.2 KB`."""
    value = float(size)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1024:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TB"
