"""speedscope's own file format: a profile for each track, of stacks with weights in ns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any, BinaryIO, Final

from peephole.query.calls.tree import CallTree
from peephole.render.stacks import Stack, file_and_line, label, stacks, whole_tree
from peephole.store.capture import Capture

SCHEMA: Final = "https://www.speedscope.app/file-format-schema.json"


def write_speedscope(capture: Capture, file: BinaryIO) -> int:
    """Writes all tracks that have slices; gives the number of slices."""
    tree, slices = whole_tree(capture)
    head = {"$schema": SCHEMA, "name": capture.name, "exporter": "peephole", "activeProfileIndex": 0}
    file.write(_json(head)[:-1] + b',"shared":' + _json({"frames": list(_frames(tree))}) + b',"profiles":[')
    for number, (track, own) in enumerate(groupby(stacks(tree), key=lambda stack: stack.track)):
        file.write((b"," if number else b"") + _json(_profile(track, list(own))))
    file.write(b"]}\n")
    return slices


def _frames(tree: CallTree) -> Iterator[dict[str, Any]]:
    for name, place in tree.functions:
        path, line = file_and_line(place)
        yield {"name": label(name), **({"file": path} if path else {}), **({"line": line} if line else {})}


def _profile(track: str, own: list[Stack]) -> dict[str, Any]:
    weighty = [stack for stack in own if stack.own > 0]
    return {
        "type": "sampled",
        "name": label(track),
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": sum(stack.own for stack in weighty),
        "samples": [stack.functions for stack in weighty],
        "weights": [stack.own for stack in weighty],
    }


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")
