"""Parsed JSON objects to an EventBatch: the plain parser for small files, odd files and repaired events."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from peephole.sources.chrome.batch import NO_TIME, EventBatch, Interner, ListedArgs
from peephole.sources.chrome.times import nanoseconds

LONG = 4000
"""Digits of a number that is no longer taken as one; Python refuses to from 4,300 on."""


class Number(str):
    """A JSON number with a fraction, an exponent or endless digits, kept as its text so that no nanosecond is lost."""

    __slots__ = ()


def _integer(text: str) -> int | Number:
    return int(text) if len(text) < LONG else Number(text)


DECODER = json.JSONDecoder(parse_float=Number, parse_int=_integer, parse_constant=Number, strict=False)


def time_of(value: Any) -> int:
    """A `ts` or `dur` in ns; NO_TIME when it is absent or no number."""
    if isinstance(value, bool) or value is None:
        return int(NO_TIME)
    if isinstance(value, int):
        return value * 1000 if abs(value) < 2**62 // 1000 else int(NO_TIME)
    return nanoseconds(value) if isinstance(value, str) else int(NO_TIME)


def plain(value: Any, depth: int = 200) -> Any:
    """The value with Number turned into real numbers, and what JSON cannot say, or nests too deeply, into null."""
    if isinstance(value, Number):
        number = float(value)
        return number if math.isfinite(number) else None
    if isinstance(value, dict):
        return {key: plain(item, depth - 1) for key, item in value.items()} if depth else None
    if isinstance(value, list):
        return [plain(item, depth - 1) for item in value] if depth else None
    return value


def args_text(value: Any) -> str | None:
    """The JSON text of an event's args, null when there are none."""
    if value is None or value == {}:
        return None
    if not isinstance(value, dict):
        value = {"args": value}
    return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(plain(value))


def nested_id(value: Any, pid: int) -> str | None:
    """The text of an `id2`: a local one is another in every process, `pid` is the number of its text."""
    if not isinstance(value, dict):
        return None
    own = value.get("local")
    if own is not None:
        return f"{pid}:{_text(own)}"
    shared = value.get("global")
    return None if shared is None else _text(shared)


def _first(value: Any) -> int:
    return ord(value[0]) & 0x7F if isinstance(value, str) and value else 0


def batch_of(events: Sequence[dict[str, Any]], intern: Interner) -> EventBatch:
    """The events as columns."""

    def codes(values: list[Any]) -> Any:
        return np.array([-1 if v is None else intern(_text(v)) for v in values], np.int32)

    def numbers(key: str) -> Any:
        return np.array([time_of(e.get(key)) for e in events], np.int64)

    pid = codes([e.get("pid") for e in events])
    ids = [e["id"] if "id" in e else nested_id(e.get("id2"), own) for e, own in zip(events, pid.tolist(), strict=True)]
    return EventBatch(
        phase=np.array([_first(e.get("ph")) for e in events], np.uint8),
        ts=numbers("ts"),
        dur=numbers("dur"),
        pid=pid,
        tid=codes([e.get("tid") for e in events]),
        name=codes([e.get("name") for e in events]),
        category=codes([e.get("cat") for e in events]),
        id=codes(ids),
        scope=codes([e.get("scope") for e in events]),
        reach=np.array([_first(e.get("s")) for e in events], np.uint8),
        encloses=np.array([e.get("bp") == "e" for e in events], np.bool_),
        args=ListedArgs(args_text(e.get("args")) for e in events),
    )
