"""Every route of the API. A view adds its routes in a module of its own and names it here."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence

from starlette.concurrency import run_in_threadpool
from starlette.routing import Match, Route, Router
from starlette.types import Receive, Scope, Send

FIRST = ("routes_captures", "routes_rewrites", "routes_timeline")
"""Modules with ROUTES (a list of Route below /api/v1) that the first look at a page needs."""

LATER = (
    "routes_code",
    "routes_lines",
    "routes_schedule",
    "routes_search",
    "routes_hardware",
    "routes_top",
    "routes_memory",
    "routes_tape",
)
"""Modules that are imported when they are first asked for, so that what they need does not delay the page."""


def api_routes() -> list[Route]:
    """All routes below /api/v1."""
    return _routes(FIRST + LATER)


def _routes(modules: Sequence[str]) -> list[Route]:
    found: list[Route] = []
    for name in modules:
        found += importlib.import_module(f"peephole.server.{name}").ROUTES
    return found


class Api:
    """The application below /api/v1: it knows its first routes at once and the others when one of them is wanted."""

    def __init__(self) -> None:
        self._router = Router(_routes(FIRST))
        self._complete = False
        self._lock = threading.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if not self._complete and all(route.matches(scope)[0] == Match.NONE for route in self._router.routes):
            await run_in_threadpool(self.complete)
        await self._router(scope, receive, send)

    def complete(self) -> None:
        """Imports the other routes."""
        with self._lock:
            if not self._complete:
                self._router = Router(_routes(FIRST) + _routes(LATER))
                self._complete = True
