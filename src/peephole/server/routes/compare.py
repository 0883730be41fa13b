"""Two captures compared: the tables, one kernel in depth, graphs, memory, calls and lanes of both."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peephole.query.compare.both_graphs import both_graphs, graphs_at
from peephole.query.compare.comparison import Compared, compared
from peephole.query.compare.curves import call_rows, curves, lanes
from peephole.query.compare.moments import Moment, both_moment, first_run, moments, step_begin
from peephole.query.compare.one_kernel import one_kernel, pass_names
from peephole.query.compare.paired_names import paired_names
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
_COMPARING = threading.Lock()
"""Hashes of graphs are walked with marks that two questions would write over each other."""


def _shelves(request: Request) -> tuple[Shelf, Shelf]:
    library: Library = request.app.state.library
    return shelf_of(request), library.shelf(request.path_params["other"])


async def _both(request: Request, question: Callable[[Capture, Capture], Result]) -> Result:
    """The answer of a question about two captures."""
    a, b = _shelves(request)
    a.asked = b.asked = True
    return await run_in_threadpool(_asked, a, b, question)


def _asked(a: Shelf, b: Shelf, question: Callable[[Capture, Capture], Result]) -> Result:
    """The same in this thread: one comparison at a time; two captures that grow no more are not kept from others."""
    first, second = sorted((a, b), key=lambda shelf: shelf.handle)
    with first.lock, second.lock:
        one, two = a.open(), b.open()
        if one.live or two.live:
            return question(one, two)
    with _COMPARING:
        return question(one, two)


def get_ready(a: Shelf, b: Shelf) -> None:
    """Compares two captures that were given together, while the browser loads the page."""
    _asked(a, b, lambda one, two: None if one.live or two.live else _made(a, b, one, two, ()))


def _made(a: Shelf, b: Shelf, one: Capture, two: Capture, pairs: tuple[tuple[str, str], ...]) -> Compared:
    """The comparison of two open captures, made once while they grow no more."""

    def make(_capture: Capture) -> Compared:
        return compared([recorded(one)], [recorded(two)], by_hand=pairs)

    if one.live or two.live:
        return make(one)
    return a.once(one, f"compare:{b.handle}:{b.opened}:{pairs}", make)


async def _compared(request: Request, question: Callable[[Compared], Result]) -> Result:
    """The same about their comparison, which is made once."""
    a, b = _shelves(request)
    names = request.query_params.getlist("pairA"), request.query_params.getlist("pairB")
    if len(names[0]) != len(names[1]):
        raise Refusal(400, "pairA and pairB name the two kernels of each pair: give as many of one as of the other.")
    pairs = tuple(zip(*names, strict=True))
    return await _both(request, lambda one, two: question(_made(a, b, one, two, pairs)))


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
            "totals": [_time(row) for row in comparison.totals],
            "portions": comparison.portions,
            "memory": comparison.memory,
            "passes": comparison.passes[:ROWS],
            "counts": comparison.counts,
            "messages": [row for row in comparison.messages if row.differs][:ROWS],
            "normalised": comparison.normalised,
            "notes": comparison.notes,
        }

    return reply(await _compared(request, answer))


async def kernel(request: Request) -> Response:
    """One kernel, or any context, by its name on either side: code, passes, and the graphs where it parts.

    With `pass` (and `match`) the graphs of both in that pass (after that match).
    """
    name, wanted = request.query_params.get("name", ""), request.query_params.get("pass", "")
    match = query_number(request, "match", 0, 0)

    def answer(found: Compared) -> dict[str, Any]:
        one = one_kernel(found, name)
        names = pass_names(one)
        at = next((i for i, step in enumerate(one.passes) if step.state == "parts"), len(one.passes))
        chosen = names.index(wanted) if wanted in names else -1
        if wanted and chosen < 0:
            raise Refusal(404, f"{name} has no pass {wanted[:80]!r} on either side.")
        if chosen >= 0:
            graphs = graphs_at(found, one, one.passes[chosen], match)
        else:
            graphs = both_graphs(found, one.divergence) if one.divergence is not None else None
        middle = chosen if chosen >= 0 else at
        first = max(0, middle - PASSES)
        shown = [
            {"key": key, **asdict(step)}
            for key, step in zip(names[first : middle + PASSES], one.passes[first : middle + PASSES], strict=True)
        ]
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
            "causes": [_divergence(row) for row in one.causes],
            "chosen": wanted,
            "match": match,
        }

    return reply(await _compared(request, answer))


async def memory(request: Request) -> Response:
    """The memory of both over time."""
    return reply(await _both(request, lambda a, b: {"a": curves(a), "b": curves(b)}))


async def calls(request: Request) -> Response:
    """The call trees of both hosts as one."""

    def answer(found: Compared) -> dict[str, Any]:
        a, b = found.a.open, found.b.open
        assert a is not None and b is not None
        called = paired_names(found.a.compiled, found.b.compiled, found.pairs.pairs)
        return asdict(call_rows(a, b, called))

    return reply(await _compared(request, answer))


async def window(request: Request) -> Response:
    """Lanes of both sides in a window each, and the moments by which they can be aligned."""
    pixels = query_number(request, "pixels", 1000, 1)
    if pixels > 8000:
        raise Refusal(400, "pixels must be at most 8000.")

    def answer(a: Capture, b: Capture) -> dict[str, Any]:
        a0, b0 = query_moment(request, "a0", 0), query_moment(request, "b0", 0)
        a1, b1 = query_moment(request, "a1", a0 + 1), query_moment(request, "b1", b0 + 1)
        result: dict[str, Any] = {
            "a": lanes(a, a0, max(a1, a0 + 1), pixels),
            "b": lanes(b, b0, max(b1, b0 + 1), pixels),
        }
        if "moments" in request.query_params:
            result["moments"] = [*_chosen_moments(request, a, b), *moments(a, b)]
        return result

    return reply(await _both(request, answer))


def _chosen_moments(request: Request, a: Capture, b: Capture) -> list[Moment]:
    """The first run of the chosen kernel, and the begin of the pass in which it parts, where both sides have them."""
    found = []
    name = request.query_params.get("kernel", "")
    if name:
        other = request.query_params.get("kernelB", name)
        bare = [one.partition("#")[0] for one in (name, other)]
        found += both_moment("kernel", name, (first_run(a, bare[:1]), first_run(b, bare[1:])))
    steps = query_number(request, "stepA", -1, -1), query_number(request, "stepB", -1, -1)
    if min(steps) >= 0:
        found += both_moment(
            "pass", request.query_params.get("pass", ""), (step_begin(a, steps[0]), step_begin(b, steps[1]))
        )
    return found


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
        "kind": row.kind, "uneven": row.uneven,
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
