"""SQL over the API: answers, limits, CSV, and from a row to its slice."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests import event_loop
from tests.timeline_capture import ORIGIN, write_timeline

from peephole.server.app import create_app
from peephole.server.library import Library
from peephole.server.routes import sql as sql_routes
from peephole.store.capture import open_capture
from peephole.store.sql_limits import Limits

from .conftest import BASE

ROOT = Path(__file__).resolve().parent.parent.parent
SQL = "/api/v1/captures/steps/sql"
ENDLESS = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_timeline(tmp_path_factory.mktemp("sql") / "steps.peep")


@pytest.fixture(scope="module")
def client(path: Path) -> Iterator[TestClient]:
    with TestClient(create_app(Library([path])), base_url=BASE, raise_server_exceptions=False) as client:
        yield client


def ask(client: TestClient, sql: str, status: int = 200, **params: Any) -> Any:
    answer = client.get(SQL, params={"q": sql, **params})
    assert answer.status_code == status, answer.text
    return answer.json()


def test_an_answer_comes_by_column(client: TestClient) -> None:
    found = ask(client, "SELECT id, name, NULL AS none, 1.5 AS half FROM tracks ORDER BY id LIMIT 2")
    assert found["columns"] == ["id", "name", "none", "half"]
    assert found["types"][:2] == ["INTEGER", "VARCHAR"]
    assert found["values"] == [[0, 1], ["GC", "USER"], [None, None], ["1.5", "1.5"]]
    assert (found["rows"], found["more"]) == (2, False)
    assert found["took"] > 0


def test_what_a_page_cannot_hold_is_text_and_what_is_long_is_cut(client: TestClient) -> None:
    found = ask(client, f"SELECT {ORIGIN}::BIGINT, repeat('x', 5000), 'ab'::BLOB, 'nan'::DOUBLE, [1, 2]")
    assert found["values"][0] == [str(ORIGIN)]
    assert found["values"][1] == ["x" * sql_routes.CELL + "…"]
    assert found["values"][2:] == [["6162"], ["nan"], ["[1, 2]"]]


def test_an_answer_has_a_limit_and_csv_has_all(client: TestClient) -> None:
    sql = "SELECT range AS n, 'a,b\"c' AS t FROM range(50000)"
    found = ask(client, sql)
    assert (found["rows"], found["more"]) == (sql_routes.ROWS, True)
    assert ask(client, sql, limit=3)["values"][0] == [0, 1, 2]
    answer = client.get(f"{SQL}/csv", params={"q": sql})
    lines = answer.text.splitlines()
    assert lines[:2] == ["n,t", '0,"a,b""c"']
    assert len(lines) == 50_001
    assert answer.headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELECT nothing FROM slices", "nothing"),
        ("DELETE FROM slices", "Only SELECT"),
        ("  ", "Give a query"),
        ("SELECT '" + "x" * 30_000 + "'", "at most 20,000 characters"),
        ("SELECT * FROM read_text('/etc/hostname')", "cannot be run"),
    ],
)
def test_what_is_wrong_is_one_sentence(client: TestClient, sql: str, says: str) -> None:
    answer = client.get(SQL, params={"q": sql})
    assert answer.status_code in (200, 400)
    assert says in answer.json()["error"]


def test_it_is_stopped_at_its_limits(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_routes, "server_limits", lambda: Limits(0.3, 200_000_000))
    assert "0.3 s" in ask(client, ENDLESS)["error"]
    monkeypatch.setattr(sql_routes, "server_limits", lambda: Limits(60, 200_000_000))
    large = ask(client, "SELECT string_agg(repeat('x', 1000), '') FROM range(2000000)")
    assert "200.0 MB" in large["error"]


def test_a_query_ends_when_its_reader_has_gone(path: Path) -> None:
    """The request is ended by its reader; the query must not go on in the server."""
    app = create_app(Library([path]))

    async def leave() -> float:
        said = asyncio.Event()
        left = asyncio.Event()

        async def receive() -> dict[str, Any]:
            if not said.is_set():
                said.set()
                return {"type": "http.request", "body": b"", "more_body": False}
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(_: Any) -> None:
            pass

        scope = {
            "type": "http", "method": "GET", "path": SQL, "raw_path": SQL.encode(), "scheme": "http",
            "query_string": b"q=" + ENDLESS.replace(" ", "%20").replace("+", "%2B").encode(),
            "headers": [(b"host", b"127.0.0.1")], "http_version": "1.1", "root_path": "", "server": ("127.0.0.1", 80),
        }  # fmt: skip
        asked = asyncio.create_task(app(scope, receive, send))
        await asyncio.sleep(0.5)
        assert not asked.done()
        left.set()
        begun = time.monotonic()
        await asyncio.wait_for(asked, 20)
        return time.monotonic() - begun

    assert event_loop.run(leave()) < 10


def test_tables_are_listed_as_they_are_declared(client: TestClient) -> None:
    found = client.get(f"{SQL}/tables").json()
    slices = next(table for table in found["tables"] if table["name"] == "slices")
    assert slices["rows"] == open_count(client)
    assert [column["name"] for column in slices["columns"]][:4] == ["track", "depth", "start", "dur"]
    assert found["seconds"] == 30


def open_count(client: TestClient) -> int:
    count: int = ask(client, "SELECT count(*) FROM slices")["values"][0][0]
    return count


def test_a_row_leads_to_its_slice(client: TestClient, path: Path) -> None:
    capture = open_capture(path)
    rows = capture.read("slices", ["track", "depth", "start", "correlation"])
    for row in range(0, len(rows), 37):
        track, depth, start = (int(rows[name][row]) for name in ("track", "depth", "start"))
        where = f"track={track}&depth={depth}&start={start}"
        assert client.get(f"{SQL}/slice?{where}").json() == {"row": row}
        if correlation := int(rows["correlation"][row]):
            assert client.get(f"{SQL}/slice?correlation={correlation}").json() == {"row": row}
    assert client.get(f"{SQL}/slice?correlation=999999").json() == {"row": -1}
    assert client.get(f"{SQL}/slice?track=1&start=1").json() == {"row": -1}
    assert client.get(f"{SQL}/slice?track=1").status_code == 400
    assert client.get(f"{SQL}/slice?track=1&start=1e9").status_code == 400


def test_every_example_of_the_page_runs(client: TestClient) -> None:
    text = (ROOT / "web/src/views/sql/examples.ts").read_text()
    examples = re.findall(r"`([^`]*)`", text)
    assert len(examples) >= 5
    for sql in examples:
        assert ask(client, sql)["error"] is None, sql
