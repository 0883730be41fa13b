"""Search over everything in a capture that has a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peephole.errors import AskedError
from peephole.server.library import ask, ask_once
from peephole.server.replies import query_number, reply
from peephole.server.routes.captures import shelf_of

if TYPE_CHECKING:
    from peephole.query.capture.search import Hit

LONGEST = 200
"""Characters of a query that are looked at."""
_KEYS = ("kind", "text", "note", "context", "step", "match", "node", "count", "runs")


async def search(request: Request) -> Response:
    """What the query `q` holds for, best first."""
    from peephole.query.capture.search import build_index

    index = await ask_once(shelf_of(request), "search", build_index)
    text = request.query_params.get("q", "")[:LONGEST]
    limit = min(query_number(request, "limit", 40, 1), 500)
    error = None
    try:
        # all else is in the index: it waits for no other question
        is_line = index.is_line(text)
        found = (
            await ask(shelf_of(request), lambda _: index.search(text, limit)) if is_line else index.search(text, limit)
        )
    except AskedError as wrong:  # what is wrong with a query is an answer to it: one types, and it is not finished
        error, found = str(wrong), index.search("")
    hits, near = ([_wire(hit) for hit in hits] for hits in (found.hits, found.near))
    said = {"query": text, "error": error, "total": found.total, "hits": hits, "near": near}
    return reply({**said, "searched": found.searched})


def _wire(hit: Hit) -> dict[str, Any]:
    return {**{key: getattr(hit, key) for key in _KEYS}, "total": hit.total_ns}


ROUTES = [Route("/captures/{capture}/search", search)]
