"""The server over captures whose tables hold what no program writes: an answer or a refusal, never a fault."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient
from tests.timeline_capture import write_timeline

from peephole.server.app import create_app
from peephole.server.library import Library

ENDS = (-(2**63), 2**63 - 1, -(2**62), 2**62)
PLACES = (
    ("markers", "time"), ("counters", "time"), ("counters", "value"), ("buffers", "alloc"), ("buffers", "free"),
    ("buffers", "bytes"), ("slices", "start"), ("slices", "dur"), ("slices", "correlation"), ("slices", "context"),
    ("contexts", "start"), ("flows", "bytes"), ("tracks", "id"), ("tracks", "parent"), ("tracks", "order"),
)  # fmt: skip
ASKED = (
    "", "timeline", "timeline/window?t0=0&t1=200000000&px=800&lanes=3:0,4:0,1:0", "timeline/overview?px=400",
    "timeline/series?t0=0&t1=200000000&px=500&counters=7&memory=CPU", "timeline/range?t0=0&t1=200000000",
    "timeline/range", "timeline/gaps", "timeline/slice?row=0", "timeline/links?row=0",
    "timeline/flows?t0=0&t1=200000000",
    "timeline/at?track=3&depth=0&time=1000", "timeline/search?q=r", "timeline/names?first=0", "top",
    "top?group=kernels",
    "top/runs?name=0&group=kernels", "memory", "memory/window?device=CPU&t0=0&t1=100000000&px=300",
    "memory/alive?device=CPU&time=10", "memory/buffers/1", "search?q=k", "contexts", "steps", "code", "hardware",
    "tape",
)  # fmt: skip


def damaged(path: Path, table: str, column: str, values: tuple[int, ...]) -> Path:
    folder = write_timeline(path)
    file = folder / f"{table}.parquet"
    data = pq.ParquetFile(file).read()
    at = data.schema.get_field_index(column)
    field = data.schema.field(at)
    wide = field.type.bit_width - 1 if pa.types.is_integer(field.type) else 63
    fitting = [max(-(1 << wide), min(value, (1 << wide) - 1)) for value in values]
    own: list[Any] = [fitting[row % len(fitting)] for row in range(data.num_rows)]
    if pa.types.is_floating(field.type):
        own = [[float("nan"), float("inf"), -1e308, 1e308][row % 4] for row in range(data.num_rows)]
    pq.write_table(data.set_column(at, field, pa.array(own, field.type)), file)
    return folder


@pytest.fixture
def answers(tmp_path: Path) -> Iterator[Any]:
    def ask(table: str, column: str, values: tuple[int, ...]) -> dict[str, int]:
        path = damaged(tmp_path / f"{table}.peep", table, column, values)
        app = create_app(Library([path]))
        with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
            return {asked: client.get(f"/api/v1/captures/{table}/{asked}".rstrip("/")).status_code for asked in ASKED}

    yield ask


@pytest.mark.parametrize(("table", "column"), PLACES)
@pytest.mark.parametrize("values", [ENDS, ENDS[1:2]])
def test_the_ends_of_time_and_of_numbers(answers: Any, table: str, column: str, values: tuple[int, ...]) -> None:
    found = answers(table, column, values)
    assert {asked: code for asked, code in found.items() if code not in (200, 400, 404, 422)} == {}
