"""`peephole show -s "<device> Memory"`: the peak, what held it, every alloc and free, and who used a buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from peephole.cli.format import Printer, count, pad, size
from peephole.cli.views import Request
from peephole.query.memory import (
    Memory,
    Use,
    Users,
    alive,
    devices,
    handle,
    memory,
    memory_events,
    of_several_processes,
)

if TYPE_CHECKING:
    from peephole.store.capture import Capture

SUFFIX = " Memory"
_AT_PEAK = 5
"""Buffers that are named as holding the peak; -t says how many instead."""


def sources(capture: Capture) -> list[str]:
    """One per device that has buffers."""
    return [device + SUFFIX for device in devices(capture)]


def claims(capture: Capture, request: Request) -> bool:
    """A device's memory by its name."""
    return request.source is not None and request.source.endswith(SUFFIX) and request.source in sources(capture)


def show(capture: Capture, request: Request, printer: Printer) -> int:
    """Prints the memory of the device; with -t only the peak and its largest buffers."""
    assert request.source is not None
    device = request.source.removesuffix(SUFFIX)
    found = memory(capture, device)
    held = alive(capture, device, found.peak_time)
    if printer.json:
        facts: dict[str, Any] = {"device": device, "peak_bytes": found.peak, "peak_ns": found.peak_time}
        shown = held if request.top is None or request.top < 0 else held[: request.top]
        largest = [{"buffer": b.id, "bytes": b.bytes, "dtype": b.dtype, "name": b.name} for b in shown]
        printer.record({**facts, "buffers": found.buffers[0], "never_freed": found.buffers[1], "at_peak": largest})
    else:
        _peak(capture, found, request, printer)
    if request.top is None:
        _events(capture, found, request, printer)
    return 0


def _peak(capture: Capture, found: Memory, request: Request, printer: Printer) -> None:
    origin = _origin(capture)
    when = f" at {(found.peak_time - origin) / 1e6:.3f} ms" if found.peak else ""
    printer.line(("peak ", "dim"), (size(found.peak), "bold yellow"), when)
    buffers, left = found.buffers
    printer.line(("buffers ", "dim"), f"{count(buffers)}, {count(left)} never freed")
    held = alive(capture, found.device, found.peak_time)
    limit = _AT_PEAK if request.top is None else request.top if request.top >= 0 else len(held)
    known = Users(capture) if capture.count("uses") else None
    several = of_several_processes(capture.read("buffers", ["id"])["id"])
    for buffer in held[:limit]:
        made = next((use for use in known.of(buffer.id) if "write" in use.mode), None) if known else None
        text = f"  {handle(buffer.id, several)}  {buffer.dtype}  {buffer.name}".rstrip()
        printer.line(
            pad(size(buffer.bytes), 12, right=True), text, (f"  written by {made.name}" if made else "", "dim")
        )
    if len(held) > limit:
        rest = sum(buffer.bytes for buffer in held[limit:])
        printer.line(pad(size(rest), 12, right=True), f"  in {count(len(held) - limit)} others")
    printer.line()


def _events(capture: Capture, found: Memory, request: Request, printer: Printer) -> None:
    origin = _origin(capture)
    known = Users(capture) if capture.count("uses") else None
    several = of_several_processes(capture.read("buffers", ["id"])["id"])
    for event in memory_events(capture, found, request.interval):
        buffer = event.buffer
        uses = known.of(buffer.id) if known is not None and event.kind == "free" else []
        if printer.json:
            facts = {"event": event.kind, "time_ns": event.time, "buffer": buffer.id, "bytes": buffer.bytes}
            facts |= {"dtype": buffer.dtype, "name": buffer.name, "total_bytes": event.total}
            if event.kind == "free":
                facts["users"] = [_use(use) for use in uses]
            printer.record(facts)
            continue
        sign = "+" if event.kind == "alloc" else "-"
        info = buffer.dtype if event.kind == "alloc" else ", ".join(f"{u.name} {u.mode}@{u.position}" for u in uses)
        printer.line(
            (pad(f"{(event.time - origin) / 1e6:.3f} ms", 13, right=True), "dim"),
            (f"  {event.kind:<5}", "green" if event.kind == "alloc" else "red"),
            f"  {pad(sign + size(buffer.bytes), 10, right=True)}  {pad(size(event.total), 10, right=True)}",
            f"  {handle(buffer.id, several):>6}  ",
            info if printer.width > 200 else info[: max(printer.width - 60, 10)],
        )


def _use(use: Use) -> dict[str, Any]:
    facts = {"slice": use.slice, "name": use.name, "mode": use.mode, "position": use.position}
    return {**facts, "start_ns": use.start, "dur_ns": use.dur}


def _origin(capture: Capture) -> int:
    from peephole.query.info import span

    return (span(capture) or (0, 0))[0]
