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
    from pyarrow._compute import (
        CastOptions,
        ExtractRegexOptions,
        MatchSubstringOptions,
        StructFieldOptions,
        call_function,
    )
except ImportError:  # it is not promised to stand there; what is public has it too
    from pyarrow.compute import (
        CastOptions,
        ExtractRegexOptions,
        MatchSubstringOptions,
        StructFieldOptions,
        call_function,
    )

Data = TypeVar("Data", pa.Array, pa.ChunkedArray, pa.Table)


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


def decoded(data: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Texts themselves instead of a dictionary and indices into it."""
    return call_function("dictionary_decode", [data])


def as_text(data: pa.Array) -> pa.Array:
    """Numbers written out."""
    return call_function("cast", [data], CastOptions.safe(pa.large_string()))


def as_type(data: pa.Array, type: pa.DataType) -> pa.Array:
    """The same values in another type; an error where one does not fit."""
    return call_function("cast", [data], CastOptions.safe(type))


def count_text(data: pa.Array, part: str) -> NDArray[np.int32]:
    """How often a text stands in each row; 0 for null."""
    found = call_function("count_substring", [data], MatchSubstringOptions(part))
    counts: NDArray[np.int32] = _without_null(found, 0).to_numpy(zero_copy_only=False)
    return counts


def with_text(data: pa.Array, part: str) -> NDArray[np.bool_]:
    """Which rows a text stands in; none that is null."""
    found = call_function("match_substring", [data], MatchSubstringOptions(part))
    flags: NDArray[np.bool_] = _without_null(found, False).to_numpy(zero_copy_only=False)
    return flags


def numbers_of(data: pa.Array, form: str) -> NDArray[np.float64]:
    """The number that the first group of an expression finds in each row, NaN where there is none."""
    groups = call_function("extract_regex", [data], ExtractRegexOptions(form))
    part = call_function("struct_field", [groups], StructFieldOptions([0]))
    found: NDArray[np.float64] = _without_null(as_type(part, pa.float64()), np.nan).to_numpy(zero_copy_only=False)
    return found


def _without_null(data: pa.Array, value: object) -> pa.Array:
    return call_function("coalesce", [data, pa.scalar(value, data.type)]) if data.null_count else data


def joined(parts: Sequence[pa.Array | pa.Scalar]) -> pa.Array:
    """Texts put together row by row; a scalar is the same in every row."""
    return call_function("binary_join_element_wise", [*parts, pa.scalar("", pa.large_string())])
