"""Where an operation came from, as one text: `jit(f)/dot_general@prog.py:9 f < prog.py:24 main`.

The compiler's folder reads it again (`compilers/mlir`). `loc(…)` holds files with line and column, names around other
locations, calls, and several of them fused.
"""

from __future__ import annotations

import re
from typing import Final

_PLACE: Final = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):\d+')
_NAMED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"(?!:\d)')
_ALIAS: Final = re.compile(r"#loc\d*\b")
MOST: Final = 16
"""Calls and aliases that are followed."""


def origin_of(loc: str, aliases: dict[str, str]) -> str | None:
    """The origin that a location tells; None for an unknown one."""
    if not loc or loc == "unknown":
        return None
    text = loc
    for _ in range(MOST):
        if "#loc" not in text or len(text) > 4000:
            break
        text = _ALIAS.sub(lambda one: _inner(aliases.get(one[0], "")), text)
    places = list(dict.fromkeys(f"{one[1]}:{int(one[2][:9])}" for one in _PLACE.finditer(text)))[:MOST]
    name = _NAMED.search(text)
    words = name[1].replace("@", " ")[:200] if name else ""
    if not places:
        return words or None
    return f"{words}@{' < '.join(places)}"


def _inner(value: str) -> str:
    return value[4:-1] if value.startswith("loc(") and value.endswith(")") else value
