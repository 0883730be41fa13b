"""A run of a tape as rows: tracks, one slice per event, arrows to and from the dispatcher, signals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from peephole.model.natural import natural
from peephole.model.sink import Joined, Sink, Strings
from peephole.model.tables import NONE
from peephole.sources.gt.args import event_args
from peephole.sources.gt.arrows import link
from peephole.sources.gt.columns import Codes, Columns, Ints, Names
from peephole.sources.gt.runs import Run

KNOWN_EVENTS: Final = frozenset(
    ("RECV", "SEND", "MODIFIER_INJECT", "WORKER_SEND", "WORKER_RECV", "CONNECT", "DISCONNECT", "ERROR", "SIGNAL")
)
TO_DISPATCHER: Final = ("RECV", "WORKER_RECV", "CONNECT", "DISCONNECT")
FROM_DISPATCHER: Final = ("SEND", "WORKER_SEND")
ANSWERS: Final = ("SEND", "WORKER_RECV")
DISPATCHER_DEPTH: Final = 0
_FAILURE: Final = "success=False"


@dataclass(slots=True)
class Book:
    """What all runs of a capture share: the next track, the next correlation, what was told so far."""

    tracks: int = 0
    correlation: int = 1
    clients: int = 0
    workers: int = 0
    events: int = 0
    names: Names = field(default_factory=Names)


@dataclass(frozen=True, slots=True)
class Lanes:
    """The tracks of a run, and the one of each name that a tape's lines carry."""

    dispatcher: int
    by_source: Ints
    """Track of each number in `Columns.who`."""
    workers: list[str]
    clients: list[str]


def write_run(run: Run, sink: Sink, book: Book, name: str | None, offset: int) -> None:
    """Hands the rows of a run over. `name` groups its tracks when the tape holds several runs."""
    columns = run.columns
    links = link(columns, book.names)
    lanes = _lanes(columns, sink, book, name)
    events = columns.events.values
    unknown = np.array([value not in KNOWN_EVENTS for value in events], np.bool_)[columns.event]
    if unknown.any():
        example = events[columns.event[int(np.flatnonzero(unknown)[0])]]
        sink.problem("events of an unknown kind, shown as they are", int(unknown.sum()), example)
    inject = columns.event == (events.index("MODIFIER_INJECT") if "MODIFIER_INJECT" in events else -2)
    track = np.where(inject, lanes.dispatcher, lanes.by_source[columns.source])
    start = columns.time + offset
    n = len(columns)
    correlation = book.correlation + 2 * np.arange(n, dtype=np.int64)
    book.correlation += 2 * n
    names = Strings(links.op, book.names.values)
    sink.append(
        "slices",
        {
            "track": track,
            "depth": _depths(track, lanes.dispatcher, start, links.length),
            "start": start,
            "dur": links.length,
            "name": names,
            "correlation": correlation,
            "args": event_args(columns, links.op, book.names.values),
        },
    )
    sink.append(
        "messages",
        {
            "slice": correlation,
            "seq": columns.seq,
            "event": Strings(columns.event, events),
            "command": Strings(columns.command, columns.commands.values),
            "op": names,
            "size": columns.size,
            "pair": _numbers(columns.seq, links.pair),
            "of": _numbers(columns.seq, links.command),
            "late": links.reply_first,
            "failed": _failed(columns),
        },
    )
    _mirror(columns, track, start, names, correlation, lanes.dispatcher, sink)
    _signals(columns, track, start, sink)
    book.clients += len(lanes.clients)
    book.workers += len(lanes.workers)
    book.events += n


def _lanes(columns: Columns, sink: Sink, book: Book, name: str | None) -> Lanes:
    who = columns.who.values
    present = list(dict.fromkeys(columns.source.tolist()))  # in the order in which they come first
    worker_of, nameless = _registrations(columns)
    clients: list[str] = []
    workers: dict[str, int] = {}
    strangers: list[str] = []
    for code in present:
        source, _, own = who[code].partition(" ")
        if code in worker_of:
            workers.setdefault(worker_of[code], 0)
        elif source == "WORKER":
            workers.setdefault(own, 0)
        elif source == "CLIENT" and code not in nameless:
            clients.append(own)
        elif source != "CLIENT":
            strangers.append(who[code])
    if nameless:
        sink.problem("workers that registered without telling their name (older GT)", len(nameless))
    if strangers:
        sink.problem("events from neither a client nor a worker", len(strangers), strangers[0])
    ordered = sorted(workers, key=natural)
    first = book.tracks
    parent = NONE
    rows: list[tuple[int, str, str, int, int, int]] = []
    if name is not None:
        parent = first
        rows.append((first, name, "host", NONE, first, NONE))
    clients_at, base = {}, first + len(rows)
    for i, client in enumerate(clients or [""]):
        clients_at[client] = base + i
        rows.append((base + i, "Client" if len(clients) < 2 else f"Client {client}", "client", parent, base + i, NONE))
    dispatcher = base + len(clients or [""])
    rows.append((dispatcher, "Dispatcher", "dispatcher", parent, dispatcher, NONE))
    for i, worker in enumerate(ordered):
        workers[worker] = dispatcher + 1 + i
        rows.append((dispatcher + 1 + i, worker, "worker", parent, dispatcher + 1 + i, i))
    book.tracks = dispatcher + 1 + len(ordered)
    ids, names, kinds, parents, orders, ranks = (list(column) for column in zip(*rows, strict=True))
    sink.append("tracks", {"id": ids, "name": names, "kind": kinds, "parent": parents, "order": orders, "rank": ranks})
    by_source = np.full(len(who), dispatcher, np.int64)
    for code in present:
        source, _, own = who[code].partition(" ")
        if code in worker_of:
            by_source[code] = workers[worker_of[code]]
        elif source == "WORKER":
            by_source[code] = workers[own]
        elif own in clients_at and source == "CLIENT":
            by_source[code] = clients_at[own]
    return Lanes(dispatcher, by_source, ordered, clients)


def _registrations(columns: Columns) -> tuple[dict[int, str], set[int]]:
    """Which connection is which worker, and the connections that registered without a name."""
    commands = columns.commands.values
    code = commands.index("RegisterWorker") if "RegisterWorker" in commands else -2
    named: dict[int, str] = {}
    nameless: set[int] = set()
    for i in np.flatnonzero(columns.command == code).tolist():
        source = int(columns.source[i])
        _, found, worker = columns.details[i].partition("worker_id=")
        if found:
            named[source] = worker.rstrip()  # as its own lines do: their column is filled up with blanks
        elif columns.who.values[source].startswith("CLIENT "):
            nameless.add(source)
    return named, nameless - set(named)


def _depths(track: Ints, dispatcher: int, start: Ints, length: Ints) -> Codes:
    """Row 0 for what has a length, the next free one where a clock that went back lets two of them overlap."""
    long = length > 0
    depth = np.where(long | (track == dispatcher), 0, 1)
    for lane in np.flatnonzero(np.bincount(track[long])).tolist():
        rows = np.flatnonzero(long & (track == lane))
        rows = rows[np.argsort(start[rows], kind="stable")]
        end = start[rows] + length[rows]
        if not (end[:-1] > start[rows][1:]).any():
            continue
        free: list[int] = []
        for row, begins, ends in zip(rows.tolist(), start[rows].tolist(), end.tolist(), strict=True):
            at = next((i for i, busy in enumerate(free) if busy <= begins), len(free))
            if at == len(free):
                free.append(0)
            free[at] = ends
            depth[row] = at if at == 0 else at + 1  # row 1 is for what has no length
    return depth.astype(np.int32)


def _failed(columns: Columns) -> NDArray[np.bool_]:
    """Which answers tell of a failure. Most tapes have none, and one look at all of them says so."""
    details, events = columns.details, columns.events.values
    failed = np.zeros(len(details), np.bool_)
    if _FAILURE in "\n".join(details):
        answers = np.array([value in ANSWERS for value in events], np.bool_)[columns.event]
        for i in np.flatnonzero(answers).tolist():
            failed[i] = _FAILURE in details[i].split()
    return failed


def _numbers(seq: Ints, rows: Ints) -> Ints:
    """The sequence numbers of some rows, -1 for none."""
    return np.where(rows >= 0, seq[np.maximum(rows, 0)], NONE)


def _mirror(
    columns: Columns, track: Ints, start: Ints, names: Strings, correlation: Ints, dispatcher: int,
    sink: Sink,
) -> None:  # fmt: skip
    """The dispatcher's end of each message, so that every arrow has two ends at the time the tape gives."""
    events = columns.events.values
    inward = np.array([value in TO_DISPATCHER for value in events], np.bool_)[columns.event]
    outward = np.array([value in FROM_DISPATCHER for value in events], np.bool_)[columns.event]
    rows = np.flatnonzero((inward | outward) & (track != dispatcher))
    if not len(rows):
        return
    other = correlation[rows] + 1
    sink.append(
        "slices",
        {
            "track": np.full(len(rows), dispatcher),
            "depth": np.full(len(rows), DISPATCHER_DEPTH),
            "start": start[rows],
            "dur": np.zeros(len(rows), np.int64),
            "name": Strings(names.codes[rows], names.values),
            "correlation": other,
            "args": Joined(('{"message":', columns.seq[rows], "}")),
        },
    )
    inward = inward[rows]
    sink.append(
        "flows",
        {
            "from": np.where(inward, correlation[rows], other),
            "to": np.where(inward, other, correlation[rows]),
            "bytes": columns.size[rows],
            "kind": Strings(np.zeros(len(rows), np.int32), ["message"]),
        },
    )


def _signals(columns: Columns, track: Ints, start: Ints, sink: Sink) -> None:
    """Markers for what the program signalled: CompileStart and CompileEnd of a client, SIGNAL on any lane."""
    edges = {"CompileStart": "start", "CompileEnd": "end"}
    commands = np.array([value in edges for value in columns.commands.values], np.bool_)[columns.command]
    events = columns.events.values
    recv = columns.event == (events.index("RECV") if "RECV" in events else -2)
    plain = columns.event == (events.index("SIGNAL") if "SIGNAL" in events else -2)
    rows = np.flatnonzero((commands & recv) | plain).tolist()
    if not rows:
        return
    names, args = [], []
    for row in rows:
        name = columns.details[row]
        edge = edges.get(columns.commands.values[columns.command[row]])
        names.append(name.removeprefix("signal=") or columns.commands.values[columns.command[row]])
        said = f'"edge":"{edge}",' if edge else ""
        args.append(f'{{{said}"seq":{int(columns.seq[row])}}}')
    at = np.array(rows)
    sink.append(
        "markers",
        {"time": start[at], "name": names, "kind": ["signal"] * len(rows), "track": track[at], "args": args},
    )
