"""JSON as every route sends it: dataclasses, numpy columns and errors alike."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

LARGEST: int = 2**53
"""Above this a JavaScript number is no longer exact; ids and counts in a request must be smaller."""
FURTHEST: int = 2**61
"""ns from the origin of any moment that is asked for: added to one that is on the capture's clock it stays an i64."""


class Refusal(Exception):
    """A request that cannot be answered: the status and one sentence for the user."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # an array or a number of numpy, which the page's first files do not wait for
        return value.tolist()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def reply(data: Any, status: int = 200) -> Response:
    """The data as JSON. ASCII only: a lone surrogate in a name then travels as an escape instead of failing."""
    text = json.dumps(data, default=_plain, separators=(",", ":"), ensure_ascii=True)
    return Response(text.encode("ascii"), status, media_type="application/json", headers={"Cache-Control": "no-store"})


def refuse(status: int, sentence: str) -> Response:
    """An error as the page expects it."""
    return reply({"error": sentence}, status)


def number(text: str, what: str, smallest: int = 0) -> int:
    """A whole number out of a request, or a Refusal that names it."""
    body = text[1:] if text.startswith("-") else text
    if not (body.isascii() and body.isdigit()) or len(body) > 16 or not smallest <= int(text) <= LARGEST:
        raise Refusal(400, f"{what} must be a whole number from {smallest}, not {text[:40]!r}.")
    return int(text)


def path_number(request: Request, name: str) -> int:
    """A whole number from the request's path."""
    return number(request.path_params[name], name)


def query_number(request: Request, name: str, default: int, smallest: int = 0) -> int:
    """A whole number from the request's query, or the default."""
    text = request.query_params.get(name)
    return default if text is None else number(text, name, smallest)


def query_moment(request: Request, name: str, default: int) -> int:
    """A time in ns from the request's query, or the default; what is further than any capture goes is cut to that."""
    text = request.query_params.get(name)
    if text is None:
        return default
    body = text.removeprefix("-")
    if not (body.isascii() and body.isdigit()) or len(body) > 19:
        raise Refusal(400, f"{name} must be whole ns, not {text[:40]!r}.")
    return max(-FURTHEST, min(FURTHEST, int(text)))


def columns(rows: Sequence[Any], names: Sequence[str]) -> dict[str, list[Any]]:
    """Rows (dataclasses) as one list per column: a third of the bytes, and no object per row in the page."""
    return {_camel(name): [getattr(row, name) for row in rows] for name in names}


def coded(values: Sequence[str | None], none: str | None = None) -> tuple[list[int], list[str]]:
    """A text column as codes into a list of distinct texts, -1 for null, or for what stands for it."""
    texts = [value for value in dict.fromkeys(values) if value is not None and value != none]
    codes: dict[str | None, int] = {text: code for code, text in enumerate(texts)}
    codes[None] = codes[none] = -1
    return list(map(codes.__getitem__, values)), texts


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
