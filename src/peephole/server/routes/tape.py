"""The tape for the page: lanes with their figures, windows as raw columns, messages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peephole.query.tape import axis as tape_axis
from peephole.query.tape.diagnosis import diagnoses
from peephole.query.tape.range_figures import RangeFigures, range_figures
from peephole.query.tape.rows import Flags, Ints
from peephole.query.tape.stats import balance, lane_stats, pair_stats, patterns, waits
from peephole.query.tape.style import OUTLINED, SHAPES, UNKNOWN_SHAPE, colours_of
from peephole.query.tape.tape import Tape, tape
from peephole.query.tape.window import Window, cut, drawn, matching, work_begins
from peephole.server.arrays import raw_reply
from peephole.server.library import Shelf, ask
from peephole.server.replies import Refusal, path_number, query_number, reply
from peephole.server.routes.captures import shelf_of
from peephole.store.capture import Capture

_PAGE = 500
"""Messages a reply holds at most."""
_DETAIL = 400
"""Characters of a message's details in a list."""
_LISTED = 200
"""Waits and patterns that are sent at most."""
_FAR = 2**60


@dataclass(frozen=True, slots=True)
class Kept:
    """One run of a tape and what every request about it needs."""

    tape: Tape
    shown: Flags
    source: Ints
    """Lane from which an event's message goes, by event; its own lane when it is no message."""
    target: Ints


def _kept(shelf: Shelf, capture: Capture, session: int) -> Kept:
    if session == 0:
        # the largest run is also reached by its number
        session = shelf.once(capture, "tape largest", lambda _: _number(_read(shelf, capture, 0).tape))
    return _read(shelf, capture, session)


def _read(shelf: Shelf, capture: Capture, session: int) -> Kept:
    def make(capture: Capture) -> Kept:
        found = tape(capture, session or None)
        source, target = found.lane.copy(), found.lane.copy()
        good = found.arrows.event >= 0
        source[found.arrows.event[good]] = found.arrows.source[good]
        target[found.arrows.event[good]] = found.arrows.target[good]
        return Kept(found, drawn(found), source, target)

    kept = shelf.once(capture, f"tape {session}", make)
    shelf.derived[f"tape {_number(kept.tape)}"] = kept
    return kept


def _number(tape: Tape) -> int:
    return next(i for i, session in enumerate(tape.sessions, 1) if session is tape.session)


async def tape_summary(request: Request) -> Response:
    """Lanes, names, colours, signals and every figure of a run."""
    shelf, session = shelf_of(request), query_number(request, "run", 0)

    def question(capture: Capture) -> dict[str, Any]:
        kept = _kept(shelf, capture, session)
        return shelf.once(capture, f"tape summary {_number(kept.tape)}", lambda _: _summary(kept))

    return reply(await ask(shelf, question))


def _summary(kept: Kept) -> dict[str, Any]:
    tape = kept.tape
    families = np.bincount(tape.family, minlength=len(tape.families)).tolist()
    colours = colours_of({name: n for name, n in zip(tape.families, families, strict=True) if n})
    events = np.bincount(tape.event[kept.shown], minlength=len(tape.events)).tolist()
    first, last, parts, lead = _axis(tape)
    all_patterns = patterns(tape)
    lanes = lane_stats(tape)
    even = balance(tape, lanes)
    return {
        "name": tape.name, "engine": tape.engine, "resolution": tape.resolution, "run": _number(tape),
        "runs": [{"name": session.name, "events": session.events} for session in tape.sessions],
        "events": len(tape), "first": first, "last": last, "parts": parts, "lead": lead,
        "early": int((tape.time < parts[0][0]).sum()) if lead else 0,
        "unmarked": int((~kept.shown).sum()),
        "lanes": [
            {"name": lane.name, "kind": lane.kind, "events": stats.events, "bytesIn": stats.bytes_in,
             "bytesOut": stats.bytes_out, "busy": stats.busy_share, "busyMost": stats.busy_share_most,
             "idle": stats.idle_share, "failures": stats.failures, "share": stats.share,
             "since": stats.since, "until": stats.until}
            for lane, stats in zip(tape.lanes, lanes, strict=True)
        ],
        "kinds": [
            {"name": name, "shape": SHAPES.get(name, UNKNOWN_SHAPE), "events": events[i]}
            for i, name in enumerate(tape.events)
        ],
        "families": [
            {"name": name, "colour": colours.get(name, ""), "outlined": name in OUTLINED, "events": families[i]}
            for i, name in enumerate(tape.families)
        ],
        "ops": tape.ops,
        "signals": [
            {"name": signal.name, "start": signal.start, "end": -1 if signal.end is None else signal.end,
             "lane": signal.lane, "span": signal.end is not None, "ending": signal.ending}
            for signal in sorted(tape.signals, key=lambda signal: signal.start)
        ],
        "pairs": pair_stats(tape), "waits": waits(tape, 20), "patterns": all_patterns[:_LISTED],
        "patternCount": len(all_patterns), "diagnoses": diagnoses(tape, lanes),
        "balance": None if even is None else {"words": even.words, "even": even.even, "idle": list(even.idle),
                                              "busiest": even.busiest, "share": even.share},
        "problems": [{"reason": reason, "count": n, "example": example[:_DETAIL]} for reason, n, example
                     in tape.problems],
        "largest": int(tape.size.max(initial=-1)),
    }  # fmt: skip


def _axis(tape: Tape) -> tuple[int, int, list[tuple[int, int]], bool]:
    """First and last moment, the stretches of time that are drawn when idle time is folded, whether one leads."""
    ends = [t for signal in tape.signals for t in (signal.start, signal.end) if t is not None]
    long = np.flatnonzero(tape.dur > 0)
    times = np.concatenate((tape.time, tape.time[long] + tape.dur[long], np.array(ends, np.int64)))
    if not len(times):
        return 0, 1, [(0, 1)], False
    begins = work_begins(tape)
    parts = tape_axis.fold(times, begins, True, (tape.time[long], tape.time[long] + tape.dur[long]))
    lead = begins is not None and len(parts) > 1 and parts[1][0] == begins
    return int(times.min()), int(times.max()), parts[1:] if lead else parts, lead


async def tape_window(request: Request) -> Response:
    """Marks, columns and arrows between two times: a JSON head, then raw columns (see docs/api.md)."""
    shelf, session = shelf_of(request), query_number(request, "run", 0)
    t0 = query_number(request, "t0", 0, -_FAR)
    t1 = query_number(request, "t1", 1, -_FAR)
    v0, v1 = query_number(request, "v0", t0, -_FAR), query_number(request, "v1", t1, -_FAR)
    text = request.query_params.get("q", "")[:400]
    try:
        per = float(request.query_params.get("per", "1"))
    except ValueError:
        per = math.nan
    if not 1e-3 <= per <= 1e18 or t1 <= t0:
        raise Refusal(400, "A window needs t0 before t1, and per: the nanoseconds of one pixel.")

    def question(capture: Capture) -> Response:
        kept = _kept(shelf, capture, session)
        keep, lanes = matching(kept.tape, text)
        found = cut(kept.tape, keep, t0, t1, per, kept.shown)
        rows = np.flatnonzero(keep)
        visible = (kept.tape.time[rows] >= v0) & (kept.tape.time[rows] < v1)
        head = {"lanes": lanes, "kept": len(rows), "visible": int(visible.sum()),
                "first": int(np.argmax(visible)) if visible.any() else -1}  # fmt: skip
        return _packed(kept.tape, found, head)

    return await ask(shelf, question)


async def tape_range(request: Request) -> Response:
    """The figures of a range of time."""
    shelf, session = shelf_of(request), query_number(request, "run", 0)
    t0, t1 = query_number(request, "t0", 0, -_FAR), query_number(request, "t1", -1, -_FAR)
    text = request.query_params.get("q", "")[:400]
    if t1 < t0:
        raise Refusal(400, "A range needs t0 and t1, ns since the start, t0 first.")

    def question(capture: Capture) -> RangeFigures:
        kept = _kept(shelf, capture, session)
        return range_figures(kept.tape, matching(kept.tape, text)[0], t0, t1)

    return reply(await ask(shelf, question))


def _packed(tape: Tape, found: Window, head: dict[str, Any]) -> Response:
    marks, columns, arrows = found.marks, found.columns, found.arrows
    row = marks.row
    flags = tape.failed[row] * 1 + tape.reply_first[row] * 2
    wide = (tape.time[row], tape.dur[row], tape.size[row], columns.start, arrows.start, arrows.end, arrows.bytes)
    narrow = (
        tape.seq[row], tape.lane[row], marks.place, marks.many, tape.event[row], tape.family[row], tape.op[row], flags,
        columns.lane, columns.family, columns.count, tape.seq[columns.row],
        arrows.source, arrows.target, arrows.count,
    )  # fmt: skip
    head |= {"marks": len(row), "columns": len(columns.start), "arrows": len(arrows.start), "stack": found.stacked,
             "cell": columns.cell, "arrowCell": arrows.cell}  # fmt: skip
    return raw_reply(head, [*(c.astype("<f8") for c in wide), *(c.astype("<i4") for c in narrow)])


async def tape_messages(request: Request) -> Response:
    """Some messages by their place in the list that a filter leaves, in the order of their numbers."""
    shelf, session = shelf_of(request), query_number(request, "run", 0)
    first, count = query_number(request, "first", 0), min(query_number(request, "count", _PAGE), _PAGE)
    text = request.query_params.get("q", "")[:400]

    def question(capture: Capture) -> dict[str, Any]:
        kept = _kept(shelf, capture, session)
        rows = np.flatnonzero(matching(kept.tape, text)[0])
        return {"total": len(rows), "first": first, **_listed(kept, rows[first : first + count])}

    return reply(await ask(shelf, question))


def _listed(kept: Kept, rows: Ints) -> dict[str, Any]:
    tape = kept.tape
    return {
        "seq": tape.seq[rows], "time": tape.time[rows], "event": tape.event[rows], "source": kept.source[rows],
        "target": kept.target[rows], "command": [tape.commands[i] for i in tape.command[rows].tolist()],
        "op": tape.op[rows], "family": tape.family[rows], "size": tape.size[rows],
        "failed": tape.failed[rows].astype(np.int64),
        "details": [tape.details[i][:_DETAIL] for i in rows.tolist()],
    }  # fmt: skip


async def tape_message(request: Request) -> Response:
    """Everything about one message, and its place in the list that a filter leaves."""
    shelf, session = shelf_of(request), query_number(request, "run", 0)
    seq, text = path_number(request, "seq"), request.query_params.get("q", "")[:400]

    def question(capture: Capture) -> dict[str, Any]:
        kept = _kept(shelf, capture, session)
        tape = kept.tape
        found = np.flatnonzero(tape.seq == seq)
        if not len(found):
            raise Refusal(404, f"There is no message #{seq} in this run.")
        row = int(found[0])
        keep = matching(tape, text)[0]
        same = tape.time // max(1, tape.resolution) == tape.time[row] // max(1, tape.resolution)
        return {
            "seq": seq, "place": int(keep[:row].sum()) if keep[row] else -1, "time": int(tape.time[row]),
            "dur": int(tape.dur[row]), "lane": int(tape.lane[row]), "event": int(tape.event[row]),
            "op": int(tape.op[row]), "family": int(tape.family[row]),
            "command": tape.commands[int(tape.command[row])], "size": int(tape.size[row]),
            "source": int(kept.source[row]), "target": int(kept.target[row]),
            "failed": bool(tape.failed[row]), "replyFirst": bool(tape.reply_first[row]),
            "details": tape.details[row], "together": int(same.sum()) - 1, "marked": bool(kept.shown[row]),
            "pair": _other(tape, int(tape.pair[row])), "of": _other(tape, int(tape.of[row])),
        }  # fmt: skip

    return reply(await ask(shelf, question))


def _other(tape: Tape, row: int) -> dict[str, Any] | None:
    if row < 0:
        return None
    return {"seq": int(tape.seq[row]), "time": int(tape.time[row]), "op": tape.ops[int(tape.op[row])],
            "event": tape.events[int(tape.event[row])]}  # fmt: skip


_BASE = "/captures/{capture}/tape"
ROUTES = [
    Route(_BASE, tape_summary),
    Route(f"{_BASE}/window", tape_window),
    Route(f"{_BASE}/range", tape_range),
    Route(f"{_BASE}/messages", tape_messages),
    Route(f"{_BASE}/messages/{{seq}}", tape_message),
]
