"""Ways to damage what has a structure of its own: messages of protocol buffers, and databases of SQLite."""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path
from typing import Final

from fuzz.edits import NUMBERS, TEXTS, Draw, damage_bytes
from hypothesis import strategies as st

from peephole.sources.scans.wire import BYTES, FIXED32, FIXED64, VARINT, Malformed, varint

_MOST: Final = 4
_DEEP: Final = (3, 120, 2000)
_FOUND_DEEPEST: Final = 6
Field = tuple[int, int, "int | bytes"]
"""Number, wire type, and the value or its bytes."""


def _parsed(data: bytes) -> list[Field] | None:
    """The fields of a message; None for bytes that are none."""
    found: list[Field] = []
    at = 0
    try:
        while at < len(data):
            tag, at = varint(data, at)
            if not tag >> 3:
                return None
            if tag & 7 == VARINT:
                value, at = varint(data, at)
                found.append((tag >> 3, VARINT, value))
                continue
            if tag & 7 not in (BYTES, FIXED64, FIXED32):
                return None
            size, at = varint(data, at) if tag & 7 == BYTES else ({FIXED64: 8, FIXED32: 4}[tag & 7], at)
            if size > len(data) - at:
                return None
            found.append((tag >> 3, tag & 7, data[at : at + size]))
            at += size
    except Malformed:
        return None
    return found


def _number(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _written(fields: list[Field]) -> bytes:
    out = bytearray()
    for number, kind, value in fields:
        out += _number(number << 3 | kind)
        if isinstance(value, int):
            out += _number(value)
        else:
            out += (_number(len(value)) if kind == BYTES else b"") + value
    return bytes(out)


def _damage_message(draw: Draw, data: bytes, depth: int) -> bytes:
    fields = _parsed(data)
    if not fields or depth > _FOUND_DEEPEST:
        return damage_bytes(draw, data)
    at = draw(st.integers(0, len(fields) - 1))
    number, kind, value = fields[at]
    if kind == BYTES and depth < _FOUND_DEEPEST and draw(st.integers(0, 3)):
        fields[at] = number, kind, _damage_message(draw, bytes(value), depth + 1)
        return _written(fields)
    how = draw(st.sampled_from(("value", "value", "drop", "twice", "other", "renumber", "length", "deep", "kind")))
    if how == "drop":
        del fields[at]
    elif how == "twice":
        fields[at:at] = [fields[at]] * draw(st.sampled_from((1, 3, 200)))
    elif how == "other":
        fields[at] = fields[draw(st.integers(0, len(fields) - 1))]
    elif how == "renumber":
        fields[at] = draw(st.sampled_from((*range(1, 64), 99, 1 << 28))), kind, value
    elif how == "length":
        wrong = _number(number << 3 | BYTES) + _number(draw(st.sampled_from(NUMBERS)))
        return _written(fields[:at]) + wrong + _written(fields[at + 1 :])
    elif how == "deep":
        inner = bytes(value) if isinstance(value, bytes) else b""
        for _ in range(draw(st.sampled_from(_DEEP))):
            inner = _written([(number, BYTES, inner)])
        fields[at] = number, BYTES, inner
    elif how == "kind" or kind == BYTES:
        new = draw(st.sampled_from((*TEXTS, None)))
        fields[at] = (number, VARINT, 7) if new is None else (number, BYTES, new.encode("utf-8", "surrogatepass"))
    elif kind == VARINT:
        fields[at] = number, kind, draw(st.sampled_from(NUMBERS))
    else:
        size = len(bytes(value))
        fields[at] = number, kind, (draw(st.sampled_from(NUMBERS)) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    return _written(fields)


def damage_messages(draw: Draw, data: bytes) -> bytes:
    """A file of nested messages of which some fields are changed, so that what frames them stays sound."""
    if draw(st.integers(0, 4)) == 0:
        return damage_bytes(draw, data)
    for _ in range(draw(st.integers(1, _MOST))):
        data = _damage_message(draw, data, 0)
    return data


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _damage_tables(draw: Draw, connection: sqlite3.Connection) -> None:
    tables = sorted(row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))
    if not tables:
        return
    table = draw(st.sampled_from(tables))
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({_quoted(table)})")]
    column, other = draw(st.sampled_from(columns)), draw(st.sampled_from(columns))
    texts = [text for text in TEXTS if "\x00" not in text and "\ud800" not in text]
    whole = [number for number in NUMBERS if -(2**63) <= number < 2**63]
    wrong = draw(st.sampled_from((*whole, *texts, None, b"\xff\xfe", 0.5, 1e308, float("inf"))))
    own, name = _quoted(table), _quoted(column)
    ways = ("one", "one", "all", "copy", "gone", "drop", "rename", "rows", "empty", "view", "computed")
    how = draw(st.sampled_from(ways))
    if how in ("one", "all"):
        row = f" WHERE rowid = (SELECT rowid FROM {own} LIMIT 1 OFFSET {draw(st.integers(0, 9))})"
        some = row if how == "one" else ""
        connection.execute(f"UPDATE {own} SET {name} = ?{some}", (wrong,))
    elif how == "copy":
        connection.execute(f"UPDATE {own} SET {name} = {_quoted(other)}")
    elif how == "gone":
        connection.execute(f"DROP TABLE {own}")
    elif how == "drop" and len(columns) > 1:
        connection.execute(f"ALTER TABLE {own} DROP COLUMN {name}")
    elif how == "rename":
        connection.execute(f"ALTER TABLE {own} RENAME COLUMN {name} TO {_quoted(draw(st.sampled_from(texts)) or 'x')}")
    elif how == "rows":
        for _ in range(draw(st.sampled_from((1, 6)))):
            connection.execute(f"INSERT INTO {own} SELECT * FROM {own}")
    elif how == "empty":
        connection.execute(f"DELETE FROM {own}")
    elif how == "view":
        connection.execute(f"ALTER TABLE {own} RENAME TO other_{len(tables)}")
        connection.execute(f"CREATE VIEW {own} AS SELECT * FROM other_{len(tables)}")
    elif how == "type":
        connection.execute(f"ALTER TABLE {own} ADD COLUMN generated AS ({name} || 'x')")


def damage_database(draw: Draw, data: bytes) -> bytes:
    """A database with other values, columns and tables, or with damaged pages."""
    if draw(st.integers(0, 2)) == 0:
        return damage_bytes(draw, data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a"
        path.write_bytes(data)
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA journal_mode = OFF")
            for _ in range(draw(st.integers(1, _MOST))):
                try:
                    _damage_tables(draw, connection)
                except sqlite3.Error:
                    continue  # what this database does not allow
        finally:
            connection.close()
        return path.read_bytes()
