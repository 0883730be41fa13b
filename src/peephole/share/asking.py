"""Asks the server's own routes without a server: a copy answers with what they answer."""

from __future__ import annotations

import asyncio
import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from starlette.applications import Starlette
from starlette.types import Message

from peephole.server.app import create_app
from peephole.server.library import Library

_HOME = re.compile(rb"(?:/home/|/Users/|[A-Za-z]:\\\\Users\\\\)[^/\\\"<>|*?\x00-\x1f]{1,64}(?=[/\\\"])|/root(?=[/\"])")
"""Where a user's files are: his name is in it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a route answers."""

    status: int
    type: str
    """Of the body, as in `Content-Type`."""
    body: bytes


class Unserved:
    """The server's application over one capture, without a server."""

    def __init__(self, path: Path) -> None:
        self.library = Library([path], 1)
        self._app: Starlette = create_app(self.library)
        self._runner = asyncio.Runner()
        # a thread of its own: a notebook's thread runs a loop already, and one may not run inside another
        self._thread = ThreadPoolExecutor(1, "peephole-unserved")

    def ask(self, path: str, method: str = "GET", body: bytes = b"") -> Reply:
        """The reply to a request below /api/v1/."""
        return self._thread.submit(self._run, path, method, body).result()

    def close(self) -> None:
        """Ends its thread."""
        self._thread.submit(self._runner.close).result()
        self._thread.shutdown()

    def _run(self, path: str, method: str, body: bytes) -> Reply:
        return self._runner.run(_answer(self._app, f"/api/v1/{path}", method, body))


class Asking:
    """The routes of one capture."""

    def __init__(self, path: Path, name: str) -> None:
        self._unserved = Unserved(path)
        self._handle = self._unserved.library.shelves()[0].handle
        self._name = name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._unserved.close()

    def list(self) -> bytes:
        """The reply to a request for the list of captures: this one, under its own name."""
        found = json.loads(self._reply("captures") or b"{}")
        found["captures"][0] |= {"name": self._name}
        return json.dumps(found).encode("ascii")

    def get(self, path: str) -> bytes | None:
        """The reply to a request about the capture; None when it is refused."""
        return self._reply(f"captures/{self._handle}{'/' if path else ''}{path}")

    def _reply(self, path: str) -> bytes | None:
        reply = self._unserved.ask(path)
        if reply.status != 200:
            return None
        return without_homes(reply.body) if reply.body[:1] in (b"{", b"[") else reply.body


def without_homes(body: bytes) -> bytes:
    """JSON in which home folders are written as `~`, so that a copy does not tell whose machine it was."""
    return _HOME.sub(b"~", body)


async def _answer(app: Starlette, address: str, method: str, body: bytes) -> Reply:
    path, _, query = address.partition("?")
    scope: dict[str, Any] = {
        "type": "http", "method": method, "path": _unquoted(path), "raw_path": path.encode(), "root_path": "",
        "query_string": query.encode("utf-8", "surrogatepass"),
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
        "scheme": "http", "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1), "http_version": "1.1",
    }  # fmt: skip
    status, kind, parts, sent = 500, "", [], False

    async def receive() -> Message:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}
        await asyncio.sleep(3600)
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        nonlocal status, kind
        if message["type"] == "http.response.start":
            status = message["status"]
            kind = dict(message["headers"]).get(b"content-type", b"").decode("latin-1")
        else:
            parts.append(bytes(message.get("body", b"")))

    await app(scope, receive, send)
    return Reply(status, kind, b"".join(parts))


def _unquoted(path: str) -> str:
    from urllib.parse import unquote

    return unquote(path)
