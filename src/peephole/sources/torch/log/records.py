"""The records of a structured log, one after the other, in memory that does not grow with the file.

A record is a line with a header and JSON; with `has_payload`, the lines that begin with a tab after it are its payload,
whose MD5 that key holds. Two processes that write into one file tear each other's payloads; the checksums put them
together again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from peephole.model.sink import Sink

HEADER: Final = re.compile(
    rb"^(?:\[rank(?P<rank>\d{1,9})\]:\s*)?[VDIWEC](?P<date>\d{4}) (?P<time>\d\d:\d\d:\d\d\.\d{1,9}) "
    rb"(?P<process>\d{1,18})(?: \d{1,18})? (?P<place>[^\]\n]{1,1000})\] (?=\{)"
)
_ENVELOPE: Final = frozenset(
    ("frame_id", "frame_compile_id", "attempt", "compiled_autograd_id", "rank", "stack", "has_payload")
)
_MAX_LINE: Final = 256 << 20
_MAX_PAYLOAD: Final = 512 << 20
_SHORT: Final = 120
_TOGETHER: Final = "payload that another process' record was written into, put together"


class Lines(Protocol):
    """What is needed of a file: its next line."""

    def readline(self, size: int, /) -> bytes:
        """Up to `size` bytes, to the end of a line; empty at the end."""


@dataclass(slots=True)
class Record:
    """One record. `body` is the value of its kind, `envelope` what it belongs to."""

    kind: str
    body: dict[str, Any]
    envelope: dict[str, Any]
    process: int
    rank: int
    date: str
    """MMDD of the local time."""
    clock: str
    """The time of day, `14:26:29.260000`."""
    place: str
    """File and line of torch that wrote it."""
    payload: bytes = b""
    sum: str = ""
    """MD5 that the payload should have; empty for a record without one."""
    lines: list[bytes] = field(default_factory=list)
    """Of a payload that is not complete yet."""

    @property
    def text(self) -> str:
        """The payload as text."""
        return self.payload.decode("utf-8", "replace")

    def json(self) -> Any:
        """The payload as JSON; None when it is none."""
        try:
            return json.loads(self.payload)
        except (ValueError, RecursionError):
            return None


def read_records(stream: Lines, sink: Sink, where: str) -> Iterator[Record]:
    """All records in the order of the file; what is not understood is counted."""
    torn: Record | None = None
    for record, whole in _raw(stream, sink, where):
        if not record.sum:
            stray, record.lines = record.lines, []
            if torn is not None and stray and _agrees(torn, [*torn.lines, *stray]):
                sink.problem(_TOGETHER, 1, where)
                torn.lines += stray
                _finish(torn)
                yield torn
                torn, stray = None, []
            if stray:
                sink.problem("lines of a payload that belong to no record", len(stray), where)
            if torn is not None:
                yield _kept(torn, sink)
                torn = None
            yield record
            continue
        if whole:
            _finish(record)
            if torn is not None:
                yield _kept(torn, sink)
                torn = None
            yield record
            continue
        mine = _prefix(record)
        if torn is not None and mine is not None and _agrees(torn, [*torn.lines, *record.lines[mine:]]):
            sink.problem(_TOGETHER, 1, where)
            torn.lines += record.lines[mine:]
            del record.lines[mine:]
            for one in (torn, record):
                _finish(one)
                yield one
            torn = None
            continue
        if torn is not None:
            yield _kept(torn, sink)
        torn = record
        if mine is not None:
            sink.problem("lines of a payload that belong to no record", len(record.lines) - mine, where)
            del record.lines[mine:]
            _finish(record)
            yield record
            torn = None
    if torn is not None:
        yield _kept(torn, sink)


def _kept(record: Record, sink: Sink) -> Record:
    sink.problem("payload whose checksum is wrong, kept as it is", 1, f"{record.kind} at {record.clock}")
    _finish(record)
    return record


def _finish(record: Record) -> None:
    record.payload = b"\n".join(record.lines)
    record.lines = []


def _agrees(record: Record, lines: list[bytes]) -> bool:
    data = b"\n".join(lines)
    return record.sum in (_md5(data), _md5(data + b"\n"))


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _prefix(record: Record) -> int | None:
    """How many lines of a payload the checksum is of, when it is not all of them."""
    digest = hashlib.md5(usedforsecurity=False)
    for number, line in enumerate(record.lines):
        digest.update(line if number == 0 else b"\n" + line)
        if digest.hexdigest() == record.sum:
            return number + 1
    return 0 if record.sum == _md5(b"") else None


def _raw(stream: Lines, sink: Sink, where: str) -> Iterator[tuple[Record, bool]]:
    """Records with the lines that follow them, and whether their checksum agrees."""
    current: Record | None = None
    size = 0
    while line := stream.readline(_MAX_LINE):
        cut = not line.endswith(b"\n")
        line = line.rstrip(b"\r\n")
        if line.startswith(b"\t"):
            if current is None:
                sink.problem("lines of a payload that belong to no record", 1, _shown(line))
            elif size + len(line) > _MAX_PAYLOAD:
                sink.problem("payload of more than 512 MB, cut", 1, current.kind)
            else:
                current.lines.append(line[1:])
                size += len(line)
            continue
        if not line:
            continue
        if current is not None:
            yield current, not current.sum or _agrees(current, current.lines)
        size = 0
        current = _parsed(line, sink, cut)
    if current is not None:
        yield current, not current.sum or _agrees(current, current.lines)


def _parsed(line: bytes, sink: Sink, cut: bool) -> Record | None:
    head = HEADER.match(line)
    if head is None:
        sink.problem("line that is not a record", 1, _shown(line))
        return None
    try:
        facts = json.loads(line[head.end() :])
    except (ValueError, RecursionError):
        sink.problem("the file was cut off" if cut else "record that is not JSON", 1, _shown(line))
        return None
    kind = next((key for key in facts if key not in _ENVELOPE), None) if isinstance(facts, dict) else None
    if kind is None:
        sink.problem("record without a kind", 1, _shown(line))
        return None
    body = facts[kind]
    envelope = {key: facts[key] for key in _ENVELOPE if key in facts}
    rank = envelope.get("rank", head["rank"])
    found = envelope.get("has_payload")
    return Record(
        kind,
        body if isinstance(body, dict) else {"value": body},
        envelope,
        int(head["process"]),
        int(rank) if isinstance(rank, int | bytes) and 0 <= int(rank) < 1 << 31 else -1,
        head["date"].decode(),
        head["time"].decode(),
        head["place"].decode("utf-8", "replace").strip(),
        sum=found if isinstance(found, str) else "",
    )


def _shown(line: bytes) -> str:
    return line[:_SHORT].decode("utf-8", "replace").strip()
