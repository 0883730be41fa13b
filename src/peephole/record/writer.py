"""Writes one thread's series of segments.

Only the thread that holds a writer uses it, so there is no lock. Signal handlers and finalizers may interrupt it:
room is reserved first (no call between reading and moving `pos`, so that nothing can get in between) and filled then.
Each method that reserves spells it out for that reason: a helper would be a call, and one more for every event.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable, Mapping
from time import perf_counter_ns
from typing import Any, Final

from peephole.model.journal import (
    INLINE,
    KIND_ARGS,
    KIND_FACTS,
    KIND_SLICE,
    KIND_STRING,
    PREFIX,
    SLICE,
    SLOT,
)
from peephole.record import segment
from peephole.record.rows import FORMATS, text_bytes, text_of

_CACHED_TEXTS: Final = 1 << 16
_CACHED_CHARS: Final = 1 << 22
_RESERVE: Final = 4096
_LARGEST_RECORD: Final = 1 << 30
_RETRY_NS: Final = 200_000_000
CONTEXT: Final = struct.Struct("<q")
_pack_slice: Final = SLICE.pack_into
_pack_first: Final = struct.Struct(f"{PREFIX.format}{INLINE}sxB").pack
"""A record's first slot, with as much of the payload as fits and without flags."""
LAST: Final = SLOT - 1
"""Where in its first slot a record's kind is."""


class Writer:
    """Appends records; what does not fit on the disk is counted and dropped, never raised."""

    # fmt: off
    __slots__ = (
        "_chars", "_ended", "_grow", "_next_text", "_number", "_open", "_path", "_retry", "_rolling", "_size",
        "_unplaced", "buf", "dropped", "limit", "on_resume", "pos", "texts", "thread",
    )
    # fmt: on

    def __init__(self, thread: int, open_segment: Callable[[int, int, int], tuple[mmap.mmap, str]]) -> None:
        self.thread = thread
        self.buf: Any = None
        """The mapped segment; None before the first one, and `limit` is 0 then."""
        self.pos = 0
        self.limit = 0
        self.texts: dict[str, int] = {}
        """Numbers of the texts that were written lately; bounded, so that a name per event costs no memory."""
        self.dropped = 0
        self.on_resume: Callable[[], None] | None = None
        self._open = open_segment
        self._path = ""
        self._number = 0
        self._grow = segment.FIRST_BYTES
        self._size = 0
        self._next_text = 1
        self._chars = 0
        self._retry = 0
        self._rolling = False
        self._ended = False
        self._unplaced = 0

    def record(self, kind: int, payload: bytes) -> bool:
        """Appends a record of any kind but a slice; False when it was dropped."""
        return self._append(kind, slots(payload))

    def _append(self, kind: int, block: bytes) -> bool:
        need = len(block)
        pos = self.pos
        end = pos + need
        if end > self.limit:
            if not self.roll(need):
                return False
            pos = self.pos
            end = pos + need
        self.pos = end
        buf = self.buf
        buf[pos:end] = block
        buf[pos + LAST] = kind
        return True

    def records(self, whole: list[bytes]) -> bool:
        """Appends records that are whole, made by `slots` and SLICE: many together cost hardly more than one."""
        if not whole:
            return True
        first, kind = whole[0], whole[0][LAST]
        if self._append(kind, b"".join([first[:LAST], b"\0", first[SLOT:], *whole[1:]])):
            return True
        if not self._ended:  # one is counted by now; args belong to the slice behind them
            self._drop(sum(record[LAST] != KIND_ARGS for record in whole) - 1)
        return False

    def intern(self, text: Any) -> int:
        """The number of a text, which is written when it is new; -1 when there was no room for it."""
        if type(text) is not str:
            text = text_of(text)
        number = self.texts.get(text)
        if number is not None:
            return number
        payload = text_bytes(text)
        block = slots(payload)
        need = len(block)
        pos = self.pos
        end = pos + need
        if end > self.limit:
            if not self.roll(need):
                return -1
            pos = self.pos
            end = pos + need
        self.pos = end
        buf = self.buf
        number = self._next_text  # belongs to the record just reserved: the reader counts them
        self._next_text = number + 1
        buf[pos:end] = block
        buf[pos + LAST] = KIND_STRING
        if len(text) < _CACHED_CHARS // 16:
            self._chars += len(text)
            if len(self.texts) >= _CACHED_TEXTS or self._chars > _CACHED_CHARS:
                self.texts.clear()
                self._chars = len(text)
            self.texts[text] = number
        return number

    def slice(self, track: int, start: int, dur: int, name: Any, depth: int, correlation: int, flags: int = 0) -> bool:
        """Appends a slice without context and args: one slot."""
        number = self.texts.get(name) or self.intern(name)
        if number < 0:
            return False
        pos = self.pos
        end = pos + SLOT
        if end > self.limit:
            if not self.roll(SLOT):
                return False
            pos = self.pos
            end = pos + SLOT
        self.pos = end
        buf = self.buf
        try:
            _pack_slice(buf, pos, start, dur, number, correlation, track, depth, flags, KIND_SLICE)
        except struct.error:
            blank(buf, pos)
            raise
        return True

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
    ) -> bool:
        """Appends a slice and what belongs to it in one reservation, so that nothing gets between them."""
        number = self.texts.get(name) or self.intern(name)
        if number < 0:
            return False
        slot = SLICE.pack(start, dur, number, correlation, track, depth, flags, KIND_SLICE)
        block = slots(CONTEXT.pack(context) + (b"" if args is None else text_bytes(args))) + slot
        return self._append(KIND_ARGS, block)

    def row(self, table: str, columns: Mapping[str, Any]) -> bool:
        """Appends a row of any table; False when it was dropped."""
        kind, encode = FORMATS[table]
        if "from" in columns:
            columns = {"from_" if name == "from" else name: value for name, value in columns.items()}
        payload = encode(self.texts, self.intern, **columns)
        return payload is not None and self.record(kind, payload)

    def roll(self, need: int) -> bool:
        """Goes on in a new segment with room for that many bytes. False, and the event counted, when there is none."""
        if self._ended:
            return False
        if self._rolling and self.pos + need <= self._size:
            return True  # a signal handler's event, while the next segment is made: the reserve is for these
        if self._rolling or need > _LARGEST_RECORD or (not self.limit and perf_counter_ns() < self._retry):
            self._drop()
            return False
        self._rolling = True
        try:
            self._next_segment(need)
        except OSError:
            self.limit = 0  # every event comes here until there is room again
            self._retry = perf_counter_ns() + _RETRY_NS
            self._drop()
            return False
        finally:
            self._rolling = False
        if self.on_resume is not None:
            self.on_resume()
            if self.pos + need > self.limit:
                return self.roll(need)
        return True

    def end(self) -> None:
        """Takes no more segments. The thread that writes may be in the middle of a record: nothing else is touched."""
        self._ended = True
        self.limit = 0

    def close(self) -> None:
        """Ends the series and its open segment; for the thread that writes, or when there is none any more."""
        self.end()
        if self.buf is not None:
            segment.close(self.buf, self._path, self.pos)
        self.buf = None

    def _next_segment(self, need: int) -> None:
        least = -(-(need + SLOT + _RESERVE) // segment.FIRST_BYTES) * segment.FIRST_BYTES
        size = max(self._grow, least)
        try:
            new, path = self._open(self.thread, self._number, size)
        except OSError:
            if least == size:
                raise
            size = least  # a nearly full disk may have room for this one
            new, path = self._open(self.thread, self._number, size)
        grow = min(self._grow * 2, segment.LARGEST_BYTES)
        limit = size - _RESERVE
        # no call from here until all is in place: a handler that gets in between finds the one segment or the other
        old, old_path, end, unplaced = self.buf, self._path, self.pos, self._unplaced
        self.buf = new
        self.pos = SLOT
        self.limit = limit
        self._size = size
        self._path = path
        self._number += 1
        self._grow = grow
        if old is not None:
            self._unplaced = 0  # they are in that segment's header
            segment.close(old, old_path, end)
        elif unplaced:
            segment.count_dropped(new, unplaced)

    def _drop(self, count: int = 1) -> None:
        self.dropped += count
        self._unplaced += count
        if self.buf is not None:
            segment.count_dropped(self.buf, self._unplaced)


def blank(buf: mmap.mmap, pos: int) -> None:
    """Makes a reserved slot that cannot be filled say nothing; a hole would end the segment for its reader."""
    buf[pos : pos + SLOT] = slots(b"{}")
    buf[pos + LAST] = KIND_FACTS


def slots(payload: bytes, kind: int = 0) -> bytes:
    """The slots of a record of any kind but a slice; in a segment its kind stays 0 until all the rest is there."""
    length = len(payload)
    if length <= INLINE:
        return _pack_first(length, payload, kind)
    rest = payload[INLINE:]
    return _pack_first(length, payload, kind) + rest + bytes(-len(rest) % SLOT)
