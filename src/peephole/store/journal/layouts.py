"""How the rows of each table lie in the journals of each version of the format."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from peephole.model.journal import INLINE, TABLE_KINDS, fixed_columns, record_format, tail_columns
from peephole.model.tables import TABLES, Column, Table

_NUMPY: Final = {"bool": "u1", "i16": "<i2", "i32": "<i4", "i64": "<i8", "f64": "<f8", "str": "<u4"}


@dataclass(frozen=True, slots=True)
class RowLayout:
    """A row of one table as a journal's record: columns of fixed width first, then each tail with its length."""

    table: Table
    fixed: tuple[Column, ...]
    tails: tuple[Column, ...]
    size: int
    """Bytes of the fixed columns."""
    dtype: np.dtype[Any]

    @property
    def one_list(self) -> bool:
        """Whether it is just one list of ids, that begins behind the record's first slot."""
        return [column.type for column in self.tails] == ["ids"] and self.size + 4 >= INLINE


@cache
def layouts(version: int) -> dict[int, RowLayout]:
    """The layouts of that version by the kind of the record."""
    found = {}
    for name, kind in TABLE_KINDS.items():
        table = TABLES[name]
        if table.since <= version:
            fixed = fixed_columns(table, version)
            dtype = np.dtype([(column.name, _NUMPY[column.type]) for column in fixed])
            size = record_format(table, version).size
            found[kind] = RowLayout(table, fixed, tail_columns(table, version), size, dtype)
    return found
