"""What a recording noted about JAX beside XLA's dumps: compilations with their phases, why they were made, profiles."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

NAME: Final = "noted.jsonl"
"""The file that the recorded process writes (`sources/xla/live/log.py`)."""
_MISS: Final = re.compile(r"TRACING CACHE MISS at (?P<file>.+?):(?P<line>\d+)(?::\d+)?(?: \((?P<caller>.*)\))?:")
_FUNCTION: Final = re.compile(r"^\s+(?:for )?(?P<name>\S+)(?: id=\d+)?(?: defined at (?P<file>.+):(?P<line>\d+))?$")
_FIRST: Final = "never seen function"
_REDEFINED: Final = "but seen another function"
_CLOSE: Final = 50_000_000
"""ns that a file's time may lie outside of the compilation that wrote it: clocks of files are coarse."""


@dataclass(slots=True)
class Miss:
    """Why JAX traced a function, in its words."""

    time: int
    text: str
    function: str = ""
    file: str = ""
    line: int = -1
    caller: str = ""

    @property
    def is_again(self) -> bool:
        """Whether the function was there before, so that this compiles it once more."""
        return _FIRST not in self.text or _REDEFINED in self.text

    @property
    def reason(self) -> str:
        """What JAX says, without the place."""
        return "\n".join(line.strip() for line in self.text.splitlines()[1:])


@dataclass(slots=True)
class Compiled:
    """A compilation: its phases with start and length in ns, and what made it necessary."""

    name: str
    """As XLA's module is called, without what a file's name cannot have."""
    phases: list[tuple[str, int, int]]
    wall: int
    """When XLA began, in ns since 1970."""
    hit: bool
    """It came out of JAX's cache of compilations: XLA did nothing."""
    miss: Miss | None = None

    @property
    def start(self) -> int:
        """When its first phase began."""
        return min(start for _, start, _ in self.phases)

    @property
    def past(self) -> int:
        """When its last phase ended."""
        return max(start + dur for _, start, dur in self.phases)

    def wrote(self, name: str, time: int) -> bool:
        """Whether a module of that name, dumped at that time, is this one."""
        last = self.phases[-1][2]
        return (
            plain(name).rstrip("_") == self.name.rstrip("_") and self.wall - _CLOSE <= time <= self.wall + last + _CLOSE
        )


@dataclass(slots=True)
class Noted:
    """All that one process noted."""

    compiled: list[Compiled] = field(default_factory=list)
    misses: list[Miss] = field(default_factory=list)
    shifts: dict[str, int] = field(default_factory=dict)
    """By the name of a profile, what to add to its times to get the capture's."""
    dumped: list[tuple[Path, int]] = field(default_factory=list)
    """Folders of the program's own that XLA dumped into, and since when, in ns since 1970."""


def plain(name: str) -> str:
    """A module's name with everything that is not a letter, digit, point or dash as `_`."""
    return re.sub(r"[^\w.-]", "_", name)


def read_notes(path: Path) -> Noted:
    """What a file has; the last line may be cut off, and lines that say nothing known are left out."""
    found = Noted()
    pending: dict[str, list[tuple[str, int, int]]] = {}
    misses: dict[str, Miss] = {}
    for note in _lines(path):
        kind = note.get("kind")
        if kind == "profile" and isinstance(note.get("file"), str):
            found.shifts[note["file"]] = _number(note, "perf") - _number(note, "wall")
        elif kind == "dumped" and isinstance(note.get("folder"), str):
            found.dumped.append((Path(note["folder"]), _number(note, "wall") - _CLOSE))
        elif kind == "miss":
            miss = read_miss(_number(note, "time"), str(note.get("text", "")))
            found.misses.append(miss)
            misses[plain(miss.function)] = miss
        elif kind in ("trace", "lower", "compile"):
            function = plain(re.sub(r"^\w+\((.*)\)$", r"\1", str(note.get("name", ""))))
            phases = pending.setdefault(function, [])
            if kind == "trace":
                phases.clear()  # one that was traced as a part of another, and not compiled
            phases.append((kind, _number(note, "start"), max(_number(note, "dur"), 0)))
            if kind == "compile":
                name = plain(str(note.get("name", "")).removesuffix(")"))
                hit, wall = bool(note.get("hit")), _number(note, "wall")
                found.compiled.append(Compiled(name, pending.pop(function), wall, hit, misses.pop(function, None)))
    return found


def _lines(path: Path) -> Iterable[dict[str, Any]]:
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                note = json.loads(line)
            except ValueError:
                continue
            if isinstance(note, dict):
                yield note


def _number(note: dict[str, Any], key: str) -> int:
    value = note.get(key)
    return value if isinstance(value, int) and abs(value) < 1 << 62 else 0


def read_miss(time: int, text: str) -> Miss:
    """What JAX said, with the function and the place taken out of it."""
    found = Miss(time, text)
    if place := _MISS.match(text):
        found.file, found.line, found.caller = place["file"], int(place["line"]), place["caller"] or ""
    for line in text.splitlines()[1:]:
        if line.strip() != f"{_FIRST}:" and (named := _FUNCTION.match(line)):
            found.function = named["name"]
            break
    return found
