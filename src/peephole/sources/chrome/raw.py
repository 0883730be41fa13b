"""A block of a trace's bytes to columns: what runs beside Python, in as many threads as there are.

Values are numbered by their bytes in a table that a parser keeps from block to block; `Translator` turns these numbers
into the Interner's, block after block in the order of the file, so that nothing depends on who parsed what.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.sink import Utf8
from peephole.sources.chrome import args_bytes, counter_scan, json_scan
from peephole.sources.chrome.batch import NO_TIME, CounterValues, EventBatch, Interner
from peephole.sources.chrome.objects import DECODER, args_text, nested_id
from peephole.sources.chrome.times import nanoseconds
from peephole.sources.scans.byte_table import ByteTable

ROOM: Final = 65536
"""Events of a batch."""
_LARGEST: Final = 32 << 20
"""Bytes of a table from which on a parser begins a new one: distinct values without end must not fill the memory."""
_INSTANT: Final = np.isin(np.arange(256), list(b"iIR"))
_CATEGORY: Final = json_scan.TEXTS.index("cat")


class Table(ByteTable):
    """Raw values by number, and what translates them."""

    def __init__(self) -> None:
        super().__init__()
        self.raws: list[bytes] = []
        self._headed = np.zeros(0, np.bool_)
        self._heads = bytearray()
        self._bounds = np.zeros((1, 2), np.int64)

    def publish(self) -> None:
        """Makes the values that were added known to who translates them."""
        for first, past in self.places[len(self.raws) : self.count].tolist():
            self.raws.append(self.arena[first:past].tobytes())

    def heads(self, codes: NDArray[np.int32]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """How args begin that have one of these categories: bytes, and where they are for number - 1, 0, 1, …"""
        if len(self._headed) < self.count:
            self._headed = np.append(self._headed, np.zeros(self.count - len(self._headed), np.bool_))
            self._bounds = np.concatenate([self._bounds, np.zeros((self.count + 1 - len(self._bounds), 2), np.int64)])
        new = np.empty(len(codes), np.int32)
        for code in new[: json_scan.first_seen(codes, self._headed, new)].tolist():
            text = text_of(self.raw(code))
            if text:
                first = len(self._heads)
                self._heads += f'{{"cat":{json.dumps(text, ensure_ascii=False)}'.encode("utf-8", "backslashreplace")
                self._bounds[code + 1] = first, len(self._heads)
        return np.frombuffer(bytes(self._heads), np.uint8), self._bounds


def text_of(raw: bytes) -> str | None:
    """The text of a raw value, None for null."""
    text = raw.decode("utf-8", "replace")
    if text == "null":
        return None
    if text.startswith('"'):
        try:
            return str(json.loads(text, strict=False))
        except ValueError:
            return text[1:-1]
    return text


@dataclass(slots=True)
class SpanArgs:
    """Args of events, each made a text when somebody asks for it."""

    data: bytes
    other: bytes
    spans: NDArray[np.int32]
    states: NDArray[np.uint8]

    def __getitem__(self, row: int) -> str | None:
        state = self.states[row]
        if state == json_scan.NO_ARGS:
            return None
        data = self.other if state == args_bytes.ELSEWHERE else self.data
        return data[self.spans[0, row] : self.spans[1, row]].decode("utf-8", "replace")

    def texts(self, rows: NDArray[np.int64]) -> list[str | None]:
        """Those of many events."""
        sources = {json_scan.PLAIN: self.data, args_bytes.ELSEWHERE: self.other}
        spans = (self.spans[0, rows].tolist(), self.spans[1, rows].tolist(), self.states[rows].tolist())
        return [
            None if state == json_scan.NO_ARGS else sources[state][first:past].decode("utf-8", "replace")
            for first, past, state in zip(*spans, strict=True)
        ]


@dataclass(slots=True)
class RawBatch:
    """Columns of some events; see `json_scan.parse`."""

    letters: NDArray[np.uint8]
    times: NDArray[np.int64]
    codes: NDArray[np.int32]
    nested: list[tuple[int, bytes]]
    """Events with an `id2`, and its text."""
    args: SpanArgs
    packed: Utf8
    """Args, begun with the category, of the complete events that have a time."""
    moments: Utf8
    """The same of the instant ones."""
    counters: CounterValues | None


@dataclass(slots=True)
class Block:
    """What a block of bytes holds: its events up to `at`, and why they end there."""

    table: Table
    batches: list[RawBatch] = field(default_factory=list)
    at: int = 0
    state: int = json_scan.MORE


class BlockParser:
    """Parses one block after the other; each thread has its own."""

    def __init__(self) -> None:
        self._table = Table()
        self._odd = np.empty((1 << 12, 4), np.int64)

    def parse(self, data: bytes) -> Block:
        """All events of a block."""
        if len(self._table.arena) > _LARGEST:
            self._table = Table()
        table = self._table
        block = Block(table)
        array = np.frombuffer(data, np.uint8)
        plain = data.isascii() or _is_utf8(data)
        while True:
            batch, n = self._batch(data, array, block, plain)
            if n:
                block.batches.append(batch)
            if block.state != json_scan.MORE or n < ROOM:
                table.publish()
                return block

    def _batch(self, data: bytes, array: NDArray[np.uint8], block: Block, plain: bool) -> tuple[RawBatch, int]:
        table = block.table
        # events take at least two bytes
        room = min(ROOM, (len(data) - block.at) // 2 + 1)
        letters, times = np.empty((3, room), np.uint8), np.empty((2, room), np.int64)
        codes, spans = np.empty((len(json_scan.TEXTS), room), np.int32), np.empty((2, room), np.int32)
        states = np.empty(room, np.uint8)
        n = odd = 0
        while True:
            n, block.at, block.state, odd, table.count = json_scan.parse(
                array, block.at, len(array), n, letters, times, codes, spans, states,
                self._odd, odd, table.slots, table.arena, table.places, table.count,
            )  # fmt: skip
            if block.state != json_scan.FULL:
                break
            table.grow()
            if odd + 3 > len(self._odd):
                self._odd = np.concatenate([self._odd, np.empty_like(self._odd)])
        nested = []
        for row, which, first, past in self._odd[:odd].tolist():
            if which == json_scan.FIELD["id2"]:
                nested.append((row, data[first:past]))
            else:
                text = data[first:past].decode("utf-8", "replace").strip('"')
                times[which - json_scan.FIELD["ts"], row] = nanoseconds(text)
        states, codes = states[:n], codes[:, :n]
        other = _closer_look(data, array, spans, states, plain)
        phase, timed = letters[0, :n], times[0, :n] != NO_TIME
        packed, moments = (
            _packed(array, other, np.flatnonzero(own & timed), spans, states, codes[_CATEGORY], table)
            for own in (phase == ord("X"), _INSTANT[phase])
        )
        counters = _counters(array, other, np.flatnonzero((phase == ord("C")) & timed), spans, states, table)
        args = SpanArgs(data, other.tobytes(), spans, states)
        return RawBatch(letters[:, :n], times[:, :n], codes, nested, args, packed, moments, counters), n


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start > len(data) - 4 and "unexpected end" in error.reason
    return True


def _closer_look(
    data: bytes, array: NDArray[np.uint8], spans: NDArray[np.int32], states: NDArray[np.uint8], plain: bool
) -> NDArray[np.uint8]:
    """The texts of args that cannot stay as they stand; their spans point into these from now on."""
    odd = np.flatnonzero(states == json_scan.ODD)
    if not plain:  # not UTF-8: what is wrong is replaced, text by text
        kept = np.flatnonzero(states == json_scan.PLAIN).tolist()
        strange = [row for row in kept if not data[spans[0, row] : spans[1, row]].isascii()]
    elif not len(odd):
        return np.empty(0, np.uint8)
    else:
        strange = []
    parts: list[bytes] = []
    used = 0
    if plain:
        out = np.empty(int((spans[1, odd] - spans[0, odd]).sum()), np.uint8)
        used = args_bytes.compact(array, odd, spans, states, out)
        parts.append(out[:used].tobytes())
        odd = odd[states[odd] == json_scan.ODD]
    for row in [*strange, *odd.tolist()]:
        raw = data[spans[0, row] : spans[1, row]].decode("utf-8", "replace")
        text = raw if states[row] == json_scan.PLAIN else _reworded(raw)
        if text is None:
            states[row] = json_scan.NO_ARGS
            continue
        own = text.encode("utf-8", "backslashreplace")
        parts.append(own)
        spans[0, row], spans[1, row] = used, used + len(own)
        states[row] = args_bytes.ELSEWHERE
        used += len(own)
    return np.frombuffer(b"".join(parts), np.uint8)


def _reworded(raw: str) -> str | None:
    try:
        return args_text(DECODER.decode(raw))
    except (ValueError, RecursionError):
        return json.dumps({"args": raw})


def _packed(
    array: NDArray[np.uint8],
    other: NDArray[np.uint8],
    rows: NDArray[np.int64],
    spans: NDArray[np.int32],
    states: NDArray[np.uint8],
    categories: NDArray[np.int32],
    table: Table,
) -> Utf8:
    heads, bounds = table.heads(categories)
    offsets, missing = np.empty(len(rows) + 1, np.int64), np.empty(len(rows), np.bool_)
    args_bytes.sizes(rows, spans, states, categories, bounds, offsets, missing)
    out = np.empty(int(offsets[-1]), np.uint8)
    args_bytes.join(array, other, rows, spans, states, categories, bounds, heads, out)
    return Utf8(out, offsets, missing)


def _counters(
    array: NDArray[np.uint8],
    other: NDArray[np.uint8],
    rows: NDArray[np.int64],
    spans: NDArray[np.int32],
    states: NDArray[np.uint8],
    table: Table,
) -> CounterValues | None:
    used = int((spans[1, rows] - spans[0, rows]).sum())
    most = used // counter_scan.SHORTEST + len(rows)
    while not table.has_room(most, used):
        table.grow()
    row, key, value = np.empty(most, np.int64), np.empty(most, np.int32), np.empty(most, np.float64)
    made, table.count = counter_scan.values(
        array, other, rows, spans, states, table.slots, table.arena, table.places, table.count, row, key, value
    )
    if made < 0:
        return None
    distinct, own = np.unique(key[:made], return_inverse=True)
    names = [text_of(table.raw(code)) or "" for code in distinct.tolist()]
    return CounterValues(row[:made], own.astype(np.int32), value[:made], names)


class Translator:
    """The numbers of parsers' tables to the Interner's, given in the order of the file."""

    def __init__(self, intern: Interner) -> None:
        self.intern = intern
        self._known: dict[int, tuple[Table, NDArray[np.int32], NDArray[np.bool_]]] = {}

    def batch(self, table: Table, raw: RawBatch) -> EventBatch:
        """The events as the mapper takes them."""
        _, numbers, seen = self._own(table)

        def codes(which: str) -> NDArray[np.int32]:
            own = raw.codes[json_scan.TEXTS.index(which)]
            new = np.empty(min(len(own), len(seen)), np.int32)
            for code in new[: json_scan.first_seen(own, seen, new)].tolist():
                text = text_of(table.raws[code])
                numbers[code] = -1 if text is None else self.intern(text)
            found: NDArray[np.int32] = numbers[own]  # the last of the numbers is for none
            return found

        pid, ids = codes("pid"), codes("id")
        for row, text in raw.nested:
            if ids[row] < 0:
                ids[row] = self._nested(text, int(pid[row]))
        return EventBatch(
            phase=raw.letters[0],
            ts=raw.times[0],
            dur=raw.times[1],
            pid=pid,
            tid=codes("tid"),
            name=codes("name"),
            category=codes("cat"),
            id=ids,
            scope=codes("scope"),
            reach=raw.letters[1],
            encloses=raw.letters[2] == ord("e"),
            args=raw.args,
            packed=raw.packed,
            moments=raw.moments,
            counters=raw.counters,
        )

    def _own(self, table: Table) -> tuple[Table, NDArray[np.int32], NDArray[np.bool_]]:
        """What is known of a table, with room for all of its values."""
        found: Any = self._known.get(id(table))
        if found is None:
            # parsers have few tables at a time; one that nobody fills any more is soon out of use
            while len(self._known) >= 8:
                del self._known[next(iter(self._known))]
            found = (table, np.full(1, -1, np.int32), np.zeros(0, np.bool_))
        more = len(table.raws) - len(found[2])
        if more > 0:
            room = max(more, len(found[2]))
            found = (
                table,
                np.concatenate([found[1][:-1], np.full(room + 1, -1, np.int32)]),
                np.concatenate([found[2], np.zeros(room, np.bool_)]),
            )
        self._known[id(table)] = found
        return found  # type: ignore[no-any-return]

    def _nested(self, text: bytes, pid: int) -> int:
        try:
            value = DECODER.decode(text.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return -1
        found = nested_id(value, pid)
        return -1 if found is None else self.intern(found)
