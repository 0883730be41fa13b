"""Which fonts write a picture's texts: DejaVu Sans, and for what it lacks whatever the machine has."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

USUAL_FONT: Final = "DejaVu Sans"
"""What the picture is measured with; matplotlib brings it along."""


@dataclass(frozen=True, slots=True)
class Fonts:
    """The fonts that draw some texts, the usual one first, and the characters that none of them has."""

    font_names: tuple[str, ...]
    lacking: tuple[str, ...]


def fonts_for(texts: Iterable[str]) -> Fonts:
    """The fonts with which the texts can be drawn."""
    # matplotlib's log tells of each font that has no bold face, or not the characters: the answer here does
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    characters = {c for text in texts for c in text}
    lacking = characters - _has(USUAL_FONT)
    if not lacking:
        return Fonts((USUAL_FONT,), ())
    font_names = [USUAL_FONT]
    for font_name in _others():
        found = lacking & _has(font_name)
        if found:
            font_names.append(font_name)
            lacking -= found
        if not lacking:
            break
    return Fonts(tuple(font_names), tuple(sorted(lacking)))


@lru_cache(64)
def _has(font_name: str) -> frozenset[str]:
    """The characters that a font has, in both weights."""
    from matplotlib.font_manager import FontProperties, fontManager
    from matplotlib.ft2font import FT2Font

    found: set[str] | None = None
    for weight in ("normal", "bold"):
        try:
            path = fontManager.findfont(FontProperties(family=font_name, weight=weight), fallback_to_default=False)
            known = set(map(chr, FT2Font(path).get_charmap()))
        except (OSError, RuntimeError, ValueError):
            known = set()
        found = known if found is None else found & known
    return frozenset(found or ())


def _others() -> list[str]:
    """The machine's own fonts by name, those too that came after matplotlib took its list.

    What matplotlib brings besides is for formulas, with codes of its own, and a font of boxes for everything.
    """
    from matplotlib import get_data_path
    from matplotlib.font_manager import findSystemFonts, fontManager

    known = {entry.fname for entry in fontManager.ttflist}
    for path in findSystemFonts():
        if path not in known:
            try:
                fontManager.addfont(path)
            except (OSError, RuntimeError, ValueError):
                continue
    return sorted({entry.name for entry in fontManager.ttflist if not entry.fname.startswith(get_data_path())})
