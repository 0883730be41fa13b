"""Context and args of slices, which few of them have, apart from their columns."""

from __future__ import annotations

import mmap
import tempfile
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from peephole.store.lanes import Ints


class Extras:
    """Context and args of the slices that have any; the args wait in a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._parts: list[tuple[Ints, Ints, Ints]] = []
        self._rows = 0
        self._bytes = 0
        self._view: mmap.mmap | None = None

    def append(self, context: Ints, args: list[str | None] | None) -> Ints:
        """Keeps rows and gives the `extra` of each."""
        rows = len(context)
        lengths = np.full(rows, -1, np.int64)
        if args is not None and any(a is not None for a in args):
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder, prefix="args.")  # noqa: SIM115 - until close
            coded = [b"" if a is None else a.encode("utf-8", "backslashreplace") for a in args]
            lengths = np.fromiter((len(c) for c in coded), np.int64, rows)
            self._file.write(b"".join(coded))
            lengths[[a is None for a in args]] = -1
        size = np.maximum(lengths, 0)
        offsets = self._bytes + np.cumsum(size) - size
        self._bytes += int(size.sum())
        self._parts.append((context, offsets, lengths))
        numbers = np.arange(self._rows + 1, self._rows + rows + 1)
        self._rows += rows
        return numbers

    def take(self, extra: NDArray[np.uint32]) -> tuple[Ints, list[str | None] | None]:
        """Contexts and args (None when no row has any) of slices."""
        if self._rows == 0:
            return np.full(len(extra), -1, np.int64), None
        if len(self._parts) > 1:
            context, offsets, lengths = (np.concatenate(c) for c in zip(*self._parts, strict=True))
            self._parts = [(context, offsets, lengths)]
        all_context, all_offsets, all_lengths = self._parts[0]
        has = np.flatnonzero(extra)
        at = extra[has].astype(np.int64) - 1
        contexts = np.full(len(extra), -1, np.int64)
        contexts[has] = all_context[at]
        with_args = all_lengths[at] >= 0
        if self._file is None or not with_args.any():
            return contexts, None
        if self._view is None and self._bytes:
            self._file.flush()
            self._view = mmap.mmap(self._file.fileno(), self._bytes, access=mmap.ACCESS_READ)
        args: list[str | None] = [None] * len(extra)
        view = self._view
        for row, offset, length in zip(
            has[with_args].tolist(),
            all_offsets[at[with_args]].tolist(),
            all_lengths[at[with_args]].tolist(),
            strict=True,
        ):
            args[row] = view[offset : offset + length].decode("utf-8", "replace") if view and length else ""
        return contexts, args

    def close(self) -> None:
        """Lets go of the file."""
        if self._view is not None:
            self._view.close()
            self._view = None
        if self._file is not None:
            self._file.close()
            self._file = None
