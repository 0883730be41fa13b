"""The Parquet files of a sealed capture: where they are and how each column is coded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from peephole.errors import CaptureError
from peephole.model.tables import FORMAT_VERSION, TABLES, Table
from peephole.store.tables.schema import arrow_schema

INDEX: Final = "index"
"""Folder of what can be rebuilt from the tables: lanes, names and pyramid."""
LANES_SCHEMA: Final = pa.schema(
    [
        ("track", pa.int32()),
        ("depth", pa.int16()),
        ("first", pa.int64()),
        ("count", pa.int64()),
        ("start", pa.int64()),
        ("end", pa.int64()),
    ]
)
"""`index/lanes.parquet`: one row per lane and row group of slices.parquet, so that a window needs no search."""

ROW_GROUP: Final = 1 << 14
"""Slices per row group: small enough that a zoomed-in window decodes little."""


def table_path(folder: Path, table: str) -> Path:
    """Where a table lies in a capture's folder."""
    return folder / f"{table}.parquet"


def writer_options(table: Table) -> dict[str, Any]:
    """Compression and encodings of a table, measured on the generator of bench/."""
    encodings = {}
    dictionary = []
    for column in table.columns:
        if column.type == "str" or (column.type in ("i16", "i32") and table.name == "slices"):
            dictionary.append(column.name)
        elif column.type in ("i32", "i64"):
            encodings[column.name] = "DELTA_BINARY_PACKED"
    if table.name == "slices":
        encodings["dur"] = "BYTE_STREAM_SPLIT"
    return {
        "compression": "zstd",
        "compression_level": 3,
        "use_dictionary": dictionary or False,
        "column_encoding": encodings or None,
        # what a reader may skip row groups by
        "write_statistics": [
            c for c in ("track", "start", "time", "id", "collective") if c in {d.name for d in table.columns}
        ]
        or False,
        "store_schema": True,
    }


class TableWriter(pq.ParquetWriter):  # type: ignore[misc]
    """A Parquet writer for a table. It lets go of its file also when there is no room for the beginning or the end."""

    def __init__(self, path: Path, table: Table) -> None:
        self._file = pa.OSFile(os.fsencode(path), "wb")
        try:
            super().__init__(self._file, arrow_schema(table), **writer_options(table))
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        """Writes the end of the file."""
        try:
            super().close()
        finally:
            self.is_open = False  # or it would try again, and complain to nobody, when it is collected
            self._file.close()


def open_table(folder: Path, name: str, version: int = FORMAT_VERSION) -> pq.ParquetFile:
    """The Parquet file of a table, checked against the declaration; CaptureError says what is wrong with it.

    In a capture of an older version of the format the columns may be missing that came later.
    """
    path = table_path(folder, name)
    try:
        file = pq.ParquetFile(path, memory_map=False)
    except FileNotFoundError:
        raise CaptureError(f"{folder} is incomplete: the table {path.name} is missing.") from None
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CaptureError(f"{path} is damaged and cannot be read ({_short(error)}).") from None
    have = file.schema_arrow
    for column, field in zip(TABLES[name].columns, arrow_schema(TABLES[name]), strict=True):
        at = have.get_field_index(field.name)
        if at < 0 and column.since > version:
            continue
        if at < 0 or have.field(at).type != field.type:
            what = "missing" if at < 0 else f"of type {have.field(at).type}"
            raise CaptureError(f"{path} is no table of a capture: its column {field.name} is {what}.")
    return file


def _short(error: Exception) -> str:
    return str(error).splitlines()[0][:120] if str(error) else type(error).__name__
