"""What a capture holds: rows, bytes, the time it spans, what was lost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peephole.errors import CaptureError
from peephole.model.tables import NONE, TABLES
from peephole.query.capture.disk import bytes_on_disk
from peephole.store.capture import Capture
from peephole.store.notes import read_notes
from peephole.store.runs import is_run, run_counts


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that was lost or not understood, by reason."""

    reason: str
    count: int
    example: str


@dataclass(frozen=True, slots=True)
class Info:
    """The facts of one capture."""

    name: str
    path: Path
    state: str
    clean: bool
    live: bool
    tables: dict[str, int]
    notes: int
    bytes: dict[str, int]
    """`total`, and each table that has a file of its own."""
    span_ns: tuple[int, int] | None
    """First and last moment on the capture's clock; None when nothing in it has a time."""
    problems: tuple[Problem, ...]
    dropped: int
    source: str
    program: str
    argv: tuple[str, ...]
    host: str
    frameworks: dict[str, str]
    created: str
    processes: tuple[dict[str, Any], ...]
    clocks: dict[str, Any]
    sampled: tuple[str, ...]
    """What is not recorded each time that it ran, in words."""


def info(capture: Capture) -> Info:
    """The facts of a capture, without reading its large tables."""
    manifest = capture.manifest
    return Info(
        name=capture.name,
        path=capture.path,
        state=manifest.state,
        clean=manifest.clean,
        live=capture.live,
        tables=row_counts(capture),
        notes=_notes(capture),
        bytes=bytes_on_disk(capture.path),
        span_ns=span(capture),
        problems=tuple(
            Problem(str(p.get("reason", "")), int(p.get("count", 1)), str(p.get("example") or ""))
            for p in manifest.problems
        ),
        dropped=manifest.dropped,
        source=manifest.source,
        program=manifest.program,
        argv=tuple(manifest.argv),
        host=manifest.host,
        frameworks=dict(manifest.frameworks),
        created=manifest.created,
        processes=tuple(manifest.processes),
        clocks=dict(manifest.clocks),
        sampled=tuple(sampled(capture)),
    )


def _notes(capture: Capture) -> int:
    try:
        return len(read_notes(capture.notes_folder))
    except CaptureError:  # `peephole notes` says what is wrong with them
        return 0


def row_counts(capture: Capture) -> dict[str, int]:
    """How many rows each table has."""
    rows = {name: capture.count(name) for name in TABLES}
    return rows | run_counts(capture.path) if is_run(capture.path) else rows


def sampled(capture: Capture) -> list[str]:
    """What is not recorded each time that it ran, in words: counts and sums of it cover what was."""
    extra = capture.manifest.extra
    return [text for name, text in extra.items() if name.startswith("sampled") and isinstance(text, str)]


def holds(capture: Capture, table: str) -> bool:
    """Whether a table has any rows: what asks about it has something to say."""
    return capture.count(table) > 0


def span(capture: Capture, *, contexts: bool = True) -> tuple[int, int] | None:
    """The first and the last moment of a capture, of its contexts too if they count; None when nothing has a time."""
    begins: list[int] = []
    ends: list[int] = []
    lanes = capture.lanes()
    if len(lanes):
        begins.append(int(lanes.start.min()))
        ends.append(int(lanes.end.max()))
    for table in ("markers", "counters"):
        for frame in capture.scan(table, ["time"]):
            begins.append(int(frame["time"].min()))
            ends.append(int(frame["time"].max()))
    for frame in capture.scan("buffers", ["alloc", "free"]):
        begins.append(int(frame["alloc"].min()))
        ends.append(int(max(frame["alloc"].max(), frame["free"].max())))
    for frame in capture.scan("contexts", ["start", "dur"]) if contexts else ():
        known = frame["start"] != NONE
        if known.any():
            begins.append(int(frame["start"][known].min()))
            ends.append(int((frame["start"] + frame["dur"].clip(0))[known].max()))
    return (min(begins), max(ends)) if begins else None
