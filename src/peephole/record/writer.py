"""Writes one thread's series of segments.

Only the thread that holds a writer uses it, so there is no lock. But signal handlers, finalizers and tracing functions
may come in between any two steps of Python, and write as well. So:

- a slot is written, and the position moved, by one call of C: `write` of the mapped file;
- a record of several slots is written so too, but for its kind, which is put in when all the rest is there. Its
  reader skips one that has none;
- while the next segment is made, which takes long, what others write waits in memory: were each to make one, handlers
  that come often would interrupt each other for ever. A handler that itself takes long does make one;
- two that make the next segment at once agree on one of them (`following.setdefault`). The other stays empty;
- a closed segment is at its end: whoever still holds it finds no room and goes on in the next one.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Callable, Mapping
from itertools import count
from time import perf_counter_ns
from typing import Any, Final

from peephole.model.journal import (
    INLINE,
    KIND_ARGS,
    KIND_SLICE,
    KIND_TEXT,
    PREFIX,
    SLICE,
    SLOT,
)
from peephole.record import segment
from peephole.record.rows import FORMATS, text_bytes, text_of
from peephole.record.segment import Segment

_CACHED_TEXTS: Final = 1 << 16
_CACHED_CHARS: Final = 1 << 22
_LARGEST_RECORD: Final = 1 << 30
_RETRY_NS: Final = 200_000_000
_WAITING: Final = 64
_SHORT_BLOCK: Final = 4096
_LONG_NS: Final = 50_000_000
"""How many blocks wait while a segment is made, how long they are, and how long it may take."""
_TOO_LARGE: Final = 5
_SHORT: Final = {
    errno.ENOSPC: 0,
    errno.EDQUOT: 0,
    errno.EFBIG: 0,
    errno.EMFILE: 1,
    errno.ENFILE: 1,
    errno.ENOMEM: 2,
    errno.ENOENT: 3,
    errno.ENOTDIR: 3,
    errno.EACCES: 4,
    errno.EPERM: 4,
    errno.EROFS: 4,
}
"""What was short (model/journal.py: SHORT), by the error that said so; else the disk failed."""
_FAILED: Final = 6
CONTEXT: Final = struct.Struct("<q")
_NUMBER: Final = struct.Struct("<I")
_pack_slice: Final = SLICE.pack
NO_CONTEXT: Final = CONTEXT.pack(-1)
_pack_first: Final = struct.Struct(f"{PREFIX.format}{INLINE}sxB").pack
"""A record's first slot, with as much of the payload as fits and without flags."""
LAST: Final = SLOT - 1
"""Where in its first slot a record's kind is."""


class _Nowhere:
    """Where a writer is before its first segment and behind its last: there is no room."""

    __slots__ = ("base", "following", "used")

    def __init__(self) -> None:
        self.following: dict[str, Segment] = {}
        self.base = self.used = 0

    def write(self, _: bytes) -> int:
        raise ValueError

    def tell(self) -> int:
        raise ValueError

    def close(self) -> None:
        pass

    def lost(self, count: int, short: int) -> None:
        pass


class Writer:
    """Appends records; what does not fit on the disk is counted and dropped, never raised."""

    # fmt: off
    __slots__ = (
        "_chars", "_ended", "_grow", "_losses", "_next_text", "_number", "_open", "_retry", "_rolling", "_waiting",
        "dropped", "on_resume", "place", "short", "texts", "thread",
    )
    # fmt: on

    def __init__(self, thread: int, open_segment: Callable[[int, int, int], Segment]) -> None:
        self.thread = thread
        self.place: Any = _Nowhere()
        """The segment that is written."""
        self.texts: dict[str, int] = {}
        """Numbers of the texts that were written lately; bounded, so that a name per event costs no memory."""
        self.dropped = 0
        """Events that were lost."""
        self.short = 0
        """What was short when the last one was, see model/journal.py."""
        self.on_resume: Callable[[], None] | None = None
        self._open = open_segment
        self._number = 0
        self._next_text = count(1)
        self._losses = count(1)
        self._grow = segment.FIRST_BYTES
        self._chars = 0
        self._retry = 0
        self._rolling = 0
        self._waiting: list[bytes] = []
        self._ended = False

    def record(self, kind: int, payload: bytes, counts: bool = True) -> bool:
        """Appends a record of any kind but a slice; False when there was no room, and one more lost if it counts."""
        if len(payload) <= INLINE:
            written = self.put(_pack_first(len(payload), payload, kind))
        else:
            written = self._append(slots(payload), kind)
        if not written and counts:
            self.lose()
        return written

    def put(self, block: bytes) -> bool:
        """Appends what is whole and short: a slot, or two of which the second may be missing after a kill."""
        while True:
            place = self.place
            try:
                place.write(block)
            except ValueError:
                if self._waits(block):
                    return True
                if not self.roll(place, len(block)):
                    return False
            else:
                return True

    def _append(self, block: bytes, kind: int, head: bytes | None = None) -> bool:
        """Appends a block whose first slot has no kind, and then gives it its kind, or makes it `head`."""
        need = len(block)
        while True:
            place = self.place
            try:
                before = place.tell()
                place.write(block)
            except ValueError:
                if self._waits((block[:LAST] + bytes((kind,)) if head is None else head) + block[SLOT:]):
                    return True
                if not self.roll(place, need):
                    return False
                continue
            try:
                at = place.tell() - need
                buf = place.buf
                if at != before:  # something came in between: before it, or behind
                    at = buf.find(block, before)
                if head is None:
                    buf[at + LAST] = kind
                else:
                    buf[at : at + SLOT] = head
                if place.used:
                    place.stamp()  # closed meanwhile
            except (ValueError, IndexError):  # unmapped: the process was forked meanwhile
                pass
            return True

    def records(self, whole: list[bytes]) -> bool:
        """Appends records that are whole, made by `slots` and SLICE: many together cost hardly more than one."""
        if not whole:
            return True
        first = whole[0]
        block = b"".join(whole)
        if len(block) == SLOT:
            written = self.put(block)
        else:
            # until it is there whole it is one record to be skipped
            head = first[:SLOT]
            covering = PREFIX.pack(len(block) - SLOT + INLINE) + block[PREFIX.size : LAST] + b"\0" + block[SLOT:]
            written = self._append(covering, 0, head)
        if not written:  # args belong to the slice behind them
            self.lose(sum(record[LAST] not in (KIND_ARGS, KIND_TEXT) for record in whole))
        return written

    def intern(self, text: Any) -> int:
        """The number of a text, which is written when it is new; -1 when there was no room for it."""
        if type(text) is not str:
            text = text_of(text)
        number = self.texts.get(text)
        if number is not None:
            return number
        number = next(self._next_text)
        if not self.record(KIND_TEXT, _NUMBER.pack(number) + text_bytes(text), counts=False):
            return -1
        if len(text) < _CACHED_CHARS // 16:
            self._chars += len(text)
            if len(self.texts) >= _CACHED_TEXTS or self._chars > _CACHED_CHARS:
                self.texts.clear()
                self._chars = len(text)
            self.texts[text] = number
        return number

    def slice(
        self,
        track: int,
        start: int,
        dur: int,
        name: Any,
        depth: int,
        correlation: int,
        flags: int = 0,
        counts: bool = True,
    ) -> bool:
        """Appends a slice without context and args: one slot. struct.error for what it cannot say."""
        number = self.texts.get(name) or self.intern(name)
        written = number >= 0 and self.put(
            _pack_slice(start, dur, number, correlation, track, depth, flags, KIND_SLICE)
        )
        if not written and counts:
            self.lose()
        return written

    def slice_with_args(
        self,
        track: int,
        start: int,
        dur: int,
        name: Any,
        depth: int,
        correlation: int,
        context: int,
        args: str | None,
        flags: int = 0,
        counts: bool = True,
    ) -> bool:
        """Appends a slice and what belongs to it in one block, so that nothing gets between them."""
        number = self.texts.get(name) or self.intern(name)
        written = False
        if number >= 0:
            slot = _pack_slice(start, dur, number, correlation, track, depth, flags, KIND_SLICE)
            payload = CONTEXT.pack(context) if args is None else CONTEXT.pack(context) + text_bytes(args)
            written = self.slice_with(payload, slot)
        if not written and counts:
            self.lose()
        return written

    def slice_with(self, payload: bytes, slot: bytes) -> bool:
        """Appends args, or context and args, and the slot of the slice that they belong to."""
        if len(payload) <= INLINE:
            return self.put(_pack_first(len(payload), payload, KIND_ARGS) + slot)
        return self._append(slots(payload) + slot, KIND_ARGS)

    def row(self, table: str, columns: Mapping[str, Any], counts: bool = True) -> bool:
        """Appends a row of any table; False when there was no room, and one more lost if it counts."""
        kind, encode = FORMATS[table]
        if "from" in columns:
            columns = {"from_" if name == "from" else name: value for name, value in columns.items()}
        payload = encode(self.texts, self.intern, **columns)
        written = payload is not None and self.record(kind, payload, counts=False)
        if not written and counts:
            self.lose()
        return written

    def lose(self, events: int = 1) -> None:
        """Counts events that were lost; what comes after the end is not."""
        if self._ended or events <= 0:
            return
        for _ in range(events):
            total = next(self._losses)
        self.dropped = total
        place = self.place
        place.lost(total - place.base, self.short)

    def _waits(self, block: bytes) -> bool:
        """Whether a block was put aside until an outer frame has made the next segment."""
        since = self._rolling
        if not since or len(block) > _SHORT_BLOCK or len(self._waiting) >= _WAITING:
            return False
        if perf_counter_ns() - since > _LONG_NS:
            return False
        self._waiting.append(block)
        return True

    def _write_waiting(self, room: bool) -> None:
        while self._waiting:
            block = self._waiting.pop(0)
            whole = len(block) == SLOT
            rest = block[:LAST] + b"\0" + block[SLOT:]
            written = room and (self.put(block) if whole else self._append(rest, block[LAST]))
            if not written and block[LAST] != KIND_TEXT:
                self.lose()

    def roll(self, full: Any, need: int) -> bool:
        """Goes on behind a segment that has no room for so many bytes. False when there is no room anywhere."""
        if self._ended:
            return False
        if "next" not in full.following:
            if need > _LARGEST_RECORD:
                self.short = _TOO_LARGE
                return False
            if perf_counter_ns() < self._retry:
                return False
            outer, self._rolling = self._rolling, perf_counter_ns()
            try:
                made = self._next_segment(need)
            except OSError as error:
                self.short = _SHORT.get(error.errno or 0, _FAILED)
                self._retry = perf_counter_ns() + _RETRY_NS
                self._rolling = outer
                self._write_waiting(False)
                return False
            finally:
                self._rolling = outer
            if full.following.setdefault("next", made) is made:
                self._move_on(full)
                self._end_of(full, made)
                self._write_waiting(True)
                if self.on_resume is not None:
                    self.on_resume()
                return not self._ended
            made.close()  # a handler has made another one meanwhile
        self._move_on(full)
        self._write_waiting(True)
        return not self._ended

    def _move_on(self, full: Any) -> None:
        place = full
        while (following := place.following.get("next")) is not None:
            place = following
        if not self._ended:
            self.place = place

    def _end_of(self, full: Any, following: Segment) -> None:
        """Closes a segment that another one follows."""
        lost = self.dropped
        if type(full) is _Nowhere:
            if lost:
                following.lost(lost, self.short)
            return
        following.base = lost
        if lost > full.base:
            full.lost(lost - full.base, self.short)
        full.close()

    def end(self) -> None:
        """Takes no more segments. The thread that writes may be in the middle of a record: nothing else is touched."""
        self._ended = True

    def close(self) -> None:
        """Ends the series and its open segment; for the thread that writes, or when there is none any more."""
        self.end()
        place, self.place = self.place, _Nowhere()
        place.close()

    def _next_segment(self, need: int) -> Segment:
        least = -(-(need + SLOT) // segment.FIRST_BYTES) * segment.FIRST_BYTES
        size = max(self._grow, least)
        try:
            made = self._make(size)
        except OSError:
            if least == size:
                raise
            made = self._make(least)  # a nearly full disk may have room for this one
        self._grow = min(self._grow * 2, segment.LARGEST_BYTES)
        return made

    def _make(self, size: int) -> Segment:
        number = self._number
        while True:
            try:
                made = self._open(self.thread, number, size)
            except FileExistsError:  # a handler's, which came in between
                number += 1
            else:
                self._number = number + 1
                return made

    def begin(self) -> None:
        """Makes the first segment at once instead of with the first event."""
        self.roll(self.place, SLOT)


def slots(payload: bytes, kind: int = 0) -> bytes:
    """The slots of a record of any kind but a slice; in a segment its kind stays 0 until all the rest is there."""
    length = len(payload)
    if length <= INLINE:
        return _pack_first(length, payload, kind)
    rest = payload[INLINE:]
    return _pack_first(length, payload, kind) + rest + bytes(-len(rest) % SLOT)
