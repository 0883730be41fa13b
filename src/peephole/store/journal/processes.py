"""What `process.json` says about a recorded process, and whether that process still lives."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from peephole.model.alive import is_writing
from peephole.store.manifest import Manifest

_LIMIT: Final = 1 << 20
_FURTHEST: Final = 1 << 61


@dataclass(slots=True)
class ProcessInfo:
    """One process of a capture."""

    ordinal: int
    folder: Path
    facts: dict[str, Any] = field(default_factory=dict)
    """process.json as it is, for the manifest."""
    offset: int = 0
    """Nanoseconds from its clock to the capture's."""

    @property
    def clean(self) -> bool:
        """Whether it closed its journal."""
        return self.facts.get("clean") is True

    @property
    def boot(self) -> str | None:
        """Which machine, and since when: equal ones share a clock."""
        boot = self.facts.get("boot")
        return boot if isinstance(boot, str) and boot else None

    @property
    def wall(self) -> int | None:
        """Nanoseconds from its clock to the time of day; None when it does not say, or cannot be."""
        clock = self.facts.get("clock")
        if not isinstance(clock, dict):
            return None
        wall, own = clock.get("time_ns"), clock.get("perf_counter_ns")
        if not isinstance(wall, int) or not isinstance(own, int) or abs(wall - own) > _FURTHEST:
            return None
        return wall - own

    def alive(self) -> bool:
        """Whether the process still runs and still has this journal open."""
        return is_writing(self.facts, self.folder)

    def is_also(self, other: ProcessInfo) -> bool:
        """Whether it is that process, or the program that took its place with exec."""
        same = all(self.facts.get(fact) == other.facts.get(fact) for fact in ("boot", "pid", "born"))
        return self is other or (same and self.facts.get("born") is not None)

    def summary(self, manifest: Manifest) -> dict[str, Any]:
        """What the capture takes over from its first process where nobody said anything else."""
        facts: dict[str, Any] = {}
        argv = self.facts.get("argv")
        if not manifest.argv and isinstance(argv, list):
            facts["argv"] = [str(a) for a in argv]
        if not manifest.program and isinstance(argv, list) and argv:
            facts["program"] = str(argv[0])
        if not manifest.host and isinstance(self.facts.get("host"), str):
            facts["host"] = self.facts["host"]
        if not manifest.clocks and isinstance(self.facts.get("clock"), dict):
            facts["clocks"] = self.facts["clock"]
        return facts


def read_process(folder: Path, ordinal: int, manifest: Manifest) -> ProcessInfo:
    """What is known about the process of that folder; damage is counted in the manifest."""
    path = folder / "process.json"
    info = ProcessInfo(ordinal, folder)
    try:
        if path.stat().st_size > _LIMIT:
            raise ValueError("too large")
        facts = json.loads(path.read_text(encoding="utf-8", errors="replace"))
        if not isinstance(facts, dict):
            raise ValueError("no object")
    except FileNotFoundError:
        info.facts = {"ordinal": ordinal, "clean": False}
    except (OSError, ValueError, RecursionError) as error:
        manifest.problem("processes whose process.json is damaged", 1, f"{folder.name}: {error}")
        info.facts = {"ordinal": ordinal, "clean": False}
    else:
        info.facts = facts
    return info


def parse_object(text: bytes) -> dict[str, Any] | None:
    """A JSON object, or None."""
    try:
        value = json.loads(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
