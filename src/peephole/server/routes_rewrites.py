"""Contexts, steps, matches, and the graph after any match."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peephole.model.json_text import json_list
from peephole.model.stacks import frames
from peephole.replay.trace import work_of_contexts
from peephole.server.library import Shelf, ask, ask_once
from peephole.server.replaying import ask_while_wanted
from peephole.server.replies import Refusal, coded, path_number, query_number, reply
from peephole.server.routes_captures import shelf_of
from peephole.store.capture import Capture

if TYPE_CHECKING:
    from peephole.query.rewrites.node_history import NodeHistory

PAGE = 10_000
"""Most matches in one reply."""


async def list_contexts(request: Request) -> Response:
    """All contexts, one list a column."""
    return reply(await ask_once(shelf_of(request), "contexts", _contexts))


def _contexts(capture: Capture) -> dict[str, Any]:
    frame = capture.read("contexts", ["id", "name", "kind", "parent", "start", "dur"])
    ids = frame["id"].tolist()
    work = work_of_contexts(capture.read("steps", ["context", "matches"]))
    steps, matches = zip(*(work.get(id_, (0, 0)) for id_ in ids), strict=True) if ids else ((), ())
    artifacts = capture.read("artifacts", ["context"])
    with_code = set(artifacts["context"].tolist())
    return {
        "id": ids,
        "name": [name or "" for name in frame.texts("name")],
        "kind": [kind or "" for kind in frame.texts("kind")],
        "parent": frame["parent"],
        "start": frame["start"],
        "dur": frame["dur"],
        "steps": steps,
        "matches": matches,
        "code": [int(id_ in with_code) for id_ in ids],
    }


async def one_context(request: Request) -> Response:
    """Everything about one context but its steps: where it was opened, what it left behind."""
    number = path_number(request, "context")
    return reply(await ask(shelf_of(request), lambda capture: _context(capture, number)))


def _context(capture: Capture, number: int) -> dict[str, Any]:
    frame = capture.read("contexts")
    rows = np.flatnonzero(frame["id"] == number)
    if not len(rows):
        raise Refusal(404, f"This capture has no context {number}.")
    row = int(rows[0])
    artifacts = capture.read("artifacts", ["context", "step", "kind", "language", "name"])
    kinds, languages, names = artifacts.texts("kind"), artifacts.texts("language"), artifacts.texts("name")
    return {
        "id": number,
        "name": frame.texts("name")[row] or "",
        "kind": frame.texts("kind")[row] or "",
        "function": frame.texts("function")[row] or "",
        "parent": frame["parent"][row],
        "start": frame["start"][row],
        "dur": frame["dur"][row],
        "keys": json_list(frame.texts("keys")[row]),
        "stack": frames(frame.texts("stack")[row]),
        "artifacts": [
            {
                "row": int(at),
                "kind": kinds[at] or "",
                "language": languages[at] or "",
                "name": names[at] or "",
                "step": int(artifacts["step"][at]),
            }
            for at in np.flatnonzero(artifacts["context"] == number).tolist()
        ],
    }


async def list_steps(request: Request) -> Response:
    """The steps of all contexts, one list a column: the tree filters them in the page."""
    return reply(await ask_once(shelf_of(request), "steps", _steps))


async def context_steps(request: Request) -> Response:
    """The steps of one context, in the same form."""
    number = path_number(request, "context")
    steps = await ask_once(shelf_of(request), "steps", _steps)
    keep = np.flatnonzero(steps["context"] == number)
    return reply(
        {key: (value if key in ("names", "files") else np.asarray(value)[keep]) for key, value in steps.items()}
    )


def _steps(capture: Capture) -> dict[str, Any]:
    from peephole.query.rewrites.calls import ast_steps

    frame = capture.read(
        "steps",
        [
            *("id", "context", "depth", "name", "file", "line", "root", "dur", "matches"),
            *("bottom_up", "walk", "enter_calls", "error"),
        ],
    )
    flags = (
        frame["bottom_up"] * 1 + frame["walk"] * 2 + frame["enter_calls"] * 4 + (frame.texts("error").codes >= 0) * 8
    )
    flags = flags + np.array(ast_steps(capture, frame["context"].tolist(), frame.texts("name")), np.int64) * 16
    names, name_list = coded([name or "" for name in frame.texts("name")])
    files, file_list = coded([file or "" for file in frame.texts("file")])
    plain = {name: frame[name] for name in ("id", "context", "depth", "line", "root", "dur", "matches")}
    return {**plain, "flags": flags, "name": names, "names": name_list, "file": files, "files": file_list}


async def list_matches(request: Request) -> Response:
    """Matches of a step from number `first` (counted from 1), at most `count`."""
    step = path_number(request, "step")
    first = query_number(request, "first", 1, 1)
    count = min(query_number(request, "count", 2048, 1), PAGE)
    return reply(await ask(shelf_of(request), lambda capture: _matches(capture, step, first, count)))


def _matches(capture: Capture, step: int, first: int, count: int) -> dict[str, Any]:
    from peephole.query.rewrites.step_graphs import matches
    from peephole.server.rule_source import rule_handler

    rows = matches(capture, step)
    page = rows[first - 1 : first - 1 + count]
    both, ops = coded([row.before_op for row in page] + [row.after_op for row in page])
    files, file_list = coded([row.file for row in page])
    sources, source_list = coded([row.source for row in page])
    rules = {(row.file, row.line): None for row in page}
    called = {rule: rule_handler(capture, *rule) for rule in rules}
    handlers, handler_list = coded([called[row.file, row.line] for row in page])
    return {
        "step": step,
        "total": len(rows),
        "first": first,
        "before": [row.before for row in page],
        "after": [row.after for row in page],
        "op": both[: len(page)],
        "became": both[len(page) :],
        "ops": ops,
        "file": files,
        "files": file_list,
        "line": [row.line for row in page],
        "source": sources,
        "sources": source_list,
        "handler": handlers,
        "handlers": handler_list,
        "dur": [row.dur for row in page],
    }


async def graph(request: Request) -> Response:
    """The graph of a step after match `match`; 0 is the graph that went in."""
    step = path_number(request, "step")
    match = query_number(request, "match", 0)
    shelf = shelf_of(request)

    def answer(capture: Capture, gone: Callable[[], bool]) -> dict[str, Any]:
        from peephole.server.graph_wire import graph_reply

        return graph_reply(capture, _graph_at(shelf, capture, step, match, gone))

    return reply(await ask_while_wanted(request, shelf, answer))


def _graph_at(shelf: Shelf, capture: Capture, step: int, match: int, gone: Callable[[], bool]) -> Any:
    """The replayed graph; the last few are kept, since graph, rule and history of one match are asked one by one."""
    from peephole.query.rewrites.step_graphs import graph_at

    kept: dict[tuple[int, int], Any] = shelf.derived.setdefault("graphs", {})
    if (step, match) not in kept:
        while len(kept) >= 4:
            kept.pop(next(iter(kept)))
        kept[step, match] = graph_at(capture, step, match, gone)
    return kept[step, match]


async def one_match(request: Request) -> Response:
    """The rule of a match, the lines around it, how long it took, and the diff of what changed."""
    step, match = path_number(request, "step"), path_number(request, "match")
    shelf = shelf_of(request)

    def answer(capture: Capture, gone: Callable[[], bool]) -> dict[str, Any]:
        from peephole.query.rewrites.step_graphs import step_duration
        from peephole.server.rule_source import rule_handler, rule_lines

        at = _graph_at(shelf, capture, step, match, gone)
        rule = at.rule
        return {
            "step": step,
            "match": match,
            "file": rule.file if rule else None,
            "line": rule.line if rule else -1,
            "source": rule.source if rule else None,
            "handler": rule_handler(capture, rule.file, rule.line) if rule else None,
            "dur": rule.dur_ns if rule else -1,
            "stepDur": step_duration(capture, step),
            "lines": rule_lines(capture, rule.file, rule.line) if rule else [],
            "diff": [list(line) for line in at.diff],
            "error": at.error,
        }

    return reply(await ask_while_wanted(request, shelf, answer))


async def history(request: Request) -> Response:
    """The match that made a node and the one that removed it, found from a match at which it is there (or goes)."""
    step, match = path_number(request, "step"), query_number(request, "match", 0)
    identity = query_number(request, "identity", 0)

    def answer(capture: Capture, gone: Callable[[], bool]) -> NodeHistory:
        from peephole.query.rewrites.node_history import node_history

        return node_history(capture, step, identity, match, gone)

    return reply(await ask_while_wanted(request, shelf_of(request), answer))


async def replay_progress(request: Request) -> Response:
    """How far the replay of a step is. It takes no lock, so that it answers while that goes on."""
    step = path_number(request, "step")
    capture = shelf_of(request).capture
    if capture is None:
        raise Refusal(409, "Nothing of this capture has been asked for yet.")

    def work() -> Any:
        from peephole.query.rewrites.step_graphs import progress

        return progress(capture, step)

    return reply(await run_in_threadpool(work))


async def one_node(request: Request) -> Response:
    """A node as it was recorded, with the tensor operation that it came from; `known` is false for one that only a
    replay made."""
    number = path_number(request, "node")
    return reply(await ask(shelf_of(request), lambda capture: _node(capture, number)))


def _node(capture: Capture, number: int) -> dict[str, Any]:
    from peephole.query.rewrites.graph_labels import recorded_type_name

    count = capture.count("nodes")
    ids = capture.read("nodes", ["id"])["id"] if count else np.zeros(0, np.int64)
    row = int(np.searchsorted(ids, number))
    if row >= count or ids[row] != number:
        return {"id": number, "known": False}
    frame = capture.read("nodes", rows=slice(row, row + 1))
    texts = {name: frame.texts(name)[0] for name in ("op", "dtype", "arg", "tag", "shape", "metadata")}
    if texts["dtype"]:
        texts["dtype"] = recorded_type_name(capture, texts["dtype"])
    return {"id": number, "known": True, "src": frame.lists("src")[0], **texts}


ROUTES = [
    Route("/captures/{capture}/nodes/{node}", one_node),
    Route("/captures/{capture}/contexts", list_contexts),
    Route("/captures/{capture}/contexts/{context}", one_context),
    Route("/captures/{capture}/contexts/{context}/steps", context_steps),
    Route("/captures/{capture}/steps", list_steps),
    Route("/captures/{capture}/steps/{step}/matches", list_matches),
    Route("/captures/{capture}/steps/{step}/matches/{match}", one_match),
    Route("/captures/{capture}/steps/{step}/graph", graph),
    Route("/captures/{capture}/steps/{step}/history", history),
    Route("/captures/{capture}/steps/{step}/progress", replay_progress),
]
