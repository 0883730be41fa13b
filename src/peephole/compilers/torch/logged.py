"""What the kernels of an imported half compute: a log has no matches, but Inductor's own notes about it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from peephole.store.capture import Capture

_MAPPING: Final = "inductor_provenance_tracking_node_mappings"
_NODES: Final = re.compile(r"^\s*# Topologically Sorted Source Nodes: \[(.*)\], Original ATen")
_MADE: Final = re.compile(r"^(\w+) = async_compile\.")
_CALLED: Final = re.compile(r"^\s*(?:\w+ = )?([A-Za-z_][\w.]*?)(?:\.run)?\(")


def parts_of(capture: Capture, context: int) -> Callable[[str], list[str]]:
    """Tells, for the kernels of a half in the order of its calls, the FX nodes that each computes, as far as known."""
    frame = capture.read("artifacts", ["context", "kind", "name", "content"])
    kinds, names, contents = frame.texts("kind"), frame.texts("name"), frame.blobs("content")
    told: dict[str, list[list[str]]] = {}
    said: dict[str, list[list[str]]] = {}
    for row, number in enumerate(frame["context"].tolist()):
        if number == context:
            text = (contents[row] or b"").decode("utf-8", "replace")
            if names[row] == _MAPPING:
                told = _mapped(text) or told
            elif kinds[row] == "source":
                said = _commented(text) or said
    seen: dict[str, int] = {}

    def next_parts(call: str) -> list[str]:
        at = seen[call] = seen.get(call, -1) + 1
        for known in (told, said):
            if call in known:
                return known[call][min(at, len(known[call]) - 1)]
        return []

    return next_parts


def _mapped(text: str) -> dict[str, list[list[str]]]:
    """By the name of a kernel, for each of its calls in order: what `NAME:5` of the log's JSON is made of."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    known: Any = whole.get("cppCodeToPost") if isinstance(whole, Mapping) else None
    numbered: list[tuple[str, int, list[str]]] = []
    for key, parts in known.items() if isinstance(known, Mapping) else ():
        name, _, number = key.rpartition(":")
        if name and number.isdecimal() and len(number) < 9 and isinstance(parts, list):
            numbered.append((name, int(number), [part for part in parts if isinstance(part, str)]))
    found: dict[str, list[list[str]]] = {}
    for name, _, parts in sorted(numbered, key=lambda one: one[1]):
        found.setdefault(name, []).append(parts)
    return found


def _commented(code: str) -> dict[str, list[list[str]]]:
    """The same out of the comments that stand above a kernel's definition or a library's call."""
    found: dict[str, list[list[str]]] = {}
    nodes: list[str] = []
    for line in code.split("\n"):
        if comment := _NODES.match(line):
            nodes = [name.strip() for name in comment[1].split(",")]
        elif nodes and line.strip() and not line.lstrip().startswith("#"):
            made = _MADE.match(line) or _CALLED.match(line)
            if made:
                found.setdefault(made[1], []).append(nodes)
                nodes = []
    return found
