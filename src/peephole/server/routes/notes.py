"""Notes that readers pin to a capture: listed, added, changed and removed. The only routes that write anything."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peephole.errors import CaptureError, PeepholeError
from peephole.query.capture.notes import PlacedNote, notes, pin
from peephole.server.library import ask
from peephole.server.replies import FURTHEST, Refusal, reply
from peephole.server.routes.captures import shelf_of
from peephole.store.capture import Capture
from peephole.store.notes import add_note, change_note, remove_note, why_not_writable

LARGEST: Final = 100_000
"""Bytes of a request: a note of 10,000 characters, each escaped at its longest."""
NUMBERS: Final = {
    "slice": ("row",),
    "range": ("start", "end"),
    "match": ("step", "match"),
    "node": ("step", "match", "node"),
}
"""What a request tells of the thing that a note is pinned to, as the address has it."""


async def list_notes(request: Request) -> Response:
    """Every note with the place that it leads to, and a sentence when none can be added."""

    def answer(capture: Capture) -> dict[str, Any]:
        reason = why_not_writable(capture.path)
        try:
            return {"notes": [_wire(one) for one in notes(capture)], "reason": reason}
        except CaptureError as error:  # the page shows the capture all the same
            return {"notes": [], "reason": str(error)}

    return reply(await ask(shelf_of(request), answer))


async def add(request: Request) -> Response:
    """Pins a note; the answer is the list as it is then."""
    body = await _body(request)
    kind, text = body.get("kind"), body.get("text")
    if not isinstance(kind, str) or kind not in NUMBERS or not isinstance(text, str):
        raise Refusal(400, f"A note has a text, and a kind: one of {', '.join(NUMBERS)}.")
    numbers = {name: _whole(body.get(name), name) for name in NUMBERS[kind]}

    def work(capture: Capture) -> None:
        found = pin(capture, kind, numbers)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        add_note(capture.path, kind, text, found.label, found.at, created)

    return await _written(request, work)


async def change(request: Request) -> Response:
    """Gives a note another text; the answer is the list as it is then."""
    text = (await _body(request)).get("text")
    if not isinstance(text, str):
        raise Refusal(400, "A note has a text.")
    return await _written(request, lambda capture: change_note(capture.path, request.path_params["note"], text))


async def remove(request: Request) -> Response:
    """Takes a note away; the answer is the list as it is then."""
    await _body(request)
    return await _written(request, lambda capture: remove_note(capture.path, request.path_params["note"]))


async def _written(request: Request, work: Any) -> Response:
    def answer(capture: Capture) -> None:
        try:
            work(capture)
        except PeepholeError as error:
            raise Refusal(409, str(error)) from None

    await ask(shelf_of(request), answer)
    return await list_notes(request)


async def _body(request: Request) -> dict[str, Any]:
    """The object that a request brings, once it is sure that our own page sends it.

    A page of another site can send a form to loopback without asking; neither JSON nor other methods than GET and POST,
    and a browser names the origin of whatever it sends. The guard has compared that with ours.
    """
    if "origin" not in request.headers:
        raise Refusal(403, "Only the page itself may change notes.")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refusal(415, "Notes are sent as JSON.")
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > LARGEST:
            raise Refusal(413, f"A note is no longer than {LARGEST:,} bytes.")
    try:
        found = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        raise Refusal(400, "This is no JSON.") from None
    if not isinstance(found, dict):
        raise Refusal(400, "A note is an object.")
    return found


def _whole(value: Any, name: str) -> int:
    if type(value) is not int or abs(value) >= FURTHEST:
        raise Refusal(400, f"{name} must be a whole number, not {str(value)[:40]!r}.")
    return value


def _wire(placed: PlacedNote) -> dict[str, Any]:
    note = placed.note
    return {
        "id": note.id,
        "kind": note.kind,
        "text": note.text,
        "label": note.label,
        "created": note.created,
        "view": placed.view,
        "params": placed.params,
        "track": note.at.get("track", -1),
        "depth": note.at.get("depth", 0),
        "dur": note.at.get("dur", 0),
        "start": placed.start,
    }


ROUTES = [
    Route("/captures/{capture}/notes", list_notes),
    Route("/captures/{capture}/notes", add, methods=["POST"]),
    Route("/captures/{capture}/notes/{note}", change, methods=["PUT"]),
    Route("/captures/{capture}/notes/{note}", remove, methods=["DELETE"]),
]
