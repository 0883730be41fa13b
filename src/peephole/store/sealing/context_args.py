"""Context and args of slices, which few of them have, apart from their columns."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from peephole.model.sink import Joined, Strings, Utf8
from peephole.store.tables.arrow import as_array, take, valid
from peephole.store.tables.lanes import Ints
from peephole.store.tables.schema import indices, joined_texts, text_values, utf8_texts

_LARGE: Final = 8 << 20
"""Bytes of args from which on they are let go of as soon as they were taken."""
_MAPPED: Final = 16 << 20
"""Bytes of the files of a large capture that are looked at at a time: a page that is mapped counts as ours."""
_FILL: Final = 1 << 16
"""Numbers that are made at a time."""


def text_array(args: Sequence[str | None] | Strings | Joined | Utf8 | None) -> pa.Array | None:
    """Texts as an Arrow array without an object per row; None when no row has one."""
    if args is None:
        return None
    if isinstance(args, Strings):
        at = indices(args)
        return None if at.null_count == len(at) else take(text_values(list(args.values), pa.large_string()), at)
    if isinstance(args, Joined):
        return joined_texts(args)
    if isinstance(args, Utf8):
        return None if args.missing.all() else utf8_texts(args)
    found = text_values(list(args), pa.large_string())
    return found if found.null_count < len(found) else None


class _Numbers:
    """Numbers that wait in a file: what is looked at is mapped, so that memory does not grow with their count."""

    def __init__(self, folder: Path, dtype: type[np.number[Any]]) -> None:
        self._folder = folder
        self._dtype = np.dtype(dtype)
        self._file: IO[bytes] | None = None
        self._view: mmap.mmap | None = None
        self.count = 0

    def append(self, values: NDArray[Any]) -> None:
        """Adds numbers."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder, prefix="extras.")  # noqa: SIM115 - until close
        self._file.write(np.ascontiguousarray(values, self._dtype).data)
        self.count += len(values)
        self._view = None

    def fill(self, value: int, count: int) -> None:
        """Appends one number until there are so many."""
        while self.count < count:
            self.append(np.full(min(_FILL, count - self.count), value, self._dtype))

    def mapped(self) -> mmap.mmap:
        """The file's bytes."""
        assert self._file is not None
        if self._view is None:
            self._file.flush()
            self._view = mmap.mmap(self._file.fileno(), self.count * self._dtype.itemsize, access=mmap.ACCESS_READ)
        return self._view

    def take(self, rows: Ints) -> NDArray[Any]:
        """The numbers of those rows."""
        return np.frombuffer(self.mapped(), self._dtype).take(rows)

    def release(self) -> None:
        """Gives the pages that were looked at back."""
        if self._view is not None:
            let_go(self._view)

    def close(self) -> None:
        """Lets go of the file; arrays over the map may still be alive in the writer's queue: it goes when they do."""
        self._view = None
        if self._file is not None:
            self._file.close()
            self._file = None


def let_go(view: mmap.mmap) -> None:
    """The pages of a map need not count as ours any more."""
    if hasattr(mmap, "MADV_DONTNEED"):
        view.madvise(mmap.MADV_DONTNEED)


class Extras:
    """Context and args of the slices that have any, in files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._contexts = _Numbers(folder, np.int64)
        self._lengths = _Numbers(folder, np.int32)
        self._offsets = _Numbers(folder, np.int64)
        self._rows = 0
        self._bytes = 0
        self._view: mmap.mmap | None = None
        self._args: pa.Array | None = None

    def append(self, context: Ints, args: pa.Array | None) -> Ints:
        """Keeps rows and gives the `extra` of each."""
        rows = len(context)
        if args is not None and args.null_count < rows:
            self._append_args(args, rows)
        if (context >= 0).any():
            self._contexts.fill(-1, self._rows)
            self._contexts.append(context)
        numbers = np.arange(self._rows + 1, self._rows + rows + 1)
        self._rows += rows
        return numbers

    def _append_args(self, args: pa.Array, rows: int) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder, prefix="args.")  # noqa: SIM115 - until close
        self._fill_args()
        _, offsets, data = args.buffers()
        bounds = np.frombuffer(offsets, np.int64)[args.offset : args.offset + rows + 1]
        if data is not None:
            self._file.write(memoryview(data)[int(bounds[0]) : int(bounds[-1])])
        lengths = np.diff(bounds).astype(np.int32)
        lengths[~valid(args)] = -1
        self._lengths.append(lengths)
        self._offsets.append(bounds[1:] - bounds[0] + self._bytes)
        self._bytes += int(bounds[-1] - bounds[0])
        self._args = None

    def _fill_args(self) -> None:
        """Rows without args that came since the last that had some."""
        self._offsets.fill(0, 1)
        self._lengths.fill(-1, self._rows)
        self._offsets.fill(self._bytes, self._rows + 1)

    def take(self, extra: NDArray[np.uint32]) -> tuple[Ints, pa.Array | None]:
        """Contexts and args (None when no row has any) of slices."""
        contexts = np.full(len(extra), -1, np.int64)
        if self._rows == 0:
            return contexts, None
        has = np.flatnonzero(extra)
        at = extra[has].astype(np.int64) - 1
        if self._contexts.count:
            self._contexts.fill(-1, self._rows)
            contexts[has] = self._contexts.take(at)
        taken = None if self._file is None else self._take_args(len(extra), has, at)
        if self._is_large:
            self._release()
        return contexts, taken

    @property
    def mean_bytes(self) -> int:
        """Bytes of the args of a row."""
        return self._bytes // max(1, self._rows)

    @property
    def _is_large(self) -> bool:
        return self._bytes + 20 * self._rows > _LARGE

    def _release(self) -> None:
        """What was taken is a copy: the pages need not count as ours."""
        for numbers in (self._contexts, self._lengths, self._offsets):
            numbers.release()
        if self._view is not None:
            let_go(self._view)

    def _take_args(self, rows: int, has: Ints, at: Ints) -> pa.Array | None:
        if self._lengths.count < self._rows:
            self._fill_args()
            self._args = None
        if self._args is None:
            self._args = self._mapped()
        if not self._is_large:
            known = self._lengths.take(at) >= 0
            places, missing = np.zeros(rows, np.int64), np.ones(rows, np.bool_)
            places[has] = at
            missing[has[known]] = False
            return take(self._args, as_array(places, missing)) if known.any() else None
        return self._take_apart(rows, has, at)

    def _take_apart(self, rows: int, has: Ints, at: Ints) -> pa.Array | None:
        """The same, stretch after stretch of the files: rows of a lane may lie all over them."""
        order = np.argsort(at, kind="stable")
        at = at[order]
        reach = max(1, _MAPPED * self._rows // (self._bytes + 12 * self._rows))
        parts, owners = [], []
        for some in np.split(np.arange(len(at)), np.flatnonzero(np.diff(at // reach)) + 1):
            own = some[self._lengths.take(at[some]) >= 0]
            if len(own):
                owners.append(own)
                parts.append(take(self._args, as_array(at[own])))
            self._release()
        if not parts:
            return None
        places, missing = np.zeros(rows, np.int64), np.ones(rows, np.bool_)
        owner = has[order[np.concatenate(owners)]]
        places[owner] = np.arange(len(owner))
        missing[owner] = False
        return take(pa.concat_arrays(parts), as_array(places, missing))

    def _mapped(self) -> pa.Array:
        """All args as one array over the files: its bytes are read when they are taken."""
        assert self._file is not None
        self._file.flush()
        data = pa.py_buffer(b"")
        if self._bytes:
            self._view = mmap.mmap(self._file.fileno(), self._bytes, access=mmap.ACCESS_READ)
            data = pa.py_buffer(self._view)
        return pa.LargeStringArray.from_buffers(self._rows, pa.py_buffer(self._offsets.mapped()), data)

    def close(self) -> None:
        """Lets go of the files."""
        self._args = None
        # arrays over the map may still be alive in the writer's queue: the map goes when they do
        self._view = None
        for numbers in (self._contexts, self._lengths, self._offsets):
            numbers.close()
        if self._file is not None:
            self._file.close()
            self._file = None
