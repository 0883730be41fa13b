"""One trace file to rows: packets are scanned ahead in a thread, resolved in order, and handed on in columns."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peephole.model.sink import Sink, Strings, Utf8
from peephole.sources.perfetto import args_scan, event_scan, packet_scan
from peephole.sources.perfetto.annotations import args_json
from peephole.sources.perfetto.clocks import Clocks
from peephole.sources.perfetto.interned import Interned
from peephole.sources.perfetto.packet_names import packet_name
from peephole.sources.perfetto.slices import Events, Kinds, Slices
from peephole.sources.perfetto.tracks import Increments, Tracks
from peephole.sources.scans.byte_table import ByteTable
from peephole.sources.scans.pair_table import PairTable
from peephole.sources.scans.wire import Malformed, double, fields, packed, signed
from peephole.zstd import unpacked

CHUNK: Final = 512 << 10
ROOM: Final = (1 << 14) - 8
"""Packets that are read at once: 4 MB of columns, and three such blocks are there at a time.

No power of two: a packet's columns would all fall into the same few places of the processor's caches."""
_UNPACKED: Final = 512 << 20
"""Bytes that one packet may unpack to."""
_LOST: Final = {
    event_scan.UNKNOWN: "event of an unknown type",
    event_scan.TIMELESS: "event without a usable time",
    event_scan.LOST: "event that needs what was lost before it",
}
_CPU: Final = "thread time or instruction count of an event, which is not shown"
_PHASES: Final = "event of a legacy phase that has no picture"
Ints = NDArray[np.int64]
ByteRead = Callable[[int], bytes]


class _Block(NamedTuple):
    """Bytes and the packets in them."""

    data: NDArray[np.uint8]
    batches: list[tuple[Ints, int]]
    state: int
    ended: bool
    strange: int


class Reader:
    """Reads one file; `finish` appends what is known only at the end."""

    def __init__(self, sink: Sink, where: str, first_track: int, number: int) -> None:
        self._sink, self._where = sink, where
        self.clocks = Clocks()
        self.tracks = Tracks(first_track)
        self._names = ByteTable()
        self._names.add(b"")
        self._texts: list[str] = [""]
        self._interned = Interned(self._names)
        self._slices = Slices(sink, self._texts, first_track, number)
        self._sequences = PairTable()
        self._states = np.zeros((16, event_scan.SEQUENCE_COLUMNS), np.int64)
        self._extra: dict[int, tuple[list[int], list[int]]] = {}
        self._increments = Increments()
        self._generations = 1
        self._others: Counter[int] = Counter()
        self._problems: Counter[str] = Counter()
        self.packets = 0

    @property
    def number(self) -> int:
        """The correlation number that comes next."""
        return self._slices.number

    def read(self, read: ByteRead, advanced: Callable[[], None]) -> None:
        """Takes all packets of a stream."""
        with ThreadPoolExecutor(1, "peephole-scan") as pool:
            blocks = _blocks(read, self._where, self._problems)
            following = pool.submit(next, blocks, None)
            while (block := following.result()) is not None:
                following = pool.submit(next, blocks, None)
                for rows, n in block.batches:
                    self._take(block.data, rows, n, 0)
                self._interned.forget(self._states[: self._sequences.count, event_scan.S_GENERATION])
                advanced()

    def _take(self, data: NDArray[np.uint8], rows: Ints, n: int, depth: int) -> None:
        """Resolves packets; those that change what later ones mean, or hold others, one by one."""
        self.packets += n
        has, payload = rows[packet_scan.HAS, :n], rows[packet_scan.PAYLOAD, :n]
        broken = int((has & packet_scan.BROKEN > 0).sum())
        if broken:
            self._problems["packet that cannot be read"] += broken
        plain = has & (packet_scan.HAS_EVENT | packet_scan.HAS_STATE | packet_scan.BROKEN) == 0
        numbers, counts = np.unique(payload[plain], return_counts=True)
        self._others.update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))
        at = done = 0
        while at < n:
            at = self._resolve(data, rows, at, n)
            if at >= n:
                break
            packed_ones = bool(rows[packet_scan.HAS, at] & packet_scan.HAS_PACKED)
            if packed_ones:
                self._events(data, rows, done, at)
                done = at
            try:
                self._state(data, rows, at, depth)
            except (Malformed, RecursionError):
                self._problems["packet that cannot be read"] += 1
            rows[packet_scan.HAS, at] &= ~packet_scan.HAS_STATE
        self._events(data, rows, done, n)

    def _resolve(self, data: NDArray[np.uint8], rows: Ints, at: int, n: int) -> int:
        self._sequences.make_room(n - at)
        while len(self._states) < self._sequences.count + n - at:
            self._states = np.concatenate([self._states, np.zeros_like(self._states)])
        self.tracks.table.make_room(n - at)
        own = slice(at, n)
        size = int((rows[packet_scan.NAME_END, own] - rows[packet_scan.NAME, own]).sum())
        names, tracks, interned, clocks = self._names, self.tracks.table, self._interned.table, self.clocks
        while not names.has_room(n - at, size):
            names.grow()
        at, self._generations, self._sequences.count, tracks.count, names.count = event_scan.resolve(
            data, rows, at, n, self._generations,
            self._sequences.slots, self._sequences.keys, self._sequences.count, self._states,
            tracks.slots, tracks.keys, tracks.values, tracks.count,
            interned.slots, interned.keys, interned.values,
            clocks.table.slots, clocks.table.keys, clocks.states,
            names.slots, names.arena, names.places, names.count,
        )  # fmt: skip
        return int(at)

    def _state(self, data: NDArray[np.uint8], rows: Ints, at: int, depth: int) -> None:
        """Takes what a packet says beside or instead of an event."""
        packet = data[rows[packet_scan.AT, at] : rows[packet_scan.END, at]].tobytes()
        sequence, generation = int(rows[packet_scan.DOMAIN, at]), int(rows[packet_scan.GENERATION, at])
        for number, value in fields(packet):
            if not isinstance(value, bytes):
                continue
            if number == 12:
                self._interned.take(generation, value)
            elif number == 59:
                self._defaults(sequence, value)
            elif number == 60:
                self.tracks.descriptor(value)
            elif number == 6:
                self.clocks.snapshot(sequence, value)
            elif number == 2:
                self.tracks.process_tree(value)
            elif number == 43:
                self.tracks.process(value)
            elif number == 44:
                pid, tid, reference, _ = self.tracks.thread(value)
                self._states[sequence, event_scan.S_REFERENCE] = reference
                self._states[sequence, event_scan.S_THREAD] = signed(pid << 32 | tid & 0xFFFF_FFFF)
                self._states[sequence, event_scan.S_HAS_THREAD] = 1
            elif number in (50, 133):
                self._packed(value, number, depth)

    def _defaults(self, sequence: int, message: bytes) -> None:
        state = self._states[sequence]
        state[event_scan.S_CLOCK] = state[event_scan.S_HAS_TRACK] = 0
        self._extra.pop(sequence, None)
        for number, value in fields(message):
            if number == 58 and isinstance(value, int):
                state[event_scan.S_CLOCK] = value
            elif number == 11 and isinstance(value, bytes):
                whole: list[int] = []
                decimal: list[int] = []
                for inner, held in fields(value):
                    if inner == 11 and isinstance(held, int):
                        state[event_scan.S_TRACK], state[event_scan.S_HAS_TRACK] = signed(held), 1
                    elif inner == 31:
                        whole += packed(held)
                    elif inner == 45:
                        decimal += packed(held)
                self._extra[sequence] = whole, decimal

    def _packed(self, value: bytes, number: int, depth: int) -> None:
        """Takes the packets that were compressed into one."""
        if depth:
            self._problems["compressed packets within compressed packets, which are not read"] += 1
            return
        given = 0
        pieces = _inflated(value) if number == 50 else unpacked(value, CHUNK)

        def read(_size: int) -> bytes:
            nonlocal given
            try:
                piece = next(pieces, b"")
            except (zlib.error, OSError) as error:
                self._problems[f"compressed packets that are damaged ({type(error).__name__})"] += 1
                return b""
            given += len(piece)
            if given > _UNPACKED:
                self._problems["compressed packets that unpack to more than 512 MB, cut off there"] += 1
                return b""
            return piece

        for block in _blocks(read, "compressed packets", self._problems):
            for rows, n in block.batches:
                self._take(block.data, rows, n, depth + 1)

    def _events(self, data: NDArray[np.uint8], rows: Ints, first: int, past: int) -> None:
        """Hands the resolved events on."""
        while len(self._texts) < self._names.count:
            self._texts.append(self._names.raw(len(self._texts)).decode("utf-8", "replace"))
        op = rows[packet_scan.OP, first:past]
        chosen = np.flatnonzero((op > event_scan.NONE) & (op < event_scan.UNKNOWN)) + first
        for wrong, reason in _LOST.items():
            if count := int((op == wrong).sum()):
                legacy = wrong == event_scan.UNKNOWN and bool(rows[packet_scan.PHASE, first:past][op == wrong].any())
                self._problems[_PHASES if legacy else reason] += count
        if not len(chosen):
            return
        time = self.clocks.convert(rows[packet_scan.DOMAIN, chosen], rows[packet_scan.TIME, chosen])
        names = rows[packet_scan.NAME_CODE, chosen]
        unnamed = int((names < 0).sum())
        if unnamed:
            self._problems["event whose name was never told"] += unnamed
        has, op = rows[packet_scan.HAS, chosen], rows[packet_scan.OP, chosen]
        if timed := int((has & packet_scan.HAS_CPU > 0).sum()):
            self._problems[_CPU] += timed
        for at in np.flatnonzero(has & packet_scan.HAS_EXTRA).tolist():
            self._extra_values(data, rows, int(chosen[at]), int(time[at]))
        counted = op == event_scan.COUNTER
        if counted.any():
            self._counters(rows, chosen[counted], time[counted])
        moments = (op == event_scan.INSTANT) & (has & packet_scan.HAS_FLOWS == 0)
        self._write(data, rows, chosen, time, np.flatnonzero(~counted & ~moments), np.flatnonzero(moments))

    def _write(self, data: NDArray[np.uint8], rows: Ints, chosen: Ints, time: Ints, own: Ints, moments: Ints) -> None:
        """Slices and markers of the chosen packets, with their args."""
        both = chosen[np.concatenate([own, moments])]
        arena, spans = self._args(data, rows, both)
        cut = len(own)
        if len(own):
            events = Events(
                time[own],
                rows[packet_scan.TRACK, chosen[own]],
                rows[packet_scan.OP, chosen[own]],
                rows[packet_scan.NAME_CODE, chosen[own]],
                spans[0, :cut].copy(),
                spans[1, :cut].copy(),
                np.maximum(rows[packet_scan.LENGTH, chosen[own]], 0) * 1000,
                np.arange(cut, dtype=np.int64),
            )
            self._slices.take(events, arena, self._flows(data, rows, chosen[own]))
        if len(moments):
            first, past = spans[0, cut:], spans[1, cut:]
            texts, offsets = np.empty(int((past - first).sum()), np.uint8), np.empty(len(moments) + 1, np.int64)
            args_scan.gather(arena, first, past, texts, offsets)
            names = np.maximum(rows[packet_scan.NAME_CODE, chosen[moments]], 0)
            columns = {
                "time": time[moments],
                "name": Strings(names, self._texts),
                "kind": Strings(np.zeros(len(moments), np.int32), ["event"]),
                "track": rows[packet_scan.TRACK, chosen[moments]] + self.tracks.first,
                "args": Utf8(texts, offsets, past == first),
            }
            self._sink.append("markers", columns)

    def _args(self, data: NDArray[np.uint8], rows: Ints, chosen: Ints) -> tuple[NDArray[np.uint8], Ints]:
        """The args of packets: an arena and where they are in it."""
        table, pieces = self._interned.table, self._interned.json
        spans = np.empty((2, len(chosen)), np.int64)
        out = np.empty(max(1 << 16, 48 * len(chosen)), np.uint8)
        place = used = 0
        while True:
            place, used = args_scan.write(
                data, rows, chosen, place, spans, out, used,
                table.slots, table.keys, table.values, pieces.arena, pieces.places,
            )  # fmt: skip
            if place >= len(chosen):
                break
            out = np.concatenate([out, np.empty_like(out)])
        odd = np.flatnonzero(spans[0] < 0)
        if not len(odd):
            return out[:used], spans
        more = bytearray()
        for at in odd.tolist():
            row = int(chosen[at])
            event = data[rows[packet_scan.EVENT, row] : rows[packet_scan.EVENT_END, row]].tobytes()
            generation = int(rows[packet_scan.GENERATION, row])
            text = args_json(event, lambda kind, iid, own=generation: self._interned.value(own, kind, iid))  # type: ignore[misc]
            spans[0, at] = used + len(more)
            more += text
            spans[1, at] = used + len(more)
        return np.concatenate([out[:used], np.frombuffer(bytes(more), np.uint8)]), spans

    @staticmethod
    def _flows(data: NDArray[np.uint8], rows: Ints, chosen: Ints) -> tuple[Ints, Ints, Kinds]:
        some = np.flatnonzero(rows[packet_scan.HAS, chosen] & packet_scan.HAS_FLOWS)
        if not len(some):
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int8)
        own = chosen[some]
        room = int((rows[packet_scan.EVENT_END, own] - rows[packet_scan.EVENT, own]).sum())
        event, ids, ends = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int8)
        made, _ = event_scan.flow_ids(data, rows, own, event, ids, ends)
        return some[event[:made]], ids[:made].copy(), ends[:made].copy()

    def _counters(self, rows: Ints, chosen: Ints, time: Ints) -> None:
        has, bits = rows[packet_scan.HAS, chosen], rows[packet_scan.VALUE, chosen]
        valued = has & (packet_scan.HAS_INT | packet_scan.HAS_DOUBLE) > 0
        if not valued.all():
            self._problems["counter without a number"] += int((~valued).sum())
            has, bits, time, chosen = has[valued], bits[valued], time[valued], chosen[valued]
        value = np.where(has & packet_scan.HAS_DOUBLE > 0, bits.view(np.float64), bits.astype(np.float64))
        self._values(rows[packet_scan.TRACK, chosen], time, value)

    def _values(self, track: Ints, time: Ints, value: NDArray[np.float64]) -> None:
        for number in np.unique(track).tolist():
            told = self.tracks.counter_of(number)
            if told is None or (told.multiplier == 1 and not told.incremental):
                continue
            own = track == number
            value[own] *= told.multiplier
            if told.incremental:
                value[own] = self._increments.take(number, value[own])
        self._sink.append("counters", {"track": track + self.tracks.first, "time": time, "value": value})

    def _extra_values(self, data: NDArray[np.uint8], rows: Ints, row: int, time: int) -> None:
        """Counters that an event carries along."""
        whole: list[int] = []
        decimal: list[int] = []
        values: list[float] = []
        decimals: list[float] = []
        for number, value in fields(data[rows[packet_scan.EVENT, row] : rows[packet_scan.EVENT_END, row]].tobytes()):
            if number == 31:
                whole += packed(value)
            elif number == 45:
                decimal += packed(value)
            elif number == 12:
                values += [float(signed(one)) for one in packed(value)]
            elif number == 46:
                decimals += np.frombuffer(value, "<f8").tolist() if isinstance(value, bytes) else [double(value)]
        sequence = self._sequences.entry(0, int(rows[packet_scan.SEQUENCE, row]))
        default = self._extra.get(sequence, ([], []))
        pairs = [*zip(whole or default[0], values, strict=False), *zip(decimal or default[1], decimals, strict=False)]
        if not pairs:
            self._problems["value of a counter that was never told"] += len(values) + len(decimals)
            return
        numbers = [self.tracks.table.entry(event_scan.COUNTED, signed(uuid)) for uuid, _ in pairs]
        self._values(
            np.array(numbers, np.int64), np.full(len(pairs), time), np.array([value for _, value in pairs], np.float64)
        )

    def finish(self) -> int:
        """Appends open slices, arrows and tracks; gives the number of the next track."""
        self._slices.finish()
        for reason, count in self._problems.items():
            self._sink.problem(reason, count, self._where)
        strangers = self.clocks.strangers
        if strangers and len(strangers) + bool(self.clocks.facts()["base_ns"] is not None) > 1:
            for clock, count in strangers.items():
                reason = f"event of clock {self.clocks.name(clock)}, which nothing relates to the others"
                self._sink.problem(reason, count)
        for number, count in sorted(self._others.items()):
            if number and (name := packet_name(number)):
                self._sink.problem(f"packet that is not shown: {name}", count)
        return self.tracks.finish(self._sink, self._texts)


def _blocks(read: ByteRead, where: str, problems: Counter[str]) -> Iterator[_Block]:
    """Packets of a stream, some bytes at a time."""
    rest = b""
    wanted = CHUNK
    while True:
        more = read(wanted)
        data = rest + more if rest else more
        array = np.frombuffer(data, np.uint8)
        batches: list[tuple[Ints, int]] = []
        at, state = 0, packet_scan.MORE
        while at < len(data):
            rows = np.zeros((packet_scan.COLUMNS, min(ROOM, (len(data) - at) // 2 + 1)), np.int64)
            n, at, state, strange = packet_scan.scan(array, at, len(data), rows)
            if strange:
                problems["record that is no packet"] += strange
            if n:
                batches.append((rows, n))
            if state != packet_scan.MORE or n < rows.shape[1]:
                break
        rest = data[at:]
        if batches:
            yield _Block(array, batches, state, not more, 0)
        if state != packet_scan.MORE:
            what = "a length that cannot be" if state == packet_scan.STRANGE else "something that is no packet"
            problems[f"the file is damaged: {what}; the rest of it is lost"] += 1
            return
        if not more:
            if rest:
                problems["the file was cut off"] += 1
            return
        wanted = max(CHUNK, len(rest))


def _inflated(value: bytes) -> Iterator[bytes]:
    stream = zlib.decompressobj()
    data = value
    while data and not stream.eof:
        yield stream.decompress(data, CHUNK)
        data = stream.unconsumed_tail
    if tail := stream.flush():
        yield tail
