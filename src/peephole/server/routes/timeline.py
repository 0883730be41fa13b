"""The timeline: tracks, windows, series, slices, ranges, hits, gaps. Times are ns from the origin that it names."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peephole.query.capture.info import holds
from peephole.query.timeline import slice_facts as slice_query
from peephole.query.timeline import tracks as query
from peephole.query.timeline.correlations import Arrow, Links, SliceAt
from peephole.query.timeline.group_tracks import GROUPS
from peephole.query.timeline.idle import idle
from peephole.query.timeline.slice_names import slice_names
from peephole.query.timeline.slice_search import FoundSlices, find_slices, group_runs
from peephole.query.timeline.track_groups import HOST
from peephole.query.timeline.windows import lane_windows, series_pixels, timeline_counts
from peephole.server.arrays import RawReply, raw_reply
from peephole.server.library import Shelf, quick
from peephole.server.replies import Refusal, columns, number, query_moment, query_number, reply
from peephole.server.routes.captures import shelf_of
from peephole.store.capture import Capture

TRACKS = 10_000
"""Tracks that are sent: more rows than anyone scrolls through; the reply says how many there are."""
NAMES = 8192
LANES = 2048
PIXELS = 8192
_generations = itertools.count(1)


def get_ready(shelf: Shelf, capture: Capture) -> None:
    """Makes what the timeline asks for first, while the browser still loads the page."""
    if not capture.live and holds(capture, "slices"):
        span_of(shelf, capture)
        tracks_of(shelf, capture)
        colours_of(shelf, capture)


def span_of(shelf: Shelf, capture: Capture) -> tuple[int, int]:
    """First and last moment of the timeline; times in requests and replies count from the first."""
    return shelf.once(capture, "timeline span", query.timeline_span)


def links_of(shelf: Shelf, capture: Capture) -> Links:
    """The slices that flows and uses name."""
    return shelf.once(capture, "timeline links", Links)


def colours_of(shelf: Shelf, capture: Capture) -> NDArray[np.uint8]:
    """The data colour of each name."""
    return shelf.once(capture, "timeline colours", query.name_colours)


def tracks_of(shelf: Shelf, capture: Capture) -> list[query.TimelineTrack]:
    """The rows of the timeline."""
    return shelf.once(capture, "timeline tracks", query.timeline_tracks)


def _titles(shelf: Shelf, capture: Capture) -> dict[int, str]:
    """Each track by its number, as the page names it."""
    return shelf.once(capture, "timeline titles", lambda _: {row.id: row.title for row in tracks_of(shelf, capture)})


def _generation(shelf: Shelf, capture: Capture) -> int:
    """A number that changes with the rows of a growing capture: rows and names are numbered anew then."""
    return shelf.once(capture, "timeline generation", lambda _: next(_generations))


def interval_of(request: Request, span: tuple[int, int]) -> tuple[int, int]:
    """What a request asks for with `t0` and `t1`, on the capture's clock; the whole span when it says nothing."""
    t0 = query_moment(request, "t0", 0)
    t1 = query_moment(request, "t1", span[1] - span[0])
    if t1 < t0:
        raise Refusal(400, "t1 must not be before t0.")
    return span[0] + t0, span[0] + max(t1, t0 + 1)


def _pixels(request: Request) -> int:
    return min(query_number(request, "px", 1000, 1), PIXELS)


async def whole(request: Request) -> Response:
    """Span, tracks, markers and counts."""
    shelf = shelf_of(request)

    def answer(capture: Capture) -> dict[str, Any]:
        t0, t1 = span_of(shelf, capture)
        rows = tracks_of(shelf, capture)
        names = ("id", "name", "kind", "group", "depths", "slices", "parent", "under", "unit", "where")
        marks = shelf.once(capture, "timeline markers", query.markers)
        counts = timeline_counts(capture)
        return {
            "origin": str(t0),
            "span": t1 - t0,
            "generation": _generation(shelf, capture),
            "live": capture.live,
            "slices": counts.slices,
            "flows": counts.flows,
            "names": counts.names,
            "trackCount": len(rows),
            "tracks": columns(_shown(rows), names),
            "markerCount": marks.total,
            "markers": {
                "time": [time - t0 for time in marks.time], "name": marks.name, "kind": marks.kind,
                "track": marks.track, "colour": marks.colour,
            },
        }  # fmt: skip

    return reply(await quick(shelf, answer, fresh=True))


def _shown(rows: list[query.TimelineTrack]) -> list[query.TimelineTrack]:
    """All tracks, or of very many those that say most: everything but threads, then the fullest threads."""
    if len(rows) <= TRACKS:
        return rows
    order = sorted(range(len(rows)), key=lambda at: (rows[at].group == HOST, -rows[at].slices))
    return [rows[at] for at in sorted(order[:TRACKS])]


async def names(request: Request) -> Response:
    """A page of names with their colours."""
    shelf = shelf_of(request)
    first = query_number(request, "first", 0)

    def answer(capture: Capture) -> dict[str, Any]:
        every = slice_names(capture)
        colours = colours_of(shelf, capture)
        page = slice(first, first + NAMES)
        colour = colours[: len(every)][page].tolist()
        return {"first": first, "total": len(every), "page": NAMES, "text": every[page], "colour": colour}

    return reply(await quick(shelf, answer))


async def window(request: Request) -> Response:
    """Many lanes of a window, as raw arrays."""
    shelf, pixels = shelf_of(request), _pixels(request)
    lanes = _lanes(request.query_params.get("lanes", ""))

    def answer(capture: Capture) -> Response:
        span = span_of(shelf, capture)
        t0, t1 = interval_of(request, span)
        found = lane_windows(capture, lanes, t0, t1, pixels)
        head: dict[str, Any] = {
            "generation": _generation(shelf, capture),
            "origin": str(span[0]),
            "n": [len(lane) for lane in found],
            "width": [lane.width for lane in found],
        }
        reply = RawReply(head, sum(head["n"]), ("<f8", "<f8", "<f4", "<u4", "<u4", "<i4"))
        start, end, busy, count, row, name = reply.columns
        at = 0
        for lane in found:
            own = slice(at, at + len(lane))
            at = own.stop
            start[own] = lane.start - span[0]
            end[own] = lane.end - span[0]
            busy[own], count[own], row[own], name[own] = lane.busy, lane.count, lane.row, lane.name
        return reply.response()

    return await quick(shelf, answer)


def _lanes(text: str) -> list[tuple[int, int]]:
    wanted = []
    for part in text.split(",") if text else ():
        track, _, depth = part.partition(":")
        wanted.append((number(track, "a lane's track"), number(depth or "0", "a lane's depth")))
    if len(wanted) > LANES:
        raise Refusal(400, f"At most {LANES} lanes can be asked for at once.")
    return wanted


async def series(request: Request) -> Response:
    """Counters (by track) and the memory of devices (by name's place in `memory`), as raw arrays."""
    shelf, pixels = shelf_of(request), _pixels(request)
    counters = [number(part, "counters") for part in request.query_params.get("counters", "").split(",") if part]
    devices = request.query_params.getlist("memory")
    if len(counters) + len(devices) > LANES:
        raise Refusal(400, f"At most {LANES} series can be asked for at once.")

    def answer(capture: Capture) -> Response:
        span = span_of(shelf, capture)
        t0, t1 = interval_of(request, span)
        found = series_pixels(capture, counters, devices, t0, t1, pixels)
        head = {
            "generation": _generation(shelf, capture),
            "origin": str(span[0]),
            "n": [len(one.start) for one in found],
            "peak": [one.peak for one in found],
            "peakTime": [one.peak_time - span[0] for one in found],
            "low": [one.least for one in found],
        }
        empty = [np.zeros(0)]
        arrays = [np.concatenate([one.start - span[0] for one in found] or empty).astype(np.float64)]
        arrays += [np.concatenate([getattr(one, c) for one in found] or empty) for c in ("low", "high", "mean")]
        return raw_reply(head, arrays)

    return await quick(shelf, answer)


async def overview(request: Request) -> Response:
    """The whole trace on a few pixels."""
    shelf, pixels = shelf_of(request), _pixels(request)

    def answer(capture: Capture) -> Response:
        t0, t1 = span_of(shelf, capture)
        tracks = tracks_of(shelf, capture)
        found = shelf.once(capture, f"timeline overview {pixels}", lambda c: query.overview(c, t0, t1, pixels, tracks))
        return raw_reply({"pixels": pixels, "generation": _generation(shelf, capture)}, [found.devices, found.host])

    return await quick(shelf, answer)


async def one_slice(request: Request) -> Response:
    """A slice's own facts."""
    shelf, row = shelf_of(request), query_number(request, "row", 0)

    def answer(capture: Capture) -> dict[str, Any]:
        origin = span_of(shelf, capture)[0]
        try:
            found = slice_query.slice_detail(capture, row)
        except IndexError as error:
            raise Refusal(404, f"This capture has {error} slices; there is no row {row}.") from None
        title = _titles(shelf, capture).get(found.track, found.track_name)
        return {
            "row": row, "track": found.track, "trackName": title, "depth": found.depth,
            "start": found.start - origin, "dur": found.dur, "name": found.name, "context": found.context,
            "contextName": found.context_name, "args": found.args, "stack": found.stack, "before": found.before,
            "after": found.after,
        }  # fmt: skip

    return reply(await quick(shelf, answer))


async def slice_links(request: Request) -> Response:
    """What a slice is linked to, and its place among its like."""
    shelf, row = shelf_of(request), query_number(request, "row", 0)

    def answer(capture: Capture) -> dict[str, Any]:
        origin = span_of(shelf, capture)[0]
        links = links_of(shelf, capture)
        try:
            found = slice_query.slice_links(capture, row, links)
        except IndexError as error:
            raise Refusal(404, f"This capture has {error} slices; there is no row {row}.") from None
        flows = [_arrow(arrow, origin) for arrow in found.flows]
        return {"row": row, "rank": found.rank, "of": found.of, "runs": found.runs, "buffers": found.buffers,
                "several": found.several, "flows": flows}  # fmt: skip

    return reply(await quick(shelf, answer))


def _arrow(arrow: Arrow, origin: int) -> dict[str, Any]:
    ends = {"from": _end(arrow.source, origin), "to": _end(arrow.target, origin)}
    return {**ends, "bytes": arrow.bytes, "kind": arrow.kind}


def _end(at: SliceAt, origin: int) -> dict[str, Any]:
    place = {"row": at.row, "track": at.track, "depth": at.depth}
    return {**place, "start": at.start - origin, "dur": at.dur, "name": at.name}


async def flows(request: Request) -> Response:
    """The arrows of a window when they are few."""
    shelf, most = shelf_of(request), min(query_number(request, "most", 300, 1), 2000)

    def answer(capture: Capture) -> dict[str, Any]:
        span = span_of(shelf, capture)
        links = links_of(shelf, capture)
        arrows, total = links.flows_in(*interval_of(request, span), most)
        return {"total": total, "flows": [_arrow(arrow, span[0]) for arrow in arrows]}

    return reply(await quick(shelf, answer))


async def slice_at(request: Request) -> Response:
    """The slice at a time of a lane, or the nearest one."""
    shelf = shelf_of(request)
    track, depth = query_number(request, "track", 0), query_number(request, "depth", 0)
    time = query_moment(request, "time", 0)

    def answer(capture: Capture) -> dict[str, Any]:
        return {"row": slice_query.slice_at(capture, track, depth, span_of(shelf, capture)[0] + time)}

    return reply(await quick(shelf, answer))


async def range_figures(request: Request) -> Response:
    """The figures of a range."""
    shelf = shelf_of(request)

    def answer(capture: Capture) -> dict[str, Any]:
        span = span_of(shelf, capture)
        t0, t1 = interval_of(request, span)
        rows = tracks_of(shelf, capture)
        if (t0, t1) == span:  # the figures that are shown first, and again whenever a range is cleared
            make = lambda c: query.range_figures(c, t0, t1, rows=rows)  # noqa: E731
            found = shelf.once(capture, "timeline figures", make)
        else:
            found = query.range_figures(capture, t0, t1, rows=rows)
        return {
            "t0": found.t0 - span[0], "t1": found.t1 - span[0], "tracks": found.tracks, "top": found.top,
            "names": found.names, "kernels": found.kernels, "copies": found.copies, "copied": found.copied,
            "exact": found.exact,
        }  # fmt: skip

    return reply(await quick(shelf, answer))


async def search(request: Request) -> Response:
    """How many slices have these words in their name, or are what a row of Top is, and one of them."""
    shelf, text = shelf_of(request), request.query_params.get("q", "")[:200]
    place, runs = query_number(request, "place", -1, -1), _asked_runs(request)
    time = query_moment(request, "time", 0)

    def answer(capture: Capture) -> dict[str, Any]:
        origin = span_of(shelf, capture)[0]
        found = _found_slices(shelf, capture, text, runs)
        at = (place % len(found) if place >= 0 else found.after(origin + time) % len(found)) if len(found) else -1
        start = int(found.start[at]) - origin if at >= 0 else 0
        return {"query": text, "total": len(found), "names": found.names, "place": at, "row": found.at(at),
                "start": start, "near": found.near,
                "extent": [int(found.start[0]) - origin, found.end - origin] if found.end >= 0 else None}  # fmt: skip

    return reply(await quick(shelf, answer))


_Runs = tuple[str, int | None, int | None]
"""Group, name and context of a row of Top."""


def _asked_runs(request: Request) -> _Runs | None:
    """The row of Top whose slices are wanted; None when they are searched for by their names."""
    asked = request.query_params
    group = request.query_params.get("group", "")
    if not group:
        return None
    if group not in GROUPS:
        raise Refusal(400, f"group must be one of {', '.join(GROUPS)}.")
    name = query_number(request, "name", 0) if "name" in asked else None
    return group, name, query_number(request, "context", -1, -1) if "context" in asked else None


def _found_slices(shelf: Shelf, capture: Capture, text: str, runs: _Runs | None) -> FoundSlices:
    """The hits of a query; the last one is kept for the steps through it."""
    known: tuple[object, FoundSlices] | None = shelf.derived.get("timeline search")
    if known is None or known[0] != (text, runs):
        try:
            found = find_slices(capture, text) if runs is None else group_runs(capture, *runs)
        except IndexError as error:
            raise Refusal(404, f"This capture has {error} names; there is no such number.") from None
        known = shelf.derived["timeline search"] = (text, runs), found
    return known[1]


async def gaps(request: Request) -> Response:
    """The longest stretches in which devices did nothing."""
    shelf, limit = shelf_of(request), min(query_number(request, "limit", 100, 1), 1000)
    ranged = "t0" in request.query_params

    def answer(capture: Capture) -> dict[str, Any]:
        span = span_of(shelf, capture)
        found = idle(capture, interval=interval_of(request, span) if ranged else None, limit=limit)
        titles = _titles(shelf, capture)
        rows = [
            {"track": gap.track.id, "trackName": titles.get(gap.track.id, gap.track.name),
             "start": gap.start - span[0], "dur": gap.dur, "before": gap.before, "after": gap.after}
            for gap in found.gaps
        ]  # fmt: skip
        sums = [{"track": one.track.id, "busy": one.busy, "idle": one.idle, "gaps": one.gaps} for one in found.tracks]
        return {"gaps": rows, "tracks": sums}

    return reply(await quick(shelf, answer))


_BELOW = "/captures/{capture}/timeline"
ROUTES = [
    Route(_BELOW, whole),
    Route(f"{_BELOW}/names", names),
    Route(f"{_BELOW}/window", window),
    Route(f"{_BELOW}/series", series),
    Route(f"{_BELOW}/overview", overview),
    Route(f"{_BELOW}/slice", one_slice),
    Route(f"{_BELOW}/links", slice_links),
    Route(f"{_BELOW}/flows", flows),
    Route(f"{_BELOW}/at", slice_at),
    Route(f"{_BELOW}/range", range_figures),
    Route(f"{_BELOW}/search", search),
    Route(f"{_BELOW}/gaps", gaps),
]
