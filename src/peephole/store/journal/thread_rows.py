"""Reads one thread's series of segments: numbers its texts, makes ids global, hands rows to a Builder."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.journal import (
    FLAG_OPEN,
    FLAG_PROVISIONAL,
    KIND_ARGS,
    KIND_FACTS,
    KIND_FREE,
    KIND_PLAN,
    KIND_PROBLEM,
    KIND_RUN,
    KIND_SETTLED,
    KIND_STRING,
    KIND_TEXT,
    NULL_LENGTH,
    SHORT,
    SLOT,
    TABLE_KINDS,
)
from peephole.model.sink import Strings
from peephole.model.tables import FORMAT_VERSION, Table
from peephole.store.journal.alike import uniform, with_ids
from peephole.store.journal.global_ids import TIMES, global_ids, is_id
from peephole.store.journal.layouts import RowLayout, layouts
from peephole.store.journal.processes import ProcessInfo, parse_object
from peephole.store.journal.runs import Runs
from peephole.store.journal.segments import Loaded, Split, split
from peephole.store.journal.track_numbers import Tracks
from peephole.store.sealing.build import Builder
from peephole.store.sealing.spool import RECORD, pick

_FLUSH: Final = 1 << 16
_MAX_TRACK: Final = 1 << 22
_LONGEST: Final = 1 << 61
_MAX_MISSING: Final = 1 << 24
"""Texts that may be missing between two; beyond that the number is damage."""
_I64: Final = struct.Struct("<q")
_U32: Final = struct.Struct("<I")
LOST: Final = "(lost)"
"""The name of a slice whose text was in a part of the journal that is gone."""


class ThreadReader:
    """Reads the segments of one thread in order; a segment that grew is read on from where it ended."""

    def __init__(self, process: ProcessInfo, tracks: Tracks, builder: Builder) -> None:
        self.process = process
        self.tracks = tracks
        self.builder = builder
        self._layouts = layouts(FORMAT_VERSION)
        self.texts: list[str] = []
        self._codes = np.zeros(0, np.int32)
        self._pending: tuple[int, str | None] | None = None
        self._rows: dict[int, list[bytes]] = {}
        self._frees: list[bytes] = []
        self._runs = Runs(process, tracks, builder)
        self._segment = -1
        self._slot = 0
        self._dropped = 0
        self._done = False
        self._gap = False
        self.provisional: Counter[str] = Counter()
        """How many slices whose time is an estimate were handed over, by the name of their track."""
        self.settled = False
        """Some of these are replaced by now."""
        self._held: list[tuple[NDArray[Any], NDArray[Any], NDArray[np.int64] | None, list[str | None] | None]] = []
        """Provisional slices that are handed over unless the rest of what there is replaces them."""
        self._settled_at = -1
        self._track_names: dict[int, str] = {}
        self.latest = 0
        """When the last slice ended, on the process's clock."""
        self._told: dict[tuple[int, int, int], tuple[int, str | None]] = {}
        """Context and args of slices that were open: by track, depth and start."""
        self._missing = False
        """There are texts that nobody knows."""

    def _problem(self, reason: str, count: int = 1, example: str = "") -> None:
        self.builder.manifest.problem(reason, count, example)

    def wants(self, number: int) -> int | None:
        """The slot from which a segment has something new for us; None when we have all of it."""
        if number < self._segment or (number == self._segment and self._done):
            return None
        return self._slot if number == self._segment else 0

    def read(self, number: int, path: Path, loaded: Loaded) -> bool:
        """Takes what is new in a segment, loaded from the slot that we wanted; True when there was something."""
        where = f"{path.parent.name}/{path.name}"
        if number > self._segment:
            if number > self._segment + 1:
                self._problem("journal segments that are missing", number - self._segment - 1, where)
                self._gap = True
            self._segment, self._slot, self._dropped, self._done = number, 0, 0, False
        if loaded.error is not None:
            self._problem("journal segments that cannot be read", 1, f"{where}: {loaded.error}")
            self._done = self._gap = True
            return False
        header, data = loaded.header, loaded.data
        if header is None:
            self._problem("journal segments that are none: wrong or missing header", 1, where)
            self._done = self._gap = True
            return False
        self._layouts = layouts(header.version)
        closed = header.used > 0
        damaged = cut = False
        if closed and self._slot == 0:
            if len(data) < header.used * SLOT:
                self._problem("journal segments that were cut short", 1, where)
                closed, cut = False, True
            elif not loaded.whole:
                self._problem("journal segments with a wrong checksum", 1, where)
                damaged = True
        self._done = closed or cut
        if closed:
            data = data[: max(0, header.used - self._slot) * SLOT]
        if header.dropped > self._dropped:
            lost = header.dropped - self._dropped
            self._dropped = header.dropped
            self.builder.manifest.dropped += lost
            why = SHORT[header.short] if header.short < len(SHORT) else "nobody knows why"
            self._problem(f"events that were lost: {why}", lost, where)
        found = split(data, closed, self._problem, where)
        self._slot += found.end
        news = bool(len(found.slices) or len(found.record_at))
        if news:
            self._take(found, where)
        self._gap = self._gap or cut or (damaged and _doubtful(found, self._layouts))
        return news

    def _take(self, found: Split, where: str) -> None:
        args_at: list[int] = []
        args: list[tuple[int, str | None]] = []
        others, alike = uniform(found, self._layouts)
        others, listed = with_ids(found, others, self._layouts)
        self._settled_at = -1
        few = np.array(others, np.int64)
        own = (found.record_at[few].tolist(), found.record_kind[few].tolist(), found.record_length[few].tolist())
        for at, kind, length in zip(*own, strict=True):
            payload = found.payload(at, length)
            if kind == KIND_STRING:
                # behind a gap nobody knows the number of a text: a name that is missing beats a wrong one
                if not self._gap:
                    self.texts.append(payload.decode("utf-8", "backslashreplace"))
            elif kind == KIND_TEXT:
                if len(payload) >= 4:
                    self._text(_U32.unpack_from(payload)[0], payload[4:].decode("utf-8", "backslashreplace"))
            elif kind == KIND_ARGS:
                if len(payload) >= 8:
                    text = payload[8:].decode("utf-8", "backslashreplace") if len(payload) > 8 else None
                    args_at.append(at)
                    args.append((_I64.unpack_from(payload)[0], text))
            elif kind in self._layouts:
                self._rows.setdefault(kind, []).append(payload)
                if len(self._rows[kind]) >= _FLUSH:
                    self._flush_rows(kind)
            elif kind == KIND_FREE:
                if len(payload) >= 16:
                    self._frees.append(payload[:16])
            elif kind == KIND_RUN:
                self._runs.add(payload)
            elif kind == KIND_PLAN:
                self._runs.plan(payload, where)
            elif kind == KIND_SETTLED:
                self._settled_at = at
                self._held = []
                self.settled = self.settled or bool(self.provisional)
            else:
                self._other(kind, payload, where)
        # after the texts that they may name
        for kind, data in alike:
            if kind == KIND_FREE:
                self._frees.append(data)
            elif kind == KIND_RUN:
                self._runs.add_many(data)
            else:
                self._flush_rows(kind)  # those came earlier
                self._append_rows(self._layouts[kind], data, {})
        for layout, data, offsets, ids in listed:
            self._flush_rows(TABLE_KINDS[layout.table.name])
            tail = offsets, global_ids(ids, self.process.ordinal)
            self._append_rows(layout, data, {layout.tails[0].name: tail})
        self._runs.flush(self.texts)
        if len(found.slices):
            self._slices(found, args_at, args)
        elif args:
            self._pending = args[-1]

    def _text(self, number: int, text: str) -> None:
        """Takes a text; they come in order but for those that a handler wrote in between, or that were lost."""
        missing = number - 1 - len(self.texts)
        if missing < 0:
            if number:
                self.texts[number - 1] = text
                if number < len(self._codes):
                    self._codes[number] = self.builder.names.number(text)
        elif missing <= _MAX_MISSING:
            self._missing = self._missing or missing > 0
            self.texts += [LOST] * missing
            self.texts.append(text)

    def _other(self, kind: int, payload: bytes, where: str) -> None:
        if kind == KIND_PROBLEM:
            if len(payload) >= 8:
                reason = payload[8:].decode("utf-8", "backslashreplace")
                self._problem(reason, max(0, _I64.unpack_from(payload)[0]))
        elif kind == KIND_FACTS:
            facts = parse_object(payload)
            if facts is None:
                self._problem("facts of the manifest that are no JSON", 1, where)
            else:
                for reserved in ("format", "state", "tables", "clean", "problems", "processes"):
                    facts.pop(reserved, None)
                self.builder.manifest.describe(facts)
        else:
            self._problem("journal records of an unknown kind", 1, f"{where}: kind {kind}")

    def _slices(self, found: Split, args_at: list[int], args: list[tuple[int, str | None]]) -> None:
        rows = found.slices
        records = np.zeros(len(rows), RECORD)
        records["start"] = rows["start"]
        if self.process.offset:
            records["start"] += self.process.offset
        records["dur"] = rows["dur"]
        records["depth"] = np.minimum(rows["depth"], 0x7FFF)
        correlation = rows["correlation"].astype(np.int64)
        records["correlation"] = global_ids(correlation, self.process.ordinal, zero_is_none=True)
        records["name"] = self._names(rows["name"])
        records["open"] = rows["flags"] & FLAG_OPEN
        context = None
        texts: list[str | None] | None = None
        if self._pending is not None:
            args_at, args = [-1, *args_at], [self._pending, *args]
            self._pending = None
        if args:
            context = np.full(len(rows), -1, np.int64)
            texts = [None] * len(rows)
            slots = np.arange(len(rows)) if found.slice_at is None else found.slice_at
            for row, (number, text) in zip(np.searchsorted(slots, args_at).tolist(), args, strict=True):
                if row < len(rows):
                    context[row] = number
                    texts[row] = text
                else:
                    self._pending = (number, text)
            context = global_ids(context, self.process.ordinal)
        track = rows["track"].astype(np.int64)
        if not self.process.clean:
            self._note_open(rows, context, texts)
        good = track < _MAX_TRACK
        if not good.all():
            self._problem("slices on an impossible track", int((~good).sum()))
        provisional = good & (rows["flags"] == FLAG_PROVISIONAL)
        if provisional.any():
            if not self.process.clean:
                slots = np.arange(len(rows)) if found.slice_at is None else found.slice_at
                held = np.flatnonzero(provisional & (slots > self._settled_at))
                self._held.append(_some(held, records, track, context, texts))
            good &= ~provisional
        if not good.all():
            records, track, context, texts = _some(np.flatnonzero(good), records, track, context, texts)
        records["track"] = self.tracks.globals(self.process.ordinal, track)
        self.builder.records(records, context, texts)

    def _note_open(self, rows: Any, context: NDArray[np.int64] | None, texts: list[str | None] | None) -> None:
        ends = rows["start"] + rows["dur"]
        self.latest = max(self.latest, int(ends[rows["dur"] <= _LONGEST].max(initial=0)))
        if context is not None and texts is not None:
            for row in np.flatnonzero(rows["flags"] == FLAG_OPEN).tolist():
                key = (int(rows["track"][row]), int(rows["depth"][row]), int(rows["start"][row]))
                self._told[key] = (int(context[row]), texts[row])

    def _flush_held(self) -> None:
        held, self._held = self._held, []
        for records, track, context, texts in held:
            for number, count in zip(*np.unique(track, return_counts=True), strict=True):
                self.provisional[self._track_names.get(int(number), "a device")] += int(count)
            records["track"] = self.tracks.globals(self.process.ordinal, track)
            self.builder.records(records, context, texts)

    def _names(self, numbers: Any) -> Any:
        """The Builder's numbers for this thread's."""
        names = self.builder.names
        if len(self._codes) <= len(self.texts):
            known = len(self._codes)
            new = [-1] if known == 0 else []
            new += [names.number(t) for t in self.texts[max(0, known - 1) :]]
            self._codes = np.concatenate([self._codes, np.array(new, np.int32)])
        if len(numbers) and int(numbers.max()) >= len(self._codes):
            gone = numbers >= len(self._codes)
            self._problem("names that were in a lost part of the journal", int(gone.sum()))
            return np.where(gone, names.number(LOST), self._codes[np.where(gone, 0, numbers)])
        codes = self._codes[numbers]
        if self._missing and (gone := codes == names.number(LOST)).any():
            self._problem("names that were in a lost part of the journal", int(gone.sum()))
        return codes

    def open_marks(self, marks: NDArray[Any], until: int) -> None:
        """Takes the spans that were begun last as open ones; those that have ended are there with their end."""
        records = np.zeros(len(marks), RECORD)
        records["start"] = marks["start"] + self.process.offset
        records["dur"] = np.maximum(until - marks["start"], 0)
        records["depth"] = np.minimum(marks["depth"], 0x7FFF)
        correlation = marks["correlation"].astype(np.int64)
        records["correlation"] = global_ids(correlation, self.process.ordinal, zero_is_none=True)
        records["name"] = self._names(marks["name"])
        records["open"] = 1
        rows = zip(marks["track"].tolist(), marks["depth"].tolist(), marks["start"].tolist(), strict=True)
        told = [self._told.get(row, (-1, None)) for row in rows]
        context = global_ids(np.array([number for number, _ in told], np.int64), self.process.ordinal)
        records["track"] = self.tracks.globals(self.process.ordinal, marks["track"].astype(np.int64))
        self.builder.records(records, context, [text for _, text in told])

    def flush(self) -> None:
        """Hands the rows over that are still here."""
        for kind in list(self._rows):
            self._flush_rows(kind)
        if self._frees:
            pairs = np.frombuffer(b"".join(self._frees), "<i8").reshape(-1, 2)
            times = pairs[:, 1] + self.process.offset
            self.builder.frees(global_ids(pairs[:, 0], self.process.ordinal), times)
            self._frees = []
        self._flush_held()

    def _flush_rows(self, kind: int) -> None:
        layout = self._layouts[kind]
        table = layout.table
        payloads = self._rows.pop(kind, [])
        good = []
        tails: dict[str, list[bytes | None]] = {column.name: [] for column in layout.tails}
        for payload in payloads:
            own = _tails(payload, layout.size, len(tails))
            if own is None:
                continue
            good.append(payload[: layout.size])
            for values, value in zip(tails.values(), own, strict=True):
                values.append(value)
        if len(good) < len(payloads):
            self._problem(f"rows of {table.name} that are damaged", len(payloads) - len(good))
        if good:
            self._append_rows(layout, b"".join(good), tails)

    def _append_rows(self, layout: RowLayout, data: bytes, tails: Mapping[str, Any]) -> None:
        """Hands rows over; a tail that is left out is null in all of them."""
        table = layout.table
        fixed = np.frombuffer(data, layout.dtype)
        rows: dict[str, Any] = {}
        for column in layout.fixed:
            rows[column.name] = self._column(table, column.name, np.ascontiguousarray(fixed[column.name]))
        for column in layout.tails:
            if column.name in tails:
                tail = tails[column.name]
                rows[column.name] = self._tail(column.type, tail) if isinstance(tail, list) else tail
        if table.name == "tracks":
            names: Strings = rows["name"]
            for number, code in zip(fixed["id"].tolist(), names.codes.tolist(), strict=True):
                self._track_names[number] = names.values[code] if code >= 0 else ""
        self.builder.append(table.name, rows)

    def _column(self, table: Table, name: str, data: Any) -> Any:
        column = table.column(name)
        if column.type == "str":
            used, inverse = _different(data, len(self.texts))
            known = [self.texts[n - 1] if 0 < n <= len(self.texts) else LOST if n else "" for n in used.tolist()]
            if LOST in known and (self._missing or used[-1] > len(self.texts)):
                gone = np.isin(data, used[[text is LOST for text in known]])
                self._problem("names that were in a lost part of the journal", int(gone.sum()))
            codes = np.where(used[inverse] == 0, -1, inverse)
            return Strings(codes, known)
        if column.type == "bool":
            return data != 0
        if is_id(table, column):
            return global_ids(data, self.process.ordinal, zero_is_none=column.default == 0)
        if column.unit == "tracks.id" or (table.name == "tracks" and column.unit == "track"):
            known_tracks = np.where(data >= _MAX_TRACK, -1, data)
            return self.tracks.globals(self.process.ordinal, known_tracks)
        if (table.name, name) in TIMES and self.process.offset:
            return (
                np.where(data == -1, -1, data + self.process.offset)
                if column.default == -1
                else data + self.process.offset
            )
        return data

    def _tail(self, kind: str, values: list[bytes | None]) -> Any:
        if kind == "ids":
            sizes = np.fromiter((0 if v is None else len(v) // 8 for v in values), np.int64, len(values))
            offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
            flat = b"".join(v[: len(v) // 8 * 8] for v in values if v is not None)
            return offsets, global_ids(np.frombuffer(flat, "<i8"), self.process.ordinal)
        if kind == "bytes":
            return values
        return [None if v is None else v.decode("utf-8", "backslashreplace") for v in values]


def _some(
    keep: NDArray[np.int64],
    records: NDArray[Any],
    track: NDArray[np.int64],
    context: NDArray[np.int64] | None,
    texts: list[str | None] | None,
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64] | None, list[str | None] | None]:
    """Those rows of what belongs to slices."""
    return (
        pick(records, keep),
        track[keep],
        None if context is None else context[keep],
        None if texts is None else [texts[i] for i in keep.tolist()],
    )


def _different(numbers: NDArray[Any], known: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The different numbers in their order, and the place of each among them. Those of texts need no sorting."""
    if len(numbers) == 0 or int(numbers.max()) > max(known, len(numbers)):
        return np.unique(numbers, return_inverse=True)
    used = np.flatnonzero(np.bincount(numbers))
    place = np.zeros(int(used[-1]) + 1, np.int64)
    place[used] = np.arange(len(used))
    return used, place[numbers]


def _doubtful(found: Split, tables: Mapping[int, RowLayout]) -> bool:
    """Whether a damaged segment may have had texts that are none any more."""
    own = {KIND_STRING, KIND_TEXT, KIND_ARGS, KIND_FREE, KIND_PROBLEM, KIND_FACTS, KIND_SETTLED, KIND_PLAN, KIND_RUN}
    known = {*own, *tables}
    return found.end * SLOT < len(found.data) or not known.issuperset(found.record_kind.tolist())


def _tails(payload: bytes, at: int, count: int) -> list[bytes | None] | None:
    """The columns behind the fixed ones, or None when the payload is damaged."""
    if len(payload) < at:
        return None
    values: list[bytes | None] = []
    for _ in range(count):
        if at + 4 > len(payload):
            return None
        (length,) = _U32.unpack_from(payload, at)
        at += 4
        if length == NULL_LENGTH:
            values.append(None)
            continue
        if at + length > len(payload):
            return None
        values.append(payload[at : at + length])
        at += length
    return values
