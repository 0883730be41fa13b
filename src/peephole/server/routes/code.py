"""Code and other artifacts of a context, and the source of a rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peephole.query.capture.code import ArtifactContent, artifact_content, code_of_contexts
from peephole.query.timeline.context_runs import ContextRuns, runs_of_contexts
from peephole.server.library import ask, ask_once
from peephole.server.replies import Refusal, path_number, query_number, reply
from peephole.server.routes.captures import shelf_of
from peephole.store.capture import Capture

if TYPE_CHECKING:
    from peephole.compilers.answers import Origin
    from peephole.query.rewrites.chains import ChainLink

LONGEST = 8 << 20
"""Bytes of one artifact that are sent as text; the reply says when there is more."""

BINARY = frozenset({"binary", "data"})


async def list_code(request: Request) -> Response:
    """Every context that left code behind, with the number of its source lines and ops."""
    shelf = shelf_of(request)
    runs = await ask_once(shelf, "runs", runs_of_contexts)
    code = await ask_once(shelf, "code", _code)
    known = [None if runs is None else runs.get(context, ContextRuns(0, 0)) for context in code["context"]]
    times = {"runs": [-1 if own is None else own.count for own in known],
             "total": [-1 if own is None else own.total for own in known]}  # fmt: skip
    return reply({**code, **times})


def _code(capture: Capture) -> dict[str, Any]:
    found = code_of_contexts(capture)
    return {
        "context": [code.context for code in found],
        "lines": [code.lines for code in found],
        "ops": [code.ops for code in found],
        "error": [int(code.failed) for code in found],
        "machine": [int(code.machine_code) for code in found],
    }


async def one_artifact(request: Request) -> Response:
    """The text of an artifact; a binary as assembly where this machine can tell it, else in hexadecimal."""
    row = path_number(request, "row")
    return reply(await ask(shelf_of(request), lambda capture: _artifact(capture, row)))


def _artifact(capture: Capture, row: int) -> dict[str, Any]:
    from peephole.query.hardware.assembly import assembly

    found = _content(capture, row)
    content = found.content
    head = content[:LONGEST]
    listing = assembly(content, found.language) if found.kind == "binary" else None
    text = _hexadecimal(head[: LONGEST >> 3]) if found.kind in BINARY else head.decode("utf-8", "replace")
    return {
        "row": row,
        "kind": found.kind,
        "language": "asm" if listing else found.language,
        "name": found.name,
        "bytes": len(content),
        "cut": len(content) > LONGEST,
        "text": listing or text,
    }


def _content(capture: Capture, row: int) -> ArtifactContent:
    try:
        return artifact_content(capture, row)
    except IndexError as error:
        raise Refusal(404, f"This capture has {error} artifacts; there is no number {row}.") from None


async def artifact_flow(request: Request) -> Response:
    """The control flow of a binary's instructions, as far as they can be decoded here, without anything that ran."""
    row = path_number(request, "row")

    def answer(capture: Capture) -> dict[str, Any]:
        from peephole.errors import PeepholeError
        from peephole.query.hardware.elf import resources
        from peephole.query.hardware.flow import control_flow
        from peephole.query.hardware.program import NO_PROGRAM, disassemble

        found, notes, needs = _content(capture, row), [], None
        program = NO_PROGRAM
        try:
            program = disassemble(found.content, found.language)
            needs = resources(found.content, found.language)
        except PeepholeError as error:
            notes.append(str(error))
        flow = control_flow(program)
        blocks = [{"first": block.first, "last": block.last, "hits": 0, "cycles": 0} for block in flow.blocks]
        instructions = {"pc": program.pc, "text": program.text}
        return {"blocks": blocks, "edges": flow.edges, "notes": notes, "resources": needs, **instructions}

    return reply(await ask(shelf_of(request), answer))


def _hexadecimal(content: bytes) -> str:
    rows = (content[at : at + 16] for at in range(0, len(content), 16))
    return "\n".join(
        f"{at * 16:08x}  {row.hex(' ', 1):<47}  {''.join(chr(b) if 32 <= b < 127 else '.' for b in row)}"
        for at, row in enumerate(rows)
    )


async def runs(request: Request) -> Response:
    """How often a kernel ran on a device and for how long, -1 when there are too many slices to count at once."""
    number = path_number(request, "context")
    known = await ask_once(shelf_of(request), "runs", runs_of_contexts)
    if known is None:
        return reply({"context": number, "count": -1, "total": -1, "all": -1})
    own = known.get(number, ContextRuns(0, 0))
    every = sum(runs.total for runs in known.values())
    return reply({"context": number, "count": own.count, "total": own.total, "all": every})


async def source(request: Request) -> Response:
    """The lines around a rule that fired in this capture. Other files are not read."""
    file, line = request.query_params.get("file", ""), query_number(request, "line", 1, 1)

    def answer(capture: Capture) -> dict[str, Any]:
        from peephole.query.rewrites.rules import is_rule_or_pass
        from peephole.server.rule_source import rule_lines

        if not is_rule_or_pass(capture, file, line):
            raise Refusal(404, "No rule or pass of this capture is written there.")
        return {"file": file, "line": line, "lines": rule_lines(capture, file, line)}

    return reply(await ask(shelf_of(request), answer))


async def origin(request: Request) -> Response:
    """Where a kernel's operations came from: the user's lines and tensor operations, as far as they were recorded."""
    number = path_number(request, "context")

    def answer(capture: Capture) -> dict[str, Any]:
        from peephole.query.rewrites.origins import origins
        from peephole.query.rewrites.schedules import schedule_contexts

        names = dict(schedule_contexts(capture))
        return {"context": number, "origins": [_origin(one, names) for one in origins(capture, number)]}

    return reply(await ask(shelf_of(request), answer))


async def instructions(request: Request) -> Response:
    """The instructions of a kernel in the graphs of its compilation, one object a link as in `chain`."""
    number = path_number(request, "context")

    def answer(capture: Capture) -> list[ChainLink]:
        from peephole.query.rewrites.chains import instructions_of

        return instructions_of(capture, number)

    return reply(await ask(shelf_of(request), answer))


def _origin(one: Origin, names: dict[int, str]) -> dict[str, Any]:
    return {
        "schedule": one.schedule,
        "scheduleName": names.get(one.schedule, ""),
        "kernel": one.index,
        "realizedAt": one.realized_at,
        "realizedSource": one.realized_source,
        "operations": [
            {"name": made.name, "line": made.line, "source": made.source, "nodes": len(made.nodes)}
            for made in one.operations
        ],
    }


ROUTES = [
    Route("/captures/{capture}/contexts/{context}/origin", origin),
    Route("/captures/{capture}/contexts/{context}/instructions", instructions),
    Route("/captures/{capture}/contexts/{context}/runs", runs),
    Route("/captures/{capture}/code", list_code),
    Route("/captures/{capture}/artifacts/{row}", one_artifact),
    Route("/captures/{capture}/artifacts/{row}/flow", artifact_flow),
    Route("/captures/{capture}/source", source),
]
