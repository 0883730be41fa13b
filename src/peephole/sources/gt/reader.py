"""Reads tapes into rows: every variant, whatever is wrong with them counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import compress
from pathlib import Path
from typing import Final

from peephole.model.collector import no_collecting
from peephole.model.sink import Sink
from peephole.sources.base import Progress
from peephole.sources.gt.columns import Builder, Columns
from peephole.sources.gt.rows import Book, write_run
from peephole.sources.gt.runs import Run, split
from peephole.sources.gt.text import read_blocks

_GAP: Final = 1_000_000_000
"""Between two runs whose distance no header tells."""


def read_tapes(paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
    """Turns tapes into rows: each run of each file becomes a session of its own."""
    runs: list[Run] = []
    with no_collecting():
        for i, path in enumerate(paths):
            progress(i, len(paths))
            log, monitor = read_columns(path, sink)
            runs += split(log, sink)
            runs += [replace(run, fine=True) for run in split(monitor, sink)]
        runs = _without_doubles(runs)
        if all(run.started for run in runs):
            runs.sort(key=lambda run: run.started or "")
        offsets, told = _offsets(runs)
        book = Book()
        sessions = []
        for number, (run, offset) in enumerate(zip(runs, offsets, strict=True), 1):
            name = None if len(runs) == 1 else f"run {number}" + (f" · {run.started}" if run.started else "")
            write_run(run, sink, book, name, offset)
            sessions.append({"name": name, "started": run.started, "offset": offset, "events": len(run.columns)})
    if not told:
        sink.problem("runs whose distance in time no header tells: each is shown one second after the last")
    sink.describe(
        source="gt",
        tape={
            "engine": "gt",
            "resolution": 1 if runs and all(run.fine for run in runs) else 1_000_000,
            "sessions": sessions,
            "events": book.events,
            "clients": book.clients,
            "workers": book.workers,
        },
    )
    progress(len(paths), len(paths))


def read_columns(path: Path, sink: Sink) -> tuple[Columns, Columns]:
    """The events of a tape file in the order of the file: those of a log, and those of the monitor."""
    log, monitor = Builder(sink), Builder(sink)
    waiting: bytes | None = None
    for block in read_blocks(path, sink):
        # one block behind: only the last one may end in the middle of a line
        if waiting is not None:
            _take(waiting, log, monitor)
        waiting = block
    if waiting is not None:
        _take(waiting, log, monitor, last=True)
    return log.columns(), monitor.columns()


def _take(block: bytes, log: Builder, monitor: Builder, last: bool = False) -> None:
    """Adds the lines of a block; somebody may have put a log and the monitor's lines into one file."""
    if not (block[:64].lstrip().startswith(b"{") or b"\n{" in block):
        log.text(block, last)
        return
    lines = block.splitlines(keepends=True)
    told = [_is_object(line) for line in lines]
    monitor.monitor(b"".join(compress(lines, told)), last)
    log.text(b"".join(line for line, mine in zip(lines, told, strict=True) if not mine), last)


def _is_object(line: bytes) -> bool:
    """Whether a line is the monitor's, be it cut off."""
    return line.lstrip().startswith(b"{") and b'"seq"' in line


def _without_doubles(runs: Sequence[Run]) -> list[Run]:
    """The runs, one of which the monitor saw too only once: its times are exact, the log has the wall clock."""
    kept: list[Run] = []
    for run in runs:
        twin = next((i for i, other in enumerate(kept) if other.fine is not run.fine and _same_run(other, run)), None)
        if twin is None:
            kept.append(run)
        else:
            better = run if run.fine else kept[twin]
            kept[twin] = replace(better, started=run.started or kept[twin].started)
    return kept


def _same_run(a: Run, b: Run) -> bool:
    x, y = a.columns, b.columns
    return (
        len(x) == len(y)
        and bool((x.seq == y.seq).all())
        and bool((abs(x.time - y.time) <= 1_000_000).all())
        and x.details == y.details
    )


def _offsets(runs: Sequence[Run]) -> tuple[list[int], bool]:
    """Where each run begins on the capture's clock, and whether the headers tell all of it."""
    offsets: list[int] = []
    told = True
    end = 0
    for i, run in enumerate(runs):
        offset = 0
        if i:
            offset = end + _GAP - min(0, int(run.columns.time.min()))
            if run.started and runs[0].started:
                offset = _seconds(runs[0].started, run.started) * 1_000_000_000
            else:
                told = False
        offsets.append(offset)
        end = max(end, offset + int(run.columns.time.max()))
    return offsets, told


def _seconds(a: str, b: str) -> int:
    form = "%Y-%m-%d %H:%M:%S"
    try:
        return int((datetime.strptime(b, form) - datetime.strptime(a, form)).total_seconds())
    except ValueError:
        return 0
