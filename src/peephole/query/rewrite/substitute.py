"""One substitution over a whole graph, exactly as tinygrad does it, in its order of visits.

A key is replaced by its value again and again until that is no key; then come its sources; a node whose sources
changed is built anew and looked at again. With `walk` each place is replaced once and what was put there is left
alone. The body of a call stays as it is unless the pass enters calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from peephole.query.rewrite.pool import Pool

ENTER: Final = 0
BUILD: Final = 1
LINK: Final = 2


class Endless(Exception):
    """The substitution does not end; the text says in what way."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a substitution made of a graph."""

    root: int
    value: dict[int, int]
    """What became of each node that was visited."""
    visited: list[tuple[int, int]]
    """(node, the key of `value` that tells what became of it) for each node of the graph or of a replacement."""


def substitute(
    pool: Pool, root: int, replacements: Mapping[int, int], *, walk: bool, touched: Sequence[int] = (), match: int = 0
) -> Outcome:
    """The graph under that root with the replacements made. Endless or DtypeError where tinygrad would raise.

    `touched` tells for the first nodes of the pool which match is the first to touch them or something below; what is
    only touched after `match` need not be looked at.
    """
    if walk:
        return _walk(pool, root, replacements)
    return _settle(pool, root, replacements, [int(first > match) for first in touched])


def _walk(pool: Pool, root: int, replacements: Mapping[int, int]) -> Outcome:
    value: dict[int, int] = {}
    stack = [(root, ENTER)]
    while stack:
        node, stage = stack.pop()
        if node in value:
            continue
        src = pool.src[node]
        if stage == ENTER:
            if node in replacements:
                value[node] = replacements[node]
                continue
            stack.append((node, BUILD))
            if pool.body(node):
                value[src[0]] = src[0]
            stack.extend([(s, ENTER) for s in reversed(src) if s not in value])
        else:
            new = tuple([value[s] for s in src])
            value[node] = node if new == src else pool.rebuild(node, new)
    return Outcome(value[root], value, [(node, node) for node in value])


def _settle(pool: Pool, root: int, replacements: Mapping[int, int], still: Sequence[int]) -> Outcome:
    value: dict[int, int] = {}
    visited = [(root, root)]
    placed = {root}
    waiting: dict[int, list[tuple[int, int, int]]] = {}
    stack = [(root, ENTER, root)]
    source, calls, known = pool.src, pool.calls, len(still)
    while stack:
        node, stage, now = stack.pop()
        if node in value:
            continue
        if stage == ENTER:
            if node in replacements:
                now = _chase(node, replacements, visited)
            src = source[now]
            stack.append((node, BUILD, now))
            if now in calls and pool.body(now):
                value[src[0]] = src[0]
                # tinygrad forgets these and dies of it
                stack.extend(waiting.pop(src[0], ()))
            for s in reversed(src):
                if s not in placed:
                    placed.add(s)
                    if s < known and still[s]:
                        value[s] = s
                    else:
                        visited.append((s, s))
                        stack.append((s, ENTER, s))
            continue
        if stage == BUILD:
            src = source[now]
            try:
                new = tuple([value[s] for s in src])
            except KeyError as missing:
                # goes on when that one is settled
                waiting.setdefault(missing.args[0], []).append((node, BUILD, now))
                continue
            if new != src:
                built = pool.rebuild(now, new)
                if built in value:
                    now = value[built]
                elif built in replacements or built in waiting:
                    stack.append((node, LINK, built))
                    stack.append((built, ENTER, built))
                    continue
                else:
                    # its sources are settled, so it is what it becomes
                    now = value[built] = built
        elif now not in value:
            waiting.setdefault(now, []).append((node, LINK, now))
            continue
        else:
            now = value[now]
        value[node] = now
        if node in waiting:
            stack.extend(waiting.pop(node))
    if root not in value:
        raise Endless("a replacement contains what it replaces, so that the graph has no end")
    return Outcome(value[root], value, visited)


def _chase(node: int, replacements: Mapping[int, int], visited: list[tuple[int, int]]) -> int:
    """What a key is replaced by in the end."""
    first = node
    seen = {node}
    while node in replacements:
        node = replacements[node]
        if node in seen:
            raise Endless("infinite loop: a node is replaced by itself after some steps")
        seen.add(node)
        visited.append((node, first))
    return node
