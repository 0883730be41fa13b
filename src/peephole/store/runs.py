"""The small tables of a run on disk: plain Parquet in `run/` of its folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from peephole.errors import CaptureError
from peephole.model.run_tables import RUN, RUN_TABLES
from peephole.store.tables.columns import to_frame
from peephole.store.tables.files import TableWriter
from peephole.store.tables.frame import Frame
from peephole.store.tables.schema import arrow_column, arrow_schema, length_of

_ROW_GROUP: Final = 1 << 17
"""Rows that are read together: of 30 million arrivals a step needs few."""


def run_file(folder: Path, table: str) -> Path:
    """Where a table of a run lies."""
    return folder / RUN / f"{table}.parquet"


def is_run(folder: Path) -> bool:
    """Whether a capture's folder is that of a run."""
    return run_file(folder, "ranks").is_file()


def write_run_table(folder: Path, table: str, columns: Mapping[str, Any]) -> None:
    """Writes a table of a run; a column that is left out has its default."""
    made = run_table(table, columns)
    run_file(folder, table).parent.mkdir(mode=0o700, exist_ok=True)
    with TableWriter(run_file(folder, table), RUN_TABLES[table]) as writer:
        writer.write_table(made, _ROW_GROUP)


def run_table(table: str, columns: Mapping[str, Any]) -> pa.Table:
    """A table of a run as Arrow has it; a column that is left out has its default."""
    declared = RUN_TABLES[table]
    rows = length_of(columns)
    data = [arrow_column(column, columns.get(column.name), rows) for column in declared.columns]
    return pa.Table.from_arrays(data, schema=arrow_schema(declared))


def run_counts(folder: Path) -> dict[str, int]:
    """How many rows each table of a run has."""
    return {name: run_rows(folder, name) for name in RUN_TABLES}


def run_rows(folder: Path, table: str) -> int:
    """How many rows a table of a run has; CaptureError where it is missing or damaged."""
    with _damage(folder, table):
        return int(pq.ParquetFile(run_file(folder, table)).metadata.num_rows)


def read_run_table(
    folder: Path, table: str, columns: list[str] | None = None, within: tuple[str, int, int] | None = None
) -> Frame:
    """A table of a run, or only the rows whose column lies between two values; CaptureError where it is damaged."""
    declared = RUN_TABLES[table]
    path = run_file(folder, table)
    names = columns or [column.name for column in declared.columns]
    with _damage(folder, table):
        have = pq.read_schema(path)
        later = [c for c in declared.columns if have.get_field_index(c.name) < 0 and c.default is not None]
        for field in arrow_schema(declared):
            if field.name not in {c.name for c in later} and (
                have.get_field_index(field.name) < 0 or have.field(field.name).type != field.type
            ):
                raise CaptureError(f"{path} is not a table of a run: its column {field.name} is missing.")
        there = [name for name in names if have.get_field_index(name) >= 0]
        if within is None:
            data = pq.ParquetFile(path, memory_map=False).read(columns=there)
        else:
            name, low, high = within
            data = pq.read_table(path, columns=there, filters=[(name, ">=", low), (name, "<=", high)])
        for column in later:  # a run that was made before the column was thought of
            if column.name in names:
                data = data.append_column(column.name, arrow_column(column, None, data.num_rows))
    return to_frame(declared, data)


@contextmanager
def _damage(folder: Path, table: str) -> Iterator[None]:
    """Our words for a table that cannot be read."""
    try:
        yield
    except FileNotFoundError:
        raise CaptureError(f"{folder} is incomplete: the table {RUN}/{table}.parquet is missing.") from None
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CaptureError(f"{run_file(folder, table)} is damaged and cannot be read ({error}).") from None
