"""Contexts, steps, matches, and the graph after any match."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from peephole.model.tables import NONE
from peephole.query.capture.context_tables import context_columns, step_columns
from peephole.query.capture.contexts import context_detail
from peephole.query.rewrites.recorded_node import recorded_node
from peephole.server.library import Shelf, ask, ask_once
from peephole.server.replaying import ask_while_wanted
from peephole.server.replies import Refusal, coded, columns, number, path_number, query_number, reply
from peephole.server.routes.captures import shelf_of
from peephole.store.capture import Capture

if TYPE_CHECKING:
    from peephole.query.rewrites.chains import ChainLink
    from peephole.query.rewrites.node_history import NodeHistory, Passage
    from peephole.query.rewrites.step_graphs import MatchInfo

PAGE = 10_000
"""Most matches in one reply."""


async def list_contexts(request: Request) -> Response:
    """All contexts, one list a column."""
    return reply(await ask_once(shelf_of(request), "contexts", _contexts))


def _contexts(capture: Capture) -> dict[str, Any]:
    found = context_columns(capture)
    return {
        "id": found.id,
        "name": found.name,
        "kind": found.kind,
        "parent": found.parent,
        "start": found.start,
        "dur": found.dur,
        "steps": found.steps,
        "matches": found.matches,
        "code": [int(there) for there in found.has_artifacts],
    }


async def one_context(request: Request) -> Response:
    """Everything about one context but its steps: where it was opened, what it left behind."""
    context = path_number(request, "context")

    def answer(capture: Capture) -> dict[str, Any]:
        from peephole.query.rewrites.calls import kernel_graph

        found = context_detail(capture, context)
        if found is None:
            raise Refusal(404, f"This capture has no context {context}.")
        return {**dataclasses.asdict(found), "kernelGraph": kernel_graph(capture, context)}

    return reply(await ask(shelf_of(request), answer))


async def list_steps(request: Request) -> Response:
    """The steps of all contexts, one list a column: the tree filters them in the page."""
    return reply(await ask_once(shelf_of(request), "steps", _steps))


async def context_steps(request: Request) -> Response:
    """The steps of one context, in the same form."""
    context = path_number(request, "context")
    steps = await ask_once(shelf_of(request), "steps", _steps)
    keep = np.flatnonzero(steps["context"] == context)
    return reply(
        {key: (value if key in ("names", "files") else np.asarray(value)[keep]) for key, value in steps.items()}
    )


def _steps(capture: Capture) -> dict[str, Any]:
    from peephole.query.rewrites.calls import ast_steps

    found = step_columns(capture)
    flags = found.bottom_up * 1 + found.walk * 2 + found.enter_calls * 4 + found.raised * 8
    flags = flags + np.array(ast_steps(capture, found.context.tolist(), found.name), np.int64) * 16
    names, name_list = coded(found.name)
    files, file_list = coded(found.file)
    plain = {
        name: getattr(found, name) for name in ("id", "context", "depth", "line", "root", "after", "dur", "matches")
    }
    return {**plain, "flags": flags, "name": names, "names": name_list, "file": files, "files": file_list}


async def list_matches(request: Request) -> Response:
    """Matches of a step from number `first` (counted from 1), at most `count`."""
    step = path_number(request, "step")
    first = query_number(request, "first", 1, 1)
    count = min(query_number(request, "count", 2048, 1), PAGE)
    return reply(await ask(shelf_of(request), lambda capture: _matches(capture, step, first, count)))


def _matches(capture: Capture, step: int, first: int, count: int) -> dict[str, Any]:
    from peephole.query.rewrites.match_words import match_words
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
    about, about_list = coded(match_words(capture, step, [row.before for row in page]))
    return {
        "step": step,
        "total": len(rows),
        "first": first,
        "about": about,
        "abouts": about_list,
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
        **_entries(page),
    }


def _entries(page: list[MatchInfo]) -> dict[str, Any]:
    """What there is to say beyond the rules where instructions have names."""
    kinds, kind_list = coded([row.kind for row in page])
    both, names = coded([row.before_name for row in page] + [row.after_name for row in page])
    return {
        "kind": kinds,
        "kinds": kind_list,
        "beforeName": both[: len(page)],
        "afterName": both[len(page) :],
        "names": names,
        "boxes": [row.boxes for row in page],
    }


async def step_groups(request: Request) -> Response:
    """The matches of a step by rule and op, and the group of each."""
    step = path_number(request, "step")
    return reply(await ask(shelf_of(request), lambda capture: _groups(capture, step)))


def _groups(capture: Capture, step: int) -> dict[str, Any]:
    from peephole.query.rewrites.match_groups import MatchGroup, match_groups
    from peephole.server.rule_source import rule_handler

    found = match_groups(capture, step)
    names = [field.name for field in dataclasses.fields(MatchGroup)]
    handlers = [rule_handler(capture, group.file, group.line) or "" for group in found.groups]
    return {"step": step, **columns(found.groups, names), "handler": handlers, "of": found.of}


async def context_passes(request: Request) -> Response:
    """What each pass of a context changed that has its graph after it, one list a column."""
    context = path_number(request, "context")
    return reply(await ask(shelf_of(request), lambda capture: _passes(capture, context)))


def _passes(capture: Capture, context: int) -> dict[str, Any]:
    from peephole.query.rewrites.passes import Changed, changed_in

    names = [field.name for field in dataclasses.fields(Changed)]
    return columns(changed_in(capture, context), names)


async def step_decisions(request: Request) -> Response:
    """What a step decided about nodes, one list a column."""
    step = path_number(request, "step")
    return reply(await ask(shelf_of(request), lambda capture: _decisions(capture, step)))


def _decisions(capture: Capture, step: int) -> dict[str, Any]:
    from peephole.query.rewrites.decisions import Decision, decisions

    names = [field.name for field in dataclasses.fields(Decision) if field.name != "step"]
    return {"step": step, **columns(decisions(capture, step), names)}


async def graph(request: Request) -> Response:
    """The graph of a step after match `match`; 0 is the graph that went in. With `from=STEP.MATCH`, what differs from
    that graph of the same context."""
    step = path_number(request, "step")
    match = query_number(request, "match", 0)
    first = _place(request.query_params.get("from"))
    shelf = shelf_of(request)

    def answer(capture: Capture, gone: Callable[[], bool]) -> dict[str, Any]:
        from peephole.query.rewrites.graph_difference import graph_difference
        from peephole.server.graph_wire import graph_reply

        if first is None:
            return graph_reply(capture, _graph_at(shelf, capture, step, match, gone))
        found = graph_difference(capture, first, (step, match), gone)
        told = {"step": found.first.step, "match": found.first.match, "name": found.first.name}
        wire = graph_reply(capture, found.graph)
        return {**wire, "own": found.own, "shared": found.shared, "from": told, "diff": found.graph.diff}

    return reply(await ask_while_wanted(request, shelf, answer))


def _place(text: str | None) -> tuple[int, int] | None:
    """`STEP.MATCH`, as a graph is named in an address."""
    if text is None:
        return None
    step, _, match = text.partition(".")
    return number(step, "the step of from=STEP.MATCH"), number(match or "0", "the match of from=STEP.MATCH")


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
            "lines": rule_lines(capture, rule.file, rule.line) if rule else [],
            "diff": [list(line) for line in at.diff],
            "kind": at.kind,
            "error": at.error,
        }

    return reply(await ask_while_wanted(request, shelf, answer))


async def history(request: Request) -> Response:
    """The matches that made, changed and removed a node, found from a match at which it is there (or goes)."""
    step, match = path_number(request, "step"), query_number(request, "match", 0)
    identity = query_number(request, "identity", 0)

    def answer(capture: Capture, gone: Callable[[], bool]) -> NodeHistory:
        from peephole.query.rewrites.node_history import node_history

        return node_history(capture, step, identity, match, gone)

    return reply(await ask_while_wanted(request, shelf_of(request), answer))


async def passages(request: Request) -> Response:
    """The other passes of the context that a node goes through, one object each."""
    step, match = path_number(request, "step"), query_number(request, "match", 0)
    identity = query_number(request, "identity", 0)

    def answer(capture: Capture, gone: Callable[[], bool]) -> list[Passage]:
        from peephole.query.rewrites.node_history import node_passages

        return node_passages(capture, step, identity, match, gone)

    return reply(await ask_while_wanted(request, shelf_of(request), answer))


async def node_chain(request: Request) -> Response:
    """From the program's line over the node of that id to the kernels that compute it, one object a link."""
    step, node = path_number(request, "step"), query_number(request, "node", NONE)

    def answer(capture: Capture) -> list[ChainLink]:
        from peephole.query.rewrites.chains import chain

        return chain(capture, step, node)

    return reply(await ask(shelf_of(request), answer))


MOST_FOLLOWED = 64
"""Boxes that are followed through the passes in one reply."""


async def node_lives(request: Request) -> Response:
    """The passes of the context that each of some boxes is in; `identity` names them, joined by commas."""
    step, match = path_number(request, "step"), query_number(request, "match", 0)
    texts = request.query_params.get("identity", "").split(",")[:MOST_FOLLOWED]
    identities = [number(text, "identity") for text in texts if text]

    def answer(capture: Capture, gone: Callable[[], bool]) -> list[dict[str, Any]]:
        from peephole.query.rewrites.lives import Living, lives

        names = [field.name for field in dataclasses.fields(Living)]
        found = lives(capture, step, match, identities, gone)
        return [{"of": one, **columns(own, names)} for one, own in zip(identities, found, strict=True)]

    return reply(await ask_while_wanted(request, shelf_of(request), answer))


async def graph_births(request: Request) -> Response:
    """The pass, match and rule that made each box of a graph, one list a column."""
    step, match = path_number(request, "step"), query_number(request, "match", 0)

    def answer(capture: Capture, gone: Callable[[], bool]) -> dict[str, Any]:
        from peephole.query.rewrites.births import births

        found = births(capture, step, match, gone)
        names, name_list = coded([found.names[one] for one in found.step])
        wire = {name: getattr(found, name) for name in ("identity", "step", "match", "rule", "dur", "rules")}
        return {**wire, "name": names, "names": name_list}

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
    node = path_number(request, "node")
    found = await ask(shelf_of(request), lambda capture: recorded_node(capture, node))
    if found is None:
        return reply({"id": node, "known": False})
    return reply({"known": True, **dataclasses.asdict(found)})


ROUTES = [
    Route("/captures/{capture}/nodes/{node}", one_node),
    Route("/captures/{capture}/contexts", list_contexts),
    Route("/captures/{capture}/contexts/{context}", one_context),
    Route("/captures/{capture}/contexts/{context}/steps", context_steps),
    Route("/captures/{capture}/contexts/{context}/passes", context_passes),
    Route("/captures/{capture}/steps", list_steps),
    Route("/captures/{capture}/steps/{step}/matches", list_matches),
    Route("/captures/{capture}/steps/{step}/matches/{match}", one_match),
    Route("/captures/{capture}/steps/{step}/groups", step_groups),
    Route("/captures/{capture}/steps/{step}/graph", graph),
    Route("/captures/{capture}/steps/{step}/decisions", step_decisions),
    Route("/captures/{capture}/steps/{step}/history", history),
    Route("/captures/{capture}/steps/{step}/lives", node_lives),
    Route("/captures/{capture}/steps/{step}/births", graph_births),
    Route("/captures/{capture}/steps/{step}/passages", passages),
    Route("/captures/{capture}/steps/{step}/chain", node_chain),
    Route("/captures/{capture}/steps/{step}/progress", replay_progress),
]
