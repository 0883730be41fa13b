"""speedscope's own file format: a profile for each track, of stacks with weights in ns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
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
        file.write(b"," if number else b"")
        _profile(track, own, file)
    file.write(b"]}\n")
    return slices


def _frames(tree: CallTree) -> Iterator[dict[str, Any]]:
    for name, place in tree.functions:
        path, line = file_and_line(place)
        yield {"name": label(name), **({"file": path} if path else {}), **({"line": line} if line else {})}


def _profile(track: str, own: Iterable[Stack], file: BinaryIO) -> None:
    """Writes a track stack by stack: together those of a deep recursion are far more than its slices."""
    file.write(_json({"type": "sampled", "name": label(track), "unit": "nanoseconds"})[:-1] + b',"samples":[')
    weights: list[int] = []
    for stack in own:
        if stack.own > 0:
            file.write((b"," if weights else b"") + _json(stack.functions))
            weights.append(stack.own)
    ends = {"weights": weights, "startValue": 0, "endValue": sum(weights)}
    file.write(b"]," + _json(ends)[1:])


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")
