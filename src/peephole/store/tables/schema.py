"""The Arrow schemas of the tables, and how each column is stored. Comes out of `model.tables`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from peephole.model.sink import Joined, Strings, Utf8
from peephole.model.tables import Column, Table
from peephole.store.tables.arrow import as_array, as_text, bits, encoded, joined, take

NUMPY: Final[dict[str, Any]] = {
    "bool": np.bool_,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "f64": np.float64,
}
"""The numpy type of every column that holds numbers."""

_ARROW: Final[dict[str, Any]] = {
    "bool": pa.bool_(),
    "i16": pa.int16(),
    "i32": pa.int32(),
    "i64": pa.int64(),
    "f64": pa.float64(),
    "str": pa.dictionary(pa.int32(), pa.string()),
    "text": pa.large_string(),
    "bytes": pa.large_binary(),
    "ids": pa.large_list(pa.int64()),
}

_DEFAULTS: Final[dict[str, Any]] = {"bool": False, "i16": 0, "i32": 0, "i64": 0, "f64": 0.0}


def arrow_type(column: Column) -> pa.DataType:
    """The Arrow type of a column."""
    return _ARROW[column.type]


def arrow_schema(table: Table) -> pa.Schema:
    """The Arrow schema of a table: numbers are never null, texts and bytes may be."""
    return pa.schema(
        [
            pa.field(
                column.name,
                arrow_type(column),
                nullable=column.type in ("str", "text", "bytes"),
                metadata={"doc": column.doc, "unit": column.unit},
            )
            for column in table.columns
        ]
    )


def clean_text(value: Any) -> str:
    """The text as valid UTF-8: lone surrogates, which no file format takes, become `\\udcXX` spelled out."""
    text = value if isinstance(value, str) else str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def text_values(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """The texts; what is none becomes one, what UTF-8 cannot say (a lone surrogate) is spelled out."""
    try:
        return pa.array(values, kind)
    except (UnicodeEncodeError, pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if v is None else clean_text(v) for v in values], kind)


def joined_texts(values: Joined) -> pa.Array:
    """The texts that are put together of parts."""
    kind = pa.large_string()
    return joined([pa.scalar(part, kind) if isinstance(part, str) else _part(part, kind) for part in values.parts])


def utf8_texts(values: Utf8) -> pa.Array:
    """The texts whose bytes are there, without a copy."""
    flags = bits(~values.missing) if values.missing.any() else None
    offsets = pa.py_buffer(np.ascontiguousarray(values.offsets, np.int64))
    return pa.LargeStringArray.from_buffers(len(values), offsets, pa.py_buffer(values.data), flags)


def _part(part: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(part, Strings):
        return take(text_values(list(part.values), kind), as_array(np.asarray(part.codes, np.int64)))
    if isinstance(part, np.ndarray):
        return as_text(as_array(part))
    return text_values(part, kind)


def indices(values: Strings) -> pa.Array:
    """Where each row's text stands among the values; null for none."""
    codes = np.asarray(values.codes)
    missing = (codes < 0) | (codes >= len(values.values))
    return as_array(np.where(missing, 0, codes).astype(np.int32), missing)


def _used(values: Strings) -> Strings:
    """The same without texts that no row has, where there are more texts than rows: producers hand over one growing
    list again and again."""
    codes = np.asarray(values.codes)
    if len(values.values) <= len(codes):
        return values
    used, at = np.unique(codes[(codes >= 0) & (codes < len(values.values))], return_inverse=True)
    own = np.full(len(codes), -1, np.int32)
    own[(codes >= 0) & (codes < len(values.values))] = at.reshape(-1)
    return Strings(own, [values.values[code] for code in used.tolist()])


def _id_lists(values: Any) -> pa.Array:
    if isinstance(values, tuple) and len(values) == 2:
        offsets, flat = (np.asarray(part, np.int64) for part in values)
    else:
        lists = [v if v is not None else () for v in values]
        offsets = np.zeros(len(lists) + 1, np.int64)
        offsets[1:] = np.cumsum([len(v) for v in lists])
        flat = np.fromiter((x for v in lists for x in v), np.int64, int(offsets[-1]))
    return pa.LargeListArray.from_arrays(as_array(offsets), as_array(flat))


def numbers(column: Column, values: Any) -> NDArray[Any]:
    """The values as numpy numbers of the column's type; None becomes its default."""
    dtype = NUMPY[column.type]
    if isinstance(values, np.ndarray):
        return values.astype(dtype, copy=False)
    default = default_of(column)
    if any(v is None for v in values):
        values = [default if v is None else v for v in values]
    return np.asarray(values, dtype)


def default_of(column: Column) -> Any:
    """What a number column holds where the producer said nothing."""
    return _DEFAULTS[column.type] if column.default is None else column.default


def length_of(columns: Mapping[str, Any]) -> int:
    """How many rows the columns have; ValueError when they disagree."""
    lengths = set()
    for values in columns.values():
        if isinstance(values, Strings):
            lengths.add(len(values.codes))
        elif isinstance(values, tuple) and len(values) == 2 and isinstance(values[0], np.ndarray):
            lengths.add(len(values[0]) - 1)
        else:
            lengths.add(len(values))
    if len(lengths) > 1:
        raise ValueError(f"columns of different length: {sorted(lengths)}")
    return lengths.pop() if lengths else 0


def arrow_column(column: Column, values: Any, rows: int) -> pa.Array:
    """A column handed to a Sink as an Arrow array; `None` for the whole column gives its default."""
    kind = arrow_type(column)
    if column.type in NUMPY:
        if values is None:
            values = np.full(rows, default_of(column), NUMPY[column.type])
        return as_array(numbers(column, values))
    if values is None:
        if column.type == "ids":
            return _id_lists((np.zeros(rows + 1, np.int64), np.zeros(0, np.int64)))
        return pa.nulls(rows, kind)
    if column.type == "ids":
        return _id_lists(values)
    if isinstance(values, Strings):
        if column.type == "str":
            values = _used(values)
            return pa.DictionaryArray.from_arrays(indices(values), text_values(list(values.values), pa.string()))
        return take(text_values(list(values.values), kind), indices(values))
    if isinstance(values, Joined):
        return joined_texts(values) if column.type == "text" else arrow_column(column, list(values), rows)
    if isinstance(values, Utf8):
        return utf8_texts(values) if column.type == "text" else arrow_column(column, list(values), rows)
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if column.type == "bytes":
        return pa.array([v.encode("utf-8", "surrogatepass") if isinstance(v, str) else v for v in values], kind)
    if column.type == "str":
        return encoded(text_values(values, pa.string()))
    return text_values(values, kind)


def arrow_table(table: Table, columns: Mapping[str, Any]) -> pa.Table:
    """Rows handed to a Sink as an Arrow table of the declared schema; KeyError names a column that is not declared."""
    for name in columns:
        table.column(name)
    rows = length_of(columns)
    arrays = [arrow_column(column, columns.get(column.name), rows) for column in table.columns]
    return pa.table(arrays, schema=arrow_schema(table))
