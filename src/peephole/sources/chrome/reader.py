"""The events of a trace file, a batch at a time, in memory that does not grow with the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from peephole.errors import CaptureError
from peephole.model.sink import Sink
from peephole.sources.chrome.batch import MAX_EVENT, EventBatch, Interner
from peephole.sources.chrome.objects import DECODER, batch_of, plain
from peephole.sources.chrome.repair import mend, next_event

CHUNK = 8 << 20
SMALL = 2 << 20
"""Up to this size the plain parser is quicker than loading the compiled one."""
_STRAY = re.compile(rb'(?:"(?:[^"\\]|\\.)*"|[-0-9a-z][-+.0-9A-Za-z]*)(?=\s*[,\]])')
"""A text, number or word where an event should be."""
_KEY = re.compile(rb'\s*,?\s*"((?:[^"\\]|\\.)*)"\s*:\s*')


class ByteReader(Protocol):
    """What is needed of a file: its next bytes."""

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; empty at the end."""


@dataclass
class TraceReader:
    """Reads one file: `batches()` gives the events, `facts` fills with what stands beside them."""

    stream: ByteReader
    sink: Sink
    intern: Interner
    where: str
    advanced: Callable[[int], None] = lambda _count: None
    small: int = SMALL
    facts: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._data = b""
        self._ahead = b""
        self._ended = False

    def _fill(self) -> bool:
        """Appends what follows in the file; False at its end."""
        more = self._read(CHUNK)
        self._data += more
        return bool(more)

    def _read(self, wanted: int) -> bytes:
        """The next bytes of the file; none at its end."""
        more, self._ahead = self._ahead[:wanted], self._ahead[wanted:]
        while len(more) < wanted and not self._ended:
            found = self.stream.read(wanted - len(more))
            self._ended = not found
            self.advanced(len(found))
            more += found
        return more

    def _unread(self, data: bytes) -> None:
        """These bytes come once more."""
        self._ahead = data + self._ahead

    def batches(self) -> Iterator[EventBatch]:
        """All events in file order."""
        self._fill()
        self._data = self._data.removeprefix(b"\xef\xbb\xbf").lstrip()
        if self._data.startswith(b"["):
            self._data = self._data[1:]
            yield from self._events()
        elif self._data.startswith(b"{"):
            self._data = self._data[1:]
            yield from self._object()
        else:
            raise CaptureError(f"{self.where} is not a Chrome trace: it begins with neither [ nor {{.")

    def _object(self) -> Iterator[EventBatch]:
        """The keys of the outer object; `traceEvents` may come first, last or in between."""
        found = False
        while True:
            key = self._key()
            if key is None:
                break
            if key == "traceEvents":
                self._skip_blank()
                if not self._data.startswith(b"["):
                    break
                self._data = self._data[1:]
                found = True
                yield from self._events()
            elif not self._fact(key):
                break
        if not found:
            raise CaptureError(f"{self.where} holds no traceEvents, so it is not a Chrome trace.")

    def _skip_blank(self) -> None:
        self._data = self._data.lstrip()
        while not self._data and self._fill():
            self._data = self._data.lstrip()

    def _key(self) -> str | None:
        while True:
            match = _KEY.match(self._data)
            if match and (match.end() < len(self._data) or (self._ended and not self._ahead)):
                self._data = self._data[match.end() :]
                return match.group(1).decode("utf-8", "replace")
            stripped = self._data.lstrip(b" \t\r\n,")
            if stripped.startswith(b"}"):
                return None
            if len(self._data) > MAX_EVENT or not self._fill():
                if stripped:
                    self.sink.problem("the file was cut off", 1, self.where)
                return None

    def _fact(self, key: str) -> bool:
        """Takes the value of another key of the outer object; False when the file ends in it."""
        while True:
            try:
                value, end = DECODER.raw_decode(self._data.decode("utf-8", "surrogateescape"))
            except (ValueError, RecursionError):
                if len(self._data) > MAX_EVENT or not self._fill():
                    self.sink.problem("the file was cut off", 1, f"{self.where}, in {key}")
                    return False
                continue
            size = len(self._data.decode("utf-8", "surrogateescape")[:end].encode("utf-8", "surrogateescape"))
            if size == len(self._data) and self._fill():
                continue  # a number may go on
            self._data = self._data[size:]
            if size < 65536:
                self.facts[key] = plain(value)
            return True

    def _events(self) -> Iterator[EventBatch]:
        while len(self._data) <= self.small and self._fill():
            pass
        if len(self._data) <= self.small:
            yield from self._plain_events()
        else:
            yield from self._scanned_events()

    def _plain_events(self) -> Iterator[EventBatch]:
        text = self._data.decode("utf-8", "replace")
        events: list[dict[str, Any]] = []
        at = 0
        while True:
            while at < len(text) and text[at] in " \t\r\n,":
                at += 1
            if at >= len(text):
                self.sink.problem("the file was cut off", 1, self.where)
                self._data = b""
                break
            if text[at] == "]":
                self._data = text[at + 1 :].encode()
                break
            try:
                value, at = DECODER.raw_decode(text, at)
            except (ValueError, RecursionError):
                data = text[at:].encode()
                end = next_event(data, 0)
                self._broken(data[: end if end >= 0 else len(data)], end < 0, events)
                at = len(text) if end < 0 else at + len(data[:end].decode())
                if end < 0:
                    self._data = b""
                    break
                continue
            if isinstance(value, dict):
                events.append(value)
            else:
                self.sink.problem("not an event object", 1, str(value)[:80])
        for first in range(0, len(events), 65536):
            yield batch_of(events[first : first + 65536], self.intern)

    def _broken(self, raw: bytes, last: bool, events: list[dict[str, Any]]) -> None:
        text = raw.decode("utf-8", "replace").strip()
        if last:
            # only an event that the file closes is whole; completing a cut one would invent a value
            text = text[: max(text.rfind("]"), 0)] if text.endswith(("]", "}")) else ""
        event = mend(text.strip().rstrip(",")) if text else None
        if event is not None and "ph" in event:
            self.sink.problem("event with a stray quote, mended", 1, text[:120])
            events.append(event)
            return
        reason = "the file was cut off" if last else "event that is not JSON, left out"
        self.sink.problem(reason, 1, raw[:120].decode("utf-8", "replace"))

    def _scanned_events(self) -> Iterator[EventBatch]:
        from peephole.sources.chrome import json_scan
        from peephole.sources.chrome.blocks import Blocks

        blocks = Blocks(self.intern, self._read, self._unread, CHUNK)
        try:
            while True:
                yield from blocks.events(self._data)
                self._data = blocks.rest
                if blocks.state == json_scan.DONE:
                    return
                if blocks.state == json_scan.MORE:
                    break
                if not (yield from self._skip_broken()):
                    return
        finally:
            blocks.close()
        if len(self._data) > MAX_EVENT:
            raise CaptureError(f"An event in {self.where} is larger than {MAX_EVENT >> 20} MB; the file is damaged.")
        rest: list[dict[str, Any]] = []
        if self._data.strip(b" \t\r\n,"):
            self._broken(self._data, True, rest)
        else:
            self.sink.problem("the file was cut off", 1, self.where)
        if rest:
            yield batch_of(rest, self.intern)
        self._data = b""

    def _skip_broken(self) -> Generator[EventBatch, None, bool]:
        """Mends or skips the event that the bytes begin with; False when no other follows."""
        if stray := _STRAY.match(self._data):
            self.sink.problem("not an event object", 1, stray[0][:80].decode("utf-8", "replace"))
            self._data = self._data[stray.end() :]
            return True
        end = next_event(self._data, 0)
        while end < 0 and len(self._data) < MAX_EVENT and self._fill():
            end = next_event(self._data, 0)
        events: list[dict[str, Any]] = []
        self._broken(self._data[: end if end >= 0 else len(self._data)], end < 0, events)
        if events:
            yield batch_of(events, self.intern)
        self._data = self._data[end:] if end >= 0 else b""
        return end >= 0
