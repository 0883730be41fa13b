"""SQL over the tables of a capture, with DuckDB: reads only, reaches neither files nor network, within limits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from peephole.errors import PeepholeError
from peephole.model.amounts import size
from peephole.model.run_tables import RUN_TABLES
from peephole.model.tables import TABLES, Column
from peephole.store.capture import Capture
from peephole.store.rank_slices import NAME as RANK_SLICES
from peephole.store.rank_slices import register_rank_slices
from peephole.store.runs import is_run, run_file, run_rows, run_table
from peephole.store.sql_limits import NOT_GONE, Gone, Limits, Watch
from peephole.store.tables.schema import NUMPY, arrow_schema, default_of

_LOCKS: Final = (
    "SET python_enable_replacements = false",  # a name in SQL is never a variable of ours
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET temp_directory = ''",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
_PART: Final = 4096
_EXPLAIN: Final = re.compile(
    r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*EXPLAIN\b(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*(?:ANALYZE\b|\([^()]*\))?",
    re.IGNORECASE | re.DOTALL,
)
_SQL_TYPES: Final = {
    "bool": "BOOLEAN",
    "i16": "SMALLINT",
    "i32": "INTEGER",
    "i64": "BIGINT",
    "f64": "DOUBLE",
    "str": "VARCHAR",
    "text": "VARCHAR",
    "bytes": "BLOB",
    "ids": "BIGINT[]",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query gave: the names of its columns, their SQL types, and the rows as they come."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


def run_sql(
    capture: Capture,
    sql: str,
    limits: Limits | None = None,
    gone: Gone = NOT_GONE,
    made: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> Answer:
    """The answer to one SELECT over the capture's tables; PeepholeError in DuckDB's words when it is wrong.

    Whoever asks without limits gets the default ones. `gone` says that nobody waits for the answer any more. `made` are
    the columns of tables of a run that were made for this question, of a capture that is none on disk.
    """
    import duckdb

    limits = limits or Limits()
    try:
        connection = duckdb.connect(":memory:")  # which has no memory left where other questions took all
    except duckdb.Error as error:
        raise _refusal(error, limits) from None
    watch = Watch(connection, limits, gone)
    try:
        if limits.memory:
            connection.execute(f"SET memory_limit = '{limits.memory} bytes'")
        for name in TABLES:
            _register(connection, capture, name)
        for name in RUN_TABLES if is_run(capture.path) else ():
            connection.register(name, _run_table(capture, name))
        for name, columns in made.items():
            connection.register(name, run_table(name, columns))
        if is_run(capture.path) and RANK_SLICES in sql.lower():  # all ranks are opened only for whoever asks
            register_rank_slices(connection, capture)
        for lock in _LOCKS:
            connection.execute(lock)
        statements = connection.extract_statements(sql)
        if not statements:
            raise PeepholeError("There is no SQL to run; give one SELECT over the tables of the capture.")
        if len(statements) != 1:
            raise PeepholeError(f"Give one SQL statement at a time; these are {len(statements)}.")
        kind = statements[0].type
        if kind not in (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN):
            raise PeepholeError(f"Only SELECT is possible, and this is {kind.name}: a capture is never changed.")
        if kind == duckdb.StatementType.EXPLAIN:
            _check_explained(connection, sql)
        statement = statements[0]
        cursor = watch.run(lambda: connection.execute(statement))
        description = cursor.description or []
    except (duckdb.Error, PeepholeError) as error:
        connection.close()  # what it holds, and its threads, would go only when somebody collects
        raise error if isinstance(error, PeepholeError) else _refusal(error, limits) from None
    names = tuple(column[0] for column in description)
    return Answer(names, tuple(str(column[1]) for column in description), _rows(cursor, watch, limits))


def _rows(cursor: Any, watch: Watch, limits: Limits) -> Iterator[tuple[Any, ...]]:
    import duckdb

    while True:
        try:
            part = watch.run(lambda: cursor.fetchmany(_PART))
        except duckdb.Error as error:
            raise _refusal(error, limits) from None
        if not part:
            return
        yield from part


def _check_explained(connection: Any, sql: str) -> None:
    """PeepholeError when something else than a SELECT is explained: EXPLAIN ANALYZE runs what it explains."""
    import duckdb

    found = _EXPLAIN.match(sql)
    inner = connection.extract_statements(sql[found.end() :]) if found else []
    if [statement.type for statement in inner] != [duckdb.StatementType.SELECT]:
        raise PeepholeError("Only SELECT can be explained: a capture is never changed.")


def _refusal(error: Exception, limits: Limits) -> PeepholeError:
    import duckdb

    if isinstance(error, duckdb.OutOfMemoryException):
        return PeepholeError(
            f"The SQL needs more memory than the {size(limits.memory)} that it may have; ask for less at a time"
            f"{', or give it more with --limit-memory' if limits.advice else ''}."
        )
    return PeepholeError(f"The SQL cannot be run: {_one_line(error)}")


def _register(connection: Any, capture: Capture, name: str) -> None:
    """Gives a table its name; one of an older version of the format gets the columns that it did not have."""
    later = {column.name for column in capture.later_columns(name)}
    if not later:
        connection.register(name, _table(capture, name))
        return
    connection.register(f"{name} as it is", _table(capture, name))
    columns = [_default(c) if c.name in later else f'"{c.name}"' for c in TABLES[name].columns]
    connection.execute(f'CREATE VIEW "{name}" AS SELECT {", ".join(columns)} FROM "{name} as it is"')


def _default(column: Column) -> str:
    """What every row of a column has that was not there yet, as SQL."""
    if column.type in NUMPY:
        return f'{default_of(column)}::{_SQL_TYPES[column.type]} AS "{column.name}"'
    return f'{"[]" if column.type == "ids" else "NULL"}::{_SQL_TYPES[column.type]} AS "{column.name}"'


def _table(capture: Capture, name: str) -> Any:
    """A table as DuckDB can scan it; a damaged file gets our words, since the capture checks it when it counts."""
    import pyarrow.dataset as ds

    if not capture.count(name):
        return arrow_schema(TABLES[name]).empty_table()
    return ds.dataset(capture.file(name), format="parquet")


def _run_table(capture: Capture, name: str) -> Any:
    """A small table of a run of many ranks."""
    import pyarrow.dataset as ds

    run_rows(capture.path, name)  # a damaged one gets our words
    return ds.dataset(run_file(capture.path, name), format="parquet")


def _one_line(error: Exception) -> str:
    text = " ".join(line.strip() for line in str(error).splitlines() if line.strip() and set(line.strip()) != {"^"})
    return text[:600].rstrip(".") + "."
