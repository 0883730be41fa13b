"""Contexts, their steps and what came out of them; the graphs and matches of a step are in rewrites.py."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from peephole.model.json_text import json_list
from peephole.model.plain_names import plain
from peephole.model.stacks import StackFrame, frames, user_frame
from peephole.store.capture import Capture


@dataclass(frozen=True, slots=True)
class Context:
    """A unit of compilation: schedule, kernel, captured graph."""

    id: int
    name: str
    kind: str
    parent: int
    start: int
    dur: int
    place: str
    """`file:line function` of the user's code that it was opened from; empty when unknown."""


@dataclass(frozen=True, slots=True)
class ArtifactRow:
    """An artifact without its content."""

    row: int
    kind: str
    language: str
    name: str
    step: int


@dataclass(frozen=True, slots=True)
class ContextDetail:
    """A context with where it was opened and what it left behind."""

    id: int
    name: str
    kind: str
    function: str
    parent: int
    start: int
    dur: int
    keys: list[Any]
    stack: tuple[StackFrame, ...]
    """Innermost first."""
    artifacts: tuple[ArtifactRow, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One pass over a graph."""

    id: int
    context: int
    ordinal: int
    depth: int
    name: str
    file: str
    line: int
    matches: int
    bottom_up: bool
    walk: bool
    enter_calls: bool
    error: str | None
    dur: int
    after: int = -1
    """Root of the graph that came out, -1 when it is replayed from the matches."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """Text or bytes that belong to a context."""

    context: int
    kind: str
    language: str
    name: str
    content: bytes


def contexts(capture: Capture) -> list[Context]:
    """All contexts, by id: in the order in which they were opened."""
    frame = capture.read("contexts", ["id", "name", "kind", "parent", "start", "dur", "stack"])
    numbers = (frame[name].tolist() for name in ("id", "parent", "start", "dur"))
    texts = (frame.texts(name) for name in ("name", "kind", "stack"))
    return [
        Context(id, plain(name), kind or "", parent, start, dur, _place(stack))
        for id, parent, start, dur, name, kind, stack in zip(*numbers, *texts, strict=True)
    ]


def context_detail(capture: Capture, id: int) -> ContextDetail | None:
    """The context of that id; None when there is none."""
    rows = np.flatnonzero(capture.read("contexts", ["id"])["id"] == id)
    if not len(rows):
        return None
    frame = capture.read("contexts", rows=slice(int(rows[0]), int(rows[0]) + 1))
    texts = {name: frame.texts(name)[0] for name in ("name", "kind", "function", "keys", "stack")}
    owned = capture.read("artifacts", ["context", "step", "kind", "language", "name"])
    kinds, languages, names = (owned.texts(name) for name in ("kind", "language", "name"))
    left = tuple(
        ArtifactRow(row, kinds[row] or "", languages[row] or "", names[row] or "", int(owned["step"][row]))
        for row in np.flatnonzero(owned["context"] == id).tolist()
    )
    return ContextDetail(
        id,
        texts["name"] or "",
        texts["kind"] or "",
        texts["function"] or "",
        int(frame["parent"][0]),
        int(frame["start"][0]),
        int(frame["dur"][0]),
        json_list(texts["keys"]),
        frames(texts["stack"] or _stack_above(capture, int(frame["parent"][0]))),
        left,
    )


def _stack_above(capture: Capture, context: int) -> str | None:
    """Where the nearest context above was opened that says so: what is compiled inside it was opened there too."""
    frame = capture.read("contexts", ["id", "parent", "stack"])
    rows = {number: row for row, number in enumerate(frame["id"].tolist())}
    seen: set[int] = set()
    while context in rows and context not in seen:
        seen.add(context)
        if text := frame.texts("stack")[rows[context]]:
            return text
        context = int(frame["parent"][rows[context]])
    return None


def steps(capture: Capture, context: int) -> list[Step]:
    """The steps of a context in order; their depths make a tree of them."""
    owners = capture.read("steps", ["context"])["context"]
    first, last = (int(np.searchsorted(owners, context, side)) for side in ("left", "right"))
    numbers = ("id", "context", "ordinal", "depth", "line", "matches", "dur", "after")
    flags = ("bottom_up", "walk", "enter_calls")
    texts = ("name", "file", "error")
    frame = capture.read("steps", [*numbers, *flags, *texts], slice(first, last))
    columns = (*(frame[name].tolist() for name in (*numbers, *flags)), *(frame.texts(name) for name in texts))
    return [
        Step(id, owner, ordinal, depth, plain(name), file or "", line, matches, up, walk, calls, error, dur, after)
        for id, owner, ordinal, depth, line, matches, dur, after, up, walk, calls, name, file, error in zip(
            *columns, strict=True
        )
    ]


def artifacts(capture: Capture, context: int, kind: str | None = None) -> list[Artifact]:
    """What belongs to a context, of one kind or of all."""
    owners = capture.read("artifacts", ["context"])["context"]
    first, last = (int(np.searchsorted(owners, context, side)) for side in ("left", "right"))
    frame = capture.read("artifacts", ["kind", "language", "name", "content"], slice(first, last))
    contents = frame.blobs("content")
    found = []
    for row, (what, language, name) in enumerate(
        zip(frame.texts("kind"), frame.texts("language"), frame.texts("name"), strict=True)
    ):
        if kind is None or what == kind:
            found.append(Artifact(context, what or "", language or "", name or "", contents[row] or b""))
    return found


@lru_cache(maxsize=4096)
def _place(stack: str | None) -> str:
    found = frames(stack)
    if not found:
        return ""
    frame = user_frame(found) or found[0]
    return f"{frame.file}:{frame.line} {frame.function}"
