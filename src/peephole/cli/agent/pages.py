"""Addresses of the page for the person behind an agent, and the server on loopback that answers them."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote


class Pages:
    """The page's server, started with the first address that is handed out; none where it is not wanted."""

    def __init__(self, wanted: bool = True) -> None:
        self.wanted = wanted
        self._base = ""
        self._library: Any = None
        self._handles: dict[Path, str] = {}

    def address(self, capture: Path, view: str, **params: str | int) -> str | None:
        """Where a person sees what an answer is about; without a view, whatever of the capture is best seen first."""
        if not self.wanted:
            return None
        own = quote(self.handle(capture))
        query = "&".join(f"{key}={quote(str(value))}" for key, value in sorted(params.items()))
        return f"{self._base}#/{own}" + (f"/{view}" if view else "") + (f"?{query}" if query else "")

    def handle(self, capture: Path) -> str:
        """What the page calls a capture; nothing where there is no page."""
        if not self.wanted:
            return ""
        if not self._base:
            self._start()
        path = capture.resolve()
        if path not in self._handles:
            self._handles[path] = self._library.add(path).handle
        return self._handles[path]

    def _start(self) -> None:
        import uvicorn

        from peephole.server.app import create_app
        from peephole.server.library import Library
        from peephole.server.security import gate_for
        from peephole.server.serving import bind

        host = "127.0.0.1"
        sock = bind(host, 0)
        port = int(sock.getsockname()[1])
        self._library = Library()
        app = create_app(self._library, gate_for(host, port, None))
        config = uvicorn.Config(
            app, log_level="critical", access_log=False, lifespan="off", ws="none", server_header=False
        )
        server = uvicorn.Server(config)
        # not the main thread: uvicorn leaves signals alone there, and the process ends with the agent's session
        threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True).start()
        self._base = f"http://{host}:{port}/"
