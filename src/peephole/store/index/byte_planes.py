"""Whole numbers as bytes, all first bytes, then all second ones: the high ones are nearly all alike and pack well."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def width_of(largest: int) -> int:
    """Bytes that a number from 0 to the largest takes: 1, 2, 4 or 8."""
    return 1 if largest < 1 << 8 else 2 if largest < 1 << 16 else 4 if largest < 1 << 32 else 8


def to_planes(values: NDArray[Any], width: int) -> bytes:
    """The numbers' bytes, plane by plane."""
    return values.astype(f"<u{width}").view(np.uint8).reshape(-1, width).T.tobytes()


def from_planes(data: bytes, count: int, width: int, at: int = 0) -> NDArray[Any]:
    """The numbers that stand in the data from `at` on; ValueError when it is too short."""
    raw = np.frombuffer(data, np.uint8, width * count, at)
    if width == 1:
        return raw
    joined = np.empty((count, width), np.uint8)
    for plane in range(width):
        joined[:, plane] = raw[plane * count : (plane + 1) * count]
    return joined.view(f"<u{width}")[:, 0]
