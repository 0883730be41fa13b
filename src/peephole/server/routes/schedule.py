"""A schedule's kernels, the buffers between them, and why two of them are two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peephole.query.timeline.context_runs import ContextRuns, runs_of_contexts
from peephole.server.library import ask, ask_once
from peephole.server.replies import path_number, query_number, reply
from peephole.server.routes.captures import shelf_of

if TYPE_CHECKING:
    from peephole.compilers.answers import Boundary, Buffer, Kernel, Schedule
    from peephole.compilers.labels import Look
    from peephole.store.capture import Capture


async def one_schedule(request: Request) -> Response:
    """Kernels in the order in which they run, and what they read and write."""
    number = path_number(request, "context")

    shelf = shelf_of(request)
    runs = await ask_once(shelf, "runs", runs_of_contexts)

    def answer(capture: Capture) -> dict[str, Any]:
        from peephole.query.rewrites.schedules import schedule

        return _wire(schedule(capture, number), runs)

    return reply(await ask(shelf, answer))


async def schedules(request: Request) -> Response:
    """How many kernels each schedule has, which the name of a cached one does not say, and what they are called."""

    def answer(capture: Capture) -> dict[str, list[Any]]:
        from peephole.query.rewrites.schedules import kernels_of_schedule, schedule_contexts

        found = [context for context, _ in schedule_contexts(capture)]
        kernels = [kernels_of_schedule(capture, context) for context in found]
        names = [list(dict.fromkeys(kernel.name for kernel in each)) for each in kernels]
        return {"context": found, "kernels": [len(each) for each in kernels], "names": names}

    return reply(await ask_once(shelf_of(request), "schedules", answer))


def _wire(found: Schedule, runs: dict[int, ContextRuns] | None) -> dict[str, Any]:
    return {
        "context": found.context,
        "name": found.name,
        "madeIn": found.made_in,
        "kernels": [_kernel(found, kernel, runs) for kernel in found.kernels],
        "buffers": [_buffer(buffer) for buffer in found.buffers],
        "edges": [[edge.first, edge.second, edge.buffer, edge.kind] for edge in found.edges],
        "root": _look(found.root),
        "note": ""
        if found.made_in == found.context
        else "This schedule was cached; its passes are those of an earlier one.",
    }


def _kernel(found: Schedule, kernel: Kernel, runs: dict[int, ContextRuns] | None) -> dict[str, Any]:
    own = ContextRuns(-1, -1) if runs is None else runs.get(kernel.context, ContextRuns(0, 0))
    return {
        "at": kernel.index,
        "name": kernel.name,
        "context": kernel.context,
        "node": kernel.node,
        "kind": kernel.kind,
        "runs": own.count,
        "total": own.total,
        "ops": kernel.ops,
        "members": len(kernel.members),
        "reads": [at for at, buffer in enumerate(found.buffers) if kernel.index in buffer.readers],
        "writes": [at for at, buffer in enumerate(found.buffers) if kernel.index in buffer.writers],
        "look": _look(kernel.look),
    }


def _buffer(buffer: Buffer) -> dict[str, Any]:
    return {
        "name": buffer.name,
        "dtype": buffer.dtype,
        "elements": buffer.elements,
        "device": buffer.device,
        "own": buffer.own,
        "look": _look(buffer.look),
    }


def _look(look: Look) -> dict[str, Any]:
    return {"name": look.name, "arg": look.arg, "type": look.type, "family": int(look.family)}


async def why(request: Request) -> Response:
    """Why kernels `a` and `b` of a schedule, by their place in it, are two."""
    number = path_number(request, "context")
    a, b = query_number(request, "a", 0), query_number(request, "b", 0)

    def answer(capture: Capture) -> dict[str, Any]:
        from peephole.query.rewrites.why import why_kernels

        found = why_kernels(capture, number, a, number, b)
        return {
            "a": found.first.name,
            "b": found.second.name,
            "relation": found.relation,
            "sentence": found.text,
            "reasons": [_reason(boundary) for boundary in found.boundaries],
            "between": [kernel.index for kernel in found.between],
            "common": [kernel.index for kernel in found.common],
        }

    return reply(await ask(shelf_of(request), answer))


def _reason(boundary: Boundary) -> dict[str, Any]:
    forced, evidence = boundary.forced, boundary.evidence
    return {
        "buffer": boundary.buffer.name,
        "kind": boundary.kind,
        "reason": boundary.reason,
        "text": boundary.text,
        "kept": boundary.kept or "",
        "node": " ".join(filter(None, (forced.op, forced.dtype, forced.shape))) if forced else "",
        "tensors": forced.tensors if forced else [],
        "step": evidence.step if evidence else -1,
        "stepName": evidence.step_name if evidence else "",
        "match": evidence.match if evidence else -1,
        "file": (evidence.file or "") if evidence else "",
        "line": evidence.line if evidence else -1,
        "source": (evidence.source or "") if evidence else "",
        "userLine": boundary.user_line or "",
    }


async def call(request: Request) -> Response:
    """The context that a call of a step's graphs was compiled in, -1 when there is none."""
    step, node = path_number(request, "step"), query_number(request, "node", 0)

    def answer(capture: Capture) -> dict[str, int]:
        from peephole.query.rewrites.calls import called_context

        return {"context": called_context(capture, step, node)}

    return reply(await ask(shelf_of(request), answer))


ROUTES: list[Route] = [
    Route("/captures/{capture}/schedules", schedules),
    Route("/captures/{capture}/contexts/{context}/schedule", one_schedule),
    Route("/captures/{capture}/contexts/{context}/why", why),
    Route("/captures/{capture}/steps/{step}/call", call),
]
