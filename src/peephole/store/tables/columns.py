"""Arrow columns as the numpy columns of a Frame."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from peephole.model.tables import Column, Table
from peephole.store.tables.arrow import encoded, indices_of
from peephole.store.tables.frame import Blobs, Frame, Lists, Texts
from peephole.store.tables.schema import NUMPY

FURTHEST: Final = 1 << 61
"""ns: 73 years either way."""
_ENCODE_FIRST = 100_000
"""Texts that hardly repeat are cheaper one by one than through a dictionary; below this it does not matter."""


def to_frame(table: Table, data: pa.Table) -> Frame:
    """A Frame of the columns that the Arrow table holds."""
    columns = {name: to_column(table.column(name), data.column(name)) for name in data.column_names}
    if table.name == "slices" and "dur" in columns:
        columns["dur"] = bounded(columns["dur"], 0)  # type: ignore[arg-type]
    return Frame(table.name, data.num_rows, columns)


def to_column(column: Column, data: pa.ChunkedArray) -> NDArray[Any] | Texts | Lists | Blobs:
    """One column of a Frame."""
    if column.type in NUMPY:
        values = data.to_numpy().astype(NUMPY[column.type], copy=False)
        return bounded(values) if column.unit in ("ns", "bytes") else values
    if column.type == "bytes":
        return Blobs(data.to_pylist())
    if column.type == "ids":
        return _lists(data)
    return _texts(data)


def bounded(values: NDArray[Any], least: int = -FURTHEST) -> NDArray[Any]:
    """Times, durations or sizes; those beyond every clock and memory are set to the end, so that a sum of two fits.

    Nobody writes others, but a damaged capture may hold any.
    """
    if len(values) and (values.min() < least or values.max() > FURTHEST):
        return np.asarray(np.clip(values, least, FURTHEST))
    return values


def _lists(data: pa.ChunkedArray) -> Lists:
    if data.num_chunks == 0:
        return Lists(np.zeros(1, np.int64), np.zeros(0, np.int64))
    offsets = [np.zeros(1, np.int64)]
    values = []
    base = 0
    for chunk in data.chunks:
        own = chunk.offsets.to_numpy().astype(np.int64)
        values.append(chunk.values.to_numpy()[own[0] : own[-1]])
        offsets.append(own[1:] - own[0] + base)
        base += int(own[-1] - own[0])
    return Lists(np.concatenate(offsets), np.concatenate(values).astype(np.int64, copy=False))


def _texts(data: pa.ChunkedArray) -> Texts:
    if not pa.types.is_dictionary(data.type):
        if len(data) > _ENCODE_FIRST:
            data = encoded(data)
        else:
            values = data.to_pylist()
            numbers: dict[str, int] = {}
            codes = np.fromiter(
                (-1 if v is None else numbers.setdefault(v, len(numbers)) for v in values), np.int32, len(values)
            )
            return Texts(codes, list(numbers))
    if data.num_chunks == 0:
        return Texts(np.zeros(0, np.int32), [])
    chunks = data.chunks
    if any(chunk.dictionary is not chunks[0].dictionary for chunk in chunks[1:]):
        chunks = data.unify_dictionaries().chunks
    codes = np.concatenate([indices_of(chunk) for chunk in chunks])
    return Texts(codes, chunks[-1].dictionary.to_pylist())
