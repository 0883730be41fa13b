"""Memory of an allocator: the segments and blocks of a moment. Times are ns from the origin."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peephole.query.memory.segments import Allocator, SegmentsAt, out_of_memory
from peephole.server.arrays import raw_reply
from peephole.server.library import Shelf, quick
from peephole.server.replies import Refusal, query_moment
from peephole.server.routes.captures import shelf_of
from peephole.server.routes.timeline import span_of
from peephole.store.capture import Capture

SEGMENTS: Final = 4096
BLOCKS: Final = 200_000
OOMS: Final = 200


def allocator_of(shelf: Shelf, capture: Capture, device: str) -> Allocator:
    """The allocator of a device, made once."""
    return shelf.once(capture, f"allocator {device}", lambda capture: Allocator(capture, device))


def moments_without_memory(capture: Capture, device: str, origin: int) -> list[int]:
    """When a device had no memory left."""
    return [moment.time - origin for moment in out_of_memory(capture, device)[:OOMS]]


async def segments(request: Request) -> Response:
    """The segments right after a moment, largest first, and their blocks by address, as raw arrays."""
    shelf = shelf_of(request)
    device = request.query_params.get("device", "")

    def answer(capture: Capture) -> Response:
        origin, end = span_of(shelf, capture)
        allocator = allocator_of(shelf, capture, device)
        if not allocator.known:
            raise Refusal(404, f"What was reserved on a device called {device[:80]!r} is not known.")
        moment = origin + query_moment(request, "time", end - origin)
        before, after = allocator.beside(moment)
        head = {
            "before": None if before is None else before - origin,
            "after": None if after is None else after - origin,
        }
        return _reply(allocator.at(moment), allocator.blocks.id, head)

    return await quick(shelf, answer)


def _reply(at: SegmentsAt, ids: Any, head: dict[str, Any]) -> Response:
    order = np.argsort(-at.bytes, kind="stable")[:SEGMENTS]
    rank = np.full(len(at.bytes), -1, np.int64)
    rank[order] = np.arange(len(order))
    shown = np.flatnonzero(rank[at.segment] >= 0)
    shown = shown[np.argsort(rank[at.segment[shown]], kind="stable")][:BLOCKS]
    head |= {
        "segments": len(order), "blocks": len(shown), "left": len(at.bytes) - len(order),
        "count": len(at.bytes), "held": len(at.size),
        "reserved": at.reserved, "allocated": at.allocated, "rounded": int((at.taken - at.size).sum()),
        "largest": at.largest, "lost": at.lost,
        "address": [f"{value:#x}" for value in at.address[order].tolist()],
        "name": [at.name[place][:200] for place in order.tolist()],
    }  # fmt: skip
    floats = [
        at.bytes[order], at.used[order], at.largest_free[order], at.offset[shown], at.size[shown], at.taken[shown],
        ids[at.place[shown]],
    ]  # fmt: skip
    whole = [rank[at.segment[shown]], at.pending[shown]]
    return raw_reply(
        head, [column.astype(np.float64) for column in floats] + [column.astype(np.int32) for column in whole]
    )


ROUTES = [Route("/captures/{capture}/memory/segments", segments)]
