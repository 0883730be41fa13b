"""`peephole query`: SQL over the tables of a capture."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from peephole.cli.format import Column, Printer
from peephole.cli.target import add_json, add_target, not_a_capture, open_target

HELP = """Runs one SQL SELECT (DuckDB's dialect) over the tables of a capture and prints the rows. It only reads, and it
reaches neither files nor the network. `peephole query "SHOW TABLES"` and `"DESCRIBE slices"` say what there is;
docs/format.md explains every column.

  peephole query "SELECT name, sum(dur) AS ns FROM slices
                  GROUP BY name ORDER BY ns DESC LIMIT 10"
"""

INTERMIXED = True
_MOST = 10_000
"""Rows whose widths are looked at before the first is printed."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("sql", metavar="SQL", help="one SELECT")
    add_target(parser)
    add_json(parser)
    parser.add_argument(
        "--limit-time", type=_seconds, metavar="SECONDS", help="how long it may take (default: 300; 0: for ever)"
    )
    parser.add_argument(
        "--limit-memory",
        type=_bytes,
        metavar="BYTES",
        help="how much memory it may take: 500MB, 2GB (default: half of the machine's, 8GB at most)",
    )


def run(args: argparse.Namespace) -> int:
    """Prints the answer."""
    from peephole.query.ranks.asked import asked_tables
    from peephole.store.sql import run_sql
    from peephole.store.sql_limits import Limits

    not_a_capture(args.sql, "peephole query SQL CAPTURE")
    given = {"seconds": args.limit_time, "memory": args.limit_memory}
    limits = Limits(**{name: value for name, value in given.items() if value is not None})
    capture = open_target(args.capture)
    answer = run_sql(capture, args.sql, limits, made=asked_tables(capture, args.sql))
    printer = Printer(args.json)
    if args.json:
        keys = _keys(answer.columns)
        for row in answer.rows:
            printer.record({key: _plain(value) for key, value in zip(keys, row, strict=True)})
        return 0
    numeric = [kind.upper().startswith(_NUMBERS) for kind in answer.types]
    columns = [
        Column(name, right=right, flexible=not right) for name, right in zip(answer.columns, numeric, strict=True)
    ]
    number, upright = 1, False
    for part in _parts(answer.rows):
        rows = [[_text(value) for value in row] for row in part]
        upright = upright if number > 1 else bool(rows) and not printer.fits(columns, rows)
        if upright:
            printer.upright(columns, rows, number)
        else:
            printer.table(columns, rows, header=number == 1)
        number += len(rows)
    return 0


def _seconds(text: str) -> float:
    """A number of seconds; an error of the parser when it is none."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds: 0.5, 60, 0 for ever")
    return number


def _bytes(text: str) -> int:
    """A number of bytes as people write it, `500MB`, `2 GiB`; an error of the parser when it is none."""
    found = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,6})?)\s*([kMGT]?)(i?)B?\s*", text, re.IGNORECASE)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of bytes: 500MB, 2GB")
    power = " kmgt".index(found[2].lower() or " ")
    number = int(float(found[1]) * (1024 if found[3] else 1000) ** power)
    if number < 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is less than the 1MB that a query needs")
    return number


def _keys(names: Iterable[str]) -> list[str]:
    """Keys of an object with all columns: two of one name, as a join has them, become `name` and `name_1`."""
    names = list(names)
    keys: list[str] = []
    for at, name in enumerate(names):
        key, number = name, 0
        while key in keys or (number and key in names[at:]):
            number += 1
            key = f"{name}_{number}"
        keys.append(key)
    return keys


def _parts(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """The rows in parts, so that memory stays bounded; one that is empty when there are none."""
    rows = iter(rows)
    part = list(islice(rows, _MOST))
    yield part
    while part := list(islice(rows, _MOST)):
        yield part


_NUMBERS = ("INT", "BIGINT", "SMALLINT", "TINYINT", "HUGEINT", "UINT", "UBIG", "DOUBLE", "FLOAT", "DECIMAL", "NUMBER")


def _plain(value: Any) -> Any:
    """A value as JSON has it: bytes as hexadecimal text, what JSON lacks as text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return str(value)


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, (bytes, bytearray, memoryview)):
        shown = bytes(value[:32]).hex()
        return shown if len(value) <= 32 else f"{shown}… ({len(value)} bytes)"
    return str(value)
