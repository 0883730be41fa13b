"""The graphs of a step one after the other, each as what differs from the one before: neighbours are nearly alike."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

Json = dict[str, Any]
_SHORT = 3
"""Lists up to this long are written as they are."""


def graph_deltas(graphs: Iterable[Json]) -> list[Json]:
    """What differs from graph to graph, for `web/src/data/copy/graph_deltas.ts` to put together again."""
    found: list[Json] = []
    before: Json = {}
    for graph in graphs:
        now = _relative(graph)
        found.append(_delta(before, now))
        before = now
    return found


def _relative(graph: Json) -> Json:
    """Sources as how many each node has, and how far before it each stands: the same wherever the node moves to."""
    starts = graph["srcStart"]
    counts = [b - a for a, b in itertools.pairwise(starts)]
    own = [node for node, many in enumerate(counts) for _ in range(many)]
    return graph | {"srcStart": counts, "src": [at - src for at, src in zip(own, graph["src"], strict=True)]}


def _delta(old: Json, new: Json) -> Json:
    """By key: `v` a value, `d` the delta of an object, `l` that of a list; a key that is not there is as before."""
    found: Json = {}
    for key, value in new.items():
        before = old.get(key)
        if key in old and before == value and type(before) is type(value):
            continue
        if isinstance(value, dict) and isinstance(before, dict):
            found[key] = {"d": _delta(before, value)}
        elif isinstance(value, list) and isinstance(before, list) and len(before) > _SHORT:
            found[key] = {"l": _list(before, value)}
        else:
            found[key] = {"v": value}
    if gone := [key for key in old if key not in new]:
        found["-"] = {"v": gone}
    return found


def _list(old: list[Any], new: list[Any]) -> list[Any]:
    """Of lists of one length: place and values, alternating; else what both begin and end with, and the middle."""
    if len(old) == len(new):
        pieces: list[Any] = []
        at = 0
        while at < len(new):
            if old[at] == new[at]:
                at += 1
                continue
            past = at + 1
            # a single equal one between two others costs less than a new piece
            while past < len(new) and (old[past] != new[past] or old[past + 1 : past + 2] != new[past + 1 : past + 2]):
                past += 1
            pieces += [at, new[at:past]]
            at = past
        return [-1, 0, pieces]
    most = min(len(old), len(new))
    head = next((at for at in range(most) if old[at] != new[at]), most)
    tail = next((at for at in range(most - head) if old[-1 - at] != new[-1 - at]), most - head)
    return [head, tail, new[head : len(new) - tail]]
