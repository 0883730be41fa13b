"""Memory: devices, the total and the bands of a window, what was alive, one buffer. Times are ns from the origin."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peephole.model.allocator_names import SEGMENTS
from peephole.model.tables import NONE
from peephole.query.memory.addresses import made_at
from peephole.query.memory.bands import DeviceMemory, buffer_use, read_devices
from peephole.query.memory.buffers import count_uses, of_several_processes, read_buffers
from peephole.query.memory.labels import buffer_labels
from peephole.query.timeline.correlations import Use
from peephole.server.arrays import raw_reply
from peephole.server.library import Shelf, quick
from peephole.server.replies import Refusal, coded, path_number, query_moment, query_number, reply
from peephole.server.routes.captures import shelf_of
from peephole.server.routes.segments import moments_without_memory
from peephole.server.routes.timeline import links_of, span_of
from peephole.store.capture import Capture

BANDS: Final = 4000
"""Bands of a reply: more than fit on a screen, few enough to draw in a frame."""
PIXELS: Final = 8192
ALIVE: Final = 2000
USES: Final = 1000
_SPARK: Final = 32


def _devices(shelf: Shelf, capture: Capture) -> dict[str, DeviceMemory]:
    until = span_of(shelf, capture)[1]
    return shelf.once(capture, "memory devices", lambda capture: read_devices(capture, until))


def _device(request: Request, shelf: Shelf, capture: Capture) -> DeviceMemory:
    found = _devices(shelf, capture)
    name = request.query_params.get("device", "")
    if name not in found:
        raise Refusal(404, f"No buffer of this capture lies on a device called {name[:80]!r}.")
    return found[name]


def _offsets(shelf: Shelf, capture: Capture, device: DeviceMemory) -> Any:
    return shelf.once(capture, f"memory offsets {device.name}", lambda _: device.offset)


async def list_devices(request: Request) -> Response:
    """Every device with its peak and a small picture of its total."""
    shelf = shelf_of(request)

    def answer(capture: Capture) -> dict[str, Any]:
        origin, end = span_of(shelf, capture)
        found = _devices(shelf, capture)
        devices = [
            {
                "name": name, "buffers": len(device), "living": device.memory.buffers[1], "peak": device.memory.peak,
                "peakTime": device.memory.peak_time - origin, "first": int(device.alloc.min()) - origin,
                "last": min(int(device.end.max()), max(end, int(device.alloc.max()))) - origin,
                "spark": _spark(device, origin, end),
                "reserved": name + SEGMENTS if name + SEGMENTS in found else "",
                "ooms": moments_without_memory(capture, name, origin) if name + SEGMENTS in found else [],
            }
            for name, device in found.items()
        ]  # fmt: skip
        ids = [device.id for device in found.values()] or [np.empty(0, np.int64)]
        several = of_several_processes(np.concatenate(ids))
        return {"duration": end - origin, "uses": count_uses(capture), "several": several, "devices": devices}

    return reply(await quick(shelf, answer, fresh=True))


def _spark(device: DeviceMemory, t0: int, t1: int) -> list[int]:
    """The largest total of each part of the capture; nothing is held before the first."""
    found = device.series.window(t0, max(t1, t0 + 1), _SPARK)
    missing = max(0, min(_SPARK, t1 - t0) - len(found.high))
    return [0] * missing + [int(value) for value in found.high]


async def window(request: Request) -> Response:
    """The total pixel by pixel, and the bands of the buffers, as raw arrays."""
    shelf = shelf_of(request)
    pixels = min(query_number(request, "px", 1000, 1), PIXELS)
    most = min(query_number(request, "most", BANDS, 0), BANDS)

    def answer(capture: Capture) -> Response:
        origin, end = span_of(shelf, capture)
        t0 = origin + query_moment(request, "t0", 0)
        t1 = max(t0 + 1, origin + query_moment(request, "t1", end - origin))
        device = _device(request, shelf, capture)
        total = device.series.window(t0, t1, pixels)
        kept = _devices(shelf, capture).get(device.name + SEGMENTS)
        reserved = (kept or device).series.window(t0, t1, pixels)
        seen = (origin + query_moment(request, "v0", t0 - origin),
                origin + query_moment(request, "v1", t1 - origin))  # fmt: skip
        found = device.bands(t0, t1, most, seen, max(1, (t1 - t0) // pixels))
        # without a band nobody has to be placed: the total of very many buffers comes at once
        offset = _offsets(shelf, capture, device) if len(found.drawn) else device.alloc
        labels = shelf.once(capture, "memory labels", buffer_labels)
        rows = device.rows[found.drawn]
        dtypes, dtype = labels.dtypes(rows)
        names, name = labels.names(rows)
        head = {
            "bands": len(rows), "pixels": len(total.start), "width": total.width,
            "reserved": len(reserved.start) if kept else 0,
            "folded": len(found.folded), "foldedBytes": int(device.size[found.folded].sum()),
            "left": found.left_out, "leftBytes": found.left_out_bytes, "dtypes": dtypes, "names": names,
        }  # fmt: skip
        free = device.free[found.drawn]
        columns = [
            device.alloc[found.drawn] - origin, np.where(free == NONE, np.inf, free - origin),
            offset[found.drawn], device.size[found.drawn], device.id[found.drawn],
            total.start - origin, total.low, total.high,
            *((reserved.start - origin, reserved.high) if kept else ()),
        ]  # fmt: skip
        return raw_reply(head, [column.astype(np.float64) for column in columns] + [dtype, name])

    return await quick(shelf, answer)


async def alive(request: Request) -> Response:
    """What a device held right after a moment, largest first, by column."""
    shelf = shelf_of(request)

    def answer(capture: Capture) -> dict[str, Any]:
        origin = span_of(shelf, capture)[0]
        moment = origin + query_moment(request, "time", 0)
        device = _device(request, shelf, capture)
        places = device.at(moment)
        shown = read_buffers(capture, device.rows[places[:ALIVE]])
        links = links_of(shelf, capture) if count_uses(capture) else None
        makers = [links.maker_of(buffer.id) if links else "" for buffer in shown]
        dtype, dtypes = coded([buffer.dtype for buffer in shown])
        producer, producers = coded([buffer.name or made for made, buffer in zip(makers, shown, strict=True)])
        return {
            "count": len(places), "total": int(device.size[places].sum()), "id": [buffer.id for buffer in shown],
            "bytes": [buffer.bytes for buffer in shown], "dtype": dtype, "dtypes": dtypes,
            "producer": producer, "producers": producers,
        }  # fmt: skip

    return reply(await quick(shelf, answer))


async def one_buffer(request: Request) -> Response:
    """A buffer with its producer, its readers, who wrote it again and the longest time that nobody used it."""
    shelf, number = shelf_of(request), path_number(request, "buffer")

    def answer(capture: Capture) -> dict[str, Any]:
        origin, last = span_of(shelf, capture)
        for device in _devices(shelf, capture).values():
            place = device.find(number)
            if place >= 0:
                break
        else:
            raise Refusal(404, f"There is no buffer {number} in this capture.")
        (found,) = read_buffers(capture, device.rows[place : place + 1])
        peak = device.memory.peak_time
        used = buffer_use(links_of(shelf, capture), number, found.alloc, last if found.free == NONE else found.free)
        gap = used.untouched
        address, stack = made_at(capture, links_of(shelf, capture), number)
        return {
            "id": number, "device": found.device, "alloc": found.alloc - origin,
            "free": None if found.free == NONE else found.free - origin, "bytes": found.bytes, "dtype": found.dtype,
            "name": found.name, "address": address, "stack": list(stack),
            "offset": int(_offsets(shelf, capture, device)[place]),
            "peak": device.memory.peak, "atPeak": bool(device.alloc[place] <= peak < device.end[place]),
            "before": int(device.id[place - 1]) if place else NONE,
            "after": int(device.id[place + 1]) if place + 1 < len(device) else NONE,
            "producer": _use(used.producer, origin), "readers": [_use(use, origin) for use in used.readers[:USES]],
            "reads": len(used.readers), "writers": [_use(use, origin) for use in used.writers[:USES]],
            "writes": len(used.writers), "unknown": used.unknown,
            "untouched": gap and {"begin": gap.begin - origin, "end": gap.end - origin,
                                  "after": _use(gap.after, origin), "before": _use(gap.before, origin)},
        }  # fmt: skip

    return reply(await quick(shelf, answer))


def _use(use: Use | None, origin: int) -> dict[str, Any] | None:
    if use is None:
        return None
    at = use.slice
    return {"row": at.row, "track": at.track, "start": at.start - origin, "dur": at.dur, "name": at.name,
            "mode": use.mode, "position": use.position}  # fmt: skip


_BASE = "/captures/{capture}/memory"
ROUTES = [
    Route(_BASE, list_devices),
    Route(f"{_BASE}/window", window),
    Route(f"{_BASE}/alive", alive),
    Route(f"{_BASE}/buffers/{{buffer}}", one_buffer),
]
