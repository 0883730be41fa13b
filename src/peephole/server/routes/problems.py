"""What went wrong, or took long, while the program was compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peephole.server.library import Shelf, ask
from peephole.server.replies import reply
from peephole.server.routes.captures import shelf_of
from peephole.server.routes.timeline import span_of

if TYPE_CHECKING:
    from peephole.query.problems.problems import Problem, Problems
    from peephole.store.capture import Capture

_AROUND = 2
"""Lines shown before and after that of a problem."""


async def problems(request: Request) -> Response:
    """Every problem, in the order of kinds, and the compilations that they happened in."""
    shelf = shelf_of(request)
    return reply(await ask(shelf, lambda capture: _wire(shelf, capture)))


async def lines(request: Request) -> Response:
    """The lines around that of a problem, by its kind and id; none when its file is not at hand."""
    kind, id = request.query_params.get("kind", ""), request.query_params.get("id", "")
    shelf = shelf_of(request)

    def answer(capture: Capture) -> dict[str, Any]:
        from peephole.query.rewrites.step_graphs import rule_lines

        one = next((one for one in _found(shelf, capture).problems if (one.kind, one.id) == (kind, id)), None)
        found = rule_lines(capture, one.file, one.line, _AROUND) if one is not None else []
        hit = one.line if one is not None else -1
        return {"lines": [{"number": number, "text": text[:500], "hit": number == hit} for number, text in found]}

    return reply(await ask(shelf, answer))


def _found(shelf: Shelf, capture: Capture) -> Problems:
    from peephole.query.problems.problems import problems

    return shelf.once(capture, "problems", problems)


def _wire(shelf: Shelf, capture: Capture) -> dict[str, Any]:
    found = _found(shelf, capture)
    origin, _ = span_of(shelf, capture)

    def time(value: int) -> int:
        return value - origin if value >= 0 else -1

    return {
        "compiling": found.compiling,
        "compilations": [
            {
                "context": one.context,
                "name": one.name,
                "group": one.group,
                "function": one.function,
                "place": one.place,
                "cost": one.cost,
                "time": time(one.start),
            }
            for one in found.compilations
        ],
        "problems": [{**_problem(one), "time": time(one.time)} for one in found.problems],
    }


def _problem(one: Problem) -> dict[str, Any]:
    return {
        "id": one.id,
        "kind": one.kind,
        "title": one.title,
        "context": one.context,
        "contextName": one.context_name,
        "group": one.group,
        "function": one.function,
        "reason": one.reason,
        "hint": one.hint,
        "file": one.file,
        "line": one.line,
        "own": one.is_own,
        "cost": one.cost,
        "bytes": one.bytes,
        "wanted": one.wanted,
        "got": one.got,
        "missed": one.missed,
        "link": one.link,
        "others": list(one.others),
        "text": one.text,
        "stack": [
            {"file": frame.file, "line": frame.line, "function": frame.function, "source": frame.source}
            for frame in one.stack
        ],
    }


ROUTES = [
    Route("/captures/{capture}/problems", problems),
    Route("/captures/{capture}/problems/lines", lines),
]
