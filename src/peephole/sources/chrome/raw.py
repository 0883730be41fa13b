"""The compiled scan's results to an EventBatch: raw values numbered by content, each distinct one decoded once."""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from peephole.sources.chrome import json_scan
from peephole.sources.chrome.batch import EventBatch, Interner
from peephole.sources.chrome.objects import DECODER, args_text, nested_id
from peephole.sources.chrome.times import nanoseconds

ROOM = 65536
"""Events taken at a time."""


class RawTexts:
    """Numbers raw JSON values by their bytes and translates those numbers to the Interner's."""

    def __init__(self, intern: Interner) -> None:
        self.intern = intern
        self._slots = np.full(1 << 12, -1, np.int32)
        self._arena = np.empty(1 << 18, np.uint8)
        self._places = np.empty((1 << 11, 2), np.int64)
        self._count = 0
        self._translated = np.empty(0, np.int32)

    def codes(self, buf: NDArray[np.uint8], spans: NDArray[np.int64], n: int, field: int) -> NDArray[np.int32]:
        """The Interner's number of the field's text per event, -1 where the field is absent or null."""
        out = np.empty(n, np.int32)
        done = 0
        while done < n:
            done, self._count = json_scan.intern(
                buf, spans, done, n, field, out, self._slots, self._arena, self._places, self._count
            )
            if done < n:
                self._grow(int(spans[done, field, 1] - spans[done, field, 0]))
        self._translate()
        return np.where(out < 0, np.int32(-1), self._translated[out]) if self._count else out

    def _grow(self, size: int) -> None:
        self._slots = np.full(len(self._slots) * 2, -1, np.int32)
        arena = np.empty(max(len(self._arena) * 2, len(self._arena) + size), np.uint8)
        arena[: len(self._arena)] = self._arena
        places = np.empty((len(self._places) * 2, 2), np.int64)
        places[: len(self._places)] = self._places
        self._arena, self._places = arena, places
        json_scan.rehash(self._slots, self._arena, self._places, self._count)

    def _translate(self) -> None:
        new = [
            self._number(self._arena[self._places[i, 0] : self._places[i, 1]].tobytes())
            for i in range(len(self._translated), self._count)
        ]
        if new:
            self._translated = np.concatenate([self._translated, np.array(new, np.int32)])

    def _number(self, raw: bytes) -> int:
        text = raw.decode("utf-8", "replace")
        if text == "null":
            return -1
        if text.startswith('"'):
            try:
                text = json.loads(text, strict=False)
            except ValueError:
                text = text[1:-1]
        return self.intern(text)


def _args(buf: bytes, array: NDArray[np.uint8], spans: NDArray[np.int64], n: int) -> list[str | None]:
    state = np.empty(n, np.uint8)
    json_scan.args_state(array, spans, n, json_scan.FIELD["args"], state)
    starts = spans[:n, json_scan.FIELD["args"], 0].tolist()
    stops = spans[:n, json_scan.FIELD["args"], 1].tolist()
    states = state.tolist()
    if buf.isascii():
        text = buf.decode("ascii")  # slicing a text is several times as quick as decoding each piece
        out = [text[a:b] if s == json_scan.PLAIN else None for a, b, s in zip(starts, stops, states, strict=True)]
    else:
        out = [
            buf[a:b].decode("utf-8", "replace") if s == json_scan.PLAIN else None
            for a, b, s in zip(starts, stops, states, strict=True)
        ]
    for i in np.flatnonzero(state == json_scan.ODD).tolist():
        raw = buf[starts[i] : stops[i]].decode("utf-8", "replace")
        try:
            out[i] = args_text(DECODER.decode(raw))
        except (ValueError, RecursionError):
            out[i] = json.dumps({"args": raw})
    return out


def batch_from_spans(buf: bytes, spans: NDArray[np.int64], n: int, texts: RawTexts) -> EventBatch:
    """The n scanned events as columns."""
    array = np.frombuffer(buf, np.uint8)
    odd = np.empty(n, np.int64)

    def numbers(field: str) -> NDArray[np.int64]:
        out = np.empty(n, np.int64)
        column = json_scan.FIELD[field]
        for i in odd[: json_scan.times(array, spans, n, column, out, odd)].tolist():
            out[i] = nanoseconds(buf[spans[i, column, 0] : spans[i, column, 1]].decode("utf-8", "replace").strip('"'))
        return out

    def codes(field: str) -> NDArray[np.int32]:
        return texts.codes(array, spans, n, json_scan.FIELD[field])

    def first_byte(field: str) -> NDArray[np.uint8]:
        at = spans[:n, json_scan.FIELD[field], 0]
        quoted = (at >= 0) & (spans[:n, json_scan.FIELD[field], 1] - at > 2)
        return np.where(quoted, array[np.where(quoted, at + 1, 0)], 0).astype(np.uint8)

    pid, ids = codes("pid"), codes("id")
    nested = spans[:n, json_scan.FIELD["id2"]]
    for i in np.flatnonzero((ids < 0) & (nested[:, 0] >= 0)).tolist():
        try:
            value = DECODER.decode(buf[nested[i, 0] : nested[i, 1]].decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        text = nested_id(value, int(pid[i]))
        ids[i] = -1 if text is None else texts.intern(text)
    return EventBatch(
        phase=first_byte("ph"),
        ts=numbers("ts"),
        dur=numbers("dur"),
        pid=pid,
        tid=codes("tid"),
        name=codes("name"),
        category=codes("cat"),
        id=ids,
        scope=codes("scope"),
        reach=first_byte("s"),
        encloses=first_byte("bp") == ord("e"),
        args=_args(buf, array, spans, n),
    )
