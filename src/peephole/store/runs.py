"""The small tables of a run on disk: plain Parquet in `run/` of its folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from peephole.errors import CaptureError
from peephole.model.run_tables import RUN, RUN_TABLES
from peephole.store.tables.columns import to_frame
from peephole.store.tables.files import TableWriter
from peephole.store.tables.frame import Frame
from peephole.store.tables.schema import arrow_column, arrow_schema


def run_file(folder: Path, table: str) -> Path:
    """Where a table of a run lies."""
    return folder / RUN / f"{table}.parquet"


def is_run(folder: Path) -> bool:
    """Whether a capture's folder is that of a run."""
    return run_file(folder, "ranks").is_file()


def write_run_table(folder: Path, table: str, columns: Mapping[str, Any]) -> None:
    """Writes a table of a run; a column that is left out has its default."""
    declared = RUN_TABLES[table]
    rows = len(next(iter(columns.values())))
    data = [arrow_column(column, columns.get(column.name), rows) for column in declared.columns]
    run_file(folder, table).parent.mkdir(mode=0o700, exist_ok=True)
    with TableWriter(run_file(folder, table), declared) as writer:
        writer.write_table(pa.Table.from_arrays(data, schema=arrow_schema(declared)))


def run_counts(folder: Path) -> dict[str, int]:
    """How many rows each table of a run has."""
    return {name: len(read_run_table(folder, name, [table.columns[0].name])) for name, table in RUN_TABLES.items()}


def read_run_table(folder: Path, table: str, columns: list[str] | None = None) -> Frame:
    """A table of a run; CaptureError where it is missing or damaged."""
    declared = RUN_TABLES[table]
    try:
        file = pq.ParquetFile(run_file(folder, table), memory_map=False)
        have = file.schema_arrow
        for field in arrow_schema(declared):
            if have.get_field_index(field.name) < 0 or have.field(field.name).type != field.type:
                raise CaptureError(
                    f"{run_file(folder, table)} is not a table of a run: its column {field.name} is missing."
                )
        data = file.read(columns=columns or [column.name for column in declared.columns])
    except FileNotFoundError:
        raise CaptureError(f"{folder} is incomplete: the table {RUN}/{table}.parquet is missing.") from None
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CaptureError(f"{run_file(folder, table)} is damaged and cannot be read ({error}).") from None
    return to_frame(declared, data)
