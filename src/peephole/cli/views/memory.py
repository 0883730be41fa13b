"""`peephole show -s "<device> Memory"`: the peak, what held it, every alloc and free, and who used a buffer.

With `-i segments [MOMENT]` what the allocator had reserved then, with `-i b7` one buffer: see `memory_items`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from peephole.cli.format import Printer, count, pad, size
from peephole.cli.views import Request
from peephole.cli.views.memory_items import show_items
from peephole.query.capture.info import span
from peephole.query.memory.buffers import (
    Buffer,
    Memory,
    alive,
    buffers_of_several_processes,
    count_uses,
    devices,
    handle,
    memory,
    memory_events,
)
from peephole.query.memory.segments import Allocator, OutOfMemory, out_of_memory
from peephole.query.timeline.correlations import Links, Use

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
    found = memory(capture, request.source.removesuffix(SUFFIX))
    if request.items:
        return show_items(capture, found, request, printer)
    allocator = Allocator(capture, found.device)
    held = alive(capture, found.device, found.peak_time)
    if printer.json and request.top is not None:
        _peak_record(found, held[: request.top] if request.top >= 0 else held, printer)
        return 0
    links = Links(capture) if count_uses(capture) else None
    if printer.json:
        _peak_record(found, held, printer)
    else:
        limit = _AT_PEAK if request.top is None else request.top if request.top >= 0 else len(held)
        _peak(capture, found, held, limit, links, printer)
        _reserved(capture, found, allocator, printer)
    if request.top is None:
        _events(capture, found, request, (links, allocator), printer)
    return 0


def _peak_record(found: Memory, held: list[Buffer], printer: Printer) -> None:
    facts: dict[str, Any] = {"device": found.device, "peak_bytes": found.peak, "peak_ns": found.peak_time}
    largest = [{"buffer": b.id, "bytes": b.bytes, "dtype": b.dtype, "name": b.name} for b in held]
    printer.record({**facts, "buffers": found.buffers[0], "never_freed": found.buffers[1], "at_peak": largest})


def _peak(
    capture: Capture, found: Memory, held: list[Buffer], limit: int, links: Links | None, printer: Printer
) -> None:
    when = f" at {(found.peak_time - _origin(capture)) / 1e6:.3f} ms" if found.peak else ""
    printer.line(("peak ", "dim"), (size(found.peak), "bold yellow"), when)
    buffers, left = found.buffers
    printer.line(("buffers ", "dim"), f"{count(buffers)}, {count(left)} never freed")
    several = buffers_of_several_processes(capture)
    for buffer in held[:limit]:
        made = links.maker_of(buffer.id) if links else ""
        text = f"  {handle(buffer.id, several)}  {buffer.dtype}  {buffer.name}".rstrip()
        printer.line(pad(size(buffer.bytes), 12, right=True), text, (f"  written by {made}" if made else "", "dim"))
    if len(held) > limit:
        rest = sum(buffer.bytes for buffer in held[limit:])
        printer.line(pad(size(rest), 12, right=True), f"  in {count(len(held) - limit)} others")
    printer.line()


def _reserved(capture: Capture, found: Memory, allocator: Allocator, printer: Printer) -> None:
    """What the allocator had reserved at the peak and at the end, and the moments without memory."""
    if not allocator.known:
        return
    last = (span(capture) or (0, 0))[1]
    for word, moment in (("at the peak", found.peak_time), ("at the end", last)):
        at = allocator.at(moment)
        unused = f"{size(at.reserved - at.allocated)} ({at.fragmentation:.1%}) unused, largest free {size(at.largest)}"
        printer.line(("reserved ", "dim"), f"{size(at.reserved)} {word}, {unused}")
    for oom in out_of_memory(capture, found.device):
        printer.line((oom.name, "bold red"), f" at {(oom.time - _origin(capture)) / 1e6:.3f} ms")
    printer.line(("-i segments [MOMENT] shows segments and blocks, -i b7 a buffer with its stack", "dim"))
    printer.line()


def _events(
    capture: Capture, found: Memory, request: Request, known: tuple[Links | None, Allocator], printer: Printer
) -> None:
    links, allocator = known
    origin = _origin(capture)
    several = buffers_of_several_processes(capture)
    low, high = request.interval or (None, None)
    failed = [
        oom
        for oom in out_of_memory(capture, found.device)
        if (low is None or oom.time >= low) and (high is None or oom.time < high)
    ]
    for event in memory_events(capture, found, request.interval):
        while failed and failed[0].time < event.time:
            _failed(failed.pop(0), origin, printer)
        buffer = event.buffer
        reserved = allocator.reserved_at(event.time) if allocator.known else None
        uses = links.users_of(buffer.id)[0] if links is not None and event.kind == "free" else []
        if printer.json:
            facts = {"event": event.kind, "time_ns": event.time, "buffer": buffer.id, "bytes": buffer.bytes}
            facts |= {"dtype": buffer.dtype, "name": buffer.name, "total_bytes": event.total}
            if reserved is not None:
                facts["reserved_bytes"] = reserved
            if event.kind == "free":
                facts["users"] = [_use(use) for use in uses]
            printer.record(facts)
            continue
        sign = "+" if event.kind == "alloc" else "-"
        users = ", ".join(f"{use.slice.name} {use.mode}@{use.position}" for use in uses)
        info = buffer.dtype if event.kind == "alloc" else users
        printer.line(
            (pad(f"{(event.time - origin) / 1e6:.3f} ms", 13, right=True), "dim"),
            (f"  {event.kind:<5}", "green" if event.kind == "alloc" else "red"),
            f"  {pad(sign + size(buffer.bytes), 10, right=True)}  {pad(size(event.total), 10, right=True)}",
            "" if reserved is None else (f" of {pad(size(reserved), 10, right=True)}", "dim"),
            f"  {handle(buffer.id, several):>6}  ",
            info if printer.width > 200 else info[: max(printer.width - 60, 10)],
        )

    for oom in failed:
        _failed(oom, origin, printer)


def _failed(oom: OutOfMemory, origin: int, printer: Printer) -> None:
    if printer.json:
        printer.record({"event": "oom", "time_ns": oom.time, "name": oom.name, "stack": list(oom.stack)})
        return
    printer.line(
        (pad(f"{(oom.time - origin) / 1e6:.3f} ms", 13, right=True), "dim"), "  ", (oom.name, "bold red"),
        ("".join(f"  {frame}" for frame in oom.stack[:1]), "dim"),
    )  # fmt: skip


def _use(use: Use) -> dict[str, Any]:
    at = use.slice
    facts = {"slice": at.correlation, "name": at.name, "mode": use.mode, "position": use.position}
    return {**facts, "start_ns": at.start, "dur_ns": at.dur}


def _origin(capture: Capture) -> int:
    return (span(capture) or (0, 0))[0]
