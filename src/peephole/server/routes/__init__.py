"""Every route of the API. A view adds its routes in a module of its own and names it here."""

from __future__ import annotations

import importlib
import threading

from starlette.concurrency import run_in_threadpool
from starlette.routing import Match, Route, Router
from starlette.types import Receive, Scope, Send

MODULES = (
    "captures",
    "timeline",
    "rewrites",
    "tape",
    "code",
    "lines",
    "schedule",
    "search",
    "hardware",
    "top",
    "calls",
    "memory",
    "segments",
    "sql",
    "notes",
    "problems",
    "compare",
    "ranks",
)
"""Modules with ROUTES (a list of Route below /api/v1), those that the first look at a page needs before the others."""


def api_routes() -> list[Route]:
    """All routes below /api/v1."""
    return [route for name in MODULES for route in _routes(name)]


def _routes(name: str) -> list[Route]:
    found: list[Route] = importlib.import_module(f"peephole.server.routes.{name}").ROUTES
    return found


class Api:
    """The application below /api/v1.

    It imports one module after another until one has the route that is wanted, first the one that is called like a
    part of the path, so that neither the page's own files nor its first look wait for what other views need.
    """

    def __init__(self) -> None:
        self._router = Router()
        self._unknown = list(MODULES)
        self._lock = threading.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        parts = set(scope["path"].split("/"))
        while (unknown := self._unknown) and all(
            route.matches(scope)[0] == Match.NONE for route in self._router.routes
        ):
            await run_in_threadpool(self._learn, next((name for name in unknown if name in parts), unknown[0]))
        await self._router(scope, receive, send)

    def _learn(self, name: str) -> None:
        with self._lock:
            if name in self._unknown:
                self._router = Router([*self._router.routes, *_routes(name)])
                self._unknown = [other for other in self._unknown if other != name]
