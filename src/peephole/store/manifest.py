"""A capture's manifest: what was recorded, by whom, whether it ended cleanly and what was lost."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from peephole.errors import CaptureError
from peephole.model.tables import FORMAT_VERSION

FILE: Final = "manifest.json"
_DEEPEST: Final = 50
"""Objects inside objects."""
LIMIT: Final = 64 << 20
"""Bytes of a manifest that we are willing to read."""


@dataclass(slots=True)
class Manifest:
    """The facts of one capture. `problems` are objects with reason, count and example."""

    format: int = FORMAT_VERSION
    name: str = ""
    state: str = "sealed"
    """`recording` while only the journal is complete, `sealed` once the tables are."""
    clean: bool = True
    """The program reached the end of its recording."""
    program: str = ""
    argv: list[str] = field(default_factory=list)
    host: str = ""
    frameworks: dict[str, str] = field(default_factory=dict)
    source: str = ""
    clocks: dict[str, Any] = field(default_factory=dict)
    created: str = ""
    processes: list[dict[str, Any]] = field(default_factory=list)
    problems: list[dict[str, Any]] = field(default_factory=list)
    dropped: int = 0
    tables: dict[str, int] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)

    def describe(self, facts: Mapping[str, Any]) -> None:
        """Adds facts: objects are merged, lists of processes extended, unknown names go to `extra`."""
        for name, value in facts.items():
            value = _bounded(value)
            if name not in _FIELDS or not _fits(value, getattr(self, name)):
                self.extra[name] = value
            elif isinstance(value, Mapping):
                getattr(self, name).update(value)
            elif name in ("processes", "problems"):
                getattr(self, name).extend(value)
            else:
                setattr(self, name, value)

    def problem(self, reason: str, count: int = 1, example: str = "") -> None:
        """Counts a loss under its reason; the first example is kept."""
        for known in self.problems:
            if known.get("reason") == reason:
                known["count"] = known.get("count", 0) + count
                return
        self.problems.append({"reason": reason, "count": count, "example": example})

    def write(self, folder: Path) -> None:
        """Puts the manifest into the folder, atomically."""
        target = folder / FILE
        temporary = folder / f".{FILE}.{os.getpid()}"
        text = json.dumps(asdict(self), indent=1, default=str)
        with open(temporary, "w", encoding="utf-8", errors="backslashreplace", opener=_private) as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


_FIELDS: Final = frozenset(f.name for f in fields(Manifest))


def _bounded(value: Any, depth: int = _DEEPEST) -> Any:
    """The value without what is nested so deeply that writing it would fail."""
    if isinstance(value, Mapping):
        return {name: _bounded(part, depth - 1) for name, part in value.items()} if depth else {}
    if isinstance(value, list | tuple):
        return [_bounded(part, depth - 1) for part in value] if depth else []
    return value


def _fits(value: Any, current: Any) -> bool:
    """Whether a value from outside has the type of the field, so that no reader has to check again."""
    if isinstance(current, bool):
        return isinstance(value, bool)
    if isinstance(current, int):
        return isinstance(value, int) and not isinstance(value, bool)
    if isinstance(current, str):
        return isinstance(value, str)
    if isinstance(current, list):
        return isinstance(value, list | tuple)
    return isinstance(value, Mapping)


def parse_manifest(text: bytes | str, where: Path) -> Manifest:
    """The manifest in that text; CaptureError when it is none, or of a newer format."""
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CaptureError(f"{where} is damaged: it holds no JSON ({error}).") from None
    if not isinstance(facts, dict) or not isinstance(facts.get("format"), int):
        raise CaptureError(f"{where} is no manifest of a capture: it has no format number.")
    if facts["format"] > FORMAT_VERSION:
        raise CaptureError(
            f"{where} has format {facts['format']} and this peephole reads up to {FORMAT_VERSION}: upgrade peephole."
        )
    manifest = Manifest(extra={})
    manifest.describe(facts)
    manifest.problems = [
        _problem(p) for p in manifest.problems if isinstance(p, dict) and isinstance(p.get("reason"), str)
    ]
    manifest.processes = [p for p in manifest.processes if isinstance(p, dict)]
    manifest.argv = [str(word) for word in manifest.argv]
    manifest.frameworks = {name: version for name, version in manifest.frameworks.items() if isinstance(version, str)}
    manifest.tables = {name: rows for name, rows in manifest.tables.items() if type(rows) is int and rows >= 0}
    return manifest


def _problem(facts: dict[str, Any]) -> dict[str, Any]:
    """A problem as everybody reads it: the count is a number, the example a text."""
    count, example = facts.get("count"), facts.get("example", "")
    known = {**facts, "count": count if type(count) is int and 0 <= count < 1 << 63 else 1}
    return known if isinstance(example, str) else {**known, "example": ""}


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a capture's folder; CaptureError when there is none or it cannot be read."""
    path = folder / FILE
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe would be waited for
            raise CaptureError(f"{path} is not a file.")
        if status.st_size > LIMIT:
            raise CaptureError(f"{path} is too large for a manifest.")
        text = path.read_bytes()
    except FileNotFoundError:
        raise CaptureError(f"{folder} is not a capture: it has no {FILE}.") from None
    except OSError as error:
        raise CaptureError(f"{path} cannot be read: {error.strerror}.") from None
    return parse_manifest(text, path)
