"""The Top page: names with their time, and the runs of one name."""

from __future__ import annotations

from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peephole.query.capture.info import sampled
from peephole.query.timeline import top_table
from peephole.query.timeline import tracks as timeline
from peephole.query.timeline.slice_names import slice_name
from peephole.server.library import Shelf, quick
from peephole.server.replies import Refusal, number, query_number, reply
from peephole.server.routes.captures import shelf_of
from peephole.server.routes.timeline import colours_of, interval_of, span_of
from peephole.store.capture import Capture

NAMES = 20_000
"""Names that are sent, most time first; the reply says how many there are."""


def _asked(request: Request, shelf: Shelf, capture: Capture) -> tuple[str, tuple[int, int] | None, int]:
    group = request.query_params.get("group", "kernels")
    if group not in top_table.GROUPS:
        raise Refusal(400, f"group must be one of {', '.join(top_table.GROUPS)}.")
    span = span_of(shelf, capture)
    ranged = "t0" in request.query_params or "t1" in request.query_params
    return group, interval_of(request, span) if ranged else None, span[0]


async def table(request: Request) -> Response:
    """Names of a group by column, most time first."""
    shelf = shelf_of(request)
    only = request.query_params.get("tracks")
    tracks = None if only is None else {number(part, "tracks") for part in only.split(",") if part}

    def answer(capture: Capture) -> dict[str, Any]:
        group, interval, _ = _asked(request, shelf, capture)
        found = top_table.top_table(capture, group, tracks, interval)
        colours = colours_of(shelf, capture)
        rows = found.rows[:NAMES]
        speeds = [row.rates for row in rows]
        return {
            "group": group,
            "groups": [name for name in top_table.GROUPS if top_table.group_tracks(capture, name)],
            "names": len(found.rows),
            "total": found.total,
            "count": found.count,
            "exact": found.exact,
            "sampled": sampled(capture),
            "bins": top_table.BINS,
            "tracks": {"id": [row.id for row in found.tracks], "name": [row.title for row in found.tracks]},
            "name": [row.name for row in rows],
            "serial": [row.serial for row in rows],
            "number": [row.number for row in rows],
            "colour": [int(colours[row.number]) if row.number >= 0 else 12 for row in rows],
            "sum": [row.total for row in rows],
            "self": [row.self for row in rows],
            "mean": [row.mean for row in rows],
            "runs": [row.count for row in rows],
            "shortest": [row.shortest for row in rows],
            "longest": [row.longest for row in rows],
            "median": [row.median for row in rows],
            "p95": [row.p95 for row in rows],
            "context": [row.context for row in rows],
            "flops": [one.get("flops", -1) for one in speeds],
            "bytesPerS": [one.get("bytes_per_s", -1) for one in speeds],
            "histogram": [count for row in rows for count in row.histogram],
        }

    return reply(await quick(shelf, answer, fresh=True))


async def runs(request: Request) -> Response:
    """One name, of kernels of one context: its tracks and its slowest runs, each with the marker before it."""
    shelf, name = shelf_of(request), query_number(request, "name", 0)
    context = query_number(request, "context", -1, -1) if "context" in request.query_params else None

    def answer(capture: Capture) -> dict[str, Any]:
        try:
            title = slice_name(capture, name)
        except IndexError as error:
            raise Refusal(404, f"This capture has {error} names; there is no number {name}.") from None
        group, interval, origin = _asked(request, shelf, capture)
        found = top_table.name_runs(capture, name, group, interval, context=context)
        marks = timeline.markers(capture)
        times = np.array(marks.time, np.int64)
        before = [int(np.searchsorted(times, run.start, "right")) - 1 for run in found.slowest]
        return {
            "name": title,
            "tracks": found.tracks,
            "slowest": [
                {"row": run.row, "track": run.track, "start": run.start - origin, "dur": run.dur,
                 "marker": marks.name[at] if at >= 0 else ""}
                for run, at in zip(found.slowest, before, strict=True)
            ],
        }  # fmt: skip

    return reply(await quick(shelf, answer))


_BELOW = "/captures/{capture}/top"
ROUTES = [Route(_BELOW, table), Route(f"{_BELOW}/runs", runs)]
