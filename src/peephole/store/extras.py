"""Context and args of slices, which few of them have, apart from their columns."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from peephole.model.sink import Strings
from peephole.store.lanes import Ints


def text_array(args: Sequence[str | None] | Strings | None) -> pa.Array | None:
    """Texts as an Arrow array without an object per row; None when no row has one."""
    if args is None:
        return None
    if isinstance(args, Strings):
        codes = np.asarray(args.codes, np.int64)
        known = (codes >= 0) & (codes < len(args.values))
        if not known.any():
            return None
        return text_column(list(args.values)).take(pa.array(codes, mask=~known))
    found = text_column(list(args))
    return found if found.null_count < len(found) else None


def text_column(values: list[str | None]) -> pa.Array:
    """The texts; what UTF-8 cannot say (a lone surrogate) is written as an escape."""
    try:
        return pa.array(values, pa.large_string())
    except UnicodeEncodeError:
        safe = [None if v is None else v.encode("utf-8", "backslashreplace").decode() for v in values]
        return pa.array(safe, pa.large_string())


_LARGE: Final = 64 << 20
"""Bytes of args from which on they are let go of as soon as they were taken."""


class Extras:
    """Context and args of the slices that have any; the args wait in a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._contexts: list[Ints | None] = []
        self._lengths: list[NDArray[np.int32]] = []
        self._rows = 0
        self._bytes = 0
        self._view: mmap.mmap | None = None
        self._args: pa.Array | None = None

    def append(self, context: Ints, args: pa.Array | None) -> Ints:
        """Keeps rows and gives the `extra` of each."""
        rows = len(context)
        lengths = np.full(rows, -1, np.int32)
        if args is not None and args.null_count < rows:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder, prefix="args.")  # noqa: SIM115 - until close
            _, offsets, data = args.buffers()
            bounds = np.frombuffer(offsets, np.int64)[args.offset : args.offset + rows + 1]
            if data is not None:
                self._file.write(memoryview(data)[int(bounds[0]) : int(bounds[-1])])
            lengths = np.diff(bounds).astype(np.int32)
            self._bytes += int(bounds[-1] - bounds[0])
            lengths[~args.is_valid().to_numpy(zero_copy_only=False)] = -1
        self._contexts.append(context if (context >= 0).any() else None)
        self._lengths.append(lengths)
        numbers = np.arange(self._rows + 1, self._rows + rows + 1)
        self._rows += rows
        return numbers

    def take(self, extra: NDArray[np.uint32]) -> tuple[Ints, pa.Array | None]:
        """Contexts and args (None when no row has any) of slices."""
        contexts = np.full(len(extra), -1, np.int64)
        if self._rows == 0:
            return contexts, None
        all_contexts, lengths = self._joined()
        has = np.flatnonzero(extra)
        at = extra[has].astype(np.int64) - 1
        if all_contexts is not None:
            contexts[has] = all_contexts[at]
        if self._file is None or not (lengths[at] >= 0).any():
            return contexts, None
        if self._args is None:
            self._args = self._mapped(lengths)
        places = np.zeros(len(extra), np.int64)
        places[has] = at
        taken = self._args.take(pa.array(places, mask=extra == 0))
        if self._view is not None and self._bytes > _LARGE and hasattr(mmap, "MADV_DONTNEED"):
            self._view.madvise(mmap.MADV_DONTNEED)  # what was taken is a copy: the pages need not count as ours
        return contexts, taken

    def _joined(self) -> tuple[Ints | None, NDArray[np.int32]]:
        """Contexts (None when no row has one) and lengths of all rows."""
        if len(self._lengths) > 1:
            sizes = [len(part) for part in self._lengths]
            self._lengths = [np.concatenate(self._lengths)]
            if any(part is not None for part in self._contexts):
                whole = zip(self._contexts, sizes, strict=True)
                self._contexts = [np.concatenate([np.full(n, -1, np.int64) if c is None else c for c, n in whole])]
            else:
                self._contexts = [None]
        return self._contexts[0], self._lengths[0]

    def _mapped(self, lengths: NDArray[np.int32]) -> pa.Array:
        """All args as one array over the file: its bytes are read when they are taken."""
        assert self._file is not None
        self._file.flush()
        data = pa.py_buffer(b"")
        if self._bytes:
            self._view = mmap.mmap(self._file.fileno(), self._bytes, access=mmap.ACCESS_READ)
            data = pa.py_buffer(self._view)
        offsets = np.concatenate([[0], np.cumsum(np.maximum(lengths, 0), dtype=np.int64)])
        valid = pa.array(lengths >= 0).buffers()[1]
        return pa.LargeStringArray.from_buffers(len(lengths), pa.py_buffer(offsets), data, valid)

    def close(self) -> None:
        """Lets go of the file."""
        self._args = None
        # arrays over the map may still be alive in the writer's queue: the map goes when they do
        self._view = None
        if self._file is not None:
            self._file.close()
            self._file = None
