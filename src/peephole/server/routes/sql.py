"""SQL over the tables of a capture: what there is to ask, one answer, the same as CSV, and from a row to its slice."""

from __future__ import annotations

import csv
import io
import math
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from starlette.concurrency import iterate_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from peephole.errors import PeepholeError
from peephole.model.run_tables import RUN_TABLES
from peephole.model.tables import TABLES
from peephole.query.capture.info import row_counts
from peephole.query.ranks.asked import asked_tables
from peephole.query.timeline.slice_lookup import row_by_correlation, row_by_start
from peephole.server.library import quick
from peephole.server.replaying import quick_while_wanted
from peephole.server.replies import LARGEST, Refusal, query_number, reply
from peephole.server.routes.captures import shelf_of
from peephole.store.capture import Capture
from peephole.store.sql import Answer, run_sql
from peephole.store.sql_limits import server_limits

LONGEST: Final = 20_000
"""Characters of a query; an address holds no more."""
ROWS: Final = 20_000
"""Rows that one answer has; CSV has them all."""
SIZE: Final = 24_000_000
"""Characters of text that one answer has, about."""
CELL: Final = 2_000
"""Characters of a text, or twice the bytes of a value, that a cell has."""
_PART: Final = 500


async def tables(request: Request) -> Response:
    """Every table with its rows and columns, as docs/format.md has them, and what a query may cost."""

    def answer(capture: Capture) -> list[dict[str, Any]]:
        rows = row_counts(capture)
        return [
            {
                "name": table.name,
                "doc": table.row,
                "rows": rows.get(table.name, 0),
                "columns": [
                    {"name": column.name, "type": column.type, "unit": column.unit, "doc": column.doc}
                    for column in table.columns
                ],
            }
            for table in (*TABLES.values(), *(RUN_TABLES[name] for name in RUN_TABLES if name in rows))
        ]

    found = await quick(shelf_of(request), answer)
    limits = server_limits()
    return reply({"tables": found, "seconds": limits.seconds, "bytes": limits.memory, "rows": ROWS})


async def sql(request: Request) -> Response:
    """The answer to one SELECT, by column; it ends when the reader goes, and at the limits of time and memory."""
    text = _text(request)
    most = min(query_number(request, "limit", ROWS, 1), ROWS)

    def answer(capture: Capture, gone: Callable[[], bool]) -> dict[str, Any]:
        begun = time.perf_counter_ns()
        try:
            said = _said(run_sql(capture, text, server_limits(), gone, asked_tables(capture, text)), most)
        except PeepholeError as error:  # what is wrong with a query is an answer to it
            said = {"error": str(error), "columns": [], "types": [], "rows": 0, "more": False, "values": []}
        return {**said, "took": time.perf_counter_ns() - begun}

    return reply(await quick_while_wanted(request, shelf_of(request), answer))


def _said(found: Answer, most: int) -> dict[str, Any]:
    values: list[list[Any]] = [[] for _ in found.columns]
    rows = size = 0
    more = False
    for row in found.rows:
        if rows == most or size > SIZE:
            more = True
            break
        rows += 1
        for column, value in zip(values, row, strict=True):
            cell = _cell(value)
            size += len(cell) if isinstance(cell, str) else 8
            column.append(cell)
    head = {"columns": found.columns, "types": found.types}
    return {"error": None, **head, "rows": rows, "more": more, "values": values}


async def as_csv(request: Request) -> Response:
    """Every row of the answer as comma-separated values, as they come."""
    text = _text(request)
    found = await quick_while_wanted(
        request,
        shelf_of(request),
        lambda capture, _: run_sql(capture, text, server_limits(), made=asked_tables(capture, text)),
    )
    headers = {"Content-Disposition": 'attachment; filename="peephole.csv"', "Cache-Control": "no-store"}
    return StreamingResponse(iterate_in_threadpool(_csv(found)), media_type="text/csv", headers=headers)


def _csv(found: Answer) -> Iterator[str]:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(found.columns)
    for number, row in enumerate(found.rows, 1):
        writer.writerow(["" if value is None else _whole(value) for value in row])
        if number % _PART == 0:
            yield out.getvalue()
            out.seek(0)
            out.truncate()
    yield out.getvalue()


async def slice_of(request: Request) -> Response:
    """The row of the slice that a row of SQL is about: by `correlation`, or by `track`, `start` and maybe `depth`."""
    correlation = _large(request.query_params.get("correlation"), "correlation")
    track = _large(request.query_params.get("track"), "track")
    start = _large(request.query_params.get("start"), "start")
    depth = _large(request.query_params.get("depth"), "depth")

    def answer(capture: Capture) -> dict[str, int]:
        if correlation is not None:
            return {"row": row_by_correlation(capture, correlation)}
        if track is None or start is None:
            raise Refusal(400, "Say which slice: by its correlation, or by its track and start.")
        return {"row": row_by_start(capture, track, start, depth)}

    return reply(await quick(shelf_of(request), answer))


def _text(request: Request) -> str:
    text = request.query_params.get("q", "")
    if len(text) > LONGEST:
        raise Refusal(400, f"A query here has at most {LONGEST:,} characters; `peephole query` takes longer ones.")
    if not text.strip():
        raise Refusal(400, "Give a query: a SELECT over the tables of the capture.")
    return text


def _large(text: str | None, what: str) -> int | None:
    """A whole number of 64 bits."""
    if text is None:
        return None
    body = text.removeprefix("-")
    if not (body.isascii() and body.isdigit()) or len(body) > 19 or not -(2**63) <= int(text) < 2**63:
        raise Refusal(400, f"{what} must be a whole number, not {text[:40]!r}.")
    return int(text)


def _cell(value: Any) -> Any:
    """A value as the page shows it: what JavaScript cannot hold exactly as text, long texts cut."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -LARGEST <= value <= LARGEST else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    text = _whole(value)
    return text if len(text) <= CELL else f"{text[:CELL]}…"


def _whole(value: Any) -> str:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    return str(value)


_BELOW = "/captures/{capture}/sql"
ROUTES = [
    Route(_BELOW, sql),
    Route(f"{_BELOW}/tables", tables),
    Route(f"{_BELOW}/csv", as_csv),
    Route(f"{_BELOW}/slice", slice_of),
]
