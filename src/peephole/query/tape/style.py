"""What colours, shapes and sizes of a tape's picture mean."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.query.tape.operations import SIGNAL_COMMANDS

COLOURS: Final = {
    "MatMul": "#d62728",
    "BinaryOp": "#1f6fb5",
    "UnaryOp": "#2ca02c",
    "ReLU": "#4a4a4a",
    "Sum": "#8e3fab",
    "Mean": "#17a398",
    "GetData": "#d2691e",
    "AllGather": "#8b0000",
    "GatherShards": "#8b0000",
    "FreeTensor": "#c9ccd6",
    "CreateTensor": "#0b7285",
    "ReshapeOp": "#b59b00",
    "SliceOp": "#a3458f",
    "GetStats": "#7787a0",
    "RegisterWorker": "#0f172a",
    "connect": "#0f172a",
    "disconnect": "#0f172a",
}
"""Red, blue, green, dark gray, purple, teal, dark orange, dark red, light gray: as GT's users know them."""

EXTRA: Final = ("#5c7cfa", "#e599f7", "#ffa94d", "#63e6be", "#a9845b", "#f783ac", "#94d82d", "#3bc9db")
"""For the most frequent operations that have no colour of their own."""

OTHER: Final = "#6b7280"

OUTLINED: Final = frozenset(("FreeTensor",))
"""So pale that only an outline makes them visible on white."""

SHAPES: Final = {
    "RECV": "o",
    "SEND": "s",
    "MODIFIER_INJECT": "D",
    "WORKER_SEND": ">",
    "WORKER_RECV": "<",
    "SIGNAL": "*",
    "CONNECT": "^",
    "DISCONNECT": "v",
    "ERROR": "X",
    "DISPATCH": ">",
    "COMPUTE": "|",
    "TRANSFER": "d",
    "RELEASE": "_",
}
"""Marker shapes by event, in the letters of matplotlib."""

UNKNOWN_SHAPE: Final = "P"

SHAPE_NAMES: Final = {"RECV": "RECV from client", "SEND": "SEND to client"}

LEAST_RADIUS: Final = 2.6
LARGEST_RADIUS: Final = 11.0


def radius(size: int, largest: int) -> float:
    """A marker's radius in px for so many bytes: its area grows with the size's logarithm, 64 KB is ten times 64 B.

    Where the largest on the tape would outgrow a marker's room, all grow less, so that no two sizes look alike.
    """
    return float(radii(np.array([size], np.int64), largest)[0])


def radii(size: NDArray[np.int64], largest: int) -> NDArray[np.float64]:
    """The same for many."""
    grown, most = (0.95 * np.log2(1 + np.maximum(x, 0) / 96) ** 0.85 for x in (size, largest))
    return np.asarray(LEAST_RADIUS + grown * min(1.0, (LARGEST_RADIUS - LEAST_RADIUS) / max(most, 1.0)), np.float64)


def colours_of(families: dict[str, int]) -> dict[str, str]:
    """The colour of each family that occurs; the numbers say how often."""
    found = {name: COLOURS[name] for name in families if name in COLOURS}
    spare = iter(EXTRA)
    for name in sorted((name for name in families if name not in COLOURS), key=lambda name: (-families[name], name)):
        found[name] = OTHER if name in SIGNAL_COMMANDS else next(spare, OTHER)
    return found
