"""Items of a device's memory in the terminal: the segments of a moment, or one buffer with its stack."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from peephole.cli.format import Printer, count, pad, size
from peephole.cli.views import Request
from peephole.errors import PeepholeError
from peephole.model.journal import PROCESS_SHIFT
from peephole.query.capture.info import span
from peephole.query.memory.addresses import made_at
from peephole.query.memory.buffers import Memory, buffers_of_several_processes, find_buffer, handle, read_buffers
from peephole.query.memory.segments import Allocator, SegmentsAt
from peephole.query.timeline.correlations import Links
from peephole.query.timeline.interval import find_moment

if TYPE_CHECKING:
    from peephole.store.capture import Capture

_SEGMENTS = "segments"
_PEAK = "peak"
_BAR = 32
"""Cells of the picture of a segment."""
_SHADES = " ░▒▓█"


def show_items(capture: Capture, found: Memory, request: Request, printer: Printer) -> int:
    """Prints the segments of a moment, or a buffer."""
    word, *more = request.items
    if word == _SEGMENTS and len(more) <= 1:
        return _segments(capture, found, more, request, printer)
    if (known := re.fullmatch(r"(?:p(\d{1,9})\.)?b(\d{1,18})", word)) and not more:
        return _buffer(capture, (int(known[1] or 0) << PROCESS_SHIFT) + int(known[2]), printer)
    raise PeepholeError(
        f"{' '.join(request.items)!r} is not an item of memory: `segments [MOMENT]`, or a buffer, `b7`."
    )


def _segments(capture: Capture, found: Memory, more: list[str], request: Request, printer: Printer) -> int:
    allocator = Allocator(capture, found.device)
    if not allocator.known:
        raise PeepholeError(f"This capture does not say what was reserved on {found.device or 'the device'}.")
    first, last = span(capture) or (0, 0)
    moment = last if not more else found.peak_time if more == [_PEAK] else find_moment(capture, more[0])
    at = allocator.at(moment)
    if printer.json:
        facts = {"device": found.device, "time_ns": moment, "reserved_bytes": at.reserved}
        facts |= {"allocated_bytes": at.allocated, "unused_bytes": at.reserved - at.allocated}
        facts |= {"largest_free_bytes": at.largest, "segments": len(at.bytes), "blocks": len(at.size)}
        printer.record({**facts, "elsewhere_bytes": at.lost})
    else:
        when = f"at {(moment - first) / 1e6:.3f} ms"
        printer.line((f"{size(at.reserved)} ", "bold yellow"), f"reserved in {count(len(at.bytes))} segments {when}")
        unused = f"{size(at.reserved - at.allocated)} ({at.fragmentation:.1%}) unused, largest free {size(at.largest)}"
        printer.line(f"{size(at.allocated)} in {count(len(at.size))} blocks, {unused}")
        if at.lost:
            printer.line((f"{size(at.lost)} held in buffers whose segment is not known", "dim"))
        printer.line()
    # with -t those with the most that is unused, without their blocks
    order = list(range(len(at.bytes)))
    if request.top is not None:
        order.sort(key=lambda one: int(at.used[one] - at.bytes[one]))
        order = order[: request.top] if request.top >= 0 else order
    several = buffers_of_several_processes(capture)
    bounds = at.bounds()
    for one in order:
        own = range(*bounds[one])
        buffers = read_buffers(capture, allocator.blocks.rows[at.place[own.start : own.stop]])
        blocks = [(int(at.offset[i]), buffer.bytes, buffer) for i, buffer in zip(own, buffers, strict=True)]
        if printer.json:
            _record(at, one, blocks, printer)
            continue
        start, total, used = int(at.address[one]), int(at.bytes[one]), int(at.used[one])
        printer.line(
            (f"{start:#x}", "bold"), f"  {pad(size(total), 10, right=True)}  {_bar(total, blocks)}  ",
            f"{used / total if total else 0:6.1%} used  largest free {pad(size(int(at.largest_free[one])), 10)}  ",
            (at.name[one], "dim"),
        )  # fmt: skip
        if request.top is not None:
            continue
        end = 0
        for offset, held, buffer in [*blocks, (total, 0, None)]:
            if offset > end:
                printer.line((f"    {start + end:#x}  {pad(size(offset - end), 10, right=True)}  free", "green"))
            if buffer is not None:
                name = f"  {handle(buffer.id, several)}  {buffer.name}"
                printer.line(f"    {start + offset:#x}  {pad(size(held), 10, right=True)}{name}")
            end = max(end, offset + held)
    return 0


def _record(at: SegmentsAt, one: int, blocks: list[tuple[int, int, Any]], printer: Printer) -> None:
    start = int(at.address[one])
    facts: dict[str, Any] = {"segment": hex(start), "bytes": int(at.bytes[one]), "name": at.name[one]}
    facts |= {"used_bytes": int(at.used[one]), "largest_free_bytes": int(at.largest_free[one])}
    held = [{"address": hex(start + o), "bytes": n, "buffer": b.id, "name": b.name} for o, n, b in blocks]
    printer.record({**facts, "blocks": held})


def _bar(total: int, blocks: list[tuple[int, int, Any]]) -> str:
    """How much of each part of a segment is used."""
    filled = [0.0] * _BAR
    for offset, held, _ in blocks:
        first, past = offset * _BAR / max(total, 1), (offset + held) * _BAR / max(total, 1)
        for cell in range(int(first), min(_BAR, int(past) + 1)):
            filled[cell] += max(0.0, min(past, cell + 1) - max(first, cell))
    # what is used at all, or free at all, is seen
    top = len(_SHADES) - 1
    shades = [0 if f <= 1e-9 else top if f >= 1 - 1e-9 else min(top - 1, max(1, round(f * top))) for f in filled]
    return f"[{''.join(_SHADES[shade] for shade in shades)}]"


def _buffer(capture: Capture, number: int, printer: Printer) -> int:
    buffer = find_buffer(capture, number)
    if buffer is None:
        raise PeepholeError(f"There is no buffer {handle(number, number >> PROCESS_SHIFT > 0)} in this capture.")
    links = Links(capture)
    address, stack = made_at(capture, links, number)
    uses, _ = links.users_of(number)
    if printer.json:
        facts = {"buffer": buffer.id, "device": buffer.device, "bytes": buffer.bytes, "dtype": buffer.dtype}
        facts |= {"name": buffer.name, "alloc_ns": buffer.alloc, "free_ns": buffer.free, "address": address}
        users = [{"name": use.slice.name, "mode": use.mode, "start_ns": use.slice.start} for use in uses]
        printer.record({**facts, "stack": list(stack), "users": users})
        return 0
    first = (span(capture) or (0, 0))[0]
    printer.line(
        (handle(number, buffers_of_several_processes(capture)), "bold"), f"  {size(buffer.bytes)}",
        f" on {buffer.device}" if buffer.device else "", f" at {address}" if address else "",
    )  # fmt: skip
    ended = "never freed" if buffer.free < 0 else f"freed at {(buffer.free - first) / 1e6:.3f} ms"
    printer.line(f"allocated at {(buffer.alloc - first) / 1e6:.3f} ms, {ended}")
    if stack:
        printer.line(("stack, innermost first", "dim"))
        for frame in stack:
            printer.line(f"    {frame}")
    elif buffer.name:
        printer.line(f"    {buffer.name}")
    for use in uses:
        printer.line(
            (pad(f"{(use.slice.start - first) / 1e6:.3f} ms", 13, right=True), "dim"), f"  {use.mode}  {use.slice.name}"
        )
    return 0
