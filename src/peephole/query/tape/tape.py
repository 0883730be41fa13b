"""The tape of a distributed program as columns: lanes, events, arrows, signals.

Built from a capture's tables alone, whoever wrote them: a GT tape that was imported, a Dask cluster that was
recorded. Picture, page and terminal all start here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from peephole.errors import PeepholeError
from peephole.model.natural import natural
from peephole.model.tables import NONE
from peephole.query.tape.facts import TapeFacts, tape_facts
from peephole.query.tape.operations import family
from peephole.query.tape.rows import Details, EventRows, Flags, Ints, event_rows, loads, places
from peephole.store.capture import Capture

NO_EVENTS: Final = (
    "Check that GT_INSTRUCTION_LOG was set when the program ran, or that gt.server was started with --log-file, and "
    "that the file has lines such as 0.108s | #0001 | RECV."
)
"""What to do about a tape without events."""

LAST: Final = -1
"""Of several sessions the one that began last."""

KINDS: Final = ("client", "dispatcher", "worker")


@dataclass(frozen=True, slots=True)
class Lane:
    """A row of the tape: a client, the dispatcher or a worker."""

    name: str
    kind: str
    tracks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Signal:
    """Something that the program said about itself: a moment, or a span once its end was heard."""

    name: str
    start: int
    end: int | None
    lane: int
    """-1 for the whole tape."""
    ending: bool = False
    """An end whose start is not on the tape."""


@dataclass(frozen=True, slots=True)
class Session:
    """One run of the program; a tape file may hold several."""

    name: str
    offset: int
    """ns on the capture's clock at which the dispatcher started."""
    events: int


@dataclass(frozen=True, slots=True)
class Arrows:
    """Messages between lanes, one per row."""

    source: Ints
    target: Ints
    start: Ints
    end: Ints
    bytes: Ints
    """-1 when the tape does not tell."""
    event: Ints
    """Row of the event that the message is, -1 for none."""

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, slots=True)
class Tape:
    """One session of a tape: the arrays run over its events, ordered by sequence number."""

    name: str
    engine: str
    resolution: int
    """ns that the tape's clock can tell apart."""
    session: Session
    sessions: tuple[Session, ...]
    lanes: tuple[Lane, ...]
    lane: Ints
    time: Ints
    """ns since the dispatcher's start."""
    dur: Ints
    seq: Ints
    event: Ints
    events: tuple[str, ...]
    op: Ints
    ops: tuple[str, ...]
    command: Ints
    commands: tuple[str, ...]
    family: Ints
    families: tuple[str, ...]
    size: Ints
    """-1 when the tape does not tell."""
    pair: Ints
    """Row of the answer or of what it answers, -1 for none."""
    of: Ints
    """Row of the client's command that an event belongs to, -1 when that is not known."""
    reply_first: Flags
    failed: Flags
    row: Ints
    """Row of the event in the capture's slices."""
    details: Details
    arrows: Arrows
    signals: tuple[Signal, ...]
    problems: tuple[tuple[str, int, str], ...]

    def __len__(self) -> int:
        return len(self.seq)

    def is_event(self, *names: str) -> Flags:
        """Which events are of these kinds."""
        return np.array([name in names for name in self.events], np.bool_)[self.event]

    def of_kind(self, kind: str) -> list[int]:
        """The lanes of a kind."""
        return [i for i, lane in enumerate(self.lanes) if lane.kind == kind]


def is_tape(capture: Capture) -> bool:
    """Whether a capture holds a tape: it has a dispatcher or workers."""
    return any(kind in KINDS for kind in capture.read("tracks", ["kind"]).texts("kind"))


def advice(capture: Capture) -> str:
    """What to do about a tape without events; empty for every other capture."""
    return NO_EVENTS if capture.manifest.source == "gt" and not capture.count("slices") else ""


def tape(capture: Capture, session: int | None = None) -> Tape:
    """The tape of a capture; of several sessions the one with that number (from 1, or `LAST`), else the largest."""
    tracks = capture.read("tracks")
    groups = _groups(tracks)
    if not groups and capture.manifest.source == "gt":
        raise PeepholeError(f"{capture.name} holds no events. {NO_EVENTS}")
    if not groups:
        raise PeepholeError(
            f"{capture.name} holds no tape: there is neither a dispatcher nor a worker in it. Give a GT tape, or a "
            "Dask program recorded with `peephole run`."
        )
    facts = tape_facts(capture)
    told = facts.offsets or ()
    rows = event_rows(capture, _plain(tracks, facts))
    counts = [int(np.isin(rows.track, tracks_of).sum()) for _, tracks_of in groups]
    begin = 0 if facts.offsets is not None else _begin(capture, rows)
    offsets = [begin if offset is None else offset for offset in told] + [begin] * len(groups)
    sessions = tuple(Session(name, offsets[i], counts[i]) for i, (name, _) in enumerate(groups))
    if session == LAST:
        session = len(groups)
    if session is not None and not 1 <= session <= len(groups):
        raise PeepholeError(f"{capture.name} holds {len(groups)} runs; there is no run {session}.")
    chosen = session - 1 if session is not None else int(np.argmax(counts))
    lanes = _lanes(tracks, groups[chosen][1])
    others = frozenset(track for i, (_, found) in enumerate(groups) if i != chosen for track in found)
    return _build(capture, facts, sessions, chosen, lanes, rows, others)


def _plain(tracks: Any, facts: TapeFacts) -> dict[int, str]:
    """Which event a slice without facts is, by its track, when the recording says so."""
    told = facts.plain or {}
    kinds = zip(tracks["id"].tolist(), tracks.texts("kind"), strict=True)
    return {track: told[kind] for track, kind in kinds if kind in told}


def _begin(capture: Capture, rows: EventRows) -> int:
    """When a recorded cluster's tape begins: its first event or signal."""
    moments = capture.read("markers", ["time"])["time"]
    return min((int(times.min()) for times in (rows.start, moments) if len(times)), default=0)


def _groups(tracks: Any) -> list[tuple[str, list[int]]]:
    """The sessions: tracks under a group of their own, or all of them."""
    names, kinds = list(tracks.texts("name")), list(tracks.texts("kind"))
    ids, parents = tracks["id"].tolist(), tracks["parent"].tolist()
    of_tape = {i for i, kind in zip(ids, kinds, strict=True) if kind in KINDS}
    hosts = {i: name or "" for i, name, kind in zip(ids, names, kinds, strict=True) if kind == "host"}
    dispatchers = [p for i, p, k in zip(ids, parents, kinds, strict=True) if k == "dispatcher"]
    # several dispatchers under several groups are several runs; workers of one cluster are recorded by many processes.
    # The first of several clusters at the same time has no group
    if len(set(dispatchers)) > 1 and all(p in hosts or p == NONE for p in dispatchers):
        return [
            (
                hosts.get(group, "cluster 1"),
                [i for i, p in zip(ids, parents, strict=True) if p == group and i in of_tape],
            )
            for group in dict.fromkeys(dispatchers)
        ]
    return [("", sorted(of_tape))] if of_tape else []


def _lanes(tracks: Any, chosen: Sequence[int]) -> tuple[Lane, ...]:
    """One lane per kind and name: the processes of a cluster may each have written to the same one."""
    wanted = set(chosen)
    merged: dict[tuple[int, str], tuple[list[int], int]] = {}
    rows = zip(tracks["id"].tolist(), tracks.texts("name"), tracks.texts("kind"), tracks["order"].tolist(), strict=True)
    for track, name, kind, order in rows:
        if track in wanted:
            ids, least = merged.setdefault((KINDS.index(kind), name or ""), ([], order))
            ids.append(track)
            merged[KINDS.index(kind), name or ""] = (ids, min(least, order))
    ordered = sorted(
        merged.items(),
        key=lambda item: (item[0][0], (natural(item[0][1]), 0) if KINDS[item[0][0]] == "worker" else ((), item[1][1])),
    )
    return tuple(Lane(name, KINDS[kind], tuple(ids)) for (kind, name), (ids, _) in ordered)


def _build(
    capture: Capture, facts: TapeFacts, sessions: tuple[Session, ...], chosen: int, lanes: tuple[Lane, ...],
    rows: EventRows, others: frozenset[int],
) -> Tape:  # fmt: skip
    offset = sessions[chosen].offset
    keep = np.flatnonzero(_lane_numbers(lanes, rows.track) >= 0)
    seq = rows.numbers[keep, 0]
    if (seq < 0).any():
        # a recorded cluster has clocks instead of numbers: the order of time gives them
        keep = keep[np.argsort(rows.start[keep], kind="stable")]
        seq = np.arange(1, len(keep) + 1, dtype=np.int64)
    else:
        order = np.argsort(seq, kind="stable")
        keep, seq = keep[order], seq[order]
    op, command, of = rows.op[keep], rows.command[keep], places(seq + 1, rows.numbers[keep, 3] + 1)
    carrier = np.where((of >= 0) & (op[np.maximum(of, 0)] == op), command[np.maximum(of, 0)], command)
    ops, commands = rows.names["op"], rows.names["command"]
    family_code, families = _families(op, ops, carrier, commands)
    arrows = _arrows(capture, rows, keep, lanes, offset)
    dispatcher = next((i for i, lane in enumerate(lanes) if lane.kind == "dispatcher"), -1)
    if facts.engine == "dask" and dispatcher >= 0:
        ends = rows.start[keep] + rows.dur[keep] - offset
        event, report = rows.event[keep], rows.numbers[keep, 4]
        there = _lane_numbers(lanes, rows.track[keep])
        arrows = _with_answers(arrows, event, rows.names["event"], there, ends, report, dispatcher)
    return Tape(
        name=capture.name.removesuffix(".peep"),
        engine=facts.engine or capture.manifest.source or "tape",
        resolution=facts.resolution,
        session=sessions[chosen],
        sessions=sessions,
        lanes=lanes,
        lane=_lane_numbers(lanes, rows.track[keep]),
        time=rows.start[keep] - offset,
        dur=rows.dur[keep],
        seq=seq,
        event=rows.event[keep],
        events=rows.names["event"],
        op=op,
        ops=ops,
        command=command,
        commands=commands,
        family=family_code,
        families=families,
        size=rows.numbers[keep, 1],
        pair=places(seq + 1, rows.numbers[keep, 2] + 1),
        of=of,
        reply_first=rows.reply_first[keep],
        failed=rows.failed[keep],
        row=rows.row[keep],
        details=rows.details.take(keep),
        arrows=arrows,
        signals=signals(capture, lanes, offset, others),
        problems=tuple(
            (str(p["reason"]), int(p["count"]), str(p.get("example", ""))) for p in capture.manifest.problems
        ),
    )


def _lane_numbers(lanes: tuple[Lane, ...], tracks: Ints) -> Ints:
    """The lane of each track, -1 for none."""
    pairs = sorted({track: number for number, lane in enumerate(lanes) for track in lane.tracks}.items())
    known, lane = np.array(pairs or [(-1, -1)], np.int64).T
    at = np.minimum(np.searchsorted(known, tracks), len(known) - 1)
    return np.where(known[at] == tracks, lane[at], -1)


def _coded(texts: list[str]) -> tuple[Ints, tuple[str, ...]]:
    values = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    return np.fromiter(map(values.__getitem__, texts), np.int64, len(texts)), tuple(values)


def _families(op: Ints, ops: tuple[str, ...], command: Ints, commands: tuple[str, ...]) -> tuple[Ints, tuple[str, ...]]:
    key = op * max(1, len(commands)) + command
    unique, inverse = np.unique(key, return_inverse=True)
    names = [family(ops[k // len(commands)], commands[k % len(commands)]) for k in unique.tolist()]
    code, values = _coded(names)
    return (code[inverse] if len(code) else np.zeros(0, np.int64)), values


def _arrows(capture: Capture, rows: EventRows, keep_events: Ints, lanes: tuple[Lane, ...], offset: int) -> Arrows:
    flows = capture.read("flows", ["from", "to", "bytes"])
    if not len(flows) or not len(rows.all_track):
        none = np.zeros(0, np.int64)
        return Arrows(none, none, none, none, none, none)
    source, target = places(rows.all_correlation, flows["from"]), places(rows.all_correlation, flows["to"])
    lane = _lane_numbers(lanes, rows.all_track)
    start = rows.all_start - offset
    keep = np.flatnonzero((source >= 0) & (target >= 0) & (lane[source] >= 0) & (lane[target] >= 0))
    keep = keep[np.argsort(start[source[keep]], kind="stable")]
    a, b = source[keep], target[keep]
    event_at = np.full(len(rows.all_track), -1, np.int64)
    event_at[rows.row[keep_events]] = np.arange(len(keep_events))
    event = np.where(event_at[a] >= 0, event_at[a], event_at[b])
    return Arrows(lane[a], lane[b], start[a], start[b], flows["bytes"][keep].astype(np.int64), event)


def _with_answers(arrows: Arrows, tape_events: Ints, events: tuple[str, ...], lane: Ints, time: Ints, report: Ints,
                  dispatcher: int) -> Arrows:  # fmt: skip
    """The messages that a recorder leaves implicit: a worker's report of what it did, the word to the client."""
    names = np.array([{"COMPUTE": 1, "ERROR": 1, "SEND": 2}.get(name, 0) for name in events], np.int64)
    kind = names[tape_events] if len(tape_events) else tape_events
    reports = np.flatnonzero(kind == 1)
    told = np.flatnonzero(kind == 2)
    there = np.full(len(reports), dispatcher), np.full(len(told), dispatcher)
    return Arrows(
        np.concatenate((arrows.source, lane[reports], there[1])),
        np.concatenate((arrows.target, there[0], lane[told])),
        np.concatenate((arrows.start, time[reports], time[told])),
        np.concatenate((arrows.end, time[reports] + np.maximum(report[reports], 0), time[told])),
        np.concatenate((arrows.bytes, np.full(len(reports) + len(told), -1))),
        np.concatenate((arrows.event, reports, told)),
    )


def signals(
    capture: Capture, lanes: tuple[Lane, ...], offset: int, others: frozenset[int] = frozenset()
) -> tuple[Signal, ...]:
    """The program's signals; a start and the end of the same name become one span. `others` are other runs' tracks."""
    frame = capture.read("markers")
    rows = zip(frame["time"].tolist(), frame.texts("name"), frame.texts("kind"), frame["track"].tolist(),
               frame.texts("args"), strict=True)  # fmt: skip
    lane_of = {track: i for i, lane in enumerate(lanes) for track in lane.tracks}
    found: list[Signal] = []
    waiting: dict[tuple[str, int], list[int]] = {}
    for time, name, kind, track, args in rows:
        if kind != "signal" or track in others:
            continue
        lane = lane_of.get(track, -1)
        plain, edge = _edge(name or "", args)
        at = time - offset
        if edge == "end" and waiting.get((plain, lane)):
            i = waiting[plain, lane].pop()
            found[i] = Signal(plain, found[i].start, max(at, found[i].start), lane)
            continue
        if edge == "start":
            waiting.setdefault((plain, lane), []).append(len(found))
        found.append(Signal(plain if edge else name or "", at, None, lane, ending=edge == "end"))
    return tuple(found)


def _edge(name: str, args: str | None) -> tuple[str, str | None]:
    """A signal's name and whether it starts or ends something: by its facts, else by the words of its name."""
    told = (loads(args) if args else None) or {}
    edge = told.get("edge") if isinstance(told, dict) else None
    if edge in ("start", "end"):
        return name, edge
    upper = name.upper()
    for word, meaning in (("START", "start"), ("BEGIN", "start"), ("END", "end")):
        if upper.startswith(f"{word}_") and len(name) > len(word) + 1:
            return name[len(word) + 1 :], meaning
        if upper.endswith(f"_{word}") and len(name) > len(word) + 1:
            return name[: -len(word) - 1], meaning
    return name, None
