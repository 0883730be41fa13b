"""Values of a profile in JSON, whatever stands where they should be."""

from __future__ import annotations

import json
import math
from typing import Any, Final

from peephole.errors import CaptureError

FURTHEST: Final = 1 << 60
DEEPEST: Final = 2000
"""Frames of a stack that are shown."""

SAMPLED: Final = {"sampled_stacks": "sampled: what is shorter than a sample is not there"}
"""A fact of captures whose slices are what neighbouring samples have in common."""


def json_object(data: bytes, where: str) -> dict[str, Any]:
    """The object that a file holds; CaptureError when it holds none."""
    try:
        found = json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise CaptureError(f"{where} is cut off or damaged: {str(error)[:100]}.") from None
    if not isinstance(found, dict):
        raise CaptureError(f"{where} is not a profile: it holds no object.")
    return found


def as_list(value: Any) -> list[Any]:
    """A list, which is empty where something else stands."""
    return value if isinstance(value, list) else []


def number(value: Any) -> float:
    """A number, 0 for what is none or absurd."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return value if plain and math.isfinite(value) and abs(value) < FURTHEST else 0.0


def nanoseconds(value: Any, unit: int) -> int:
    """A time in nanoseconds, given those of its unit."""
    return int(max(-FURTHEST, min(round(number(value) * unit), FURTHEST)))
