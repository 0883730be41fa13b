"""A tape's events as columns, and how blocks of text become them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.sink import Sink
from peephole.sources.gt import grammar
from peephole.sources.gt.grammar import Fields, Head
from peephole.sources.gt.line_scan import Scan, scan

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

TIME_LIMIT: Final = 2.3e9
"""Seconds, 73 years: what a capture's clock holds. A real clock that is set at last jumps by less."""
NO_TIME: Final = np.iinfo(np.int64).min
"""Stands for a time that cannot be, until the events are in order."""
SIZE_LIMIT: Final = float(1 << 62)
_BEFORE_SIZES: Final = frozenset(" 0123456789")
"""How a field that looks like a size may begin."""


class Names:
    """Numbers for texts that repeat, in the order of their first appearance."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self._codes: dict[str, int] = {}

    def code(self, text: str) -> int:
        """The number of a text."""
        code = self._codes.get(text)
        if code is None:
            code = self._codes[text] = len(self.values)
            self.values.append(text)
        return code

    def codes(self, texts: Sequence[str]) -> Codes:
        """The numbers of many texts."""
        for text in dict.fromkeys(texts):
            self.code(text)
        return np.fromiter(map(self._codes.__getitem__, texts), np.int32, len(texts))


@dataclass(slots=True)
class Columns:
    """Events in the order of the file. `run` counts the headers seen before an event."""

    events: Names = field(default_factory=Names)
    who: Names = field(default_factory=Names)
    """`CLIENT 006b8b4567`, `WORKER worker_0`: source and id in one text, the doubled CLIENT made single."""
    commands: Names = field(default_factory=Names)
    seq: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    time: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    event: Codes = field(default_factory=lambda: np.zeros(0, np.int32))
    source: Codes = field(default_factory=lambda: np.zeros(0, np.int32))
    command: Codes = field(default_factory=lambda: np.zeros(0, np.int32))
    size: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    run: Codes = field(default_factory=lambda: np.zeros(0, np.int32))
    details: list[str] = field(default_factory=list)
    started: dict[int, str] = field(default_factory=dict)
    """Wall clock of a header, by run."""

    def __len__(self) -> int:
        return len(self.details)

    def take(self, rows: Ints) -> Columns:
        """The same events in another order, or some of them."""
        details = self.details
        return Columns(
            self.events, self.who, self.commands, self.seq[rows], self.time[rows], self.event[rows], self.source[rows],
            self.command[rows], self.size[rows], self.run[rows], [details[i] for i in rows.tolist()], self.started,
        )  # fmt: skip


class Builder:
    """Takes a tape's blocks of text, gives its columns."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._parts: list[tuple[Ints, Ints, Codes, Codes, Codes, Ints, Codes]] = []
        self._columns = Columns()
        self._run = 0
        self._whos: dict[tuple[str, str], str] = {}

    def text(self, block: bytes, last: bool = False) -> None:
        """Adds a block of lines of a log or a console."""
        found = scan(block)
        cut = block.count(b"\n") if last and block and not block.endswith(b"\n") else -1
        if cut >= 0:
            example = block[block.rfind(b"\n") + 1 :][:200].decode(errors="replace")
            self._sink.problem("the tape ends in the middle of a line", example=example)
        runs = [(0, self._run)]
        extra: list[tuple[int, Fields]] = []
        for at, text in found.odd:
            self._odd(at, text, found, extra, runs, cut)
        heads = np.array([self._code(head) for head in found.heads], np.int32).reshape(-1, 3)[found.head]
        sizes = np.array([self._size(text) for text in found.sizes], np.int64)[found.size]
        line, details = found.line, found.details
        seq, time = found.seq, self._times(found.milliseconds.astype(np.float64) / 1e3, 1e3, 1_000_000)
        if extra:
            more = [fields for _, fields in extra]
            line = np.concatenate((line, np.array([at for at, _ in extra], np.int64)))
            order = np.argsort(line, kind="stable")
            line = line[order]
            seq = np.concatenate((seq, np.array([int(f.seq) for f in more], np.int64)))[order]
            wild = np.array([float(f.time) for f in more], np.float64)
            time = np.concatenate((time, self._times(wild, 1e3, 1_000_000)))[order]
            codes = np.array([self._code(f.head) for f in more], np.int32)
            heads = np.concatenate((heads, codes))[order]
            sizes = np.concatenate((sizes, np.array([self._size(f.size) for f in more], np.int64)))[order]
            details = [*details, *(f.details for f in more)]
            details = [details[i] for i in order.tolist()]
        if len(line):
            run = np.empty(len(line), np.int32)
            for at, number in runs:
                run[np.searchsorted(line, at) :] = number
            self._finish(seq, time, heads[:, 0], heads[:, 1], heads[:, 2], sizes, run, details)

    def _odd(
        self, line: int, text: str, found: Scan, extra: list[tuple[int, Fields]], runs: list[tuple[int, int]], cut: int
    ) -> None:
        if grammar.is_prose(text):
            if text.startswith(grammar.TITLE):
                self._run += 1
                runs.append((line, self._run))
            elif clock := grammar.started(text):
                self._columns.started[self._run] = clock
            return
        fields = grammar.patient(text)
        if fields is not None:
            extra.append((line, fields))
            return
        before = int(np.searchsorted(found.line, line)) - 1
        if grammar.has_number(text) and line != cut:
            self._sink.problem("lines that are not understood", example=text[:200])
        elif extra and extra[-1][1].head.event == "ERROR" and (before < 0 or found.line[before] < extra[-1][0]):
            # an exception's message goes over several lines
            at, error = extra[-1]
            extra[-1] = (at, error._replace(details=f"{error.details}\n{text}"))
        elif before >= 0 and found.heads[found.head[before]].event == "ERROR":
            found.details[before] += f"\n{text}"
        elif line == cut:
            pass  # told already
        elif not text.strip("\0 \t\n"):
            self._sink.problem("lines of NUL bytes")
        else:
            self._sink.problem("lines that are not understood", example=text[:200])

    def _code(self, head: Head) -> tuple[int, int, int]:
        columns = self._columns
        who = columns.who.code(self._who(head.source, head.who))
        return columns.events.code(head.event), who, columns.commands.code(head.command)

    def _finish(
        self, seq: Ints, time: Ints, event: Codes, who: Codes, command: Codes, size: Ints, run: Codes,
        details: Sequence[str],
    ) -> None:  # fmt: skip
        self._parts.append((seq, time, event, who, command, size, run))
        if max(map(len, details)) > grammar.DETAILS_LIMIT:
            details = [self._cut(text) for text in details]
        self._columns.details += details
        # a size that the grammar does not have stands where the details should
        for text in {text for text in details if text[:1] in _BEFORE_SIZES}:
            if grammar.size_like(text.partition(" | ")[0]):
                self._sink.problem("sizes that are not understood", example=text[:200])

    def _cut(self, text: str) -> str:
        if len(text) > grammar.DETAILS_LIMIT:
            self._sink.problem("details longer than 64 KB, cut", example=text[:200])
        return text[: grammar.DETAILS_LIMIT]

    def _times(self, seconds: NDArray[np.float64], per_second: float, nanoseconds: int) -> Ints:
        wild = ~(np.abs(seconds) < TIME_LIMIT)
        if wild.any():
            self._sink.problem("times beyond every clock: shown at the event before", int(wild.sum()))
            seconds = np.where(wild, 0.0, seconds)
        return np.where(wild, NO_TIME, np.rint(seconds * per_second).astype(np.int64) * nanoseconds)

    def _size(self, text: str) -> int:
        found = grammar.SIZE.fullmatch(text)
        if found is None:
            return -1
        value = float(found[1]) * grammar.UNITS[found[2]] if len(text) < 32 else SIZE_LIMIT
        if value >= SIZE_LIMIT:
            self._sink.problem("sizes beyond every memory", example=text[:40])
            return -1
        return round(value)

    def monitor(self, data: bytes, last: bool = False) -> None:
        """Adds a block of the monitor's JSON lines."""
        block = data.decode()
        messages: list[tuple[int, float, str, tuple[str, str], str, int, str]] = []
        runs: list[int] = []
        for line in block.split("\n"):
            if not line.strip():
                continue
            message = _monitor_row(line)
            if message is None:
                cut = last and not block.endswith("\n") and block.endswith(line)
                self._sink.problem(
                    "the tape ends in the middle of a line" if cut else "lines that are not understood",
                    example=line[:200],
                )
                continue
            messages.append(message)
            runs.append(self._run)
        if messages:
            seq, time, event, who, command, size, details = zip(*messages, strict=True)
            self._finish(
                np.array(seq, np.int64),
                self._times(np.array(time, np.float64), 1e9, 1),
                self._columns.events.codes(event),
                self._columns.who.codes([self._who(*pair) for pair in who]),
                self._columns.commands.codes(command),
                np.array(size, np.int64),
                np.array(runs, np.int32),
                details,
            )

    def _who(self, source: str, who: str) -> str:
        """Source and id in one text; newer tapes write CLIENT twice."""
        known = self._whos.get((source, who))
        if known is None:
            name = who.rstrip()
            if source == "CLIENT" and name.startswith("CLIENT "):
                name = name[7:]
            known = self._whos[source, who] = f"{source} {name}"
        return known

    def columns(self) -> Columns:
        """Everything that was added."""
        columns = self._columns
        if self._parts:
            columns.seq, columns.time, columns.event, columns.source, columns.command, columns.size, columns.run = (
                np.concatenate(part) for part in zip(*self._parts, strict=True)
            )
            self._parts = []
        return columns


def _monitor_row(line: str) -> tuple[int, float, str, tuple[str, str], str, int, str] | None:
    try:
        item = json.loads(line)
        event = str(item["event"])
        client = str(item.get("client", ""))[: grammar.NAME_LIMIT]
        seq, time, size = int(item["seq"]), float(item["timestamp"]), int(item.get("size_bytes") or 0)
        if not 0 <= seq < 1 << 62 or not 0 <= size < 1 << 62:
            return None
        details = item.get("details")
        source = "WORKER" if event.startswith("WORKER_") else "CLIENT"
        return seq, time, event, (source, client), str(item["command"]), size or -1, str(details or "")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return None
