"""Captures: which there are, what one of them holds."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peephole import __version__
from peephole.frameworks import PACKAGES
from peephole.model.tables import FORMAT_VERSION
from peephole.query.capture.info import holds, row_counts, sampled
from peephole.query.capture.kinds import kind_counts
from peephole.server.library import Library, Shelf, ask, stamp
from peephole.server.replies import reply
from peephole.store.capture import Capture


def shelf_of(request: Request) -> Shelf:
    """The capture that a request is about."""
    library: Library = request.app.state.library
    return library.shelf(request.path_params["capture"])


async def list_captures(request: Request) -> Response:
    """Names and handles, nothing is opened for it; and the packages below which a path says enough."""
    library: Library = request.app.state.library
    rows = [{"id": shelf.handle, "name": shelf.path.name, "stamp": stamp(shelf.path)} for shelf in library.shelves()]
    facts = {"version": __version__, "format": FORMAT_VERSION, "packages": PACKAGES}
    return reply({**facts, "captures": rows, "named": library.named})


async def capture_info(request: Request) -> Response:
    """What a capture is, how it ended, what was lost, how many rows it has."""
    shelf = shelf_of(request)
    return reply(await ask(shelf, lambda capture: _info(shelf, capture)))


def _info(shelf: Shelf, capture: Capture) -> dict[str, Any]:
    manifest = capture.manifest
    return {
        "id": shelf.handle,
        "name": capture.name,
        "path": str(capture.path),
        "state": manifest.state,
        "live": capture.live,
        "clean": manifest.clean,
        "program": manifest.program,
        "argv": manifest.argv,
        "host": manifest.host,
        "source": manifest.source,
        "frameworks": manifest.frameworks,
        "created": manifest.created,
        "problems": manifest.problems,
        "dropped": manifest.dropped,
        "tables": row_counts(capture),
        "kinds": shelf.once(capture, "kinds", kind_counts),
        "sampled": sampled(capture),
        "advice": _advice(capture),
    }


def _advice(capture: Capture) -> str:
    if holds(capture, "slices"):
        return ""
    from peephole.query.tape.tape import advice  # large, and nothing for a capture that shows something

    return advice(capture)


ROUTES = [
    Route("/captures", list_captures),
    Route("/captures/{capture}", capture_info),
]
