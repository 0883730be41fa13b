"""Texts by number, each once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peephole.model.sink import Strings
from peephole.store.tables.schema import clean_text


class Interner:
    """Numbers texts from 0 in the order in which they come; null is -1."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self._numbers: dict[str, int] = {}
        self._last: Any = None
        self._map = np.zeros(0, np.int32)

    def number(self, text: str | None) -> int:
        """The number of a text."""
        if text is None:
            return -1
        found = self._numbers.get(text)
        if found is None:
            cleaned = clean_text(text)
            found = self._numbers.get(cleaned)
            if found is None:
                found = len(self.values)
                self.values.append(cleaned)
                self._numbers[cleaned] = found
            self._numbers[text] = found
        return found

    def numbers(self, values: Strings | Sequence[Any] | Any) -> NDArray[np.int32]:
        """The numbers of a text column as it is handed to a Sink."""
        if isinstance(values, Strings):
            return self._coded(values)
        number = self.number
        return np.fromiter((number(v) for v in values), np.int32, len(values))

    def _coded(self, values: Strings) -> NDArray[np.int32]:
        # producers tend to hand over one growing list again and again: only its new part is looked up
        known = len(self._map) if values.values is self._last else 0
        if known < len(values.values) or values.values is not self._last:
            new = np.fromiter((self.number(v) for v in values.values[known:]), np.int32, len(values.values) - known)
            self._map = np.concatenate([self._map[:known], new])
            self._last = values.values
        codes = np.asarray(values.codes)
        if len(self._map) == 0:
            return np.full(len(codes), -1, np.int32)
        outside = (codes < 0) | (codes >= len(self._map))
        if outside.any():
            return np.where(outside, -1, self._map[np.where(outside, 0, codes)]).astype(np.int32)
        found: NDArray[np.int32] = self._map[codes]
        return found
