"""Where an operation came from, as one text: `jit(f)/dot_general@prog.py:9 f < prog.py:24 main`.

The compiler's folder reads it again (`compilers/mlir`). `loc(…)` holds files with line and column, names around other
locations, calls, and several of them fused.
"""

from __future__ import annotations

import re
from typing import Final

_PLACE: Final = re.compile(r'(?:"((?:[^"\\]|\\.)*)"\()?"((?:[^"\\]|\\.)*)":(\d+):\d+')
_TEXT: Final = re.compile(r'"((?:[^"\\]|\\.)*)"(:\d|>)?')
_ALIAS: Final = re.compile(r"#loc\d*\b")
MOST: Final = 16
"""Calls and aliases that are followed."""
_LONGEST: Final = 4000
"""Characters of a location: aliases of aliases could grow without end."""


def origin_of(loc: str, aliases: dict[str, str]) -> str | None:
    """The origin that a location tells; None for an unknown one."""
    if not loc or loc == "unknown":
        return None
    text = loc
    for _ in range(MOST):
        if "#loc" not in text or len(text) > _LONGEST:
            break
        text = _ALIAS.sub(lambda one: _inner(aliases.get(one[0], ""))[:_LONGEST], text)[: 4 * _LONGEST]
    # neither a file nor what is attached to fused locations
    name = next((one for one in _TEXT.finditer(text) if not one[2]), None)
    begin = name.start() if name else -1
    # the first name is the operation, another one around a place the function that is written there
    places = list(dict.fromkeys(_place(one, one.start() != begin) for one in _PLACE.finditer(text)))[:MOST]
    words = name[1].replace("@", " ")[:200] if name else ""
    if not places:
        return words or None
    return f"{words}@{' < '.join(places)}"


def _place(found: re.Match[str], with_function: bool) -> str:
    place = f"{found[2]}:{int(found[3][:9])}"
    function = found[1].replace(" < ", " ")[:200] if found[1] and with_function else ""
    return f"{place} {function}" if function else place


def _inner(value: str) -> str:
    return value[4:-1] if value.startswith("loc(") and value.endswith(")") else value
