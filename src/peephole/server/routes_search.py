"""Search over everything in a capture that has a name."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peephole.server.library import ask_once
from peephole.server.replies import query_number, reply
from peephole.server.routes_captures import shelf_of

LONGEST = 200
"""Characters of a query that are looked at."""


async def search(request: Request) -> Response:
    """What matches every word of `q`, best first."""
    from peephole.query.capture.search import build_index

    index = await ask_once(shelf_of(request), "search", build_index)
    text = request.query_params.get("q", "")[:LONGEST]
    return reply(index.search(text, min(query_number(request, "limit", 40, 1), 500)))


ROUTES = [Route("/captures/{capture}/search", search)]
