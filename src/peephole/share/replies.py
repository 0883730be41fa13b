"""Which replies a copy keeps word for word: lists, code, schedules, problems, and the rewrites of what cost most."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from peephole.share.asking import Asking
from peephole.share.graph_deltas import graph_deltas
from peephole.share.parts import Parts, add_replies
from peephole.sources.base import Progress

_TOGETHER = 48
"""Contexts whose code lies in one part."""
GRAPHS = 4_000
"""Graphs of rewrites that are made for a copy: making them takes time, up to 10 ms each."""
_MATCHES = 10_000
"""Matches of a step that the server gives at once."""


def loaded(body: bytes | None) -> Any:
    """What a reply says; None for none."""
    return None if body is None else json.loads(body)


def dumped(data: Any) -> bytes:
    """A reply that says this."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=True).encode("ascii")


def asked(asking: Asking, paths: Iterable[str]) -> dict[str, bytes]:
    """The replies that are not refused, by request."""
    return {path: body for path in paths if (body := asking.get(path)) is not None}


def name_pages(asking: Asking) -> dict[str, bytes]:
    """All names of slices."""
    found: dict[str, bytes] = {}
    first = 0
    while True:
        path = f"timeline/names?first={first}"
        body = asking.get(path)
        if body is None:
            return found
        found[path] = body
        page = json.loads(body)
        first += page["page"]
        if first >= page["total"]:
            return found


def cost_order(asking: Asking) -> list[int]:
    """Contexts, those whose kernels took most first, then the others as they were made."""
    contexts, code = loaded(asking.get("contexts")), loaded(asking.get("code"))
    if not contexts:
        return []
    cost = dict(zip(code["context"], code["total"], strict=True)) if code else {}
    order: list[int] = sorted(contexts["id"], key=lambda one: -max(0, cost.get(one, 0)))
    return order


def add_contexts(parts: Parts, asking: Asking, order: list[int], with_code: bool) -> tuple[int, int, int]:
    """What is known of each context, and its code: contexts that are inside, those that are not, and bytes."""
    kept = taken = 0
    for at in range(0, len(order), _TOGETHER):
        some = order[at : at + _TOGETHER]
        replies: dict[str, bytes] = {}
        for context in some:
            replies |= asked(asking, _about(asking, context, with_code))
        got = add_replies(parts, _groups(replies), replies)
        if got < 0:
            break
        kept, taken = kept + len(some), taken + got
    return kept, len(order) - kept, taken


def _about(asking: Asking, context: int, with_code: bool) -> list[str]:
    paths = [f"contexts/{context}"]
    if not with_code:
        return paths
    found = loaded(asking.get(paths[0])) or {}
    artifacts = [one for one in found.get("artifacts", ()) if one["kind"] not in ("file", "data")]
    if artifacts:
        below = f"contexts/{context}"
        paths += [f"{below}/{one}" for one in ("runs", "origin", "instructions", "lines", "lines?operations=1")]
        paths += [f"artifacts/{one['row']}" for one in artifacts]
        paths += [f"artifacts/{one['row']}/flow" for one in artifacts if one["language"].startswith("gfx")]
    return paths


def _groups(replies: Iterable[str]) -> list[str]:
    """Where the page looks for these replies: the first two words of a request."""
    return list(dict.fromkeys("/".join(path.partition("?")[0].split("/")[:2]) for path in replies))


def add_schedules(parts: Parts, asking: Asking) -> tuple[int, int]:
    """How schedules were split, and why: how many are inside, and bytes; -1 without room."""
    known = loaded(asking.get("schedules")) or {"context": []}
    replies: dict[str, bytes] = {}
    for context in known["context"]:
        path = f"contexts/{context}/schedule"
        body = asking.get(path)
        if body is None:
            continue
        replies[path] = body
        pairs = {(a, b) for a, b, *_ in json.loads(body)["edges"]}
        replies |= asked(asking, (f"contexts/{context}/why?a={a}&b={b}" for a, b in sorted(pairs)))
    return len(known["context"]), add_replies(parts, ["contexts"], replies)


def problem_replies(asking: Asking) -> dict[str, bytes]:
    """The problems with the lines around each."""
    body = asking.get("problems")
    if body is None:
        return {}
    one = "problems/lines?kind={}&id={}"
    paths = [one.format(_quoted(found["kind"]), _quoted(found["id"])) for found in json.loads(body)["problems"]]
    return {"problems": body, **asked(asking, dict.fromkeys(paths))}


def _quoted(text: Any) -> str:
    """As a browser's encodeURIComponent writes it."""
    return quote(str(text), safe="-_.!~*'()")


def add_rewrites(parts: Parts, asking: Asking, order: list[int], progress: Progress) -> tuple[list[int], int, bool]:
    """The passes of contexts with every match and graph, as many contexts as fit: which, bytes, and whether some were
    left out although there was room, since graphs take time to make."""
    steps = loaded(asking.get("steps")) or {"id": [], "context": [], "matches": []}
    own: dict[int, list[tuple[int, int]]] = {}
    for step, context, matches in zip(steps["id"], steps["context"], steps["matches"], strict=True):
        own.setdefault(context, []).append((step, matches))
    kept: list[int] = []
    taken = 0
    graphs = GRAPHS
    many = min(GRAPHS, sum(matches + 1 for steps_of in own.values() for _, matches in steps_of))
    slow = False
    for context in (one for one in order if one in own):
        wanted = sum(matches + 1 for _, matches in own[context])
        # a graph takes a hundred bytes at the very least: what cannot fit is not made at all
        fits = wanted * 100 <= parts.room
        if wanted > graphs or not fits or any(matches > _MATCHES for _, matches in own[context]):
            slow = slow or fits
            continue
        replies: dict[str, bytes] = {}
        for step, _ in own[context]:
            replies |= step_replies(asking, step)
        graphs -= wanted
        progress(min(GRAPHS - graphs, many), many)
        # what else is known of the context lies elsewhere already: this one is found by all of its name
        passes = asked(asking, [f"contexts/{context}/passes"])
        got = add_replies(parts, [*_groups(replies), *passes], replies | passes)
        if got >= 0:
            kept.append(context)
            taken += got
    progress(many, many)
    return kept, taken, slow


def step_replies(asking: Asking, step: int) -> dict[str, bytes]:
    """All that the page asks about one step, whichever match is looked at."""
    below = f"steps/{step}"
    found = asked(asking, [f"{below}/groups", f"{below}/decisions", f"{below}/progress"])
    body = asking.get(f"{below}/matches?first=1&count={_MATCHES}")
    if body is None:
        return found
    found[f"{below}/matches"] = body
    # where instructions have names there are more entries than rules that fired
    entries = min(int(json.loads(body)["total"]), _MATCHES)
    graphs = [asking.get(f"{below}/graph?match={match}") for match in range(entries + 1)]
    if None not in graphs:
        found[f"{below}/graphs"] = dumped(graph_deltas(json.loads(graph) for graph in graphs if graph is not None))
    return found | asked(asking, (f"{below}/matches/{match}" for match in range(1, entries + 1)))


def only_these(steps: bytes, kept: list[int]) -> bytes:
    """The list of steps without those of contexts whose rewrites are not inside."""
    inside, passes = set(kept), json.loads(steps)
    rows = [at for at, context in enumerate(passes["context"]) if context in inside]
    per_step = [name for name, column in passes.items() if isinstance(column, list) and name not in ("names", "files")]
    assert all(len(passes[name]) == len(passes["id"]) for name in per_step)
    return dumped(passes | {name: [passes[name][at] for at in rows] for name in per_step})
