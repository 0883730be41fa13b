"""What is written on the bands of buffers: their dtypes and names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.store.capture import Capture
from peephole.store.tables.frame import Texts

_LONGEST: Final = 200
"""Characters of a text that a label can show."""


@dataclass(frozen=True, slots=True)
class BufferLabels:
    """The texts of all buffers, in the order of the table."""

    dtype: Texts
    name: Texts

    def dtypes(self, rows: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int32]]:
        """The dtypes that occur in these rows, and the place of each row's among them."""
        return _occurring(self.dtype, rows)

    def names(self, rows: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int32]]:
        """The same of the names."""
        return _occurring(self.name, rows)


def buffer_labels(capture: Capture) -> BufferLabels:
    """The labels of a capture's buffers."""
    frame = capture.read("buffers", ["dtype", "name"])
    return BufferLabels(frame.texts("dtype"), frame.texts("name"))


def _occurring(texts: Texts, rows: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int32]]:
    codes, place = np.unique(texts.codes[rows], return_inverse=True)
    shown = [texts.values[code][:_LONGEST] if code >= 0 else "" for code in codes.tolist()]
    return shown, place.astype(np.int32)
