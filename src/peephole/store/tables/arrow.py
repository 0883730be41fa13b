"""Arrow's own functions, called directly.

`pyarrow.compute`, which every method of an array goes through, first makes a wrapper for each of hundreds of functions:
that takes longer than most of our commands do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

try:
    from pyarrow._compute import CastOptions, call_function
except ImportError:  # it is not promised to stand there; what is public has it too
    from pyarrow.compute import CastOptions, call_function

Data = TypeVar("Data", pa.Array, pa.Table)


def as_array(values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> pa.Array:
    """Numbers as an array of Arrow, most without a copy; null where they are missing.

    `pa.array` does it too, but loads numpy.ma first and looks for pandas.
    """
    flags = None if missing is None or not missing.any() else bits(~missing)
    data = bits(values) if values.dtype == np.bool_ else pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [flags, data])


def bits(flags: NDArray[np.bool_]) -> pa.Buffer:
    """Flags as Arrow keeps them, eight in a byte."""
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


def take(data: Data, rows: pa.Array) -> Data:
    """The rows of those numbers, in that order; null for null."""
    return call_function("take", [data, rows])


def only(data: Data, flags: NDArray[np.bool_]) -> Data:
    """The rows that are marked."""
    return call_function("filter", [data, as_array(flags)])


def valid(data: pa.Array) -> NDArray[np.bool_]:
    """Which rows are not null."""
    found: NDArray[np.bool_] = call_function("is_valid", [data]).to_numpy(zero_copy_only=False)
    return found


def indices_of(column: pa.DictionaryArray) -> NDArray[np.int32]:
    """Where each row's text stands in the dictionary, -1 for null."""
    indices = column.indices
    if indices.null_count:
        indices = call_function("coalesce", [indices, pa.scalar(-1, indices.type)])
    return indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)  # type: ignore[no-any-return]


def encoded(data: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Texts as a dictionary and indices into it."""
    return call_function("dictionary_encode", [data])


def as_text(data: pa.Array) -> pa.Array:
    """Numbers written out."""
    return call_function("cast", [data], CastOptions.safe(pa.large_string()))


def joined(parts: Sequence[pa.Array | pa.Scalar]) -> pa.Array:
    """Texts put together row by row; a scalar is the same in every row."""
    return call_function("binary_join_element_wise", [*parts, pa.scalar("", pa.large_string())])
