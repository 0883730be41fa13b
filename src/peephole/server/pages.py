"""The page itself: index.html, and the hashed files of the front end's build."""

from __future__ import annotations

from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

STATIC = Path(__file__).with_name("static")

_NOT_BUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Peephole</title>
<h1>The page is not built</h1><p>Build it with <code>make web</code> (or <code>npm run build</code>
in <code>web/</code>) and reload. The API below /api/v1 works without it.</p></html>"""


class Assets(StaticFiles):
    """Files whose name carries a hash of their content: a browser may keep them for ever."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, with the header that says so."""
        response = await super().get_response(path, scope)
        if response.status_code == 200:
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


def page_routes(static: Path = STATIC) -> list[Route | Mount]:
    """`/` and `/assets/…`."""

    async def index(_: Request) -> Response:
        file = static / "index.html"
        text = file.read_text("utf-8") if file.is_file() else _NOT_BUILT
        return HTMLResponse(text, headers={"Cache-Control": "no-cache"})

    return [Route("/", index), Mount("/assets", Assets(directory=static / "assets", check_dir=False))]
