"""The Ranks page: the map of ranks by steps, and one step in depth."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peephole.query.ranks.balance import hosts
from peephole.query.ranks.heat import METRICS, ORDERS, heat
from peephole.query.ranks.rank_slices import longest, own_window
from peephole.query.ranks.run import Run, open_run
from peephole.query.ranks.step_range import step_range
from peephole.query.ranks.step_view import step_span, step_view
from peephole.server.arrays import raw_reply
from peephole.server.library import Library, Shelf, ask
from peephole.server.replies import Refusal, query_number, reply
from peephole.server.routes.captures import shelf_of
from peephole.store.capture import Capture

_LANES = 12
"""Ranks that are shown one above the other."""
_LISTED = 200
"""Ranks, or steps, that are told, the worst first."""
_QUICK = 2_000_000
"""Ranks times steps up to which hosts are compared for the page: of ten million that takes seconds."""


def _run(shelf: Shelf, capture: Capture) -> Run:
    return shelf.once(capture, "ranks", open_run)


async def ranks(request: Request) -> Response:
    """The map: its rows and columns in the head, then a float32 for each cell."""
    shelf = shelf_of(request)
    metric, order = request.query_params.get("metric", "own"), request.query_params.get("order", "slow")
    if metric not in METRICS or order not in ORDERS:
        raise Refusal(400, f"metric is one of {', '.join(METRICS)} and order one of {', '.join(ORDERS)}.")
    rows = min(max(query_number(request, "rows", 128, 1), 1), 1024)

    def answer(capture: Capture) -> Response:
        run = _run(shelf, capture)
        found = heat(run, metric, order, rows)
        every = run.ranks()
        head = {
            "ranks": found.ranks,
            "counts": found.counts,
            "steps": found.steps,
            "lasts": found.lasts,
            "all_steps": found.all_steps,
            "means": found.means,
            "hosts": {str(row.rank): row.host for row in every if row.rank in set(found.ranks)},
            "all": len(every),
            "collectives": len(run.tables["collectives"]["name"]),
            "bound": max((row.bound_ns for row in every), default=0),
            "unbounded": sum(row.bound_ns < 0 for row in every),
            "slow": [[row.rank, list(row.slow_steps[:50])] for row in every if row.slow_steps][:50],
            "problems": [{"reason": reason, "count": count, "example": text} for reason, count, text in run.problems],
        }
        return raw_reply(head, [found.values])

    return await ask(shelf, answer)


async def step(request: Request) -> Response:
    """One step: figures, stragglers, arrivals, the path, and the ranks that matter on one clock.

    Times are ns after the step's begin, since those of 1970 are more than a page can count; `t` is the part of it whose
    slices are wanted.
    """
    shelf = shelf_of(request)
    number = query_number(request, "step", 0, 0)
    words = [word for word in request.query_params.get("with", "").split(",") if word]
    if len(words) > _LANES or not all(word.isdigit() and len(word) < 10 for word in words):
        raise Refusal(400, f"with is a list of at most {_LANES} ranks: with=3,17")
    part = _part(request)

    def answer(capture: Capture) -> dict[str, Any]:
        run = _run(shelf, capture)
        found = step_view(run, number, [int(word) for word in words])
        zero = found.start_ns
        lanes = []
        for lane in found.lanes:
            first, last = (zero + part[0], zero + part[1]) if part else (lane.start_ns, lane.end_ns)
            slices = [(start - zero, dur, name) for start, dur, name in longest(run, lane.rank, first, last)]
            talks = [(index, came - zero, wait, end - zero) for index, came, wait, end in lane.talks]
            lanes.append({"rank": lane.rank, "role": lane.role, "host": lane.host, "talks": talks, "slices": slices})
        legs = [{**asdict(leg), "start_ns": leg.start_ns - zero, "end_ns": leg.end_ns - zero} for leg in found.path]
        collectives = [{**asdict(one), "start_ns": one.start_ns - zero} for one in found.collectives]
        return {
            "step": found.step,
            "start_ns": str(zero),
            "dur_ns": found.dur_ns,
            "ranks": [asdict(row) for row in found.ranks[:_LISTED]],
            "of": len(found.ranks),
            "median_own_ns": found.median_own_ns,
            "mean_wait_ns": found.mean_wait_ns,
            "lost_ns": found.lost_ns,
            "held": found.held,
            "of_collectives": found.of_collectives,
            "collectives": collectives,
            "lanes": lanes,
            "path": legs,
            "why": asdict(found.why),
            "hosts": shelf.once(capture, "hosts of ranks", lambda _: _outliers(run)),
        }

    return reply(await ask(shelf, answer))


async def steps(request: Request) -> Response:
    """Several steps in a row: what they lost, which of them lost most, and which ranks were over the median."""
    shelf = shelf_of(request)
    first, last = query_number(request, "first", 0, 0), query_number(request, "last", 0, 0)
    if first > last:
        raise Refusal(400, "first is a step before last: first=20&last=31")

    def answer(capture: Capture) -> dict[str, Any]:
        found = step_range(_run(shelf, capture), first, last)
        return {
            **asdict(replace(found, ranks=found.ranks[:_LISTED], worst=found.worst[:_LISTED])),
            "of": len(found.ranks),
        }

    return reply(await ask(shelf, answer))


def _outliers(run: Run) -> list[dict[str, Any]]:
    """The hosts that stand out in all of the run, the slowest first; none where asking would keep the page waiting."""
    if len(run.tables["rank_steps"]) > _QUICK:
        return []
    return [{"host": one.host, "ranks": one.ranks, "over_ns": one.over_ns} for one in hosts(run) if one.outlier][:4]


def _part(request: Request) -> tuple[int, int] | None:
    text = request.query_params.get("t", "")
    if not text:
        return None
    first, _, last = text.partition("-")
    if not (first.isdigit() and last.isdigit() and len(first) < 16 and len(last) < 16 and int(first) < int(last)):
        raise Refusal(400, "t is a part of the step in ns after its begin: t=1000-250000")
    return int(first), int(last)


async def rank(request: Request) -> Response:
    """The capture of one rank, opened beside the run: its handle, and the part of a step on its own clock."""
    shelf = shelf_of(request)
    number, wanted = query_number(request, "rank", 0, 0), query_number(request, "step", 0, 0)
    part = _part(request)

    def answer(capture: Capture) -> dict[str, Any]:
        run = _run(shelf, capture)
        zero, length = step_span(run, wanted)
        first, last = part or (0, length)
        path, t0, t1 = own_window(run, number, zero + first, zero + last)
        library: Library = request.app.state.library
        return {"id": library.add(path).handle, "t0": t0, "t1": t1}

    return reply(await ask(shelf, answer))


ROUTES = [
    Route("/captures/{capture}/ranks", ranks),
    Route("/captures/{capture}/ranks/step", step),
    Route("/captures/{capture}/ranks/steps", steps),
    Route("/captures/{capture}/ranks/rank", rank),
]
