"""The application: guard, compression, routes and errors, put together."""

from __future__ import annotations

import logging
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount

from peephole.errors import AskedError, CaptureError, PeepholeError
from peephole.server.library import Library, problem_sentence
from peephole.server.pages import STATIC, page_routes
from peephole.server.replies import Refusal, refuse
from peephole.server.routes import Api
from peephole.server.security import Gate, Guard

log = logging.getLogger("peephole.server")


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return refuse(error.status, error.sentence)


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentence = {404: "There is nothing at this address; docs/api.md lists what there is.", 405: "Use GET."}
    return refuse(error.status_code, sentence.get(error.status_code, str(error.detail)))


async def _mendable(_: Request, error: Exception) -> Response:
    # a capture that cannot be read, a wrong question, or something that this capture does not have
    status = 422 if isinstance(error, CaptureError) else 400 if isinstance(error, AskedError) else 404
    return refuse(status, problem_sentence(error))


async def _fault(_: Request, error: Exception) -> Response:
    log.error("%s", problem_sentence(error), exc_info=error)
    return refuse(500, problem_sentence(error))


def create_app(library: Library, gate: Gate | None = None, static: Path = STATIC) -> Starlette:
    """The server's application over a library of captures."""
    app = Starlette(
        routes=[Mount("/api/v1", app=Api()), *page_routes(static)],
        middleware=[
            Middleware(Guard, gate=gate or Gate()),
            # level 1: on loopback time counts for more than bytes
            Middleware(GZipMiddleware, minimum_size=2048, compresslevel=1),
        ],
        exception_handlers={Refusal: _refused, HTTPException: _http, PeepholeError: _mendable, Exception: _fault},
    )
    app.state.library = library
    return app
