"""`peephole show -s SOURCE --ls`: the items of a source, a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peephole.cli.format import Column, Printer, count, duration
from peephole.cli.views import Request
from peephole.model.plain_names import plain
from peephole.model.tables import NONE
from peephole.query.capture.info import holds
from peephole.query.capture.names import Track, find_tracks, tracks
from peephole.query.timeline.source_items import COMPILER, compiled, compiler_source
from peephole.query.timeline.top import top

if TYPE_CHECKING:
    from peephole.store.capture import Capture


def sources(capture: Capture) -> list[str]:
    """The compiler's, when only its rewrites were recorded."""
    name = compiler_source(capture)
    return [] if name is None else [name]


def claims(capture: Capture, request: Request) -> bool:
    """--ls with a source that is a track; the compiler's without a run has nothing but its items."""
    if request.items or request.source is None:
        return False
    if request.source in sources(capture):
        return True
    return request.listing and bool(find_tracks(tracks(capture), request.source))


def show(capture: Capture, request: Request, printer: Printer) -> int:
    """Prints the contexts of a compiler's source, and the names on any other, most time first."""
    assert request.source is not None
    found = find_tracks(tracks(capture), request.source)
    if (not found or any(track.kind == COMPILER for track in found)) and holds(capture, "contexts"):
        _contexts(capture, request, printer)
    else:
        _names(capture, request, found, printer)
    return 0


def _contexts(capture: Capture, request: Request, printer: Printer) -> None:
    items = [item for item in compiled(capture) if _inside(item.context.start, request.interval)]
    if printer.json:
        for item in items:
            facts = {"item": item.name, "kind": item.context.kind, "context": item.context.id}
            took = None if item.context.dur < 0 else item.context.dur
            printer.record({**facts, "steps": item.steps, "matches": item.matches, "dur_ns": took})
        return
    columns = (
        Column("item", style="bold", flexible=True),
        Column("kind", style="dim"),
        Column("steps", right=True),
        Column("matches", right=True),
        Column("took", right=True, style="yellow"),
    )
    rows = [
        (
            item.name,
            item.context.kind,
            count(item.steps),
            count(item.matches),
            duration(item.context.dur) if item.context.dur >= 0 else "",
        )
        for item in items
    ]
    printer.table(columns, rows)


def _names(capture: Capture, request: Request, found: list[Track], printer: Printer) -> None:
    rows = top(capture, None, {track.id for track in found}, request.interval).rows
    if printer.json:
        for row in rows:
            facts = {"item": plain(row.name), "slices": row.count, "total_ns": row.total}
            printer.record({**facts, "context": None if row.context == NONE else row.context})
        return
    columns = (
        Column("item", style="bold", flexible=True),
        Column("slices", right=True),
        Column("total", right=True, style="yellow"),
    )
    printer.table(columns, [(plain(row.name), count(row.count), duration(row.total)) for row in rows])


def _inside(start: int, interval: tuple[int, int] | None) -> bool:
    return interval is None or interval[0] <= start <= interval[1]
