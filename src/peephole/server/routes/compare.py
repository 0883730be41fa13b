"""Two captures compared: the tables, one kernel in depth, graphs, memory, calls and lanes of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peephole.query.compare.both_graphs import both_graphs
from peephole.query.compare.comparison import Compared, compared
from peephole.query.compare.curves import call_rows, curves, first_run, lanes, moments
from peephole.query.compare.one_kernel import one_kernel
from peephole.query.compare.recorded import recorded
from peephole.query.compare.results import Divergence, KernelRow, SideFacts
from peephole.query.compare.times import TimeRow
from peephole.server.library import Library, Shelf
from peephole.server.replies import Refusal, query_moment, query_number, reply
from peephole.server.routes.captures import shelf_of
from peephole.store.capture import Capture

Result = TypeVar("Result")
ROWS = 5000
"""Rows of a table that are sent; the reply says how many there are."""
PASSES = 400


def _shelves(request: Request) -> tuple[Shelf, Shelf]:
    library: Library = request.app.state.library
    return shelf_of(request), library.shelf(request.path_params["other"])


async def _both(request: Request, question: Callable[[Capture, Capture], Result]) -> Result:
    """The answer of a question about two captures, while no other thread uses them."""
    a, b = _shelves(request)

    def work() -> Result:
        first, second = sorted((a, b), key=lambda shelf: shelf.handle)
        with first.lock, second.lock:
            return question(a.open(), b.open())

    a.asked = b.asked = True
    return await run_in_threadpool(work)


async def _compared(request: Request, question: Callable[[Compared], Result]) -> Result:
    """The same about their comparison, which is made once."""
    a, b = _shelves(request)
    pairs = tuple(
        (one, two)
        for one, _, two in (text.partition("=") for text in request.query_params.getlist("pair"))
        if one and two
    )

    def answer(one: Capture, two: Capture) -> Result:
        key = f"compare:{b.handle}:{b.opened}:{pairs}"

        def make(_capture: Capture) -> Compared:
            return compared([recorded(one)], [recorded(two)], by_hand=pairs)

        found = make(one) if one.live or two.live else a.once(one, key, make)
        return question(found)

    return await _both(request, answer)


async def table(request: Request) -> Response:
    """The verdict and the tables."""

    def answer(found: Compared) -> dict[str, Any]:
        comparison = found.comparison
        return {
            "same": comparison.same,
            "verdict": comparison.verdict,
            "a": _side(comparison.a),
            "b": _side(comparison.b),
            "kernels": [_kernel(row) for row in comparison.kernels[:ROWS]],
            "kernelCount": len(comparison.kernels),
            "divergence": [_divergence(row) for row in comparison.divergence[:ROWS]],
            "rules": comparison.rules[:ROWS],
            "times": [_time(row) for row in comparison.times if row.group != "kernels"][:ROWS],
            "memory": comparison.memory,
            "passes": comparison.passes[:ROWS],
            "counts": comparison.counts,
            "messages": [row for row in comparison.messages if row.differs][:ROWS],
            "normalised": comparison.normalised,
            "notes": comparison.notes,
        }

    return reply(await _compared(request, answer))


async def kernel(request: Request) -> Response:
    """One kernel, or any context, by its name on either side: code, passes, where it parts, and the graphs there."""
    name = request.query_params.get("name", "")

    def answer(found: Compared) -> dict[str, Any]:
        one = one_kernel(found, name)
        graphs = both_graphs(found, one.divergence) if one.divergence is not None else None
        at = next((i for i, step in enumerate(one.passes) if step.state == "parts"), len(one.passes))
        shown = one.passes[max(0, at - PASSES) : at + PASSES]
        return {
            "name": name,
            "a": one.context_a,
            "b": one.context_b,
            "row": _kernel(one.row) if one.row else None,
            "divergence": _divergence(one.divergence) if one.divergence else None,
            "equal": min(at, len(one.passes)),
            "equalMatches": sum(step.matches_a for step in one.passes[:at]),
            "passes": shown,
            "language": one.code.language,
            "code": one.code.lines[:ROWS],
            "removed": one.code.removed,
            "added": one.code.added,
            "graphs": graphs,
        }

    return reply(await _compared(request, answer))


async def memory(request: Request) -> Response:
    """The memory of both over time."""
    return reply(await _both(request, lambda a, b: {"a": curves(a), "b": curves(b)}))


async def calls(request: Request) -> Response:
    """The call trees of both hosts as one."""
    return reply(await _both(request, lambda a, b: {"rows": call_rows(a, b)}))


async def window(request: Request) -> Response:
    """Lanes of both sides in a window each, and the moments by which they can be aligned."""
    pixels = query_number(request, "pixels", 1000, 1)
    if pixels > 8000:
        raise Refusal(400, "pixels must be at most 8000.")
    name = request.query_params.get("kernel", "")
    other = request.query_params.get("kernelB", name)

    def answer(a: Capture, b: Capture) -> dict[str, Any]:
        a0, b0 = query_moment(request, "a0", 0), query_moment(request, "b0", 0)
        a1, b1 = query_moment(request, "a1", a0 + 1), query_moment(request, "b1", b0 + 1)
        result: dict[str, Any] = {
            "a": lanes(a, a0, max(a1, a0 + 1), pixels),
            "b": lanes(b, b0, max(b1, b0 + 1), pixels),
        }
        if "moments" in request.query_params:
            bare = [one.partition("#")[0] for one in (name, other)]
            result["moments"] = moments(a, b)
            result["kernel"] = [first_run(a, [bare[0]]), first_run(b, [bare[1]])] if name else [-1, -1]
        return result

    return reply(await _both(request, answer))


def _side(side: SideFacts) -> dict[str, Any]:
    return {
        "names": side.names, "source": side.source, "frameworks": side.frameworks, "host": side.host,
        "compileNs": side.compile_ns, "kernelNs": side.kernel_ns, "launches": side.launches,
        "steps": side.steps, "matches": side.matches,
    }  # fmt: skip


def _kernel(row: KernelRow) -> dict[str, Any]:
    return {
        "state": row.state, "name": row.name, "a": row.name_a, "b": row.name_b, "how": row.how, "coded": row.coded,
        "unitA": row.unit_a, "unitB": row.unit_b, "launchesA": row.launches_a, "launchesB": row.launches_b,
        "flopsA": row.flops_a, "flopsB": row.flops_b, "bytesA": row.bytes_a, "bytesB": row.bytes_b, "place": row.place,
        "time": _time(row.time) if row.time else None,
    }  # fmt: skip


def _time(row: TimeRow) -> dict[str, Any]:
    return {
        "group": row.group, "name": row.name, "nameB": row.name_b, "nA": row.n_a, "nB": row.n_b,
        "medianA": row.median_a, "medianB": row.median_b, "intervalA": row.interval_a, "intervalB": row.interval_b,
        "totalA": row.total_a, "totalB": row.total_b, "p": row.p if row.tested else None, "verdict": row.verdict,
        "tested": row.tested,
    }  # fmt: skip


def _divergence(row: Divergence) -> dict[str, Any]:
    parts = row.parting
    return {
        "a": row.context_a, "b": row.context_b, "kind": row.kind, "isKernel": row.is_kernel, "step": row.step,
        "stepNameB": row.step_b,
        "stepA": row.step_id_a, "stepB": row.step_id_b, "match": row.match, "what": row.what, "follows": row.follows,
        "rules": [parts.rule_a, parts.rule_b] if parts else [None, None],
        "inner": {"match": parts.inner.match, "ordinal": parts.inner.ordinal} if parts and parts.inner else None,
    }  # fmt: skip


_BELOW = "/captures/{capture}/compare/{other}"
ROUTES = [
    Route(_BELOW, table),
    Route(f"{_BELOW}/kernel", kernel),
    Route(f"{_BELOW}/memory", memory),
    Route(f"{_BELOW}/calls", calls),
    Route(f"{_BELOW}/window", window),
]
