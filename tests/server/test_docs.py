"""Every route and every parameter is described in docs/api.md, and nothing is described that is not there."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route

from peephole.server.routes import api_routes

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "api.md"
ROUTES = {route.path: route for route in api_routes()}


def described(text: str) -> dict[str, set[str]]:
    """The parameters of each route that a page describes: `GET /api/v1/PATH?first=1&count`."""
    found: dict[str, set[str]] = {}
    for path, query in re.findall(r"`(?:GET|POST|PUT|DELETE) /api/v1(/[^`?]*)(?:\?([^`]*))?`", text):
        found.setdefault(path, set()).update(part.partition("=")[0] for part in query.split("&") if part)
    return found


def asked(function: Callable[..., Any], seen: set[str] | None = None) -> set[str]:
    """The parameters that a function takes out of a request, itself or through what it hands the request to."""
    seen = set() if seen is None else seen
    found: set[str] = set()
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        if isinstance(node, ast.Compare) and "query_params" in ast.unparse(node.comparators[0]):
            found.update(
                one.value for one in [node.left] if isinstance(one, ast.Constant) and isinstance(one.value, str)
            )
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        words = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        if name in ("query_number", "query_moment", "request.query_params.get", "request.query_params.getlist"):
            found.update(words[:1])
        helper = inspect.getattr_static(inspect.getmodule(function), name, None) if name.isidentifier() else None
        handed = any(isinstance(one, ast.Name) and one.id == "request" for one in node.args)
        if handed and name not in seen and inspect.isfunction(helper):
            seen.add(name)
            found |= asked(helper, seen)
    return found


def test_what_is_described_is_what_there_is() -> None:
    documented = set(described(PAGE.read_text("utf-8")))
    assert set(ROUTES) - documented == set(), "describe these routes in docs/api.md"
    assert documented - set(ROUTES) == set(), "docs/api.md describes routes that are not there"


@pytest.mark.parametrize("route", ROUTES.values(), ids=lambda route: route.path)
def test_every_parameter_is_described(route: Route) -> None:
    documented = described(PAGE.read_text("utf-8"))[route.path]
    taken = asked(route.endpoint)
    assert taken - documented == set(), "describe these parameters in docs/api.md"
    assert documented - taken == set(), "docs/api.md describes parameters that nobody asks for"


def test_a_route_that_is_not_there_is_noticed() -> None:
    page = PAGE.read_text("utf-8") + "\n`GET /api/v1/captures/{capture}/nowhere?first`\n"
    assert set(described(page)) - set(ROUTES) == {"/captures/{capture}/nowhere"}
    assert described(page)["/captures/{capture}/nowhere"] == {"first"}
    assert asked(ROUTES["/captures/{capture}/top"].endpoint) == {"group", "tracks", "t0", "t1"}
