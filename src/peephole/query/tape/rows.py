"""The slices of a capture that are events of a tape, as columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peephole.store.capture import Capture
from peephole.store.tables.frame import Texts

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

_CHUNK: Final = 1 << 16
_BLOCK: Final = 1 << 12
_KEPT: Final = 64
"""Blocks of args that are kept: as many lanes may be read side by side."""
_NUMBERS: Final = ("seq", "size", "pair", "of", "report")


@dataclass(slots=True)
class EventRows:
    """The slices of a capture that are events, as columns in the order of the table, and where every slice stands."""

    row: Ints
    track: Ints
    start: Ints
    dur: Ints
    numbers: NDArray[np.int64]
    """Columns seq, size, pair, of, report; -1 for none."""
    event: Ints
    op: Ints
    command: Ints
    reply_first: Flags
    failed: Flags
    details: Details
    names: dict[str, tuple[str, ...]]
    all_track: Ints
    all_start: Ints
    all_correlation: Ints


class Details:
    """The details of events by row, read when somebody asks: most questions about a tape need none of them."""

    def __init__(self, texts: Sequence[str] | _Lines, rows: Ints | None = None) -> None:
        self._texts = texts
        self._rows = rows

    def __getitem__(self, row: int) -> str:
        return self._texts[row if self._rows is None else int(self._rows[row])]

    def take(self, rows: Ints) -> Details:
        """Those of some rows, in that order."""
        return Details(self._texts, rows if self._rows is None else self._rows[rows])


class _Lines:
    """The details in the args of a capture's slices, by slice. Some blocks are kept: a list reads neighbours."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._blocks: dict[int, Texts] = {}

    def __getitem__(self, row: int) -> str:
        number = row // _BLOCK
        block = self._blocks.pop(number, None)
        if block is None:
            rows = slice(number * _BLOCK, (number + 1) * _BLOCK)
            block = self._capture.read("slices", ["args"], rows).texts("args")
        self._blocks[number] = block
        if len(self._blocks) > _KEPT:
            self._blocks.pop(next(iter(self._blocks)), None)  # the one that was not asked for longest
        facts = loads(block[row % _BLOCK] or "")
        return str(facts.get("details") or "") if isinstance(facts, dict) else ""


def event_rows(capture: Capture, plain: dict[int, str]) -> EventRows:
    """The events of a capture: out of its typed messages, or, where a cluster was recorded, out of its slices' args.

    `plain` says which event a slice without args is, by its track.
    """
    return _typed(capture) if capture.count("messages") else _told(capture, plain)


def _typed(capture: Capture) -> EventRows:
    slices = capture.read("slices", ["track", "start", "dur", "correlation"])
    found = capture.read("messages")
    row = places(slices["correlation"], found["slice"])
    own = np.flatnonzero(row >= 0)
    row = row[own]
    # in the order of the slices, as if they had been found there
    turn = np.argsort(row, kind="stable")
    own, row = own[turn], row[turn]
    # a column lies in one piece, as it is read
    numbers = np.full((len(own), len(_NUMBERS)), -1, np.int64, order="F")
    for i, name in enumerate(_NUMBERS[:4]):
        numbers[:, i] = found[name][own]
    coded = {name: _used(found.texts(name).codes[own], found.texts(name).values) for name in ("event", "op", "command")}
    return EventRows(
        row, slices["track"][row].astype(np.int64), slices["start"][row], slices["dur"][row], numbers,
        coded["event"][0], coded["op"][0], coded["command"][0], found["late"][own], found["failed"][own],
        Details(_Lines(capture), row), {name: values for name, (_, values) in coded.items()},
        slices["track"].astype(np.int64), slices["start"], slices["correlation"],
    )  # fmt: skip


def places(known: Ints, wanted: Ints) -> Ints:
    """Where each wanted number stands among the known ones, -1 for those that are not there; 0 and less never are."""
    if not len(known):
        return np.full(len(wanted), -1, np.int64)
    most = int(known.max())
    if most > 8 * len(known) + 1024:
        order = np.argsort(known, kind="stable")
        at = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)]
        return np.where((known[at] == wanted) & (wanted > 0), at, -1)
    # numbers without large gaps: a table of them is ten times as quick as a search
    table = np.full(most + 2, -1, np.int64)
    table[np.maximum(known, 0)[::-1]] = np.arange(len(known))[::-1]
    table[[0, -1]] = -1
    return table[np.where((wanted > 0) & (wanted <= most), wanted, 0)]


def _used(codes: NDArray[np.int32], values: list[str]) -> tuple[Ints, tuple[str, ...]]:
    """The same texts with numbers in the order of their first appearance; a missing one is empty."""
    codes = np.where(codes < 0, len(values), codes)
    first = np.full(len(values) + 1, len(codes), np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    present = np.flatnonzero(first < len(codes))
    present = present[np.argsort(first[present])]
    place = np.zeros(len(values) + 1, np.int64)
    place[present] = np.arange(len(present))
    return place[codes], tuple([*values, ""][i] for i in present.tolist())


class Names:
    """Numbers for texts that repeat, in the order of their first appearance."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    @property
    def values(self) -> tuple[str, ...]:
        """The texts by number."""
        return tuple(self._codes)

    def codes(self, texts: list[str]) -> Ints:
        """The numbers of some texts."""
        for text in dict.fromkeys(texts):
            self._codes.setdefault(text, len(self._codes))
        return np.fromiter(map(self._codes.__getitem__, texts), np.int64, len(texts))


def _told(capture: Capture, plain: dict[int, str]) -> EventRows:
    """Reads the slices chunk by chunk, so that their args never stand in memory all at once."""
    names = {"event": Names(), "op": Names(), "command": Names()}
    parts: list[tuple[NDArray[Any], ...]] = []
    places: list[tuple[NDArray[Any], ...]] = []
    details: list[str] = []
    columns = ["track", "start", "dur", "name", "correlation", "args"]
    for at in range(0, capture.count("slices"), _CHUNK):
        frame = capture.read("slices", columns, slice(at, at + _CHUNK))
        places.append((frame["track"], frame["start"], frame["correlation"]))
        every = _parsed(frame.texts("args"))
        if plain:
            tracks = frame["track"].tolist()
            every = [
                {"event": plain[track]} if text is None and track in plain else args
                for args, text, track in zip(every, frame.texts("args"), tracks, strict=True)
            ]
        own = np.array([i for i, args in enumerate(every) if type(args) is dict and "event" in args], np.int64)
        some = [every[i] for i in own.tolist()]
        texts = frame.texts("name")
        ops = [args.get("op") for args in some]
        if not set(map(type, ops)) <= {str}:
            ops = [op if isinstance(op, str) else texts[i] or "" for i, op in zip(own.tolist(), ops, strict=True)]
        more = [args.get("details") or "" for args in some]
        if not set(map(type, more)) <= {str}:
            more = [str(text) for text in more]
        details += more
        codes = (
            names["event"].codes([str(args["event"]) for args in some]),
            names["op"].codes(ops),
            names["command"].codes([str(args.get("command") or "") for args in some]),
        )
        reply = np.array([args.get("order") == "reply first" for args in some], np.bool_)
        failed = np.array(["success=False" in text for text in more], np.bool_)
        failed |= np.array([args.get("success") is False for args in some], np.bool_)
        numbers = np.stack([_ints([args.get(name, -1) for args in some]) for name in _NUMBERS], 1)
        head = (own + at, frame["track"][own], frame["start"][own], frame["dur"][own])
        parts.append((*head, numbers, *codes, reply, failed))
    if not parts:
        none, empty = np.zeros(0, np.int64), np.zeros(0, np.bool_)
        nothing = (none, none, none, none, none.reshape(0, 5), none, none, none, empty, empty)
        return EventRows(*nothing, Details([]), dict.fromkeys(names, ()), none, none, none)
    row, track, start, dur, numbers, event, op, command, reply, failed = (
        np.concatenate(part) for part in zip(*parts, strict=True)
    )
    all_track, all_start, all_correlation = (np.concatenate(part) for part in zip(*places, strict=True))
    events = (row, track, start, dur, numbers, event, op, command)
    known = {name: codes.values for name, codes in names.items()}
    return EventRows(*events, reply, failed, Details(details), known, all_track, all_start, all_correlation)


def _parsed(texts: Any) -> list[Any]:
    """The args of some slices as objects: parsed together they are three times as quick."""
    # the dispatcher's end of a message holds nothing but its number
    values = ["null" if value is None or value.startswith('{"message":') else value for value in texts]
    try:
        parsed: list[Any] = json.loads(f"[{','.join(values)}]")
        return parsed
    except ValueError:
        return [loads(value) for value in values]


def loads(text: str) -> Any:
    """An object out of JSON, None when it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _ints(values: list[Any]) -> Ints:
    """Whole numbers from 0 on; anything else is -1."""
    if set(map(type, values)) <= {int}:
        try:
            found = np.array(values, np.int64)
            return np.where((found >= 0) & (found < 1 << 62), found, -1)
        except OverflowError:
            pass
    return np.array([v if type(v) is int and 0 <= v < 1 << 62 else -1 for v in values], np.int64)
