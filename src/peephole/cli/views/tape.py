"""`peephole show -s Workers` and `-s Messages`: the figures of a tape, and its events one by one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from peephole.cli.format import Column, Printer, count, duration, size

if TYPE_CHECKING:
    from peephole.cli.views import Request
    from peephole.query.tape.stats import LaneStats, PairStats
    from peephole.query.tape.tape import Tape
    from peephole.store.capture import Capture

NAMES: Final = ("Workers", "Messages")
MOST_EVENTS: Final = 1000
"""Lines of `-s Messages` in a terminal; a pipe gets all of them."""
_RUN: Final = re.compile(r"run ([1-9][0-9]{0,8})", re.IGNORECASE)
"""The item that chooses a run, where a tape holds several."""
WAITS: Final = 10
"""Waits and patterns of `-s Workers`."""


def sources(capture: Capture) -> list[str]:
    """Names for `-s`."""
    from peephole.query.tape.tape import is_tape

    return list(NAMES) if is_tape(capture) else []


def claims(capture: Capture, request: Request) -> bool:
    """Whether the request is this view's; a tape without events too, about which there is something to say."""
    from peephole.query.tape.tape import is_tape

    return request.source in NAMES and (is_tape(capture) or capture.manifest.source == "gt")


def show(capture: Capture, request: Request, printer: Printer) -> int:
    """Prints; gives the exit code."""
    from peephole.query.tape.select import select
    from peephole.query.tape.tape import tape

    asked = [match[1] for item in request.items if (match := _RUN.fullmatch(item))]
    items = tuple(item for item in request.items if not _RUN.fullmatch(item))
    found = tape(capture, int(asked[-1]) if asked else None)
    if len(found.sessions) > 1 and not printer.json:
        number = found.sessions.index(found.session) + 1
        other = 2 if number == 1 else 1
        words = f"{found.session.name}, one of {len(found.sessions)}: -i 'run {other}' shows another"
        printer.line((words, "dim"))
        printer.line("")
    if request.interval is not None:
        a, b = ((time - found.session.offset) / 1e9 for time in request.interval)
        found = select(found, interval=(a, b))
    # as everywhere, a negative -t means all
    most = len(found) if request.top is not None and request.top < 0 else request.top
    if request.source == "Workers":
        workers(found, printer, WAITS if most is None else most)
    else:
        messages(found, printer, most, items)
    return 0


def workers(tape: Tape, printer: Printer, most: int) -> None:
    """Prints who was busy, how even it was, what moved, who waited, which patterns show and what is wrong."""
    from peephole.query.tape import stats as tape_stats
    from peephole.query.tape.diagnosis import diagnoses

    lanes = tape_stats.lane_stats(tape)
    even = tape_stats.balance(tape)
    pairs = tape_stats.pair_stats(tape)
    waits = tape_stats.waits(tape, most)
    patterns = tape_stats.patterns(tape)
    findings = diagnoses(tape)
    if printer.json:
        for kind, items in (("lane", lanes), ("pair", pairs), ("wait", waits), ("pattern", patterns)):
            for item in items:
                printer.record({"kind": kind, **_flat(asdict(item))})
        if even is not None:
            printer.record({"kind": "balance", **_flat(asdict(even))})
        for finding in findings:
            printer.record({**asdict(finding), "kind": "diagnosis", "diagnosis": finding.kind})
        return
    columns = [
        Column("lane", flexible=True), Column("events", right=True), Column("in", right=True),
        Column("out", right=True), Column("busy", right=True), Column("at most", right=True),
        Column("work", right=True),
    ]  # fmt: skip
    partly = any(lane.since is not None or lane.until is not None for lane in lanes)
    if partly:
        columns.append(Column("there"))
    printer.table(
        columns,
        [
            (
                lane.name, count(lane.events),
                _moved(lane.bytes_in, [pair for pair in pairs if pair.target == lane.name]),
                _moved(lane.bytes_out, [pair for pair in pairs if pair.source == lane.name]),
                "" if lane.kind == "dispatcher" else f"{lane.busy_share:.0%}",
                "" if lane.kind == "dispatcher" else f"{lane.busy_share_most:.0%}",
                f"{lane.share:.0%}" if lane.kind == "worker" else "", *([_there(lane)] if partly else []),
            )
            for lane in lanes
        ],
    )  # fmt: skip
    if partly:
        printer.line(("busy and at most are parts of the time in which a worker was there", "dim"))
    if even is not None:
        printer.line("")
        printer.line(("balance  ", "bold"), even.words)
    if pairs:
        _title(printer, "bytes per pair")
        printer.table(
            [Column("from → to", flexible=True), Column("messages", right=True), Column("bytes", right=True)],
            [(f"{pair.source} → {pair.target}", count(pair.messages), _moved(pair.bytes, [pair])) for pair in pairs],
        )
    if waits:
        _title(printer, "longest waits")
        printer.table(
            [Column("", right=True), Column("operation"), Column("took", right=True), Column("why", flexible=True)],
            [(f"#{w.seq}", w.op, duration(w.dur), w.reason) for w in waits],
        )
    if patterns:
        _title(printer, "patterns")
        printer.table(
            [Column("pattern"), Column("", right=True), Column("operation"), Column("took", right=True),
             Column("what", flexible=True)],
            [(p.name, f"#{p.seq}", p.op, duration(p.dur), p.words) for p in patterns[:most]],
        )  # fmt: skip
        if len(patterns) > most:
            printer.line((f"and {len(patterns) - most:,} more: -t {len(patterns)} lists them", "dim"))
    if findings:
        printer.line("")
        styles = {"error": "red", "warning": "yellow", "note": "dim"}
        for finding in findings:
            printer.line((f"{finding.severity}: ", styles[finding.severity]), finding.words)


def _there(lane: LaneStats) -> str:
    """From when until when a worker was there, unless it always was."""
    since = "" if lane.since is None else f"from {lane.since / 1e9:,.3f} s"
    until = "" if lane.until is None else f"until {lane.until / 1e9:,.3f} s"
    return f"{since} {until}".strip()


def _moved(much: int, pairs: Sequence[PairStats]) -> str:
    """So many bytes, unless the tape tells the size of none of the messages."""
    untold = pairs and all(pair.unknown == pair.messages for pair in pairs)
    return "not told" if untold else size(much)


def messages(tape: Tape, printer: Printer, most: int | None, items: tuple[str, ...]) -> None:
    """Prints the events by sequence number; `items` keeps those whose operation, lane or number is named."""
    if most is None:
        most = len(tape) if printer.json or printer.width > 10_000 else MOST_EVENTS
    wanted = {item.removeprefix("#").lower() for item in items}
    rows: list[tuple[int, int, str, str, str]] = []
    for i in range(len(tape)):
        if len(rows) >= most:
            break
        lane, op = tape.lanes[int(tape.lane[i])].name, tape.ops[int(tape.op[i])]
        seq = int(tape.seq[i])
        if wanted and not wanted & {str(seq), op.lower(), lane.lower(), tape.families[int(tape.family[i])].lower()}:
            continue
        event, command = tape.events[int(tape.event[i])], tape.commands[int(tape.command[i])]
        if printer.json:
            printer.record(
                {
                    "seq": seq, "time": int(tape.time[i]), "dur": int(tape.dur[i]), "event": event, "lane": lane,
                    "command": command, "op": op, "size": int(tape.size[i]), "details": tape.details[i],
                }
            )  # fmt: skip
        rows.append((i, seq, lane, event, command or op))  # the most frequent events of Dask have no other word
    if printer.json:
        return
    table = [
        (
            f"#{seq}", f"{int(tape.time[i]) / 1e9:.{3 if tape.resolution >= 1_000_000 else 6}f}", event, lane, command,
            "" if tape.size[i] < 0 else size(int(tape.size[i])), tape.details[i].partition("\n")[0][:200],
        )
        for i, seq, lane, event, command in rows
    ]  # fmt: skip
    printer.table(
        [Column("", right=True), Column("time, s", right=True), Column("event"), Column("lane"), Column("command"),
         Column("size", right=True), Column("details", flexible=True)],
        table,
    )  # fmt: skip
    if len(rows) == most and len(tape) > most:
        printer.line((f"the first {most:,} of {len(tape):,} events: -t {len(tape)} lists all", "dim"))


def _title(printer: Printer, text: str) -> None:
    printer.line("")
    printer.line((text, "bold"))


def _flat(facts: dict[str, object]) -> dict[str, object]:
    return {("of" if name == "kind" else name): value for name, value in facts.items()}
