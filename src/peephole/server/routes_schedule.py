"""A schedule's kernels, the buffers between them, and why two of them are two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peephole.server.library import ask
from peephole.server.replies import path_number, reply
from peephole.server.routes_captures import shelf_of

if TYPE_CHECKING:
    from peephole.query.schedule import Buffer, Kernel, Schedule
    from peephole.store.capture import Capture


async def one_schedule(request: Request) -> Response:
    """Kernels in the order in which they run, and what they read and write."""
    number = path_number(request, "context")

    def answer(capture: Capture) -> dict[str, Any]:
        from peephole.query.schedule import schedule

        return _wire(schedule(capture, number))

    return reply(await ask(shelf_of(request), answer))


def _wire(found: Schedule) -> dict[str, Any]:
    return {
        "context": found.context,
        "name": found.name,
        "madeIn": found.made_in,
        "kernels": [_kernel(found, kernel) for kernel in found.kernels],
        "buffers": [_buffer(buffer) for buffer in found.buffers],
        "edges": [[edge.first, edge.second, edge.buffer, edge.kind] for edge in found.edges],
        "note": ""
        if found.made_in == found.context
        else "This schedule was cached; its passes are those of an earlier one.",
    }


def _kernel(found: Schedule, kernel: Kernel) -> dict[str, Any]:
    return {
        "at": kernel.index,
        "name": kernel.name,
        "context": kernel.context,
        "node": kernel.node,
        "kind": kernel.kind,
        "ops": kernel.ops,
        "members": len(kernel.members),
        "reads": [at for at, buffer in enumerate(found.buffers) if kernel.index in buffer.readers],
        "writes": [at for at, buffer in enumerate(found.buffers) if kernel.index in buffer.writers],
    }


def _buffer(buffer: Buffer) -> dict[str, Any]:
    return {
        "name": f"{'buffer' if buffer.op == 'BUFFER' else 'param'} {buffer.slot}",
        "dtype": buffer.dtype,
        "elements": buffer.elements,
        "device": buffer.device,
        "own": buffer.op != "BUFFER",
    }


ROUTES: list[Route] = [Route("/captures/{capture}/contexts/{context}/schedule", one_schedule)]
