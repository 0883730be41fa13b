"""Every route of the API, in one list. A view adds its routes in a module of its own and names it here."""

from __future__ import annotations

from starlette.routing import Route

from peephole.server import routes_captures, routes_code, routes_rewrites, routes_schedule, routes_search

MODULES = (routes_captures, routes_rewrites, routes_code, routes_schedule, routes_search)
"""Modules with ROUTES: a list of Route below /api/v1."""


def api_routes() -> list[Route]:
    """All routes below /api/v1."""
    return [route for module in MODULES for route in module.ROUTES]
