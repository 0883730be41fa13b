"""Every route is described, and nothing is described that is not there."""

from __future__ import annotations

import re
from pathlib import Path

from peephole.server.routes import api_routes

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "api.md"


def test_every_route_is_documented() -> None:
    documented = set(re.findall(r"`GET /api/v1(/[^`?]*)", PAGE.read_text("utf-8")))
    routes = {route.path for route in api_routes()}
    assert routes - documented == set(), "describe these routes in docs/api.md"
