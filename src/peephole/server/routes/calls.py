"""The Calls page: the call tree of a thread, and the slices of one of its functions."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peephole.query.calls.tree import CallTree, call_tree, inverted, searched
from peephole.query.calls.unfinished import unfinished
from peephole.query.calls.view import call_threads, calls_view, first_thread, longest_slices
from peephole.query.timeline.tracks import TimelineTrack
from peephole.server.library import Shelf, quick
from peephole.server.replies import Refusal, query_number, reply
from peephole.server.routes.captures import shelf_of
from peephole.server.routes.timeline import colours_of, interval_of, span_of, tracks_of
from peephole.store.capture import Capture

THREADS = 1000
"""Threads that are listed."""
_KEPT = 6
"""Trees that are kept for the next question about them."""
_LONGEST = 4000
"""Letters of a search or a path."""


def _thread(request: Request, shelf: Shelf, capture: Capture) -> tuple[list[TimelineTrack], list[TimelineTrack]]:
    """All threads, and the one that is asked for by its title, else the one to begin with; `*` are all."""
    threads = call_threads(tracks_of(shelf, capture))
    title = request.query_params.get("thread")
    if title == "*" or not threads:
        return threads, threads
    if title is None:
        return threads, [first_thread(threads)]
    chosen = [row for row in threads if row.title == title]
    if not chosen:
        raise Refusal(404, f"No thread of this capture is called {title[:80]!r}; choose one from the list.")
    return threads, chosen


def _interval(request: Request, shelf: Shelf, capture: Capture) -> tuple[int, int] | None:
    if "t0" not in request.query_params and "t1" not in request.query_params:
        return None
    return interval_of(request, span_of(shelf, capture))


def _short(text: str, name: str) -> str:
    if len(text) > _LONGEST:
        raise Refusal(400, f"{name} is longer than {_LONGEST:,} letters.")
    return text


async def tree(request: Request) -> Response:
    """The nodes of a thread's tree, or of a part of it."""
    shelf = shelf_of(request)
    mode = request.query_params.get("mode", "tree")
    if mode not in ("tree", "inverted"):
        raise Refusal(400, "mode must be tree or inverted.")
    words, path = _short(request.query_params.get("q", ""), "q"), _short(request.query_params.get("focus", ""), "focus")
    focus = [unquote(name) for name in path.split("/")] if path else []
    by_place = bool(query_number(request, "place", 0))

    def answer(capture: Capture) -> dict[str, Any]:
        threads, chosen = _thread(request, shelf, capture)
        interval = _interval(request, shelf, capture)
        ids = [row.id for row in chosen]
        title = chosen[0].title if len(chosen) == 1 else "All threads"
        key = f"calls {ids} {interval} {by_place}"

        def whole() -> CallTree:
            return _kept(shelf, capture, key, lambda: call_tree(capture, ids, interval, by_place, title))

        def wanted() -> CallTree:
            found = searched(whole(), words) if words else whole()
            return inverted(found) if mode == "inverted" else found

        found = _kept(shelf, capture, f"{key} {words!r} {mode}", wanted)
        view = calls_view(capture, found, focus)
        colours = colours_of(shelf, capture)
        listed = threads[:THREADS]
        facts = view.functions
        return {
            "threads": {
                "title": [row.title for row in listed],
                "slices": [row.slices for row in listed],
                "nested": [len(row.depths) > 1 for row in listed],
            },
            "threadCount": len(threads),
            "thread": "*" if len(chosen) > 1 else title if chosen else "",
            "title": title,
            "mode": mode,
            "busy": view.busy,
            "slices": view.slices,
            "known": view.known,
            "found": view.found,
            "unfinished": shelf.once(capture, f"calls open {ids}", lambda _: unfinished(capture, ids)),
            "leftOut": found.left_out,
            "depthCut": found.depth_cut(0) or 0,
            "depth": view.depth,
            "function": view.function,
            "count": view.count,
            "total": view.total,
            "self": view.self,
            "width": view.width,
            "row": view.row,
            "context": view.context,
            "folded": view.folded,
            "path": {"function": [function for function, _ in view.path], "total": [total for _, total in view.path]},
            "functions": {
                "name": [one.name for one in facts],
                "place": [one.place for one in facts],
                "number": [one.number for one in facts],
                "colour": [int(colours[one.number]) if one.number >= 0 else 12 for one in facts],
                "total": [one.total for one in facts],
                "self": [one.self for one in facts],
                "count": [one.count for one in facts],
            },
        }

    return reply(await quick(shelf, answer, fresh=True))


def _kept(shelf: Shelf, capture: Capture, key: str, make: Any) -> CallTree:
    """A tree, made once while it is among the last few that were asked for."""
    found: CallTree = shelf.once(capture, key, lambda _: make())
    keys = [name for name in list(shelf.derived) if name.startswith("calls [")]
    for old in [name for name in keys if name != key][: max(0, len(keys) - _KEPT)]:
        shelf.derived.pop(old, None)
    return found


async def slices(request: Request) -> Response:
    """The longest slices of a function on a thread."""
    shelf, name = shelf_of(request), query_number(request, "name", 0)

    def answer(capture: Capture) -> dict[str, Any]:
        _, chosen = _thread(request, shelf, capture)
        origin, interval = span_of(shelf, capture)[0], _interval(request, shelf, capture)
        titles = {row.id: row.title for row in chosen}
        runs = longest_slices(capture, name, list(titles), interval)
        return {
            "slices": [
                {"row": run.row, "thread": titles[run.track], "start": run.start - origin, "dur": run.dur}
                for run in runs
            ]
        }

    return reply(await quick(shelf, answer))


_BELOW = "/captures/{capture}/calls"
ROUTES = [Route(_BELOW, tree), Route(f"{_BELOW}/slices", slices)]
