"""Source lines that a capture points to: from its own `file` artifacts, else from this machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from peephole.model.tables import NONE

if TYPE_CHECKING:
    from peephole.store.capture import Capture

LARGEST: Final = 8 << 20
"""Bytes of a source file that we are willing to read."""


class Places:
    """Lines of source by file and number. A path is data: it is only ever read, and only when it is Python source."""

    def __init__(self, capture: Callable[[], Capture | None]) -> None:
        self._capture = capture
        self._kept: dict[str, list[str]] | None = None

    def line(self, file: str | None, line: int) -> str | None:
        """One line without its indent; None when it is not known."""
        found = self.lines(file, line, 0)
        return found[0][1].strip() if found else None

    def lines(self, file: str | None, line: int, around: int) -> list[tuple[int, str]]:
        """Numbered lines around one."""
        if not file or line < 1:
            return []
        text = self._artifacts().get(file) or _read(file)
        first = max(line - around, 1)
        return [(n, text[n - 1]) for n in range(first, min(line + around, len(text)) + 1)] if line <= len(text) else []

    def _artifacts(self) -> dict[str, list[str]]:
        if self._kept is None:
            self._kept = {}
            capture = self._capture()
            if capture is not None and capture.count("artifacts"):
                kinds = capture.read("artifacts", ["kind", "name"])
                code = kinds.texts("kind").code("file")
                rows = [i for i, kind in enumerate(kinds.texts("kind").codes.tolist()) if kind == code]
                for row in rows:
                    content = capture.read("artifacts", ["content"], slice(row, row + 1)).blobs("content")[0]
                    name = kinds.texts("name")[row]
                    if name and content:
                        self._kept[name] = content.decode("utf-8", "replace").splitlines()
        return self._kept


def artifact_of(capture: Capture, context: int, wanted: str) -> tuple[int, list[str]]:
    """The row and the lines of what a context left of that kind; -1 and none when it left none."""
    frame = capture.read("artifacts", ["context", "kind"])
    kinds = frame.texts("kind")
    code = kinds.code(wanted)
    for row, (owner, kind) in enumerate(zip(frame["context"].tolist(), kinds.codes.tolist(), strict=True)):
        if owner == context and kind == code:
            return row, artifact_lines(capture, row)
    return NONE, []


def artifact_lines(capture: Capture, row: int) -> list[str]:
    """The lines of an artifact, by its row, as editors count them: only line feeds end a line."""
    content = capture.read("artifacts", ["content"], slice(row, row + 1)).blobs("content")[0] or b""
    return content.decode("utf-8", "replace").removesuffix("\n").split("\n")


@lru_cache(maxsize=200)
def _read(file: str) -> list[str]:
    path = Path(file)
    try:
        if path.suffix != ".py" or not path.is_file() or path.stat().st_size > LARGEST:
            return []
        return path.read_text("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return []
