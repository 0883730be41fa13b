"""`peephole show -s DEVICE -i KERNEL`: the runs of one name on a source, summed up and one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peephole.cli.format import Column, Printer, count, duration
from peephole.cli.views import Request
from peephole.model.plain_names import plain
from peephole.query.capture.contexts import contexts
from peephole.query.capture.names import ALL, Track, find_tracks, tracks
from peephole.query.timeline.rates import Rates, rates
from peephole.query.timeline.source_items import RUNS, Compiled, Runs, runs

if TYPE_CHECKING:
    from peephole.store.capture import Capture


def sources(_capture: Capture) -> list[str]:
    """None: the sources are tracks."""
    return []


def claims(capture: Capture, request: Request) -> bool:
    """One item of a track: what ran there, on any other track what is no compilation."""
    if request.source in (None, ALL) or len(request.items) != 1 or request.top is not None:
        return False
    found = _tracks(capture, request)
    named = (context.name == plain(request.items[0]) for context in contexts(capture))
    if not any(track.kind in RUNS for track in found) and any(named):
        return False
    return bool(runs(capture, request.items[0], found, request.interval).rows) if found else False


def show(capture: Capture, request: Request, printer: Printer) -> int:
    """Prints how often it ran and how long that took, what it was compiled in, and every run."""
    from peephole.cli.views.timeline import show_events

    known = _tracks(capture, request)
    found = runs(capture, request.items[0], known, request.interval)
    speeds = rates(capture, {row.name for row in found.rows}, {track.id for track in known}, request.interval)
    if printer.json:
        _records(found, speeds, printer)
    else:
        _table(found, speeds, printer)
        for item in found.contexts:
            _compiled(item, printer)
        printer.line()
    show_events(capture, request, {track.id for track in known}, printer, overlapping=True)
    return 0


def _tracks(capture: Capture, request: Request) -> list[Track]:
    return find_tracks(tracks(capture), request.source or "")


def _records(found: Runs, speeds: Rates, printer: Printer) -> None:
    contexts = [item.context.id for item in found.contexts]
    for row in found.rows:
        facts = {"kind": "runs", "track": row.track, "name": plain(row.name), "count": row.count}
        facts |= {"total_ns": row.total, "mean_ns": round(row.mean), "min_ns": row.shortest, "max_ns": row.longest}
        speed = {key: round(value) for key, value in speeds.get((row.track, row.name), {}).items()}
        printer.record({**facts, "contexts": contexts, **speed})


def _table(found: Runs, speeds: Rates, printer: Printer) -> None:
    from peephole.cli.args_text import describe_args

    columns = (
        Column("name", style="bold", flexible=True),
        Column("runs", right=True),
        Column("total", right=True, style="yellow"),
        Column("mean", right=True),
        Column("shortest", right=True),
        Column("longest", right=True),
        *((Column("speed", style="dim", flexible=True),) if speeds else ()),
    )
    rows = [
        (
            plain(row.name),
            count(row.count),
            *(duration(value) for value in (row.total, row.mean, row.shortest, row.longest)),
            *((describe_args(speeds.get((row.track, row.name), {})),) if speeds else ()),
        )
        for row in found.rows
    ]
    printer.table(columns, rows)


def _compiled(item: Compiled, printer: Printer) -> None:
    done = f"{count(item.steps)} steps, {count(item.matches)} matches"
    took = f", {duration(item.context.dur)}" if item.context.dur >= 0 else ""
    printer.line(("compiled  ", "dim"), f'-i "{item.name}"', (f"  {done}{took}", "dim"))
    if item.context.place:
        printer.line((f"          {item.context.place}", "dim"))
