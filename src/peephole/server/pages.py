"""The page itself: index.html, and the hashed files of the front end's build."""

from __future__ import annotations

from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

STATIC = Path(__file__).with_name("static")
_MEDIA = {".js": "text/javascript", ".css": "text/css", ".map": "application/json", ".svg": "image/svg+xml"}
_FOR_EVER = "public, max-age=31536000, immutable"

_NOT_BUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Peephole</title>
<h1>The page is not built</h1><p>Build it with <code>make web</code> (or <code>npm run build</code>
in <code>web/</code>) and reload. The API below /api/v1 works without it.</p></html>"""


def _asset(folder: Path, name: str) -> Response:
    """A built file, read in one go: it is small, and threads that read it would wait for those that open captures.

    Its name carries a hash of its content, so that a browser may keep it for ever.
    """
    file = folder / name
    media = _MEDIA.get(file.suffix)
    if media is None or file.name != name:
        raise HTTPException(404)
    try:
        data = file.read_bytes()
    except (OSError, ValueError):  # no such file, or a name that no file can have
        raise HTTPException(404) from None
    return Response(data, media_type=media, headers={"Cache-Control": _FOR_EVER})


def page_routes(static: Path = STATIC) -> list[Route]:
    """`/` and `/assets/…`."""

    async def index(_: Request) -> Response:
        file = static / "index.html"
        text = file.read_text("utf-8") if file.is_file() else _NOT_BUILT
        return HTMLResponse(text, headers={"Cache-Control": "no-cache"})

    async def asset(request: Request) -> Response:
        return _asset(static / "assets", request.path_params["name"])

    return [Route("/", index), Route("/assets/{name}", asset)]
