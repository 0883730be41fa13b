"""A SQLite file from a stranger: its plain tables, column by column, in parts. Nothing in it is ever executed.

The file is opened for reading and as one that nobody changes, so that no journal is rolled back and nothing is written
beside it. An authorizer allows to read columns of plain tables and nothing else: no view, virtual table, trigger,
attached file or function of the file's own takes part in any statement.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import quote

from peephole.errors import CaptureError

MAGIC: Final = b"SQLite format 3\x00"
PART: Final = 1 << 16
"""Rows that are read at once."""
_LONGEST: Final = 16 << 20
"""Bytes of a text that are read; a longer one is damage, or no name."""
DAMAGE: Final = (sqlite3.Error, sqlite3.Warning, UnicodeDecodeError, OverflowError)
"""What reading a damaged file may raise; names and messages that are not UTF-8 among it."""
_COMPUTED: Final = 2
"""How table_xinfo marks a generated column that is not stored."""
_FUNCTIONS: Final = frozenset(("ifnull", "coalesce", "count", "substr"))
_LIMITS: Final = {
    sqlite3.SQLITE_LIMIT_LENGTH: _LONGEST,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 1 << 20,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 50,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 2,
}


class SqliteFile:
    """The plain tables of a file; CaptureError when it is none, is damaged or encrypted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            address = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
            self._connection = sqlite3.connect(address, uri=True, isolation_level=None, cached_statements=0)
        except (sqlite3.Error, OSError) as error:
            raise CaptureError(f"Cannot read {path}: {error}.") from error
        try:
            for limit, value in _LIMITS.items():
                self._connection.setlimit(limit, value)
            self._connection.execute("PRAGMA trusted_schema=OFF")
            self._connection.execute("PRAGMA cell_size_check=ON")
            self._connection.execute("PRAGMA cache_size=-16000")
            self._connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            self._connection.set_authorizer(_authorize)
            self.columns = self._columns()
        except DAMAGE as error:
            self._connection.close()
            raise self._damaged(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._connection.close()

    def _damaged(self, error: Exception) -> CaptureError:
        why = str(error)
        if "not a database" in why:
            why = "it is damaged or encrypted"
        elif "malformed" in why:
            why = "it is damaged, or was cut off"
        return CaptureError(f"{self.path} begins like a SQLite database and cannot be read as one: {why}.")

    def _columns(self) -> dict[str, tuple[str, ...]]:
        """The columns of each plain table, by name."""
        found: dict[str, tuple[str, ...]] = {}
        master = "SELECT name, ifnull(sql, '') FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
        for name, sql in self._connection.execute(master).fetchmany(PART):
            if not isinstance(name, str) or str(sql).lstrip().upper().startswith("CREATE VIRTUAL"):
                continue
            try:
                told = self._connection.execute(f"PRAGMA table_xinfo({quoted(name)})").fetchall()
                self._connection.execute(f"SELECT 1 FROM {quoted(name)} LIMIT 0")
            except DAMAGE:
                continue  # a table that only another program can read
            # a column that is computed when it is read is a program of the file's own
            found[name] = tuple(str(column[1]) for column in told if column[-1] != _COMPUTED)
        return found

    def rows(self, table: str, expressions: Sequence[str], size: int = PART, rest: str = "") -> Iterator[list[Any]]:
        """Rows of a table as lists of tuples, a part at a time; one of DAMAGE where it is damaged."""
        cursor = self._connection.execute(f"SELECT {', '.join(expressions)} FROM {quoted(table)}{rest}")
        cursor.arraysize = size
        while part := cursor.fetchmany(size):
            yield part

    def empty(self, table: str) -> bool:
        """Whether a table has no rows; one that cannot be read is not empty."""
        try:
            return next(self.rows(table, ["1"], 1, " LIMIT 1"), None) is None
        except DAMAGE:
            return False

    def unfinished(self) -> bool:
        """Whether another program was still writing: its log or journal lies beside the file."""
        for ending in ("-wal", "-journal"):
            try:
                if self.path.with_name(self.path.name + ending).stat().st_size:
                    return True
            except OSError:
                continue
        return False


def quoted(name: str) -> str:
    """A name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'


def whole(column: str, otherwise: int = -1) -> str:
    """The expression for a column of whole numbers, whatever is in it."""
    return f"ifnull(CAST({quoted(column)} AS INTEGER), {otherwise})"


def decimal(column: str) -> str:
    """The expression for a column of numbers."""
    return f"ifnull(CAST({quoted(column)} AS REAL), 0.0)"


def wording(column: str, longest: int = 4096) -> str:
    """The expression for a column of texts, of which no more than so many letters are wanted."""
    return f"substr(ifnull(CAST({quoted(column)} AS TEXT), ''), 1, {longest})"


def _authorize(action: int, first: str | None, second: str | None, _database: str | None, source: str | None) -> int:
    if source is not None:
        return sqlite3.SQLITE_DENY  # on behalf of a view or trigger
    if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and first == "table_xinfo":
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and second in _FUNCTIONS:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def tables_of(head: bytes, path: Path) -> frozenset[str]:
    """The plain tables of a file; empty when it does not begin like SQLite's. CaptureError when it cannot be read."""
    if not head.startswith(MAGIC):
        return frozenset()
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise CaptureError(f"{path} is a compressed SQLite database: unpack it first.")
    except OSError as error:
        raise CaptureError(f"Cannot read {path}: {error.strerror or error}.") from error
    with SqliteFile(path) as opened:
        if not opened.columns and opened.unfinished():
            raise CaptureError(
                f"{path} is still being written: all that it holds is in the log beside it. Import it when its program "
                "has closed it."
            )
        return frozenset(opened.columns)
