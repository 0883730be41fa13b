"""The code that contexts left behind: which have some and how much, and one artifact with its content."""

from __future__ import annotations

from dataclasses import dataclass

from peephole.store.capture import Capture

_NOT_CODE = frozenset({"file", "data"})
"""Kinds of artifacts that nobody reads as what became of a context."""


@dataclass(slots=True)
class ContextCode:
    """What a context left behind."""

    context: int
    lines: int = 0
    """Of its source."""
    ops: int = 0
    """Of its op list."""
    failed: bool = False
    """Whether an error is there."""
    machine_code: bool = False
    """Whether a binary is there that can be disassembled."""


@dataclass(frozen=True, slots=True)
class ArtifactContent:
    """An artifact by its row."""

    kind: str
    language: str
    name: str
    content: bytes


def code_of_contexts(capture: Capture) -> list[ContextCode]:
    """Every context that left something behind, in the order of the first artifact of each."""
    frame = capture.read("artifacts", ["context", "kind", "content"])
    kinds, contents = frame.texts("kind"), frame.blobs("content")
    found: dict[int, ContextCode] = {}
    for row, context in enumerate(frame["context"].tolist()):
        kind = kinds[row]
        if context < 0 or kind in _NOT_CODE:
            continue
        content = contents[row] or b""
        code = found.setdefault(context, ContextCode(context))
        if kind == "source":
            code.lines = _lines(content)
        elif kind == "oplist":
            code.ops = _lines(content)
        elif kind == "error":
            code.failed = True
        elif kind == "binary":
            code.machine_code |= content.startswith(b"\x7fELF")
    return list(found.values())


def artifact_content(capture: Capture, row: int) -> ArtifactContent:
    """The artifact of that row; IndexError with the number of artifacts when there is none."""
    artifacts = capture.count("artifacts")
    if not 0 <= row < artifacts:
        raise IndexError(artifacts)
    frame = capture.read("artifacts", rows=slice(row, row + 1))
    kind, language, name = (frame.texts(column)[0] or "" for column in ("kind", "language", "name"))
    return ArtifactContent(kind, language, name, frame.blobs("content")[0] or b"")


def _lines(content: bytes) -> int:
    return content.rstrip(b"\n").count(b"\n") + 1
