"""The view that `show` has when no other claims the request: events in time order, top names, the list of sources."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from peephole.cli.args_text import describe_args, parse_args
from peephole.cli.format import Printer, count, duration, fit, pad
from peephole.cli.views import Request, views
from peephole.cli.views.context import Details
from peephole.cli.views.top import show_top
from peephole.model.plain_names import plain
from peephole.model.tables import NONE
from peephole.query.capture.contexts import contexts
from peephole.query.capture.info import span
from peephole.query.capture.names import ALL, Track, find_tracks, missing, told_apart, tracks
from peephole.query.timeline.events import Event, events
from peephole.query.timeline.source_items import compiler_source
from peephole.query.timeline.top import top
from peephole.store.capture import Capture

_LONG = 10_000_000
"""ns from which a duration is worth a colour."""


def show(capture: Capture, request: Request, printer: Printer) -> int:
    """Prints the timeline as the request asks; PeepholeError with the nearest name for one that is not there."""
    if request.listing and request.source in (None, ALL) and not request.items:
        _list(capture, tracks(capture), printer)
        return 0
    chosen: set[int] | None = None
    if request.source is not None and request.source != ALL:
        known = tracks(capture)
        found = find_tracks(known, request.source)
        others = _view_sources(capture)
        if not found and request.items and request.source in others:
            raise missing(request.items[0], [context.name for context in contexts(capture)], "item")
        if not found:
            names = [ALL, *(track.name for track in known if track.slices), *others]
            raise missing(request.source, names, "source")
        chosen = {track.id for track in found}
    if request.calls:
        from peephole.cli.views.calls import show_calls

        show_calls(capture, request, chosen, printer)
    elif request.top is not None:
        show_top(capture, request, chosen, printer)
    else:
        show_events(capture, request, chosen, printer)
    return 0


def _view_sources(capture: Capture) -> list[str]:
    return [source for view in views() for source in view.sources(capture)]


def _list(capture: Capture, known: list[Track], printer: Printer) -> None:
    shown = [track for track in known if track.slices]
    total = sum(track.slices for track in known)
    if printer.json:
        printer.record({"source": ALL, "kind": "", "slices": total, "process": None})
        for track in shown:
            process = track.process if track.process >= 0 else None
            printer.record({"source": track.name, "kind": track.kind, "slices": track.slices, "process": process})
        for name in _view_sources(capture):
            printer.record({"source": name})
        return
    printer.line((ALL, "bold"), (f"  {count(total)} slice{'' if total == 1 else 's'}", "dim"))
    several = len({track.process for track in shown}) > 1
    where = told_apart(known)
    for track in shown:
        words = [track.kind, f"{count(track.slices)} slice{'' if track.slices == 1 else 's'}"]
        if several and track.process >= 0:
            words.append(f"process {track.process}")
        if where.get(track.id, words[-1]) != words[-1]:
            words.append(where[track.id])
        printer.line((track.name, "bold"), ("".join(f"  {word}" for word in words if word), "dim"))
    for name in _view_sources(capture):
        printer.line((name, "bold"))


def show_events(
    capture: Capture, request: Request, chosen: Collection[int] | None, printer: Printer, overlapping: bool = False
) -> None:
    """Prints the events of those tracks in time order, or those of the names that are asked for.

    Of an interval those that start in it, or, below a sum over it, all that overlap it.
    """
    whole = span(capture)
    origin = whole[0] if whole else 0
    names = {track.id: track.name for track in tracks(capture)}
    details = Details(capture, request, printer)
    wanted = set(request.items)
    found = False
    for event in events(capture, chosen, request.interval, overlapping):
        if wanted and plain(event.name) not in wanted:
            continue
        found = True
        if printer.json:
            printer.record(_record(event, names))
        else:
            _line(event, names, origin, printer)
        if event.context != NONE:
            details.show(event.context)
    if not (wanted or found or printer.json):
        from peephole.query.tape.tape import advice

        everywhere = chosen is None and request.interval is None
        printer.line(((everywhere and _elsewhere(capture)) or f"No events. {advice(capture)}".rstrip(), "dim"))
    if wanted and not found:
        everything = [row.name for row in top(capture, None, chosen, request.interval).rows]
        everything += [context.name for context in contexts(capture)]  # what `show_context` looks in
        raise missing(request.items[0], dict.fromkeys(everything), "item")


def _elsewhere(capture: Capture) -> str:
    """Where to look in a capture that has rewrites and no events; empty for every other."""
    known, source = len(contexts(capture)), compiler_source(capture)
    if source is None:
        return ""
    return f"No events, but {known} context{'s' * (known > 1)}: `-s {source}` lists them, `-i NAME` shows one."


def _record(event: Event, names: dict[int, str]) -> dict[str, Any]:
    """The documented object of one event."""
    facts: dict[str, Any] = {"kind": event.kind, "name": plain(event.name), "start_ns": event.start}
    if event.kind == "slice":
        facts |= {"dur_ns": event.dur, "depth": event.depth}
    facts["track"] = names.get(event.track)
    facts["track_id"] = None if event.track == NONE else event.track
    if event.kind == "slice":
        facts["context"] = None if event.context == NONE else event.context
    facts["args"] = parse_args(event.args)
    return facts


def _line(event: Event, names: dict[int, str], origin: int, printer: Printer) -> None:
    start = pad(_moment(event.start - origin), 13, right=True)
    if event.kind != "slice":
        printer.line((f"{start}  ", "dim"), (f"{'':10}  --- {event.kind} {plain(event.name)}", "bold magenta"))
        return
    track = pad(names.get(event.track, f"track {event.track}"), 10)
    facts = describe_args(parse_args(event.args))
    name = "  " * min(event.depth, 20) + plain(event.name)
    room = max(printer.width - 13 - 2 - 10 - 2 - 10 - 2, 12)
    name = fit(name, room)
    facts = fit(facts, room - len(name) - 2) if room - len(name) - 2 > 4 else ""
    long = "yellow" if event.dur >= _LONG else ""
    dur = (pad(duration(event.dur), 10, right=True), long)
    printer.line((start, "dim"), "  ", dur, "  ", (track, "cyan"), "  ", name, (f"  {facts}" if facts else "", "dim"))


def _moment(ns: int) -> str:
    """A time since the first event, always in ms, so that the column can be read from top to bottom."""
    return f"{ns / 1e6:.3f} ms"
