"""JSON that a capture holds as text. Anybody may have written it, so that it may be none, or too deep to hand on."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

_DEEPEST: Final = 500
"""Brackets inside each other that are followed: who hands a value on goes as deep again."""
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKET: Final = re.compile(r"[\[\]{}]")


def parse(text: str) -> Any:
    """The value of a text; ValueError when it has none. Numbers that JSON lacks (NaN, infinities) stay texts."""
    if _too_deep(text):
        raise ValueError("nested too deeply")
    return _DECODER.decode(text)


def json_object(text: str | None) -> dict[str, Any] | None:
    """The object that a text is; None when it is none."""
    value = _value(text)
    return value if isinstance(value, dict) else None


def json_list(text: str | None) -> list[Any]:
    """The list that a text is; empty when it is none."""
    value = _value(text)
    return value if isinstance(value, list) else []


def _value(text: str | None) -> Any:
    try:
        return parse(text) if text else None
    except ValueError:
        return None


def _too_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= _DEEPEST:
        return False
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > _DEEPEST:
            return True
    return False


def _float(text: str) -> float | str:
    value = float(text)
    return value if math.isfinite(value) else text


_DECODER: Final = json.JSONDecoder(parse_float=_float, parse_constant=str)
