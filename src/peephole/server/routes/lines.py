"""Where the lines of a kernel's source came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peephole.server.library import ask
from peephole.server.replies import path_number, query_number, reply
from peephole.server.routes.captures import shelf_of
from peephole.store.capture import Capture

if TYPE_CHECKING:
    from peephole.compilers.answers import LineOrigin


async def lines(request: Request) -> Response:
    """Every line of a kernel's source with the op, pass and rule that it came from."""
    number = path_number(request, "context")
    operations = bool(query_number(request, "operations", 0))
    return reply(await ask(shelf_of(request), lambda capture: _lines(capture, number, operations)))


def _lines(capture: Capture, context: int, operations: bool) -> dict[str, Any]:
    from peephole.query.rewrites.origins import line_origins
    from peephole.server.rule_source import rule_handler

    found = line_origins(capture, context, operations=operations)
    rules = {(line.rule.file, line.rule.line) for line in found.lines if line.rule is not None}
    handlers = {rule: rule_handler(capture, *rule) for rule in rules}
    known = found.operations
    return {
        "context": context,
        "artifact": found.artifact,
        "note": found.note,
        "operations": None
        if known is None
        else [{"name": made.name, "line": made.line, "source": made.source} for made in known],
        "lines": [_line(line, handlers) for line in found.lines],
    }


def _line(line: LineOrigin, handlers: dict[tuple[str | None, int], str | None]) -> dict[str, Any]:
    rule = line.rule
    return {
        "line": line.line,
        "kind": line.kind,
        "ops": line.ops,
        "node": line.node,
        "step": line.step,
        "stepName": line.step_name,
        "match": line.match,
        "rule": None if rule is None else {"file": rule.file, "line": rule.line, "source": rule.source},
        "handler": None if rule is None else handlers[rule.file, rule.line],
        "operations": line.operations,
        "row": line.row,
        "alike": line.alike,
    }


ROUTES = [Route("/captures/{capture}/contexts/{context}/lines", lines)]
