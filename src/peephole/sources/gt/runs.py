"""One tape file may hold several runs: which event belongs to which, each in the order of its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from peephole.model.sink import Sink
from peephole.sources.gt.columns import NO_TIME, Codes, Columns, Ints

MOST_RUNS: Final = 1000
"""Runs that are told apart by their numbers alone: no tape without headers has more, a damaged one may."""


@dataclass(frozen=True, slots=True)
class Run:
    """One dispatcher from start to end: its events by sequence number, and its wall clock when a header had it."""

    columns: Columns
    started: str | None
    fine: bool = False
    """Its times are exact: the dispatcher's monitor wrote it, not its log."""


def split(columns: Columns, sink: Sink) -> list[Run]:
    """The runs of a tape in the order of their first events, each sorted by sequence number."""
    if not len(columns):
        return []
    starts = columns.started
    if (np.diff(columns.seq) > 0).all() or len(np.unique(columns.seq)) == len(columns):
        # no number repeats: one run, however its lines were shuffled
        run = np.full(len(columns), columns.run[0], np.int32)
    elif _headers_tell(columns):
        run = columns.run
    else:
        run = _assign(columns, sink)
        starts = _starts(columns, run)
    found = []
    numbers, first = np.unique(run, return_index=True)
    for number in numbers[np.argsort(first)].tolist():
        rows = np.flatnonzero(run == number)
        back = int((np.diff(columns.seq[rows]) < 0).sum())
        if back:
            sink.problem("lines that stand out of the order of their numbers", back)
            rows = rows[np.argsort(columns.seq[rows], kind="stable")]
        part = _without_repeats(columns if len(rows) == len(columns) and not back else columns.take(rows), sink)
        lost = int(part.seq[-1] - part.seq[0] + 1 - len(part))
        if lost > 0:
            sink.problem("sequence numbers that are missing: lines were lost", lost)
        part.time = _possible(part.time)
        _clock(part, sink)
        found.append(Run(part, starts.get(number)))
    return found


def _headers_tell(columns: Columns) -> bool:
    """Whether no number repeats between two headers, so that the headers alone tell the runs apart."""
    for number in np.unique(columns.run):
        seq = columns.seq[columns.run == number]
        if (np.diff(seq) <= 0).any() and len(np.unique(seq)) < len(seq):
            return False
    first = columns.seq[np.flatnonzero(np.diff(columns.run, prepend=-1))]
    # two dispatchers that write into one file: the second header is followed by numbers of the first one
    return bool((first <= max(1, int(first[0]))).all())


def _assign(columns: Columns, sink: Sink) -> Codes:
    """A run for each event when numbers repeat: it follows the run that stopped one number before it."""
    beyond = 0
    seq, time = columns.seq.tolist(), columns.time.tolist()
    run = np.zeros(len(columns), np.int32)
    last: list[int] = []
    clock: list[int] = []
    seen: list[set[int]] = []
    for i, (number, now) in enumerate(zip(seq, time, strict=True)):
        follows = [r for r, n in enumerate(last) if n == number - 1]
        if not follows:
            follows = [r for r, known in enumerate(seen) if number not in known] if number > 1 else []
        if follows:
            r = min(follows, key=lambda r: (last[r] != number - 1, abs(now - clock[r]), -r))
        elif seen and seq[i - 1] == number and _same(columns, i, i - 1):
            r = int(run[i - 1])  # the same line twice
        elif len(last) == MOST_RUNS:
            r = MOST_RUNS - 1
            beyond += 1
        else:
            r = len(last)
            last.append(0)
            clock.append(now)
            seen.append(set())
        run[i], last[r], clock[r] = r, number, now
        seen[r].add(number)
    if beyond:
        sink.problem(f"numbers that come again more than {MOST_RUNS} times: put into the last run", beyond)
    return run


def _starts(columns: Columns, run: Codes) -> dict[int, str]:
    """The header's clock for each run: the one that was read last before the run's first event."""
    first: dict[int, int] = {}
    for r, header in zip(run.tolist(), columns.run.tolist(), strict=True):
        first.setdefault(r, header)
    taken: set[int] = set()
    starts = {}
    for r, header in first.items():
        if header in columns.started and header not in taken:
            starts[r] = columns.started[header]
            taken.add(header)
    return starts


def _same(columns: Columns, a: int, b: int) -> bool:
    return bool(
        columns.event[a] == columns.event[b]
        and columns.source[a] == columns.source[b]
        and columns.command[a] == columns.command[b]
        and columns.details[a] == columns.details[b]
    )


def _without_repeats(columns: Columns, sink: Sink) -> Columns:
    again = np.flatnonzero(np.diff(columns.seq, prepend=columns.seq[0] - 1) == 0)
    repeats: Ints = np.array([i for i in again.tolist() if _same(columns, i, i - 1)], np.int64)
    if not len(repeats):
        return columns
    sink.problem("lines that are there twice", len(repeats))
    return columns.take(np.setdiff1d(np.arange(len(columns)), repeats))


def _possible(time: Ints) -> Ints:
    """Times in the order of the numbers; one that cannot be is that of the event before, or of the first that can."""
    known = np.flatnonzero(time != NO_TIME)
    if len(known) == len(time):
        return time
    if not len(known):
        return np.zeros_like(time)
    return time[known[np.maximum(np.searchsorted(known, np.arange(len(time)), side="right") - 1, 0)]]


def _clock(columns: Columns, sink: Sink) -> None:
    back = int((np.diff(columns.time) < 0).sum())
    if back:
        sink.problem("events before which the tape's clock went back: ordered by number, times as written", back)
    below = int((columns.time < 0).sum())
    if below:
        sink.problem("times before the dispatcher's start", below)
