"""Hardware traces for the page: engines, lanes, windows, instructions with heat, control flow, counters."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peephole.errors import PeepholeError
from peephole.query.hardware.counters import metrics
from peephole.query.hardware.elf import Resources, resources
from peephole.query.hardware.flow import control_flow
from peephole.query.hardware.losses import LOST
from peephole.query.hardware.packets import Arch
from peephole.query.hardware.stall_lanes import CYCLES, StallLanes, stall_lanes
from peephole.query.hardware.stalls import REASONS, Samples, by_reason, hottest, samples
from peephole.query.hardware.traces import HardwareTrace, content, counters, entries
from peephole.query.hardware.wave_lanes import CLASSES, LaneView, lane_view, window
from peephole.query.hardware.waves import clock_samples, occupancy
from peephole.server.arrays import raw_reply
from peephole.server.library import Shelf, ask
from peephole.server.replies import Refusal, path_number, query_number, reply
from peephole.server.routes.captures import shelf_of
from peephole.store.capture import Capture

_OCCUPANCY_PIXELS = 1200
_MARKS = 4000
_PLACES = 500


def _trace(shelf: Shelf, capture: Capture, row: int) -> HardwareTrace:
    found = {entry.row: entry for entry in entries(capture)}
    if row not in found or found[row].kind != "sqtt":
        raise Refusal(404, f"There is no thread trace {row} in this capture.")
    return shelf.once(capture, f"trace {row}", lambda capture: HardwareTrace(capture, found[row]))


def _lanes(shelf: Shelf, capture: Capture, row: int) -> tuple[HardwareTrace, LaneView]:
    trace = _trace(shelf, capture, row)
    return trace, shelf.once(capture, f"lanes {row}", lambda _: lane_view(trace))


async def list_hardware(request: Request) -> Response:
    """Kernels and runs with their engines and counters."""

    def question(capture: Capture) -> list[dict[str, Any]]:
        return [
            {
                "row": entry.row, "kernel": entry.kernel, "run": entry.run, "device": entry.device, "kind": entry.kind,
                "unit": entry.unit, "arch": entry.arch, "detail": entry.props.get("itrace") is not False,
                "source": entry.source, "context": entry.context,
            }
            for entry in entries(capture)
        ]  # fmt: skip

    return reply({"entries": await ask(shelf_of(request), question)})


async def trace_summary(request: Request) -> Response:
    """The lanes of an engine's trace and what could not be shown."""
    shelf, row = shelf_of(request), path_number(request, "row")

    def question(capture: Capture) -> dict[str, Any]:
        trace, view = _lanes(shelf, capture, row)
        samples = clock_samples(trace.packets)
        return {
            "source": trace.entry.source,
            "arch": trace.entry.arch,
            "stream": trace.packets.arch.name,
            "packets": sum(trace.counts.values()),
            "waves": len(trace.waves),
            "first": view.first,
            "last": view.last,
            "classes": CLASSES,
            "ops": view.ops,
            "lanes": [
                {"label": lane.label, "group": lane.group, "events": len(lane.start), "busy": _busy(view, i)}
                for i, lane in enumerate(view.lanes)
            ],
            "clock": {"cycle": samples.cycle[:_MARKS], "tick": samples.tick[:_MARKS]},
            "resources": _resources(trace),
            "notes": list(dict.fromkeys(trace.notes)),
            "losses": trace.losses.counts(),
            "lost": trace.losses.marks.get(LOST, np.empty(0, np.int64))[:_MARKS],
            "stalls": trace.losses.stalls()[:_MARKS],
            "traced": _traced(trace),
        }

    return reply(await ask(shelf, question))


def _traced(trace: HardwareTrace) -> str:
    """Whose instructions the trace holds; a CDNA trace has those of a whole CU."""
    cu, simd = trace.traced
    return f"CU {cu}" if trace.packets.arch is Arch.CDNA else f"CU {cu}, SIMD {simd}"


def _resources(trace: HardwareTrace) -> Resources | None:
    try:
        return resources(trace.binary, trace.entry.arch) if trace.binary else None
    except PeepholeError as error:
        trace.notes.append(str(error))
        return None


def _busy(view: LaneView, number: int) -> float:
    lane = view.lanes[number]
    return round(float((lane.end - lane.start).sum()) / max(view.last - view.first, 1), 4)


async def trace_window(request: Request) -> Response:
    """Events of chosen lanes: a JSON header, then raw columns (start, end: f64; the others i32)."""
    shelf, row = shelf_of(request), path_number(request, "row")
    t0, t1 = query_number(request, "t0", 0), query_number(request, "t1", 1)
    pixels = min(max(query_number(request, "px", 1000), 1), 8000)
    wanted = _numbers(request.query_params.get("lanes", ""))

    def question(capture: Capture) -> Response:
        _, view = _lanes(shelf, capture, row)
        counts: list[int] = []
        columns: list[list[NDArray[Any]]] = [[] for _ in range(9)]
        for lane in (view.lanes[i] for i in wanted if i < len(view.lanes)):
            rows, merged, busy = window(lane, t0, t1, pixels)
            counts.append(len(rows))
            values = (lane.start[rows], lane.end[rows], lane.kind[rows], lane.op[rows], lane.instruction[rows],
                      lane.link[rows], lane.event[rows], merged * 2 + lane.other[rows], busy)  # fmt: skip
            for column, value in zip(columns, values, strict=True):
                column.append(value)
        arrays = [
            np.concatenate(parts or [np.empty(0)]).astype("<f8" if number < 2 else "<i4")
            for number, parts in enumerate(columns)
        ]
        return raw_reply({"counts": counts}, arrays)

    return await ask(shelf, question)


def _numbers(text: str) -> list[int]:
    parts = [part for part in text.split(",") if part]
    if len(parts) > 2000 or any(not (part.isascii() and part.isdigit() and len(part) < 8) for part in parts):
        raise Refusal(400, "lanes must be numbers with commas between them, 2,000 at most.")
    return [int(part) for part in parts]


async def trace_event(request: Request) -> Response:
    """Where an event is: its lane, begin and end; the page asks when a link leads out of the window."""
    shelf, row, event = shelf_of(request), path_number(request, "row"), path_number(request, "event")

    def question(capture: Capture) -> dict[str, Any]:
        _, view = _lanes(shelf, capture, row)
        for number, lane in enumerate(view.lanes):
            if lane.group == "all":
                continue
            at = np.flatnonzero(lane.event == event)
            if len(at):
                i = int(at[0])
                return {
                    "lane": number, "start": int(lane.start[i]), "end": int(lane.end[i]),
                    "op": view.ops[int(lane.op[i])], "instruction": int(lane.instruction[i]),
                    "link": int(lane.link[i]), "event": event,
                }  # fmt: skip
        raise Refusal(404, f"There is no event {event} in this trace.")

    return reply(await ask(shelf, question))


async def instructions(request: Request) -> Response:
    """The kernel's instructions with hits, latency, stall and idle."""
    shelf, row = shelf_of(request), path_number(request, "row")

    def question(capture: Capture) -> dict[str, Any]:
        trace = _trace(shelf, capture, row)
        program, found = trace.program, trace.hotspots
        if program is None:
            return {"pc": [], "notes": list(dict.fromkeys(trace.notes))}
        zero = np.zeros(len(program), np.int64)
        figures = {
            name: {
                "total": getattr(found, name).total if found else zero,
                "worst": getattr(found, name).worst if found else zero,
                "count": getattr(found, name).count if found else zero,
            }
            for name in ("latency", "stall", "idle")
        }
        return {
            "pc": program.pc, "text": program.text, "registers": program.registers, "skipped": program.skipped,
            "hits": found.hits if found else zero, "event": _first_events(trace), **figures,
            "wait": [one.wait for one in trace.facts], "words": [one.words for one in trace.facts],
            "awaits": [one.awaits for one in trace.facts], "line": [one.line for one in trace.facts],
            "source": [one.source for one in trace.facts], "context": trace.source[1],
            "notes": list(dict.fromkeys(trace.notes)),
        }  # fmt: skip

    return reply(await ask(shelf, question))


def _first_events(trace: HardwareTrace) -> NDArray[np.int64]:
    """The event with which each instruction issued first; -1 for those that did not."""
    assert trace.program is not None
    first = np.full(len(trace.program), -1, np.int64)
    if trace.mapped is not None:
        rows = np.flatnonzero((trace.mapped.wave >= 0) & (trace.mapped.instruction >= 0))[::-1]
        first[np.minimum(trace.mapped.instruction[rows], len(first) - 1)] = rows
    return first


async def flow(request: Request) -> Response:
    """The control-flow graph of the kernel, blocks weighted by the clocks spent in them."""
    shelf, row = shelf_of(request), path_number(request, "row")

    def question(capture: Capture) -> dict[str, Any]:
        trace = _trace(shelf, capture, row)
        if trace.program is None:
            return {"blocks": [], "edges": [], "notes": list(dict.fromkeys(trace.notes))}
        graph, found = control_flow(trace.program), trace.hotspots
        cost = found.stall.total + found.hits if found else np.zeros(len(trace.program), np.int64)
        hits = found.hits if found else np.zeros(len(trace.program), np.int64)
        blocks = [
            {
                "first": block.first, "last": block.last, "hits": int(hits[block.first : block.last + 1].max()),
                "cycles": int(cost[block.first : block.last + 1].sum()),
            }
            for block in graph.blocks
        ]  # fmt: skip
        return {"blocks": blocks, "edges": graph.edges, "notes": list(dict.fromkeys(trace.notes))}

    return reply(await ask(shelf, question))


async def engine_occupancy(request: Request) -> Response:
    """Waves in flight of every engine of the same run, over the whole kernel."""
    shelf, row = shelf_of(request), path_number(request, "row")

    def question(capture: Capture) -> dict[str, Any]:
        own = _trace(shelf, capture, row).entry
        engines = []
        for entry in entries(capture):
            same = (entry.kernel, entry.run, entry.device) == (own.kernel, own.run, own.device)
            if entry.kind == "sqtt" and same:
                trace = _trace(shelf, capture, entry.row)
                moments, number = occupancy(trace.waves)
                moments, number = _thinned(moments, number)
                detail = entry.props.get("itrace") is not False
                engines.append({"row": entry.row, "unit": entry.unit, "waves": len(trace.waves), "detail": detail,
                                "time": moments, "value": number})  # fmt: skip
        return {"engines": engines}

    return reply(await ask(shelf, question))


def _thinned(moments: Any, number: Any) -> tuple[Any, Any]:
    """At most a few steps a pixel: of each cell the largest value is kept."""
    if len(moments) <= 4 * _OCCUPANCY_PIXELS:
        return moments, number
    cell = (moments - moments[0]) * _OCCUPANCY_PIXELS // max(int(moments[-1] - moments[0]), 1)
    first = np.flatnonzero(np.diff(cell, prepend=-1))
    return moments[first], np.maximum.reduceat(number, first)


async def stall_samples(request: Request) -> Response:
    """Stall samples as runs on lanes of waves: a JSON header, then raw columns (start, end, pc: f64; others i32)."""
    shelf, row = shelf_of(request), path_number(request, "row")

    def read(capture: Capture) -> tuple[Samples, StallLanes]:
        entry = next((entry for entry in entries(capture) if entry.row == row and entry.kind == "pma"), None)
        if entry is None:
            raise Refusal(404, f"There are no stall samples {row} in this capture.")
        found = samples(content(capture, entry), entry.props)
        return found, stall_lanes(found)

    def question(capture: Capture) -> Response:
        found, laid = shelf.once(capture, f"stalls {row}", read)
        head = {
            "samples": len(found), "shown": laid.shown, "lost": found.lost, "cycles": CYCLES, "reasons": REASONS,
            "totals": by_reason(found.reason), "lanes": [asdict(lane) for lane in laid.lanes],
            "places": [{"pc": pc, "samples": number, "reasons": own} for pc, number, own in hottest(found, _PLACES)],
            "sites": len(np.unique(found.pc)),
        }  # fmt: skip
        columns = [column.astype("<f8") for column in (laid.start, laid.end, laid.pc)]
        return raw_reply(head, [*columns, laid.reason.astype("<i4"), laid.active.astype("<i4")])

    return await ask(shelf, question)


async def counter_table(request: Request) -> Response:
    """Every counter of every kernel and run, with the value of each unit, and derived figures."""

    def question(capture: Capture) -> dict[str, Any]:
        rows = []
        for entry in entries(capture):
            if entry.counted:
                found = counters(capture, entry)
                rows.append({"row": entry.row, "kernel": entry.kernel, "run": entry.run, "device": entry.device,
                             "counters": [_counter(c) for c in found], "metrics": metrics(found)})  # fmt: skip
        return {"runs": rows}

    return reply(await ask(shelf_of(request), question))


def _counter(counter: Any) -> dict[str, Any]:
    return {"name": counter.name, "block": counter.block, "total": counter.total, "largest": counter.largest,
            "units": counter.units}  # fmt: skip


_BASE = "/captures/{capture}/hardware"
ROUTES = [
    Route(_BASE, list_hardware),
    Route(f"{_BASE}/counters", counter_table),
    Route(f"{_BASE}/{{row}}", trace_summary),
    Route(f"{_BASE}/{{row}}/window", trace_window),
    Route(f"{_BASE}/{{row}}/events/{{event}}", trace_event),
    Route(f"{_BASE}/{{row}}/instructions", instructions),
    Route(f"{_BASE}/{{row}}/flow", flow),
    Route(f"{_BASE}/{{row}}/occupancy", engine_occupancy),
    Route(f"{_BASE}/{{row}}/stalls", stall_samples),
]
