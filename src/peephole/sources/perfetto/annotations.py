"""Args of events that are more than plain: nested annotations, decimals, places, stacks, in Python."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, Final

from peephole.sources.perfetto.event_scan import (
    K_CATEGORY,
    K_CORRELATION,
    K_KEY,
    K_PLACE,
    K_STACK,
    K_TEXT,
)  # fmt: skip
from peephole.sources.scans.wire import Malformed, Value, double, fields, packed, signed, text

Lookup = Callable[[int, int], Any]
"""The interned value of a kind and number as what its JSON says, None when there is none."""
_DEEPEST: Final = 40
_TOO_DEEP: Final = "…"


def event_args(event: bytes, lookup: Lookup) -> dict[str, Any]:
    """What an event says of itself, its categories first."""
    categories: list[str] = []
    found: dict[str, Any] = {}
    for number, value in fields(event):
        if number == 22:
            categories.append(text(value))
        elif number == 3:
            categories += [_or_number(lookup(K_CATEGORY, iid), iid) for iid in packed(value)]
        elif number == 4 and isinstance(value, bytes):
            name, held = annotation(value, lookup, 0)
            found[name] = held
        elif number == 33 and isinstance(value, bytes):
            found |= place(value)
        elif number == 34 and isinstance(value, int):
            found |= lookup(K_PLACE, value) or {}
        elif number in (52, 53):
            found["correlation"] = value if isinstance(value, int) else text(value)
        elif number == 54 and isinstance(value, int):
            found["correlation"] = _or_number(lookup(K_CORRELATION, value), value)
        elif number == 55 and isinstance(value, bytes):
            found["callstack"] = inline_stack(value)
        elif number == 56 and isinstance(value, int):
            found["callstack"] = lookup(K_STACK, value) or []
        elif number == 57:
            found["callstack_weight"] = _finite(double(value))
        elif number == 21 and isinstance(value, bytes):
            found |= _log(value)
    return {"cat": ",".join(categories), **found} if categories else found


def annotation(message: bytes, lookup: Lookup, depth: int) -> tuple[str, Any]:
    """Name and value of a DebugAnnotation."""
    name, held = "", None
    entries: dict[str, Any] | None = None
    items: list[Any] | None = None
    if depth > _DEEPEST:
        return name, _TOO_DEEP
    for number, value in fields(message):
        if number == 1 and isinstance(value, int):
            name = _or_number(lookup(K_KEY, value), value)
        elif number == 10:
            name = text(value)
        elif number == 11 and isinstance(value, bytes):
            key, inner = annotation(value, lookup, depth + 1)
            entries = {**(entries or {}), key: inner}
        elif number == 12 and isinstance(value, bytes):
            items = [*(items or []), annotation(value, lookup, depth + 1)[1]]
        elif number == 8 and isinstance(value, bytes):
            held = _nested(value, depth + 1)
        elif number == 17 and isinstance(value, int):
            held = _or_number(lookup(K_TEXT, value), value)
        elif number == 14 and isinstance(value, bytes):
            held = f"{len(value)} bytes of protobuf"
        else:
            held = _plain(number, value, held)
    return name, entries if entries is not None else items if items is not None else held


def _plain(number: int, value: Value, otherwise: Any) -> Any:
    """The value of a field that is no message."""
    if number == 2:
        return bool(value)
    if number == 3:
        return value
    if number == 4:
        return signed(value)
    if number == 5:
        return _finite(double(value))
    if number == 6:
        return text(value)
    if number == 7 and isinstance(value, int):
        return hex(value)
    if number == 9:
        try:
            return json.loads(text(value))
        except (ValueError, RecursionError):
            return text(value)
    return otherwise


def _nested(message: bytes, depth: int) -> Any:
    """A NestedValue, the older way to nest."""
    if depth > _DEEPEST:
        return _TOO_DEEP
    keys: list[str] = []
    values: list[Any] = []
    kind = 0
    held: Any = None
    for number, value in fields(message):
        if number == 1 and isinstance(value, int):
            kind = value
        elif number == 2:
            keys.append(text(value))
        elif number in (3, 4) and isinstance(value, bytes):
            values.append(_nested(value, depth + 1))
        elif number == 5:
            held = signed(value)
        elif number == 6:
            held = _finite(double(value))
        elif number == 7:
            held = bool(value)
        elif number == 8:
            held = text(value)
    if kind == 1 or keys:
        return dict(zip(keys, values, strict=False))
    return values if kind == 2 or values else held


def place(message: bytes) -> dict[str, Any]:
    """A SourceLocation as args."""
    names = {2: "file", 3: "function", 4: "line"}
    return {names[n]: text(v) if isinstance(v, bytes) else v for n, v in fields(message) if n in names}


def inline_stack(message: bytes) -> list[str]:
    """The frames of a callstack that stands in the event, outermost first."""
    return [frame_text(*_frame(value)) for number, value in fields(message) if number == 1 and isinstance(value, bytes)]


def _frame(message: bytes) -> tuple[str, str, int]:
    function, file, line = "", "", 0
    for number, value in fields(message):
        if number == 1:
            function = text(value)
        elif number == 2:
            file = text(value)
        elif number == 3 and isinstance(value, int):
            line = value
    return function, file, line


def frame_text(function: str, file: str, line: int) -> str:
    """A frame in one line."""
    where = f"{file}:{line}" if file and line else file
    return f"{function or '?'} ({where})" if where else function or "?"


def _log(message: bytes) -> dict[str, Any]:
    inline = [text(v) for n, v in fields(message) if n == 2 and isinstance(v, bytes)]
    return {"log": inline[0]} if inline else {}


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _or_number(value: Any, number: int) -> str:
    return value if isinstance(value, str) else f"#{number}"


def args_json(event: bytes, lookup: Lookup) -> bytes:
    """The same as JSON; empty when there is nothing to say, or the event is not what it seemed."""
    try:
        found = event_args(event, lookup)
    except (Malformed, RecursionError):
        return b""
    return json.dumps(found, ensure_ascii=False).encode("utf-8", "replace") if found else b""
