"""Code and other artifacts of a context, and the source of a rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peephole.server.library import ask, ask_once
from peephole.server.replies import Refusal, path_number, query_number, reply
from peephole.server.routes_captures import shelf_of
from peephole.store.capture import Capture

if TYPE_CHECKING:
    from peephole.compilers.answers import Origin

LONGEST = 8 << 20
"""Bytes of one artifact that are sent as text; the reply says when there is more."""

MOST_SLICES = 4_000_000
"""With more slices than this, runs are not counted per kernel: the Top view has them."""

BINARY = frozenset({"binary", "data"})


async def list_code(request: Request) -> Response:
    """Every context that left code behind, with the number of its source lines and ops."""
    return reply(await ask_once(shelf_of(request), "code", _code))


def _code(capture: Capture) -> dict[str, Any]:
    frame = capture.read("artifacts", ["context", "kind", "content"])
    kinds, blobs = frame.texts("kind"), frame.blobs("content")
    lines: dict[int, int] = {}
    ops: dict[int, int] = {}
    errors: set[int] = set()
    machine: set[int] = set()
    for row, context in enumerate(frame["context"].tolist()):
        if context < 0 or kinds[row] in ("file", "data"):
            continue
        content = blobs[row] or b""
        lines.setdefault(context, 0)
        if kinds[row] == "source":
            lines[context] = content.rstrip(b"\n").count(b"\n") + 1
        if kinds[row] == "oplist":
            ops[context] = content.rstrip(b"\n").count(b"\n") + 1
        if kinds[row] == "error":
            errors.add(context)
        if kinds[row] == "binary" and content.startswith(b"\x7fELF"):
            machine.add(context)
    return {
        "context": list(lines),
        "lines": list(lines.values()),
        "ops": [ops.get(context, 0) for context in lines],
        "error": [int(context in errors) for context in lines],
        "machine": [int(context in machine) for context in lines],
    }


async def one_artifact(request: Request) -> Response:
    """The text of an artifact; a binary as assembly where this machine can tell it, else in hexadecimal."""
    row = path_number(request, "row")
    return reply(await ask(shelf_of(request), lambda capture: _artifact(capture, row)))


def _artifact(capture: Capture, row: int) -> dict[str, Any]:
    from peephole.query.hardware.assembly import assembly

    if row >= capture.count("artifacts"):
        raise Refusal(404, f"This capture has {capture.count('artifacts')} artifacts; there is no number {row}.")
    frame = capture.read("artifacts", rows=slice(row, row + 1))
    content = frame.blobs("content")[0] or b""
    kind = frame.texts("kind")[0] or ""
    language = frame.texts("language")[0] or ""
    head = content[:LONGEST]
    listing = assembly(content, language) if kind == "binary" else None
    text = _hexadecimal(head[: LONGEST >> 3]) if kind in BINARY else head.decode("utf-8", "replace")
    return {
        "row": row,
        "kind": kind,
        "language": "asm" if listing else language,
        "name": frame.texts("name")[0] or "",
        "bytes": len(content),
        "cut": len(content) > LONGEST,
        "text": listing or text,
    }


def _hexadecimal(content: bytes) -> str:
    rows = (content[at : at + 16] for at in range(0, len(content), 16))
    return "\n".join(
        f"{at * 16:08x}  {row.hex(' ', 1):<47}  {''.join(chr(b) if 32 <= b < 127 else '.' for b in row)}"
        for at, row in enumerate(rows)
    )


async def runs(request: Request) -> Response:
    """How often a kernel ran on a device and for how long, -1 when there are too many slices to count at once."""
    number = path_number(request, "context")
    known = await ask_once(shelf_of(request), "runs", _runs)
    count, total = (-1, -1) if known is None else known.get(number, (0, 0))
    every = -1 if known is None else sum(took for _, took in known.values())
    return reply({"context": number, "count": count, "total": total, "all": every})


def _runs(capture: Capture) -> dict[int, tuple[int, int]] | None:
    if capture.count("slices") > MOST_SLICES:
        return None
    tracks = capture.read("tracks", ["id", "kind"])
    # the compilation of a kernel is a slice of its context too, on the host
    devices = [id_ for id_, kind in zip(tracks["id"].tolist(), tracks.texts("kind"), strict=True) if kind == "device"]
    frame = capture.read("slices", ["track", "context", "dur"])
    keep = (frame["context"] >= 0) & np.isin(frame["track"], devices)
    contexts, place = np.unique(frame["context"][keep], return_inverse=True)
    counts = np.bincount(place, minlength=len(contexts))
    totals = np.zeros(len(contexts), np.int64)
    np.add.at(totals, place, frame["dur"][keep])
    return dict(zip(contexts.tolist(), zip(counts.tolist(), totals.tolist(), strict=True), strict=True))


async def source(request: Request) -> Response:
    """The lines around a rule that fired in this capture. Other files are not read."""
    file, line = request.query_params.get("file", ""), query_number(request, "line", 1, 1)

    def answer(capture: Capture) -> dict[str, Any]:
        from peephole.server.rule_source import rule_lines

        for table in ("matches", "steps"):
            frame = capture.read(table, ["file", "line"])
            if np.any((frame.texts("file").codes == frame.texts("file").code(file)) & (frame["line"] == line)):
                return {"file": file, "line": line, "lines": rule_lines(capture, file, line)}
        raise Refusal(404, "No rule or pass of this capture is written there.")

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
    Route("/captures/{capture}/contexts/{context}/runs", runs),
    Route("/captures/{capture}/code", list_code),
    Route("/captures/{capture}/artifacts/{row}", one_artifact),
    Route("/captures/{capture}/source", source),
]
