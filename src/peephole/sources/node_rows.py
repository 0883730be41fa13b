"""Nodes of graphs on their way to the sink, their texts in dictionary form."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from peephole.model.sink import Sink, Strings

BATCH: Final = 1 << 16
"""Nodes that are handed over at once."""
_TEXTS: Final = ("op", "dtype", "arg", "tag", "shape", "metadata", "name")


class NodeRows:
    """Nodes on their way to the sink; ids are dealt out here, over all graphs of a capture."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._next = 0
        self._values: list[list[str]] = [[] for _ in _TEXTS]
        self._codes: list[dict[str | None, int]] = [{None: -1} for _ in _TEXTS]
        self._fields: list[tuple[int, ...]] = []
        self._own: list[int] = []
        self._src: list[int] = []
        self._ends: list[int] = [0]

    def fields(self, *texts: str | None) -> int:
        """A number for the fields of a node, in the order of the table."""
        numbers = []
        for text, codes, values in zip(texts, self._codes, self._values, strict=True):
            code = codes.get(text)
            if code is None:
                assert text is not None
                code = codes[text] = len(values)
                values.append(text)
            numbers.append(code)
        self._fields.append(tuple(numbers))
        return len(self._fields) - 1

    def add(self, own: int, src: tuple[int, ...]) -> int:
        """A new node; its id."""
        self._own.append(own)
        self._src += src
        self._ends.append(len(self._src))
        self._next += 1
        if len(self._own) >= BATCH:
            self.flush()
        return self._next - 1

    def flush(self) -> None:
        """Hands over what is there."""
        if not self._own:
            return
        codes = np.asarray(self._fields, np.int32).reshape(-1, len(_TEXTS))[np.asarray(self._own)]
        columns: dict[str, Any] = {
            name: Strings(np.ascontiguousarray(codes[:, place]), list(self._values[place]))
            for place, name in enumerate(_TEXTS)
        }
        columns["id"] = np.arange(self._next - len(self._own), self._next)
        columns["src"] = (np.asarray(self._ends, np.int64), np.asarray(self._src, np.int64))
        self._sink.append("nodes", columns)
        self._own, self._src, self._ends = [], [], [0]

    def forget(self) -> None:
        """Lets go of the fields of a module that is done."""
        self.flush()
        self._fields = []
        self._values = [[] for _ in _TEXTS]
        self._codes = [{None: -1} for _ in _TEXTS]
